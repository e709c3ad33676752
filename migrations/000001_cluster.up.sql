-- What every room stands on: the cluster's epoch, leases, alerts, the audit log, the version sequence.

-- One row. The epoch grows at every promotion or restore (design 4): greatest(stored + 1, unix seconds).
CREATE TABLE IF NOT EXISTS cluster_epoch (
    one               boolean PRIMARY KEY DEFAULT true CHECK (one),
    system_identifier bigint  NOT NULL,
    timeline          integer NOT NULL,
    epoch             bigint  NOT NULL CHECK (epoch BETWEEN 1 AND 9999999999),
    moved_at          timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A lease is a counter: who sees `beat` unmoved for the TTL by a steady clock of its own may take over. `fence` grows at
-- each take-over and never otherwise, so that a late holder can be told from the present one.
CREATE TABLE IF NOT EXISTS lease (
    name       text PRIMARY KEY,
    holder     text   NOT NULL,
    beat       bigint NOT NULL DEFAULT 1,
    fence      bigint NOT NULL DEFAULT 1,
    renewed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE IF NOT EXISTS alert (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind         text NOT NULL,
    subject      text NOT NULL,
    severity     text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    message      text NOT NULL,
    raised_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    times        bigint NOT NULL DEFAULT 1,
    cleared_at   timestamptz,
    -- Sinks keep a snapshot and read what has become visible since: a raise that commits late is not missed.
    raised_txid  xid8 NOT NULL DEFAULT pg_current_xact_id(),
    cleared_txid xid8
);
-- Raised once: a second raise of the same trouble moves last_seen_at and times only.
CREATE UNIQUE INDEX IF NOT EXISTS alert_open ON alert (kind, subject) WHERE cleared_at IS NULL;
CREATE INDEX IF NOT EXISTS alert_raised ON alert (raised_txid);
CREATE INDEX IF NOT EXISTS alert_cleared ON alert (cleared_txid) WHERE cleared_txid IS NOT NULL;

CREATE TABLE IF NOT EXISTS audit_log (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    who     text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    why     text,
    ok      boolean NOT NULL,
    detail  jsonb
);

-- Versions of files: one global sequence, drawn only when content changed. A sequence per file would start again at 1
-- after a file was re-created, and receivers would refuse it as older.
CREATE SEQUENCE IF NOT EXISTS version_seq;

-- Destinations, what they are owed, what they have and the proof of it (design 8). Every setting is a column.

CREATE TABLE IF NOT EXISTS delivery_client (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    code       text NOT NULL UNIQUE CHECK (code ~ '^[a-z0-9_-]+$'),
    name       text NOT NULL,
    is_on      boolean NOT NULL DEFAULT true,
    off_reason text,
    off_by     text,
    off_at     timestamptz,
    CHECK (is_on OR (off_reason IS NOT NULL AND off_by IS NOT NULL AND off_at IS NOT NULL))
);

CREATE TABLE IF NOT EXISTS delivery_assignment (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    client_id         bigint NOT NULL REFERENCES delivery_client,
    name              text NOT NULL CHECK (name ~ '^[a-z0-9_-]+$'),
    transport         text NOT NULL,
    is_on             boolean NOT NULL DEFAULT true,
    off_reason        text,
    off_by            text,
    off_at            timestamptz,
    host              text,
    port              integer CHECK (port BETWEEN 1 AND 65535),
    folder            text,
    name_template     text NOT NULL DEFAULT '{event}/{feed_type}{/filter}.json',
    events            text[],                       -- NULL = all
    feed_types        text[],                       -- NULL = all
    on_retire         text NOT NULL DEFAULT 'keep' CHECK (on_retire IN ('keep', 'delete')),
    render            bigint NOT NULL DEFAULT 1,    -- grows with every change of what is sent or how it is named
    connect_ms        integer NOT NULL DEFAULT 10000 CHECK (connect_ms > 0),
    bytes_ms          integer NOT NULL DEFAULT 60000 CHECK (bytes_ms > 0),
    reply_ms          integer NOT NULL DEFAULT 120000 CHECK (reply_ms > 0),
    bytes_per_second_min integer NOT NULL DEFAULT 1024 CHECK (bytes_per_second_min >= 0),
    fast_retries_max  integer NOT NULL DEFAULT 5 CHECK (fast_retries_max BETWEEN 0 AND 16),
    first_retry_ms    integer NOT NULL DEFAULT 500 CHECK (first_retry_ms > 0),
    slow_retry_ms     integer NOT NULL DEFAULT 300000 CHECK (slow_retry_ms > 0),
    alert_failures    integer NOT NULL DEFAULT 3 CHECK (alert_failures > 0),
    alert_behind_ms   integer NOT NULL DEFAULT 60000 CHECK (alert_behind_ms > 0),
    -- Pace and refusals that belong to the whole destination.
    failures          integer NOT NULL DEFAULT 0,
    next_try          timestamptz,
    last_error        text,
    refusal_lasts     boolean NOT NULL DEFAULT false,   -- bad login, no rights: no newer version brings the next try forward
    changed_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    txid              xid8 NOT NULL DEFAULT pg_current_xact_id(),
    UNIQUE (client_id, name),
    CHECK (array_position(events, NULL) IS NULL AND array_position(feed_types, NULL) IS NULL),
    CHECK (is_on OR (off_reason IS NOT NULL AND off_by IS NOT NULL AND off_at IS NOT NULL))
);

-- AES-256-GCM with the row's id as associated data, under the master key `key_id`; or a command that resolves it.
CREATE TABLE IF NOT EXISTS delivery_credential (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    assignment_id bigint NOT NULL REFERENCES delivery_assignment ON DELETE CASCADE,
    kind          text NOT NULL,
    key_id        text,
    nonce         bytea,
    ciphertext    bytea,
    resolve_command text,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (assignment_id, kind),
    CHECK ((resolve_command IS NULL) = (ciphertext IS NOT NULL AND nonce IS NOT NULL AND key_id IS NOT NULL))
);

-- One owner per destination; the row changes only on a move. `worker` is the name of a lease.
CREATE TABLE IF NOT EXISTS delivery_owner (
    assignment_id bigint PRIMARY KEY REFERENCES delivery_assignment ON DELETE CASCADE,
    worker        text NOT NULL,
    fence         bigint NOT NULL,                  -- of the worker's lease when it took over
    since         timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Where a destination stands with one file. Owed = the document's newest version with the assignment's render; a row
-- exists once something was tried. A version is (epoch, seq, render).
CREATE TABLE IF NOT EXISTS delivery_state (
    assignment_id  bigint NOT NULL REFERENCES delivery_assignment ON DELETE CASCADE,
    doc_key        text NOT NULL,
    owed_epoch     bigint NOT NULL DEFAULT 0,
    owed_seq       bigint NOT NULL DEFAULT 0,
    owed_render    bigint NOT NULL DEFAULT 0,
    waiting_since  timestamptz,                     -- changed_at of the oldest change that waits; NULL = nothing owed
    sending_epoch  bigint,
    sending_seq    bigint,
    sending_render bigint,
    sending_since  timestamptz,
    sending_by     text,                            -- the process that sends: `holder` of its lease
    sending_target text,
    sending_path   text,
    sent_epoch     bigint NOT NULL DEFAULT 0,
    sent_seq       bigint NOT NULL DEFAULT 0,
    sent_render    bigint NOT NULL DEFAULT 0,
    sent_hash      bytea,                           -- sha256 of the bytes that the receiver confirmed
    sent_bytes     bigint,
    sent_target    text,                            -- the receiver that holds it: transport, host, folder
    sent_path      text,
    receipt        text,
    guarantee      text,
    proven_at      timestamptz,
    age_ms         bigint,                          -- Postgres's clock minus changed_at when proven
    staleness_ms   bigint,                          -- minus the oldest change that had been waiting
    failures       integer NOT NULL DEFAULT 0,      -- of the file itself (content, name, size)
    next_try       timestamptz,
    last_error     text,
    refusal_lasts  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (assignment_id, doc_key)
);

CREATE TABLE IF NOT EXISTS delivery_attempt (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    assignment_id bigint NOT NULL REFERENCES delivery_assignment ON DELETE CASCADE,
    doc_key       text NOT NULL,
    epoch         bigint NOT NULL,
    seq           bigint NOT NULL,
    render        bigint NOT NULL,
    occasion      bigint NOT NULL DEFAULT 0,        -- 0 = the change itself; a scheduled re-send has an id of its own
    outcome       text NOT NULL CHECK (outcome IN ('delivered', 'delivered_equal', 'deleted', 'kept', 'failed', 'refused', 'in_doubt')),
    worker        text NOT NULL,
    started_at    timestamptz NOT NULL,
    ended_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    path          text,
    bytes         bigint,
    body_hash     bytea,
    receipt       text,
    guarantee     text,
    age_ms        bigint,
    staleness_ms  bigint,
    error         text
);
CREATE INDEX IF NOT EXISTS delivery_attempt_file ON delivery_attempt (assignment_id, doc_key, id);
-- Proof is unique per (version, occasion).
CREATE UNIQUE INDEX IF NOT EXISTS delivery_proof ON delivery_attempt (assignment_id, doc_key, epoch, seq, render, occasion)
    WHERE outcome IN ('delivered', 'delivered_equal', 'deleted', 'kept');

-- A change of settings gets a new txid (workers find it whatever the order of commits) and, when it changes where or
-- under which name files lie, a new render: everything is owed again. What the senders write here is no setting.
CREATE OR REPLACE FUNCTION delivery_assignment_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    runtime CONSTANT text[] := '{failures,next_try,last_error,refusal_lasts,changed_at,txid}';
BEGIN
    IF to_jsonb(NEW) - runtime IS DISTINCT FROM to_jsonb(OLD) - runtime THEN
        NEW.txid := pg_current_xact_id();
        NEW.changed_at := clock_timestamp();
    END IF;
    IF (NEW.transport, NEW.host, NEW.port, NEW.folder, NEW.name_template)
       IS DISTINCT FROM (OLD.transport, OLD.host, OLD.port, OLD.folder, OLD.name_template) THEN
        NEW.render := greatest(NEW.render, OLD.render + 1);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER delivery_assignment_changed BEFORE UPDATE ON delivery_assignment
    FOR EACH ROW EXECUTE FUNCTION delivery_assignment_changed();

-- A client that is switched on or off, or renamed, is a change of all its destinations.
CREATE OR REPLACE FUNCTION delivery_client_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE delivery_assignment SET txid = pg_current_xact_id() WHERE client_id = NEW.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER delivery_client_changed AFTER UPDATE ON delivery_client
    FOR EACH ROW EXECUTE FUNCTION delivery_client_changed();

-- What every destination that is on is owed: the newest version of each file that it wants, where that is newer than
-- what is proven. Versions are compared as (epoch, seq, render).
CREATE OR REPLACE VIEW delivery_owed AS
SELECT a.id AS assignment_id, c.code AS client, a.name AS destination, d.doc_key,
       d.epoch, d.seq, a.render, d.changed_at, d.retired_at IS NOT NULL AS is_retired,
       s.sent_epoch, s.sent_seq, s.sent_render, s.failures, s.next_try, s.last_error
FROM delivery_assignment a
JOIN delivery_client c ON c.id = a.client_id AND c.is_on
JOIN feed_document d ON (a.events IS NULL OR d.event = ANY (a.events))
                    AND (a.feed_types IS NULL OR d.feed_type = ANY (a.feed_types))
LEFT JOIN delivery_state s ON s.assignment_id = a.id AND s.doc_key = d.doc_key
WHERE a.is_on
  AND (coalesce(s.sent_epoch, 0), coalesce(s.sent_seq, 0), coalesce(s.sent_render, 0)) < (d.epoch, d.seq, a.render);

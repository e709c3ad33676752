-- Files: definitions, dirty marks, documents, versions, dependencies (design 7).

-- A definition is a row: `body_sql` is one SELECT giving (body json/text, deps text[]) with $1 = event code and $2 = filter
-- ('' = none), deps being 'kind:id' of what it read; `keys_sql` gives the filters ('' = none) that exist for event $1.
CREATE TABLE IF NOT EXISTS feed_definition (
    feed_type     text PRIMARY KEY CHECK (feed_type ~ '^[a-z0-9_-]+$'),
    resolver      text NOT NULL DEFAULT 'sql',
    body_sql      text,
    keys_sql      text,
    content_type  text NOT NULL DEFAULT 'application/json',
    volatile_pointers text[] NOT NULL DEFAULT '{}',     -- JSON Pointers left out of the content hash
    quiet_ms      integer NOT NULL DEFAULT 1000 CHECK (quiet_ms >= 0),
    quiet_ms_max  integer NOT NULL DEFAULT 3000 CHECK (quiet_ms_max >= 0),
    is_on         boolean NOT NULL DEFAULT true,
    updated_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE IF NOT EXISTS feed_dirty (
    doc_key     text PRIMARY KEY,
    gen         bigint NOT NULL DEFAULT 1,
    first_touch timestamptz NOT NULL,       -- oldest change not yet built
    last_touch  timestamptz NOT NULL,       -- newest change that marked the file; becomes changed_at
    marked_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    not_before  timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures    integer NOT NULL DEFAULT 0,
    last_error  text,
    claim_xmin  xid8,                       -- lower bound of a running build's snapshot; trimming spares from it on
    claimed_by  text,
    reason      text NOT NULL DEFAULT 'touch'
);

-- One row per file, the newest version. The body is gzip, stored as it is: compressing again costs and gains nothing.
CREATE TABLE IF NOT EXISTS feed_document (
    doc_key       text PRIMARY KEY,
    event         text NOT NULL,
    feed_type     text NOT NULL,
    filter        text NOT NULL DEFAULT '',
    body_gz       bytea NOT NULL,
    body_bytes    bigint NOT NULL,
    content_type  text NOT NULL,
    content_hash  bytea NOT NULL,           -- sha256 of the body without its volatile members
    body_hash     bytea NOT NULL,           -- sha256 of the plain bytes
    changed_at    timestamptz NOT NULL,
    last_modified timestamptz NOT NULL,     -- whole seconds, strictly grows
    epoch         bigint NOT NULL,
    seq           bigint NOT NULL,
    txid          xid8 NOT NULL DEFAULT pg_current_xact_id(),
    retired_at    timestamptz,
    built_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE feed_document ALTER COLUMN body_gz SET STORAGE EXTERNAL;
CREATE INDEX IF NOT EXISTS feed_document_txid ON feed_document (txid);
CREATE INDEX IF NOT EXISTS feed_document_event ON feed_document (event, feed_type);

CREATE TABLE IF NOT EXISTS feed_version (
    doc_key      text NOT NULL,
    epoch        bigint NOT NULL,
    seq          bigint NOT NULL,
    content_hash bytea NOT NULL,
    body_hash    bytea NOT NULL,
    body_gz      bytea NOT NULL,
    body_bytes   bigint NOT NULL,
    changed_at   timestamptz NOT NULL,
    is_retired   boolean NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (doc_key, epoch, seq)
);
ALTER TABLE feed_version ALTER COLUMN body_gz SET STORAGE EXTERNAL;

CREATE TABLE IF NOT EXISTS feed_dependency (
    record_kind text NOT NULL,
    record_id   text NOT NULL,
    doc_key     text NOT NULL,
    PRIMARY KEY (record_kind, record_id, doc_key)
);
CREATE INDEX IF NOT EXISTS feed_dependency_doc ON feed_dependency (doc_key);

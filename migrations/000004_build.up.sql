-- Files: definitions, dirty marks, documents, versions, dependencies (design 7).

-- A definition is a row: `body_sql` is one SELECT giving (body json/text, deps text[]) with $1 = event code and $2 = filter
-- ('' = none), deps being 'kind:id' of what it read; `keys_sql` gives the filters ('' = none) that exist for event $1, and
-- without it every event has one file of this type. docs/feeds.md tells how to write one.
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

-- A definition's edit is a touch: whoever edits it, by whatever means, its files are built and enumerated again.
CREATE OR REPLACE FUNCTION ftl_feed_definition_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN PERFORM ftl_touch('definition', OLD.feed_type); END IF;
    IF TG_OP = 'INSERT' OR (TG_OP = 'UPDATE' AND NEW.feed_type <> OLD.feed_type) THEN
        PERFORM ftl_touch('definition', NEW.feed_type);
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER feed_definition_changed AFTER INSERT OR UPDATE OR DELETE ON feed_definition
    FOR EACH ROW EXECUTE FUNCTION ftl_feed_definition_changed();

-- The files that exist, as the enumerating SELECT last said. A file that is not listed is retired by its next build.
CREATE TABLE IF NOT EXISTS feed_key (
    doc_key   text PRIMARY KEY,
    event     text NOT NULL,
    feed_type text NOT NULL,
    filter    text NOT NULL DEFAULT '',
    since     timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS feed_key_type ON feed_key (feed_type, event);

-- What has to be built. A row whose doc_key ends in `/*` is no file: it says that the files of that event and type have
-- to be enumerated, and goes through the same steps.
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
    first_since_claim timestamptz,          -- oldest change that came during the running build
    abandoned   integer NOT NULL DEFAULT 0, -- claims in a row whose builder died; from the third on there is a back-off
    reason      text NOT NULL DEFAULT 'touch'
);
CREATE INDEX IF NOT EXISTS feed_dirty_first_touch ON feed_dirty (first_touch, doc_key COLLATE "C");

-- When a dirty file is to be built: after quiet_ms without a touch, at most quiet_ms_max after the first one, and not
-- before its back-off is over. A touch from the future means that Postgres's clock was set back, by hand or by a
-- fail-over: then waiting would be without bound, so nothing is waited for.
CREATE OR REPLACE FUNCTION ftl_due_at(first_touch timestamptz, last_touch timestamptz, not_before timestamptz,
                                      quiet_ms integer, quiet_ms_max integer, at timestamptz)
RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT greatest(not_before,
                    CASE WHEN last_touch > at THEN at
                         ELSE least(last_touch + quiet_ms * interval '1 ms', first_touch + quiet_ms_max * interval '1 ms')
                    END)
$$;

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
    built_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    audited_at    timestamptz NOT NULL DEFAULT clock_timestamp()   -- when a rebuild last proved that no touch was missing
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

-- The role under which definitions' SELECTs run: it can read the schema feed_data and nothing else of ours. Roles belong
-- to the cluster, so another database may be making it at the same moment.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ftl_feed_reader') THEN
        CREATE ROLE ftl_feed_reader NOLOGIN;
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;
    WHEN insufficient_privilege THEN
        RAISE EXCEPTION 'role ftl_feed_reader is missing and % may not create it', current_user
            USING HINT = format('A superuser runs: CREATE ROLE ftl_feed_reader NOLOGIN; GRANT ftl_feed_reader TO %I;', current_user);
END $$;

-- A SELECT that releases the build's advisory lock, or sets the role back, would undo the fences around it. These
-- functions belong to the superuser; where the migration is run by somebody else the check of the lock before each
-- commit is what remains (docs/adr/).
DO $$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN
        SELECT oid::regprocedure FROM pg_proc
        WHERE pronamespace = 'pg_catalog'::regnamespace AND (proname ~ '^pg_(try_)?advisory_' OR proname = 'set_config')
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', routine);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO CURRENT_USER', routine);
    END LOOP;
EXCEPTION
    WHEN insufficient_privilege THEN
        RAISE NOTICE '% may not revoke the advisory functions and set_config from PUBLIC; a superuser should', current_user;
END $$;

CREATE SCHEMA IF NOT EXISTS feed_data;
GRANT USAGE ON SCHEMA feed_data TO ftl_feed_reader;

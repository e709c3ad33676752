-- The outbox: insert-only, read by the snapshot a consumer keeps (design 6).

CREATE TABLE IF NOT EXISTS outbox (
    id          bigint GENERATED ALWAYS AS IDENTITY,
    txid        xid8 NOT NULL DEFAULT pg_current_xact_id(),
    record_kind text NOT NULL,
    record_id   text NOT NULL,
    event       text,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    payload     jsonb
);
CREATE INDEX IF NOT EXISTS outbox_txid_id ON outbox (txid, id);

-- A row that is changed keeps the xid of the transaction that inserted it: readers that are past it would never learn of
-- the change.
CREATE OR REPLACE FUNCTION ftl_outbox_insert_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of outbox are never updated' USING HINT = 'Insert another one: SELECT ftl_touch(kind, id, event)';
END $$;
CREATE OR REPLACE TRIGGER outbox_insert_only BEFORE UPDATE ON outbox
    FOR EACH STATEMENT EXECUTE FUNCTION ftl_outbox_insert_only();

-- `snap` is the last completed snapshot; `upto`, `after_txid`, `after_id` are the open window while it is paged.
CREATE TABLE IF NOT EXISTS outbox_cursor (
    consumer          text PRIMARY KEY,
    system_identifier bigint NOT NULL,
    snap              pg_snapshot NOT NULL,
    upto              pg_snapshot,
    after_txid        xid8,
    after_id          bigint,
    moved_at          timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Marks a record as changed, in the writer's own transaction. A touch of a member also touches its collection
-- (`event:CODE`): a fixture that goes in play is neither new nor removed, yet a list of live fixtures must learn of it.
-- Postgres refuses NOTIFY in a transaction that is prepared: such writers SET ftl.notify = off and are found by the poll.
CREATE OR REPLACE FUNCTION ftl_touch(kind text, id text, event text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO outbox (record_kind, record_id, event) VALUES (kind, id, event);
    IF event IS NOT NULL AND NOT (kind = 'event' AND id = event) THEN
        INSERT INTO outbox (record_kind, record_id, event) VALUES ('event', event, event);
    END IF;
    IF coalesce(current_setting('ftl.notify', true), '') <> 'off' THEN
        -- A constant payload is folded to one notification per transaction.
        PERFORM pg_notify('ftl_outbox', '');
    END IF;
END $$;

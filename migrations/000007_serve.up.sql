-- Who may pull which files (design 9). The key itself is nowhere: only its SHA-256.

CREATE TABLE IF NOT EXISTS client_key (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    client_id  bigint NOT NULL REFERENCES delivery_client,
    key_hash   bytea NOT NULL UNIQUE CHECK (length(key_hash) = 32),
    label      text,                                -- what its owner calls it
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text NOT NULL,
    expires_at timestamptz,                         -- NULL = never
    revoked_at timestamptz,
    revoked_by text,
    reason     text,                                -- why it was revoked
    CHECK ((revoked_at IS NULL) = (revoked_by IS NULL) AND (revoked_at IS NULL) = (reason IS NULL))
);
CREATE INDEX IF NOT EXISTS client_key_client ON client_key (client_id);

-- What a client may pull: the union of its rows. A client without a row may pull nothing.
CREATE TABLE IF NOT EXISTS client_entitlement (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    client_id  bigint NOT NULL REFERENCES delivery_client,
    events     text[],                              -- NULL = all
    feed_types text[],                              -- NULL = all
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text NOT NULL,
    CHECK (array_position(events, NULL) IS NULL AND array_position(feed_types, NULL) IS NULL)
);
CREATE INDEX IF NOT EXISTS client_entitlement_client ON client_entitlement (client_id);

-- Whatever changes what a key opens says so in its own transaction, by whatever means it is changed. The payload is
-- constant, so that Postgres folds the calls of one transaction. It is a hint: servers poll as well.
CREATE OR REPLACE FUNCTION ftl_keys_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('ftl_keys', '');
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER client_key_changed AFTER INSERT OR UPDATE OR DELETE ON client_key
    FOR EACH STATEMENT EXECUTE FUNCTION ftl_keys_changed();
CREATE OR REPLACE TRIGGER client_entitlement_changed AFTER INSERT OR UPDATE OR DELETE ON client_entitlement
    FOR EACH STATEMENT EXECUTE FUNCTION ftl_keys_changed();
CREATE OR REPLACE TRIGGER delivery_client_keys_changed AFTER UPDATE OF is_on OR DELETE ON delivery_client
    FOR EACH STATEMENT EXECUTE FUNCTION ftl_keys_changed();
CREATE OR REPLACE TRIGGER event_keys_changed AFTER INSERT OR UPDATE OF code OR DELETE ON event
    FOR EACH STATEMENT EXECUTE FUNCTION ftl_keys_changed();
CREATE OR REPLACE TRIGGER feed_definition_keys_changed AFTER INSERT OR UPDATE OF feed_type, is_on OR DELETE ON feed_definition
    FOR EACH STATEMENT EXECUTE FUNCTION ftl_keys_changed();

-- The role ftl_feed_reader stays: other databases of the cluster may use it.
DROP SCHEMA IF EXISTS feed_data CASCADE;
DROP TABLE IF EXISTS feed_dependency, feed_version, feed_document, feed_dirty, feed_key, feed_definition;
DROP FUNCTION IF EXISTS ftl_feed_definition_changed();
DROP FUNCTION IF EXISTS ftl_due_at(timestamptz, timestamptz, timestamptz, integer, integer, timestamptz);
DO $$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN
        SELECT oid::regprocedure FROM pg_proc
        WHERE pronamespace = 'pg_catalog'::regnamespace AND (proname ~ '^pg_(try_)?advisory_' OR proname = 'set_config')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', routine);
    END LOOP;
EXCEPTION
    WHEN insufficient_privilege THEN NULL;
END $$;

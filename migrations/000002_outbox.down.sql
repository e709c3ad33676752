DROP FUNCTION IF EXISTS ftl_touch(text, text, text);
DROP TABLE IF EXISTS outbox_cursor, outbox;
DROP FUNCTION IF EXISTS ftl_outbox_insert_only();

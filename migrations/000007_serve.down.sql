DROP TRIGGER IF EXISTS feed_definition_keys_changed ON feed_definition;
DROP TRIGGER IF EXISTS event_keys_changed ON event;
DROP TRIGGER IF EXISTS delivery_client_keys_changed ON delivery_client;
DROP TABLE IF EXISTS client_entitlement, client_key;
DROP FUNCTION IF EXISTS ftl_keys_changed;

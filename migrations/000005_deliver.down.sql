DROP VIEW IF EXISTS delivery_owed;
DROP TABLE IF EXISTS delivery_attempt, delivery_state, delivery_owner, delivery_credential, delivery_assignment, delivery_client;
DROP FUNCTION IF EXISTS delivery_assignment_changed, delivery_client_changed;

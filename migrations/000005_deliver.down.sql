DROP TABLE IF EXISTS delivery_attempt, delivery_state, delivery_owner, delivery_credential, delivery_assignment, delivery_client;

DROP SEQUENCE IF EXISTS version_seq;
DROP TABLE IF EXISTS audit_log, alert, lease, cluster_epoch;

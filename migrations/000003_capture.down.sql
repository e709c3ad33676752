DROP VIEW IF EXISTS match_event_current;
DROP TABLE IF EXISTS price_tick, instrument_bump, event_bump_log, event_quarantine, match_event_revision, match_events,
    bump_rule, instrument, fixture, player, participant, event;
DROP SEQUENCE IF EXISTS capture_ticket;

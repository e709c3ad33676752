DELETE FROM feed_definition WHERE feed_type IN ('calendar', 'timeline', 'scorers', 'standings');
DROP VIEW IF EXISTS feed_data.match_event, feed_data.fixture, feed_data.player, feed_data.team, feed_data.event;
ALTER TABLE event DROP CONSTRAINT IF EXISTS event_tie_break_known;

UPDATE feed_definition SET body_sql = replace(body_sql, 'SELECT f.item AS fixture, f.is_score_explained,', 'SELECT f.item AS fixture,')
WHERE feed_type = 'timeline';

DROP VIEW feed_data.fixture;
CREATE VIEW feed_data.fixture AS
SELECT f.id AS fixture_id, f.event_id, f.provider_id, f.kickoff, f.state, f.is_terminal, f.has_started,
       nullif(f.group_name, '') AS group_name, f.round_name, f.stage_name,
       f.home_id, f.away_id, h.provider_id AS home_provider_id, a.provider_id AS away_provider_id, h.name AS home, a.name AS away,
       s.home_score, s.away_score, f.home_shootout, f.away_shootout,
       (SELECT row_to_json(x) FROM (
            SELECT f.provider_id AS id, to_char(f.kickoff AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS kickoff, f.state,
                   nullif(f.group_name, '') AS "group", nullif(f.round_name, '') AS round,
                   (SELECT row_to_json(t) FROM (SELECT h.name) t) AS home, (SELECT row_to_json(t) FROM (SELECT a.name) t) AS away,
                   CASE WHEN s.home_score IS NOT NULL AND s.away_score IS NOT NULL THEN
                       (SELECT row_to_json(t) FROM (SELECT s.home_score AS home, s.away_score AS away) t) END AS score,
                   CASE WHEN f.home_shootout IS NOT NULL AND f.away_shootout IS NOT NULL THEN
                       (SELECT row_to_json(t) FROM (SELECT f.home_shootout AS home, f.away_shootout AS away) t) END AS shootout
       ) x) AS item
FROM public.fixture f
LEFT JOIN public.participant h ON h.id = f.home_id
LEFT JOIN public.participant a ON a.id = f.away_id
-- Providers send 0:0 before the start. An awarded match has a score although it never started.
CROSS JOIN LATERAL (SELECT CASE WHEN f.has_started OR f.is_terminal THEN f.home_score END AS home_score,
                           CASE WHEN f.has_started OR f.is_terminal THEN f.away_score END AS away_score) s
WHERE f.state <> 'DELETED';

GRANT SELECT ON feed_data.fixture TO ftl_feed_reader;

ALTER TABLE match_events DROP COLUMN IF EXISTS verdict;
ALTER TABLE match_event_revision DROP COLUMN IF EXISTS verdict;
ALTER TABLE fixture DROP COLUMN IF EXISTS has_open_questions, DROP COLUMN IF EXISTS is_score_explained,
    DROP COLUMN IF EXISTS over_at;
DROP TABLE IF EXISTS match_event_absence, match_event_reissue;

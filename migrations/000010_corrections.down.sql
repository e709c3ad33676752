UPDATE feed_definition
SET body_sql = replace(body_sql, 'SELECT f.item AS fixture,
           (SELECT c.is_score_explained FROM score_check c WHERE c.fixture_id = f.fixture_id) AS is_score_explained,',
                       'SELECT f.item AS fixture,')
WHERE feed_type = 'timeline';
DROP VIEW IF EXISTS feed_data.score_check;

ALTER TABLE match_events DROP COLUMN IF EXISTS verdict;
ALTER TABLE match_event_revision DROP COLUMN IF EXISTS verdict;
ALTER TABLE fixture DROP COLUMN IF EXISTS has_open_questions, DROP COLUMN IF EXISTS is_score_explained,
    DROP COLUMN IF EXISTS over_at;
DROP TABLE IF EXISTS match_event_absence, match_event_reissue;

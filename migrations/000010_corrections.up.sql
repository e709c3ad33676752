-- What the provider changes later (design 5): removals, which show only by comparison, and happenings that it issues again
-- under another id.

-- Ids under which a happening was issued again. Parted: both ids were there at once, so they were two happenings.
CREATE TABLE IF NOT EXISTS match_event_reissue (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    match_event_id    bigint NOT NULL REFERENCES match_events,
    provider_event_id bigint NOT NULL,
    standing          text NOT NULL DEFAULT 'provisional' CHECK (standing IN ('provisional', 'confirmed', 'parted')),
    ticket            bigint NOT NULL,
    seen_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    settled_at        timestamptz,
    UNIQUE (match_event_id, provider_event_id)
);

-- Events that complete answers in a row did not have, and that nothing has settled yet.
CREATE TABLE IF NOT EXISTS match_event_absence (
    match_event_id bigint PRIMARY KEY REFERENCES match_events,
    answers        integer NOT NULL,
    since          timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What a row of the video referee says: under_review, takes_back, confirms; NULL: nothing that we know.
ALTER TABLE match_events ADD COLUMN IF NOT EXISTS verdict text;
ALTER TABLE match_event_revision ADD COLUMN IF NOT EXISTS verdict text;

ALTER TABLE fixture
    -- Absences or reissues that are not settled: every answer is looked at, and the fixture is read by id.
    ADD COLUMN IF NOT EXISTS has_open_questions boolean NOT NULL DEFAULT false,
    -- By the provider's clock: a terminal state and a quiet time later. Until then late events are bumped. NULL: not
    -- terminal, or terminal at a time that the provider did not tell, which counts as over.
    ADD COLUMN IF NOT EXISTS over_at timestamptz,
    -- Do its goals add up to its score? The two are written by different hands. NULL: one of them is not known.
    ADD COLUMN IF NOT EXISTS is_score_explained boolean;

CREATE INDEX IF NOT EXISTS fixture_over ON fixture (provider, over_at) WHERE over_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS fixture_questions ON fixture (provider) WHERE has_open_questions;

CREATE OR REPLACE VIEW feed_data.fixture AS
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
       ) x) AS item,
       f.is_score_explained
FROM public.fixture f
LEFT JOIN public.participant h ON h.id = f.home_id
LEFT JOIN public.participant a ON a.id = f.away_id
-- Providers send 0:0 before the start. An awarded match has a score although it never started.
CROSS JOIN LATERAL (SELECT CASE WHEN f.has_started OR f.is_terminal THEN f.home_score END AS home_score,
                           CASE WHEN f.has_started OR f.is_terminal THEN f.away_score END AS away_score) s
WHERE f.state <> 'DELETED';

-- Whoever changed the definition and does not show the fixture as we do keeps what they have.
UPDATE feed_definition
SET body_sql = replace(body_sql, 'SELECT f.item AS fixture,', 'SELECT f.item AS fixture, f.is_score_explained,')
WHERE feed_type = 'timeline' AND body_sql NOT LIKE '%is_score_explained%';

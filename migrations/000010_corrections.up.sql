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

-- A view of its own: a view that an earlier migration makes cannot be given more columns and still be made again by it.
CREATE OR REPLACE VIEW feed_data.score_check AS
SELECT id AS fixture_id, is_score_explained FROM public.fixture;
GRANT SELECT ON feed_data.score_check TO ftl_feed_reader;

-- Whoever changed the definition and does not show the fixture as we do keeps what they have.
UPDATE feed_definition
SET body_sql = replace(body_sql, 'SELECT f.item AS fixture,', 'SELECT f.item AS fixture,
           (SELECT c.is_score_explained FROM score_check c WHERE c.fixture_id = f.fixture_id) AS is_score_explained,')
WHERE feed_type = 'timeline' AND body_sql NOT LIKE '%is_score_explained%';

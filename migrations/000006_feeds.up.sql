-- What feeds are made of (schema feed_data, the only thing that a definition's SELECT can read) and the four feeds that
-- come with the product. docs/feeds.md has every field.

-- Words of event.tie_break. An unknown one is refused here rather than skipped in a table that somebody is paid by.
DO $$
BEGIN
    ALTER TABLE event ADD CONSTRAINT event_tie_break_known
        CHECK (tie_break <@ '{points,goal_difference,goals_for,wins,head_to_head,team}'::text[]);
EXCEPTION
    WHEN duplicate_object THEN NULL;
END $$;

CREATE OR REPLACE VIEW feed_data.event AS
SELECT id AS event_id, code, name, provider, tie_break FROM public.event;

CREATE OR REPLACE VIEW feed_data.team AS
SELECT id AS team_id, provider, provider_id, name FROM public.participant;

CREATE OR REPLACE VIEW feed_data.player AS
SELECT id AS player_id, provider, provider_id, name, participant_id AS team_id FROM public.player;

-- Fixtures that the provider deleted (entered by mistake) are not fixtures any more. `item` is how every feed shows one.
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
       ) x) AS item
FROM public.fixture f
LEFT JOIN public.participant h ON h.id = f.home_id
LEFT JOIN public.participant a ON a.id = f.away_id
-- Providers send 0:0 before the start. An awarded match has a score although it never started.
CROSS JOIN LATERAL (SELECT CASE WHEN f.has_started OR f.is_terminal THEN f.home_score END AS home_score,
                           CASE WHEN f.has_started OR f.is_terminal THEN f.away_score END AS away_score) s
WHERE f.state <> 'DELETED';

-- `team` is whom the event counts for: the side whose score grew for goals, else the provider's participant.
CREATE OR REPLACE VIEW feed_data.match_event AS
SELECT m.fixture_id, m.provider_event_id, m.type_id, m.type, m.minute, m.extra_minute, m.team_side, m.participant_id,
       CASE m.team_side WHEN 'home' THEN h.id WHEN 'away' THEN a.id ELSE m.participant_id END AS team_id,
       CASE m.team_side WHEN 'home' THEN h.name WHEN 'away' THEN a.name ELSE p.name END AS team,
       m.player_id, m.player_name AS player, m.assist_player_id, m.assist_name AS assist, m.result
FROM public.match_event_current m
JOIN public.fixture f ON f.id = m.fixture_id AND f.provider = m.provider  -- As in the key of match_events.
LEFT JOIN public.participant h ON h.id = f.home_id
LEFT JOIN public.participant a ON a.id = f.away_id
LEFT JOIN public.participant p ON p.id = m.participant_id;

GRANT SELECT ON ALL TABLES IN SCHEMA feed_data TO ftl_feed_reader;

-- Names are compared by code point (COLLATE "C"): a database's own collation differs from machine to machine, and with
-- it the bytes of a file. Our own row numbers are in no file and decide no order: they differ from run to run.

INSERT INTO feed_definition (feed_type, body_sql) VALUES ('calendar', $sql$
SELECT row_to_json(doc) AS body, ARRAY['event:' || doc.event] AS deps
FROM (
    SELECT e.code AS event,
           coalesce((SELECT array_to_json(array_agg(f.item ORDER BY f.kickoff NULLS LAST, f.provider_id))
                     FROM fixture f WHERE f.event_id = e.event_id), '[]') AS fixtures
    FROM event e WHERE e.code = $1
) doc
$sql$) ON CONFLICT DO NOTHING;

-- Newest first: minute (unknown ones last), added time (none = 0), the provider's id.
INSERT INTO feed_definition (feed_type, keys_sql, body_sql) VALUES ('timeline', $sql$
SELECT f.provider_id::text FROM fixture f JOIN event e USING (event_id) WHERE e.code = $1 AND f.has_started
$sql$, $sql$
SELECT row_to_json(doc) AS body,
       array_remove(ARRAY['fixture:' || f.provider_id, 'team:' || f.home_provider_id, 'team:' || f.away_provider_id], NULL) AS deps
FROM fixture f JOIN event e USING (event_id)
CROSS JOIN LATERAL (
    SELECT f.item AS fixture,
           coalesce((SELECT array_to_json(array_agg(row_to_json(x) ORDER BY m.minute DESC NULLS LAST,
                                                    coalesce(m.extra_minute, 0) DESC, m.provider_event_id DESC))
                     FROM match_event m
                     CROSS JOIN LATERAL (SELECT m.type, m.minute, m.extra_minute, m.team, m.player, m.assist) x
                     WHERE m.fixture_id = f.fixture_id), '[]') AS events
) doc
WHERE e.code = $1 AND f.provider_id = $2::text::bigint
$sql$) ON CONFLICT DO NOTHING;

-- Most goals first, then fewer penalties among them, then by name. 14 = goal, 16 = penalty; own goals count for nobody,
-- kicks of a shoot-out are no goals.
INSERT INTO feed_definition (feed_type, body_sql) VALUES ('scorers', $sql$
SELECT row_to_json(doc) AS body, ARRAY['event:' || $1] AS deps
FROM (
    SELECT coalesce(array_to_json(array_agg(row_to_json(x) ORDER BY s.goals DESC, s.penalties, s.player COLLATE "C",
                                            s.team COLLATE "C", s.provider_id)), '[]') AS scorers
    FROM (
        SELECT coalesce(min(p.name), min(m.player COLLATE "C")) AS player, min(m.team) AS team, p.provider_id,
               count(*) AS goals, count(*) FILTER (WHERE m.type_id = 16) AS penalties
        FROM match_event m
        JOIN fixture f USING (fixture_id) JOIN event e USING (event_id)
        LEFT JOIN player p ON p.player_id = m.player_id
        WHERE e.code = $1 AND m.type_id IN (14, 16) AND (m.player_id IS NOT NULL OR m.player IS NOT NULL)
        -- A scorer whom the provider gave no id is told from others by name and team.
        GROUP BY p.provider_id, m.team_id, CASE WHEN p.provider_id IS NULL THEN m.player END
    ) s
    CROSS JOIN LATERAL (SELECT s.player, s.team, s.goals, s.penalties) x
) doc
$sql$) ON CONFLICT DO NOTHING;

-- Group matches with a final result. The order is event.tie_break: its words in turn, each "more is better"; `team` (by
-- name) decides at last. `head_to_head` compares points, goal difference and goals of the matches among those who are
-- equal in all words before it.
INSERT INTO feed_definition (feed_type, body_sql) VALUES ('standings', $sql$
WITH e AS (
    SELECT event_id, tie_break[:coalesce(array_position(tie_break, 'team') - 1, cardinality(tie_break))] AS words
    FROM event WHERE code = $1
), game AS (
    SELECT f.* FROM fixture f JOIN e USING (event_id) WHERE f.group_name IS NOT NULL
), side AS (
    SELECT s.* FROM game g
    CROSS JOIN LATERAL (VALUES (g.group_name, g.home_id, g.away_id, g.home_score, g.away_score),
                               (g.group_name, g.away_id, g.home_id, g.away_score, g.home_score))
        s (group_name, team_id, opponent_id, scored, conceded)
    WHERE g.state IN ('FT', 'AET', 'FT_PEN', 'AWARDED', 'WO') AND g.home_score IS NOT NULL AND g.away_score IS NOT NULL
), member AS (
    SELECT group_name, home_id AS team_id FROM game WHERE home_id IS NOT NULL
    UNION SELECT group_name, away_id FROM game WHERE away_id IS NOT NULL
), line AS (
    SELECT m.group_name, m.team_id, t.name AS team, t.provider_id, count(s.team_id) AS played,
           count(*) FILTER (WHERE s.scored > s.conceded) AS won, count(*) FILTER (WHERE s.scored = s.conceded) AS drawn,
           count(*) FILTER (WHERE s.scored < s.conceded) AS lost,
           coalesce(sum(s.scored), 0) AS goals_for, coalesce(sum(s.conceded), 0) AS goals_against,
           3 * count(*) FILTER (WHERE s.scored > s.conceded) + count(*) FILTER (WHERE s.scored = s.conceded) AS points
    FROM member m JOIN team t USING (team_id) LEFT JOIN side s USING (group_name, team_id)
    GROUP BY m.group_name, m.team_id, t.name, t.provider_id
), valued AS (
    SELECT line.*, words, array_position(words, 'head_to_head') AS direct,
           ARRAY(SELECT CASE w.word WHEN 'points' THEN points WHEN 'goal_difference' THEN goals_for - goals_against
                                    WHEN 'goals_for' THEN goals_for WHEN 'wins' THEN won END
                 FROM unnest(words) WITH ORDINALITY w (word, place) ORDER BY w.place) AS figures
    FROM line CROSS JOIN e
), direct AS (
    SELECT v.group_name, v.team_id,
           ARRAY[3 * count(*) FILTER (WHERE s.scored > s.conceded) + count(*) FILTER (WHERE s.scored = s.conceded),
                 sum(s.scored - s.conceded), sum(s.scored)] AS figures
    FROM valued v
    JOIN valued o ON o.group_name = v.group_name AND o.team_id <> v.team_id AND o.figures[:o.direct - 1] = v.figures[:v.direct - 1]
    JOIN side s ON s.group_name = v.group_name AND s.team_id = v.team_id AND s.opponent_id = o.team_id
    GROUP BY v.group_name, v.team_id
), ranked AS (
    SELECT v.*, CASE WHEN v.direct IS NULL THEN v.figures
                     ELSE v.figures[:v.direct - 1] || coalesce(d.figures, '{0,0,0}') || v.figures[v.direct + 1:] END AS rank
    FROM valued v LEFT JOIN direct d USING (group_name, team_id)
), tables AS (
    SELECT r.group_name, array_to_json(array_agg(row_to_json(x) ORDER BY r.rank DESC, r.team COLLATE "C", r.provider_id)) AS rows
    FROM ranked r
    CROSS JOIN LATERAL (SELECT r.team, r.played, r.won, r.drawn, r.lost, r.goals_for, r.goals_against, r.points) x
    GROUP BY r.group_name
)
SELECT row_to_json(doc) AS body, ARRAY['event:' || $1] AS deps
FROM (
    SELECT coalesce(array_to_json(array_agg(row_to_json(x) ORDER BY t.group_name COLLATE "C")), '[]') AS groups
    FROM tables t CROSS JOIN LATERAL (SELECT t.group_name AS name, t.rows) x
) doc
$sql$) ON CONFLICT DO NOTHING;

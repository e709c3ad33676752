-- Reference data, events and the bump ledger (design 4 and 5). Ids called provider_* are the provider's.

-- A ticket is drawn before a request is sent; it orders the answers of one fixture.
CREATE SEQUENCE IF NOT EXISTS capture_ticket;

CREATE TABLE IF NOT EXISTS event (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    code               text NOT NULL UNIQUE CHECK (code ~ '^[a-z0-9_-]+$'),
    name               text NOT NULL,
    provider           text NOT NULL,
    provider_season_id bigint NOT NULL,
    -- Order of a group's rows: criteria in turn, see docs/feeds.md.
    tie_break          text[] NOT NULL DEFAULT '{points,goal_difference,goals_for,team}',
    created_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (provider, provider_season_id)
);

CREATE TABLE IF NOT EXISTS participant (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider    text NOT NULL,
    provider_id bigint NOT NULL,
    name        text NOT NULL,
    UNIQUE (provider, provider_id)
);

CREATE TABLE IF NOT EXISTS player (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider       text NOT NULL,
    provider_id    bigint NOT NULL,
    name           text NOT NULL,
    participant_id bigint REFERENCES participant,
    UNIQUE (provider, provider_id)
);

CREATE TABLE IF NOT EXISTS fixture (
    id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider            text NOT NULL,
    provider_id         bigint NOT NULL,
    event_id            bigint NOT NULL REFERENCES event,
    home_id             bigint REFERENCES participant,
    away_id             bigint REFERENCES participant,
    kickoff             timestamptz,
    group_name          text,
    round_name          text,
    stage_name          text,
    state_id            integer NOT NULL,
    state               text NOT NULL,              -- the provider's developer name, kept raw when unknown
    is_terminal         boolean NOT NULL DEFAULT false,
    has_started         boolean NOT NULL DEFAULT false,
    home_score          integer,
    away_score          integer,
    home_score_half     integer,
    away_score_half     integer,
    home_shootout       integer,
    away_shootout       integer,
    ticket              bigint NOT NULL DEFAULT 0,  -- of the newest answer that was stored
    digest              bytea,                      -- of the whole normalised fixture of that answer
    is_incomplete       boolean NOT NULL DEFAULT false,  -- an event of the newest answer lies in quarantine
    row_version         bigint NOT NULL DEFAULT 0,  -- grows with every transaction on this fixture
    terminal_at         timestamptz,                -- when a terminal state was first stored
    settled_at          timestamptz,
    updated_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (provider, provider_id)
);
CREATE INDEX IF NOT EXISTS fixture_event ON fixture (event_id);
CREATE INDEX IF NOT EXISTS fixture_open ON fixture (provider, kickoff) WHERE NOT is_terminal;

CREATE TABLE IF NOT EXISTS instrument (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text NOT NULL CHECK (kind IN ('team', 'player')),
    provider    text NOT NULL,
    provider_id bigint NOT NULL,                    -- of the team or the player
    UNIQUE (provider, kind, provider_id)
);

-- role: scorer, own_goal (the player who put it in), assist, team, opponent (the team's own instrument). Amounts are integers in micro units.
CREATE TABLE IF NOT EXISTS bump_rule (
    event_id bigint NOT NULL REFERENCES event,
    type_id  integer NOT NULL,
    role     text NOT NULL CHECK (role IN ('scorer', 'own_goal', 'assist', 'team', 'opponent')),
    micro    bigint NOT NULL,
    PRIMARY KEY (event_id, type_id, role)
);

-- What was first recorded, never updated.
CREATE TABLE IF NOT EXISTS match_events (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider          text NOT NULL,
    fixture_id        bigint NOT NULL REFERENCES fixture,
    provider_event_id bigint NOT NULL,
    type_id           integer NOT NULL,
    type              text NOT NULL,                -- goal, own_goal, penalty, …; type_ID when unknown
    minute            integer,
    extra_minute      integer,                      -- NULL = none (0, "0" and absent too)
    team_side         text CHECK (team_side IN ('home', 'away')),  -- the side whose score grew, for goals
    participant_id    bigint REFERENCES participant,
    player_id         bigint REFERENCES player,
    player_name       text,
    assist_player_id  bigint REFERENCES player,
    assist_name       text,
    result            text,
    source            text NOT NULL CHECK (source IN ('live', 'backfill', 'reconcile', 'postmatch', 'replay')),
    may_bump          boolean NOT NULL,             -- the fixture was not over when the event was first stored
    ticket            bigint NOT NULL,
    content_hash      bytea NOT NULL,               -- of the normalised content, without cosmetic members
    raw_payload       jsonb NOT NULL,
    first_seen_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (provider, fixture_id, provider_event_id)
);

-- What the provider changed later, append-only.
CREATE TABLE IF NOT EXISTS match_event_revision (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    match_event_id   bigint NOT NULL REFERENCES match_events,
    kind             text NOT NULL CHECK (kind IN ('corrected', 'withdrawn', 'reinstated', 'reissued')),
    type_id          integer NOT NULL,
    type             text NOT NULL,
    minute           integer,
    extra_minute     integer,
    team_side        text CHECK (team_side IN ('home', 'away')),
    participant_id   bigint REFERENCES participant,
    player_id        bigint REFERENCES player,
    player_name      text,
    assist_player_id bigint REFERENCES player,
    assist_name      text,
    result           text,
    source           text NOT NULL,
    ticket           bigint NOT NULL,
    content_hash     bytea NOT NULL,
    raw_payload      jsonb NOT NULL,
    seen_at          timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS match_event_revision_event ON match_event_revision (match_event_id, id);

-- What readers use: each event in its newest revision.
CREATE OR REPLACE VIEW match_event_current AS
SELECT e.id, e.provider, e.fixture_id, e.provider_event_id,
       coalesce(r.type_id, e.type_id) AS type_id, coalesce(r.type, e.type) AS type,
       CASE WHEN r.id IS NULL THEN e.minute ELSE r.minute END AS minute,
       CASE WHEN r.id IS NULL THEN e.extra_minute ELSE r.extra_minute END AS extra_minute,
       CASE WHEN r.id IS NULL THEN e.team_side ELSE r.team_side END AS team_side,
       CASE WHEN r.id IS NULL THEN e.participant_id ELSE r.participant_id END AS participant_id,
       CASE WHEN r.id IS NULL THEN e.player_id ELSE r.player_id END AS player_id,
       CASE WHEN r.id IS NULL THEN e.player_name ELSE r.player_name END AS player_name,
       CASE WHEN r.id IS NULL THEN e.assist_player_id ELSE r.assist_player_id END AS assist_player_id,
       CASE WHEN r.id IS NULL THEN e.assist_name ELSE r.assist_name END AS assist_name,
       CASE WHEN r.id IS NULL THEN e.result ELSE r.result END AS result,
       coalesce(r.kind, 'first') AS revision_kind, r.id AS revision_id,
       coalesce(r.content_hash, e.content_hash) AS content_hash,
       e.source, e.may_bump, e.first_seen_at
FROM match_events e
LEFT JOIN LATERAL (SELECT * FROM match_event_revision v WHERE v.match_event_id = e.id ORDER BY v.id DESC LIMIT 1) r ON true
WHERE coalesce(r.kind, 'first') <> 'withdrawn';

-- Payloads that could not be stored, as bytes: nothing that the provider said is lost, nothing alerts twice.
CREATE TABLE IF NOT EXISTS event_quarantine (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider          text NOT NULL,
    provider_fixture_id bigint,
    provider_event_id bigint,
    payload           bytea NOT NULL,
    payload_hash      bytea NOT NULL UNIQUE,
    reason            text NOT NULL,
    first_seen_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The ledger. Under the fixture's lock: wanted minus net of the stored entries, if not 0, is the next entry.
CREATE TABLE IF NOT EXISTS event_bump_log (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider          text NOT NULL,
    fixture_id        bigint NOT NULL REFERENCES fixture,
    provider_event_id bigint NOT NULL,
    instrument_id     bigint NOT NULL REFERENCES instrument,
    role              text NOT NULL,
    entry             integer NOT NULL,
    micro             bigint NOT NULL CHECK (micro <> 0),
    revision_id       bigint REFERENCES match_event_revision,   -- NULL: the event as first recorded
    instrument_seq    bigint NOT NULL,
    after_settlement  boolean NOT NULL DEFAULT false,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (provider, fixture_id, provider_event_id, instrument_id, role, entry)
);

-- Totals stay below 2^53 so that readers in JavaScript or Lua are exact too.
CREATE TABLE IF NOT EXISTS instrument_bump (
    instrument_id bigint PRIMARY KEY REFERENCES instrument,
    seq           bigint NOT NULL DEFAULT 0,
    total         bigint NOT NULL DEFAULT 0 CHECK (total BETWEEN -9007199254740991 AND 9007199254740991),
    epoch         bigint NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS price_tick (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    instrument_id bigint NOT NULL REFERENCES instrument,
    seq           bigint NOT NULL,
    total         bigint NOT NULL,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (instrument_id, seq)
);

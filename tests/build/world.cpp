#include "build/world.hpp"

#include <algorithm>
#include <pqxx/result>
#include <stdexcept>
#include <utility>

#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/store/epoch.hpp>
#include <ftlfeed/store/value.hpp>

#include "support/paths.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

namespace ftl::test {

using namespace ftlfeed;

namespace {

/// A literal, for the test's own constants.
std::string quoted(const std::string& text) {
    std::string literal = "'";
    for (const char c : text) {
        if (c == '\'') literal += '\'';
        literal += c;
    }
    return literal + '\'';
}

std::string or_null(int number) { return number < 0 ? "NULL" : std::to_string(number); }
std::string or_null(const std::string& text) { return text.empty() ? "NULL" : quoted(text); }

/// Longer than any test: what is to be built again is made due by the test.
constexpr build::BuildSettings kLongBackOff{std::chrono::minutes(10), std::chrono::hours(2), 3};

constexpr const char* kRecords = R"(
CREATE TABLE public.rec (id text PRIMARY KEY, grp text NOT NULL, v integer NOT NULL);
CREATE VIEW feed_data.rec AS SELECT id, grp, v FROM public.rec;
GRANT SELECT ON feed_data.rec TO ftl_feed_reader;
)";

constexpr const char* kLive = R"(
SELECT coalesce(json_object_agg(id, v ORDER BY id) FILTER (WHERE v > 0), '{}') AS body,
       coalesce(array_agg('rec:' || id), '{}') AS deps FROM rec WHERE grp = 'g'
)";

}  // namespace

World::World(Feeds feeds) : resolvers_(std::make_shared<build::ResolverRegistry>()) {
    if (feeds == Feeds::kNone) exec("DELETE FROM feed_definition");
    // Tests of the debounce set it themselves.
    exec("UPDATE feed_definition SET quiet_ms = 0, quiet_ms_max = 0");
    exec("INSERT INTO event (code, name, provider, provider_season_id) VALUES ('wc', 'World Cup', 'sportmonks', 1)");
    exec(kRecords);
    auto setup = session();
    (void)store::check_epoch(setup);
    outbox::register_consumer(setup, build::kConsumer);
    touch("event", "wc");
}

store::ConnectionSettings World::connection() const { return settings_of(database_, "build test"); }

void World::define_live() const {
    exec("INSERT INTO rec VALUES ('r1', 'g', 1)");
    define("live", kLive);
}

void World::build_live() const {
    define_live();
    read_outbox();
    settle();
}

void World::define(const std::string& feed_type, const std::string& body_sql, const std::string& keys_sql) const {
    exec("INSERT INTO feed_definition (feed_type, body_sql, keys_sql, quiet_ms, quiet_ms_max) VALUES (" +
         quoted(feed_type) + ", " + quoted(body_sql) + ", " + or_null(keys_sql) + ", 0, 0)");
}

void World::set(const std::string& id, const std::string& group, int value) const {
    exec("INSERT INTO rec VALUES (" + quoted(id) + ", " + quoted(group) + ", " + std::to_string(value) +
         ") ON CONFLICT (id) DO UPDATE SET grp = excluded.grp, v = excluded.v; SELECT ftl_touch('rec', " + quoted(id) +
         ")");
}

void World::set_and_read(const std::string& id, const std::string& group, int value) const {
    set(id, group, value);
    read_outbox();
}

void World::join_live(const std::string& id, int value) const {
    exec("INSERT INTO rec VALUES (" + quoted(id) + ", 'g', " + std::to_string(value) + ")");
    touch("rec", "r1");
    read_outbox();
}

void World::touch(const std::string& kind, const std::string& id) const {
    exec("SELECT ftl_touch(" + quoted(kind) + ", " + quoted(id) + ")");
}

std::size_t World::read_outbox() const {
    auto reading = session();
    outbox::Reader reader(reading, build::kConsumer);
    std::size_t total = 0;
    while (const auto rows = reader.read_page(build::mark)) total += rows;
    return total;
}

std::vector<build::BuildOutcome> World::settle() const {
    auto building = session();
    build::FeedBuilder builder(building, resolvers_, kLongBackOff);
    std::vector<build::BuildOutcome> outcomes;
    do {
        for (auto outcome = builder.build_next(); outcome.result != build::BuildResult::kNothingDue;
             outcome = builder.build_next()) {
            outcomes.push_back(std::move(outcome));
        }
    } while (read_outbox() > 0);
    return outcomes;
}

build::BuildOutcome World::build(build::BuildObserver observer) const {
    auto building = session();
    build::FeedBuilder builder(building, resolvers_, kLongBackOff, std::move(observer));
    return builder.build_next();
}

void World::make_due() const {
    exec(
        "UPDATE feed_dirty SET not_before = clock_timestamp(), first_touch = first_touch - interval '1 hour',"
        " last_touch = last_touch - interval '1 hour'");
}

std::string World::body(const std::string& doc_key) const {
    const auto packed =
        value("SELECT '\\x' || encode(body_gz, 'hex') FROM feed_document WHERE doc_key = " + quoted(doc_key));
    return packed.empty() ? "" : core::gunzip(store::from_bytea(packed), std::size_t{1} << 24U);
}

int World::versions(const std::string& doc_key) const {
    return std::stoi(value("SELECT count(*) FROM feed_version WHERE doc_key = " + quoted(doc_key)));
}

std::vector<std::string> World::dirty() const {
    std::vector<std::string> keys;
    for (const auto& row : exec("SELECT doc_key FROM feed_dirty ORDER BY doc_key COLLATE \"C\"")) {
        keys.push_back(row[0].as<std::string>());
    }
    return keys;
}

void Tournament::play(int id, const Game& game) const {
    const auto team = [&](const std::string& name) {
        // The provider's id from the name, so that the order of insertion does not show.
        world_.exec("INSERT INTO participant (provider, provider_id, name) VALUES ('sportmonks', abs(hashtext(" +
                    quoted(name) + ")::bigint), " + quoted(name) + ") ON CONFLICT DO NOTHING");
        return "(SELECT id FROM participant WHERE name = " + quoted(name) + ")";
    };
    const bool has_started = game.state != "NS" && game.state != "AWARDED" && game.state != "POSTPONED";
    const bool is_terminal =
        game.state == "FT" || game.state == "AET" || game.state == "FT_PEN" || game.state == "AWARDED";
    world_.exec(
        "INSERT INTO fixture (provider, provider_id, event_id, home_id, away_id, kickoff, group_name, round_name,"
        " state_id, state, is_terminal, has_started, home_score, away_score, home_shootout, away_shootout) VALUES"
        " ('sportmonks', " +
        std::to_string(id) + ", (SELECT id FROM event WHERE code = 'wc'), " + team(game.home) + ", " + team(game.away) +
        ", " + quoted(game.kickoff) + ", " + or_null(game.group) + ", " + quoted(game.round) + ", 1, " +
        quoted(game.state) + ", " + (is_terminal ? "true" : "false") + ", " + (has_started ? "true" : "false") + ", " +
        or_null(game.home_score) + ", " + or_null(game.away_score) + ", " + or_null(game.home_shootout) + ", " +
        or_null(game.away_shootout) +
        ") ON CONFLICT (provider, provider_id) DO UPDATE SET kickoff = excluded.kickoff, state = excluded.state,"
        " is_terminal = excluded.is_terminal, has_started = excluded.has_started,"
        " home_score = excluded.home_score, away_score = excluded.away_score,"
        " home_shootout = excluded.home_shootout, away_shootout = excluded.away_shootout;"
        " SELECT ftl_touch('fixture', '" +
        std::to_string(id) + "', 'wc')");
}

void Tournament::happen(const Happening& it) const {
    const auto fixture = "(SELECT id FROM fixture WHERE provider_id = " + std::to_string(it.fixture) + ")";
    const auto side_team =
        "(SELECT " + it.side + "_id FROM fixture WHERE provider_id = " + std::to_string(it.fixture) + ")";
    const auto team =
        it.player_team.empty() ? side_team : "(SELECT id FROM participant WHERE name = " + quoted(it.player_team) + ")";
    const auto player = [&](const std::string& name) -> std::string {
        if (name.empty()) return "NULL";
        world_.exec(
            "INSERT INTO player (provider, provider_id, name, participant_id) VALUES ('sportmonks', abs(hashtext(" +
            quoted(name) + " || (SELECT name FROM participant WHERE id = " + team + "))::bigint), " + quoted(name) +
            ", " + team + ") ON CONFLICT DO NOTHING");
        return "(SELECT id FROM player WHERE name = " + quoted(name) + " AND participant_id = " + team + ")";
    };
    const auto scorer = player(it.player);
    const auto assist = player(it.assist);
    world_.exec(
        "INSERT INTO match_events (provider, fixture_id, provider_event_id, type_id, type, minute, extra_minute,"
        " team_side, participant_id, player_id, player_name, assist_player_id, assist_name, source, may_bump, ticket,"
        " content_hash, raw_payload) VALUES ('sportmonks', " +
        fixture + ", " + std::to_string(it.id) + ", " + std::to_string(it.type_id) + ", " + quoted(it.type) + ", " +
        it.minute + ", " + it.extra_minute + ", " + quoted(it.side) + ", " + team + ", " + scorer + ", " +
        or_null(it.player) + ", " + assist + ", " + or_null(it.assist) +
        ", 'live', true, 1, '', '{}'); SELECT ftl_touch('fixture', '" + std::to_string(it.fixture) + "', 'wc')");
}

build::BuildObserver at(build::BuildStep step, std::function<void()> work) {
    return [step, work = std::move(work), is_done = false](build::BuildStep now, const std::string&) mutable {
        if (now != step || is_done) return;
        is_done = true;
        work();
    };
}

ProcessEnd build_in_child(const World& world, int step) {
    Process child({binary_dir() / "tests" / "build_child", world.uri(), std::to_string(step)});
    const auto end = child.wait();
    if (!end) throw std::runtime_error("build_child does not end");
    if (!wait_until([&] { return advisory_locks(world) == 0; })) throw std::runtime_error("its locks do not go away");
    return *end;
}

ProcessEnd build_in_child(const World& world, build::BuildStep step) {
    return build_in_child(world, static_cast<int>(step));
}

int advisory_locks(const World& world) {
    return std::stoi(
        world.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database ="
                    " (SELECT oid FROM pg_database WHERE datname = current_database())"));
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace ftl::test

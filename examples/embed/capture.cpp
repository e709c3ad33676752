// Stores what a provider of your own says of a match: exactly once, however often and in whatever order it is handed
// over. docs/embed/capture.md
#include <ftlfeed/capture/ingest.hpp>
#include <ftlfeed/store/migrator.hpp>

#include <iostream>
#include <pqxx/pqxx>

namespace capture = ftlfeed::capture;

namespace {

/// A goal in the 23rd minute, as your own parser would give it. Ids are the provider's.
capture::FixtureSnapshot match() {
    capture::FixtureSnapshot match;
    match.id = 501;
    match.season_id = 7;
    match.home = capture::NamedRef{11, "Home"};
    match.away = capture::NamedRef{12, "Away"};
    match.state_id = 2;
    match.state = "INPLAY_1ST_HALF";
    match.has_started = true;
    match.score = capture::Score{1, 0};
    match.has_event_list = true;
    capture::EventSnapshot goal;
    goal.id = 9001;
    goal.type_id = 14;
    goal.minute = 23;
    goal.participant_id = 11;
    goal.player = capture::NamedRef{77, "Ana Scorer"};
    goal.result = capture::Score{1, 0};
    goal.raw = R"({"id": 9001})";
    match.events = {goal};
    return match;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: capture POSTGRES_URI\n";
        return 2;
    }
    ftlfeed::store::ConnectionSettings connection;
    connection.uri = argv[1];
    ftlfeed::store::Session session(connection);
    ftlfeed::store::Migrator(session).up();
    // Which seasons are ours, and what a goal is worth: `ftlctl event add` and `ftlctl event rule set` do the same.
    session.write([](pqxx::transaction_base& tx) {
        tx.exec("INSERT INTO event (code, name, provider, provider_season_id) VALUES ('demo', 'Demo', 'mine', 7)");
        tx.exec("INSERT INTO bump_rule SELECT id, 14, 'scorer', 250000 FROM event WHERE code = 'demo'");
    });

    const capture::Ingest ingest("mine");
    for (int i = 0; i < 2; ++i) {
        const auto ticket = capture::draw_ticket(session);  // Before the provider is asked: it orders the answers.
        const auto result = ingest.store(session, match(), {ticket, capture::Source::kLive});
        std::cout << result.events_new << " new events, " << result.ledger_entries << " ledger entries\n";
    }
}

// Moves prices by a ledger of your own rules: the wanted amounts are compared with what is booked, and only the
// difference is booked. docs/embed/bump_ledger.md
#include <ftlfeed/capture/bump_ledger.hpp>
#include <ftlfeed/store/migrator.hpp>

#include <iostream>
#include <pqxx/pqxx>

namespace capture = ftlfeed::capture;

namespace {

/// What is there before: a fixture, its instrument and a total for it. ftl-ingest makes them when it meets them.
std::pair<std::int64_t, std::int64_t> make_fixture_and_instrument(pqxx::transaction_base& tx) {
    tx.exec("INSERT INTO event (code, name, provider, provider_season_id) VALUES ('ledger', 'Ledger', 'mine', 8)");
    const auto fixture =
        tx.exec(
              "INSERT INTO fixture (provider, provider_id, event_id, state_id, state) "
              "SELECT 'mine', 601, id, 2, 'INPLAY_1ST_HALF' FROM event WHERE code = 'ledger' RETURNING id")[0][0]
            .as<std::int64_t>();
    tx.exec(
        "INSERT INTO match_events (provider, fixture_id, provider_event_id, type_id, type, source, raw_payload, "
        "may_bump, ticket, content_hash) "
        "VALUES ('mine', " +
        std::to_string(fixture) + ", 9101, 14, 'goal', 'live', '{}', true, 1, '')");
    const auto instrument =
        tx.exec("INSERT INTO instrument (kind, provider, provider_id) VALUES ('player', 'mine', 77) RETURNING id")[0][0]
            .as<std::int64_t>();
    tx.exec("INSERT INTO instrument_bump (instrument_id) VALUES (" + std::to_string(instrument) + ")");
    return {fixture, instrument};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: bump_ledger POSTGRES_URI\n";
        return 2;
    }
    ftlfeed::store::ConnectionSettings connection;
    connection.uri = argv[1];
    ftlfeed::store::Session session(connection);
    ftlfeed::store::Migrator(session).up();
    std::pair<std::int64_t, std::int64_t> ids;
    session.write([&](pqxx::transaction_base& tx) { ids = make_fixture_and_instrument(tx); });
    const auto [fixture, instrument] = ids;
    const capture::LedgerKey goal{9101, instrument, capture::BumpRole::kScorer};

    // A goal is worth 0.25; the same again; then the provider takes it back.
    for (const std::int64_t worth : {250'000, 250'000, 0}) {
        session.write_retrying([&](pqxx::transaction_base& tx) {
            tx.exec("SELECT FROM fixture WHERE id = " + std::to_string(fixture) + " FOR UPDATE");
            capture::BumpLedger ledger(tx, "mine");
            const auto entries = capture::next_entries({{goal, worth}}, ledger.stand(fixture, {9101}));
            ledger.append(entries, {fixture, {}, false, true});
            const auto total =
                tx.exec("SELECT total, seq FROM instrument_bump WHERE instrument_id = " + std::to_string(instrument));
            std::cout << "booked " << entries.size() << ", total " << total[0][0].c_str() << ", seq "
                      << total[0][1].c_str() << "\n";
        });
    }
}

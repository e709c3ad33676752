#include <ftlfeed/capture/ingest.hpp>

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/crash_point.hpp>
#include <ftlfeed/core/failure.hpp>

#include "capture/fixture_transaction.hpp"
#include "capture/quarantine.hpp"

namespace ftlfeed::capture {

const char* source_name(Source source) {
    switch (source) {
        case Source::kLive:
            return "live";
        case Source::kBackfill:
            return "backfill";
        case Source::kReconcile:
            return "reconcile";
        case Source::kPostmatch:
            return "postmatch";
        case Source::kReplay:
            return "replay";
    }
    return "live";
}

std::int64_t draw_ticket(store::Session& session) {
    std::int64_t ticket = 0;
    session.without_transaction([&](pqxx::transaction_base& tx) {
        ticket = tx.exec("SELECT nextval('capture_ticket')")[0][0].as<std::int64_t>();
    });
    return ticket;
}

StoreResult Ingest::store(store::Session& session, const FixtureSnapshot& snapshot, const Asked& asked) const {
    StoreResult result;
    const auto attempt = [&](InsertMode mode) {
        session.write_retrying([&](pqxx::transaction_base& tx) {
            result = FixtureTransaction(tx, provider_, options_, snapshot, asked, mode).run();
        });
    };
    // Savepoints cost a round trip each: they are set only once something has been refused.
    try {
        attempt(InsertMode::kWhole);
    } catch (const core::Failure& failure) {
        if (!is_refused_payload(failure.native_code())) throw;
        attempt(InsertMode::kPiecewise);
    }
    core::durable_step("capture.store");
    return result;
}

bool Ingest::quarantine(store::Session& session, const RejectedFixture& fixture) const {
    bool is_new = false;
    session.write_retrying([&](pqxx::transaction_base& tx) {
        is_new = Quarantine(tx, provider_).keep({fixture.id, std::nullopt, fixture.raw, fixture.reason});
    });
    core::durable_step("capture.quarantine");
    return is_new;
}

}  // namespace ftlfeed::capture

#pragma once

#include <cstdint>
#include <string>

#include <ftlfeed/capture/ingest.hpp>
#include <ftlfeed/store/session.hpp>

#include "builders.hpp"
#include "support/pg.hpp"
#include "support/session.hpp"

namespace ftl::test {

/// A database with the event `cup` on season 77 and bump rules for goals and own goals, and a session on it.
class Books {
public:
    explicit Books(ftlfeed::capture::Ingest::Options options = {})
        : session_(settings()), ingest_("sportmonks", options) {
        database_.exec(R"(
            INSERT INTO event (code, name, provider, provider_season_id) VALUES ('cup', 'Cup', 'sportmonks', 77);
            INSERT INTO bump_rule (event_id, type_id, role, micro)
            SELECT id, t, r, m FROM event, (VALUES
                (14, 'scorer', 1000), (14, 'assist', 400), (14, 'team', 200), (14, 'opponent', -200),
                (16, 'scorer', 800), (16, 'team', 200), (16, 'opponent', -200),
                (15, 'own_goal', -500), (15, 'scorer', 7777), (15, 'team', 200), (15, 'opponent', -200)) v (t, r, m);
            DELETE FROM outbox)");  // What the migrations touched.
    }

    [[nodiscard]] ftlfeed::store::ConnectionSettings settings() const { return settings_of(database_); }
    [[nodiscard]] const Database& database() const { return database_; }
    [[nodiscard]] ftlfeed::store::Session& session() { return session_; }

    ftlfeed::capture::StoreResult store(const ftlfeed::capture::FixtureSnapshot& snapshot) {
        return store(snapshot, ftlfeed::capture::draw_ticket(session_));
    }
    ftlfeed::capture::StoreResult store(const ftlfeed::capture::FixtureSnapshot& snapshot, std::int64_t ticket) {
        return ingest_.store(session_, snapshot, {ticket, ftlfeed::capture::Source::kLive});
    }
    /// As the answer to a question for this fixture alone.
    ftlfeed::capture::StoreResult store_by_id(const ftlfeed::capture::FixtureSnapshot& snapshot) {
        const auto ticket = ftlfeed::capture::draw_ticket(session_);
        return ingest_.store(session_, snapshot, {ticket, ftlfeed::capture::Source::kLive, true});
    }

    [[nodiscard]] std::string value(const std::string& sql) const { return database_.value(sql); }
    [[nodiscard]] int count(const std::string& from) const {
        return std::stoi(database_.value("SELECT count(*) FROM " + from));
    }
    /// The total of a team's or player's instrument, by the provider's id.
    [[nodiscard]] std::string total(const std::string& kind, std::int64_t provider_id) const {
        return database_.value(
            "SELECT total FROM instrument_bump JOIN instrument i ON i.id = instrument_id WHERE kind = '" + kind +
            "' AND provider_id = " + std::to_string(provider_id));
    }
    /// Instruments whose total is not the sum of the ledger, or whose last tick is not the total, or whose seq has holes.
    [[nodiscard]] int wrong_totals() const {
        return count(R"(instrument_bump b
            LEFT JOIN (SELECT instrument_id, sum(micro) net FROM event_bump_log GROUP BY 1) l USING (instrument_id)
            LEFT JOIN (SELECT instrument_id, count(*) ticks, max(seq) last,
                              (array_agg(total ORDER BY seq DESC))[1] total_then FROM price_tick GROUP BY 1) t
                USING (instrument_id)
            WHERE b.total <> coalesce(net, 0) OR b.seq <> coalesce(ticks, 0) OR b.seq <> coalesce(last, 0)
               OR b.total <> coalesce(total_then, 0))");
    }

private:
    Database database_;
    ftlfeed::store::Session session_;
    ftlfeed::capture::Ingest ingest_;
};

}  // namespace ftl::test

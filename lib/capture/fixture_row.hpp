#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <ftlfeed/capture/snapshot.hpp>
#include <ftlfeed/store/fwd.hpp>

namespace ftlfeed::capture {

/// A fixture as it is stored.
struct FixtureRow {
    std::int64_t id = 0;
    std::int64_t event_id = 0;
    std::string event_code;
    std::int64_t ticket = 0;
    std::string digest;  ///< Hex.
    bool is_incomplete = false;
    bool has_open_questions = false;
    bool is_terminal = false;
    std::optional<std::chrono::sys_seconds> over_at;
    std::int32_t state_id = 0;
    bool is_known_state = true;
    bool is_settled = false;
    std::optional<NamedRef> home;
    std::optional<NamedRef> away;
    std::optional<Score> score;

    /// At a moment of the provider's. Without a time nobody can say that it is still quiet time.
    [[nodiscard]] bool is_over(std::optional<std::chrono::sys_seconds> provider_time) const {
        return is_terminal && !(over_at && provider_time && *provider_time < *over_at);
    }
};

/// Locks the row until the transaction ends. None: it is not stored.
[[nodiscard]] std::optional<FixtureRow> lock_fixture(pqxx::transaction_base& tx, const std::string& provider,
                                                     std::int64_t fixture_id);
/// Returns whether this made it: not when it was there, nor when no event of ours maps its season.
[[nodiscard]] bool insert_fixture(pqxx::transaction_base& tx, const std::string& provider,
                                  const FixtureSnapshot& snapshot);

struct FixtureUpdate {
    const FixtureSnapshot& snapshot;
    std::optional<std::int64_t> home_id;  ///< Our own ids.
    std::optional<std::int64_t> away_id;
    std::string digest;  ///< Hex.
    std::int64_t ticket = 0;
    bool is_incomplete = false;
    bool has_open_questions = false;
    std::optional<bool> is_score_explained;
    std::optional<std::chrono::sys_seconds> provider_time;
    std::chrono::seconds quiet{0};
};
struct UpdatedFixture {
    std::int64_t row_version = 0;
    bool is_over = false;
    bool is_changed = false;  ///< Something that readers see.
};
[[nodiscard]] UpdatedFixture update_fixture(pqxx::transaction_base& tx, const FixtureRow& row,
                                            const FixtureUpdate& update);
/// An answer that changes nothing of the row but what orders answers. Returns the new row version.
[[nodiscard]] std::int64_t note_answer(pqxx::transaction_base& tx, const FixtureRow& row, std::int64_t ticket);

}  // namespace ftlfeed::capture

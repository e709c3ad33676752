#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include <ftlfeed/capture/ingest.hpp>
#include <ftlfeed/capture/provider.hpp>
#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/store/lease_keeper.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::capture {

constexpr std::chrono::milliseconds kPollIntervalDefault{10'000};
constexpr std::chrono::milliseconds kSeasonIntervalDefault{600'000};

struct PollerSettings {
    /// From the start of one in-play request to the next; 0: as soon as the answer's fixtures are committed.
    std::chrono::milliseconds poll_interval = kPollIntervalDefault;
    std::chrono::milliseconds season_interval = kSeasonIntervalDefault;
    /// A fixture that left the in-play list is read by id at once, then ever more seldom, from this pause to that one.
    std::chrono::milliseconds by_id_first{100};
    std::chrono::milliseconds by_id_max{60'000};
    std::chrono::milliseconds failure_first{500};  ///< Back-off after a failed poll, with full jitter.
    std::chrono::milliseconds failure_max{10'000};
    std::chrono::milliseconds standby_interval{200};
    /// The season's fixtures are asked for in a window around the provider's time.
    std::chrono::days season_days_back{45};
    std::chrono::days season_days_ahead{120};
    int alert_failures = 3;  ///< Failed polls in a row that raise an alert.
};

/// What one poll did.
struct PollReport {
    bool is_standby = false;  ///< Another process holds the lease: nothing was asked.
    bool has_read_season = false;
    int fixtures_seen = 0;     ///< Of our seasons, in the in-play answer.
    int fixtures_skipped = 0;  ///< Unchanged by memory: no statement.
    int fixtures_stored = 0;   ///< A transaction of their own, changed or not.
    int fixtures_failed = 0;
    int read_by_id = 0;
    int events_new = 0;
};

/// What the poller is at, for readiness and for people.
struct PollerStatus {
    bool is_standby = true;
    int failures = 0;          ///< Polls in a row.
    std::string last_failure;  ///< Empty when the last poll went well.
    std::uint64_t polls = 0;
};

/// Reads a provider and stores what it says: the in-play list at each tick, a fixture that left it by id until a
/// terminal state is stored, the season's fixtures at start and from time to time. Asks again only after the last answer
/// has been committed, or the commit has failed. Threads: confined to one thread; status() is thread-safe.
class Poller {
public:
    using LeaseProbe = std::function<store::LeaseState()>;
    Poller(Provider& provider, Ingest ingest, LeaseProbe lease, PollerSettings settings, core::Clock& clock);
    ~Poller();

    /// One poll. Throws core::Failure when the in-play answer or Postgres failed; one bad fixture does not.
    PollReport poll(store::Session& session);
    /// Polls until stop, on a session of its own, which it makes anew after a break. `on_poll` is called after each poll,
    /// failed ones too, on the poller's thread.
    void run(const std::function<store::Session()>& connect, const std::function<void(const PollerStatus&)>& on_poll,
             const std::stop_token& stop);
    [[nodiscard]] PollerStatus status() const;

private:
    class Round;
    struct Remembered {
        std::vector<std::uint8_t> digest;
        std::int64_t row_version = 0;
    };
    struct ByIdPace {
        int attempts = 0;
        core::SteadyTime next_at{};
        bool is_gone = false;  ///< The provider does not know it: asked again after the next season read.
    };
    void follow_lease(const store::LeaseState& lease, store::Session& session);
    void note_success(store::Session& session);
    core::SteadyTime note_failure(const std::string& what, std::optional<std::chrono::milliseconds> wish,
                                  store::Session* session);

    Provider& provider_;
    Ingest ingest_;
    LeaseProbe lease_;
    PollerSettings settings_;
    core::Clock& clock_;
    core::Guarded<PollerStatus> status_;

    std::uint64_t generation_ = 0;
    std::map<std::int64_t, Remembered> memory_;  ///< By fixture. Worth nothing after a break of the lease.
    std::set<std::int64_t> seasons_;             ///< That an event of ours maps.
    std::set<std::int64_t> listed_;              ///< Seen in an in-play list and not stored as terminal since.
    std::map<std::int64_t, ByIdPace> by_id_;
    std::set<std::int64_t> failing_;  ///< Fixtures with an open alert of ours.
    std::set<std::string> rejected_;  ///< Hashes of rejected fixtures that are kept already.
    std::optional<std::chrono::sys_seconds> provider_time_;
    std::optional<core::SteadyTime> season_due_;  ///< None: now.
    bool must_look_ = true;  ///< At start and after a failed commit: read by id whatever should have begun.
    bool has_alert_ = true;  ///< Perhaps, from an earlier process.
    core::SteadyTime failure_logged_at_{};
    core::Jitter jitter_;
};

}  // namespace ftlfeed::capture

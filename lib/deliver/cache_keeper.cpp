#include <ftlfeed/deliver/cache_keeper.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <pqxx/transaction_base>
#include <utility>
#include <vector>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/core/metrics.hpp>
#include <ftlfeed/store/epoch.hpp>

#include "deliver/cache_comparison.hpp"
#include "deliver/cache_table.hpp"

namespace ftlfeed::deliver {
namespace {

using std::chrono::milliseconds;

constexpr const char* kAheadAlert = "cache.ahead";
constexpr const char* kSubject = "ftlfeed/cache";
/// Bodies that are loaded and pushed at once.
constexpr std::size_t kBatch = 64;
/// A new epoch is above anything that was written before it: moving it faster cures nothing.
constexpr milliseconds kEpochMoveInterval{60'000};
/// An epoch is the second of its move by Postgres's clock. One that is further ahead than a wrong clock explains is none of
/// ours, and to outrun it would use up all that there are.
constexpr std::chrono::seconds kClockErrorMax = std::chrono::hours(24 * 366);
/// Between two looks, whatever is due.
constexpr milliseconds kPauseMin{10};

cache::Entry entry_of(const TotalRow& row) {
    return {cache::Key::bump(row.instrument_id), row.version, {{"t", std::to_string(row.total)}}};
}

/// None for a row that somebody wrote by hand under no lawful key.
std::optional<cache::Key> key_of(const std::string& doc_key) {
    try {
        return cache::Key::document(core::FeedKey::parse(doc_key));
    } catch (const core::InvalidInput& wrong) {
        core::log_error("cache.unlawful_key", {{"error", wrong.what()}});
        return std::nullopt;
    }
}

}  // namespace

class CacheKeeper::Impl {
public:
    Impl(CacheKeeperSettings settings, store::ConnectionSettings connection, cache::CacheClient& cache,
         core::Clock& clock)
        : settings_(settings),
          connection_(std::move(connection)),
          cache_(cache),
          clock_(clock),
          schedule_(settings.totals_interval, settings.documents_interval) {}

    void run(const std::stop_token& stop);
    [[nodiscard]] Status status() const {
        return status_.with([](const Status& status) { return status; });
    }

private:
    /// Versions that the cache holds; keys that it does not hold are not in it.
    using Held = std::map<cache::Key, core::Version>;

    /// A key whose version in the cache is newer than ours.
    struct Ahead {
        cache::Key key;
        core::Version held;
        core::Version ours;
    };

    /// One look; does what is due. False when it has to wait for somebody else: an owner, or a new epoch.
    bool keep(store::Session& session);
    void compare_totals(store::Session& session, const OurCache& ours);
    void compare_documents(store::Session& session, const OurCache& ours, std::uint64_t connections);
    void push_documents(store::Session& session, const std::vector<std::string>& doc_keys, const OurCache& ours);
    Held held_by_cache(const std::vector<cache::Key>& keys);
    void found_ahead(store::Session& session, const Ahead& ahead);
    void note(Status status) {
        status_.with([&](Status& mine) { mine = std::move(status); });
    }

    const CacheKeeperSettings settings_;
    const store::ConnectionSettings connection_;
    cache::CacheClient& cache_;
    core::Clock& clock_;
    ComparisonSchedule schedule_;
    std::vector<cache::Key> total_keys_;  ///< Of the last comparison.
    Held held_;                           ///< What the cache held of the totals after it.
    bool is_ready_ = false;               ///< `bump:ready` was written or found.
    bool is_ahead_ = false;               ///< In this round.
    bool has_clean_totals_ = false;       ///< Compared since something was ahead, and nothing was.
    bool has_clean_documents_ = false;
    bool is_alert_over_ = false;
    std::optional<core::SteadyTime> epoch_moved_at_;
    core::Guarded<Status> status_;
    core::Counter pushed_ = core::counter("ftl_cache_pushed_total", "Keys that the comparison found missing or older");
};

void CacheKeeper::Impl::run(const std::stop_token& stop) {
    core::Jitter jitter;
    std::optional<store::Session> session;
    for (int failures = 0; !stop.stop_requested();) {
        try {
            if (!session || session->is_broken()) {
                session.emplace(connection_);
                static_cast<void>(store::check_epoch(*session));
            }
            const bool is_settled = keep(*session);
            failures = 0;
            const auto now = clock_.steady_now();
            clock_.sleep_until(
                is_settled ? std::max(schedule_.wake_at(), now + kPauseMin) : now + settings_.totals_interval, stop);
        } catch (const core::Failure& failure) {
            failures = std::min(failures + 1, 10);
            if (failures == 1) core::log_warning("cache.waiting", {{"error", failure.what()}});
            note({true, false, failure.what()});
            clock_.sleep_for(core::full_jitter(failures, settings_.retry_first, settings_.retry_max, jitter()), stop);
        }
    }
}

bool CacheKeeper::Impl::keep(store::Session& session) {
    const auto ours = our_cache(session);
    if (!ours) {
        // Who keeps it meanwhile may leave it in any state.
        schedule_.start_anew();
        has_clean_totals_ = has_clean_documents_ = is_alert_over_ = false;
        note({false, false, ""});
        return false;
    }
    const auto connections = cache_.server().connections;
    is_ahead_ = false;
    const auto due = schedule_.due(clock_.steady_now(), connections);
    if (due.totals) compare_totals(session, *ours);
    const bool has_documents = schedule_.due(clock_.steady_now(), connections).documents;
    if (has_documents) compare_documents(session, *ours, connections);
    // The two are hardly ever due in one round.
    if (has_clean_totals_ && has_clean_documents_ && !is_alert_over_) {
        session.write([](pqxx::transaction_base& tx) { alert::clear(tx, kAheadAlert, kSubject); });
        is_alert_over_ = true;
    }
    note({true, !is_ahead_, is_ahead_ ? "the cache holds a version newer than ours" : ""});
    return !is_ahead_;
}

CacheKeeper::Impl::Held CacheKeeper::Impl::held_by_cache(const std::vector<cache::Key>& keys) {
    Held held;
    const auto versions = cache_.versions(keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (versions[i]) held.emplace(keys[i], *versions[i]);
    }
    return held;
}

void CacheKeeper::Impl::compare_totals(store::Session& session, const OurCache& ours) {
    // The cache first and then the record, which can only have moved on since.
    auto held = held_by_cache(total_keys_);
    const auto ready = cache_.ready_epoch();
    const auto is_lost = [&](const auto& before) {
        const auto found = held.find(before.first);
        return found == held.end() || found->second < before.second;
    };
    const bool has_lost = (is_ready_ && !ready) || std::any_of(held_.begin(), held_.end(), is_lost);

    std::vector<cache::Entry> behind;
    std::optional<Ahead> ahead;
    total_keys_.clear();
    for (const auto& row : read_totals(session)) {
        auto entry = entry_of(row);
        total_keys_.push_back(entry.key);
        const auto found = held.find(entry.key);
        const auto standing =
            standing_of(row.version, found == held.end() ? std::nullopt : std::optional(found->second));
        if (standing == CacheStanding::kAhead) {
            ahead = Ahead{entry.key, found->second, row.version};
            continue;
        }
        held[entry.key] = row.version;
        if (standing == CacheStanding::kBehind) behind.push_back(std::move(entry));
    }
    static_cast<void>(cache_.put_all_if_newer(behind));
    pushed_.increment(static_cast<double>(behind.size()));
    if (ahead) return found_ahead(session, *ahead);
    // Only now, when each total is there: before, a reader would take a missing one for none.
    if (!ready || *ready < ours.epoch) static_cast<void>(cache_.set_ready_epoch(ours.epoch));
    is_ready_ = true;
    held_ = std::move(held);
    has_clean_totals_ = true;
    schedule_.totals_compared(clock_.steady_now(), has_lost);
}

void CacheKeeper::Impl::compare_documents(store::Session& session, const OurCache& ours, std::uint64_t connections) {
    // The keys, then what the cache holds, then the record, which can only have moved on since.
    std::vector<cache::Key> keys;
    for (const auto& row : read_document_versions(session, ours.render)) {
        if (auto key = key_of(row.doc_key)) keys.push_back(std::move(*key));
    }
    const auto held = held_by_cache(keys);
    std::vector<std::string> behind;
    std::optional<Ahead> ahead;
    for (const auto& row : read_document_versions(session, ours.render)) {
        const auto key = key_of(row.doc_key);
        if (!key) continue;
        const auto found = held.find(*key);
        const auto standing =
            standing_of(row.version, found == held.end() ? std::nullopt : std::optional(found->second));
        if (standing == CacheStanding::kAhead) ahead = Ahead{*key, found->second, row.version};
        if (standing == CacheStanding::kBehind) behind.push_back(row.doc_key);
    }
    push_documents(session, behind, ours);
    if (ahead) return found_ahead(session, *ahead);
    has_clean_documents_ = true;
    schedule_.documents_compared(clock_.steady_now(), connections);
}

void CacheKeeper::Impl::push_documents(store::Session& session, const std::vector<std::string>& doc_keys,
                                       const OurCache& ours) {
    for (std::size_t at = 0; at < doc_keys.size(); at += kBatch) {
        const auto end = doc_keys.begin() + static_cast<std::ptrdiff_t>(std::min(at + kBatch, doc_keys.size()));
        std::vector<cache::Entry> entries;
        const std::vector<std::string> batch(doc_keys.begin() + static_cast<std::ptrdiff_t>(at), end);
        for (auto& document : load_documents(session, batch, ours.render)) {
            entries.push_back({*key_of(document.doc_key), document.content.version, document.content.fields()});
        }
        static_cast<void>(cache_.put_all_if_newer(entries));
        pushed_.increment(static_cast<double>(entries.size()));
    }
}

/// After all the others were pushed: one key that is not ours must not hold them up.
void CacheKeeper::Impl::found_ahead(store::Session& session, const Ahead& ahead) {
    is_ahead_ = true;
    has_clean_totals_ = has_clean_documents_ = is_alert_over_ = false;
    const auto now = clock_.steady_now();
    session.write([&](pqxx::transaction_base& tx) {
        alert::raise(tx, {kAheadAlert, kSubject, alert::Severity::kCritical,
                          ahead.key.text() +
                              " is newer in Redis than in Postgres: Postgres has lost commits, or two installations "
                              "share one Redis; the epoch moves on, so that what Postgres says is published"});
    });
    if (epoch_moved_at_ && now - *epoch_moved_at_ < kEpochMoveInterval) return;
    epoch_moved_at_ = now;
    core::log_error("cache.ahead", {{"key", ahead.key.text()}, {"version", ahead.held.text()}});
    const bool is_explained = ahead.held.epoch - ahead.ours.epoch < kClockErrorMax.count();
    static_cast<void>(store::force_epoch(session, is_explained ? ahead.held.epoch : 0));
    schedule_.start_anew();
}

void bind_settings(core::Settings& settings, CacheKeeperSettings& target) {
    settings.bind("cache.totals_interval_ms", target.totals_interval, "Every total in Redis is compared this often",
                  milliseconds(10), milliseconds(60'000));
    settings.bind("cache.documents_interval_ms", target.documents_interval,
                  "Every file in Redis is compared this often, and at once after a reconnect or a loss",
                  milliseconds(10), milliseconds(600'000));
}

CacheKeeper::CacheKeeper(CacheKeeperSettings settings, store::ConnectionSettings connection, cache::CacheClient& cache,
                         core::Clock& clock)
    : impl_(std::make_unique<Impl>(settings, std::move(connection), cache, clock)) {}
CacheKeeper::~CacheKeeper() = default;

void CacheKeeper::run(const std::stop_token& stop) { impl_->run(stop); }

CacheKeeper::Status CacheKeeper::status() const { return impl_->status(); }

}  // namespace ftlfeed::deliver

#include "ftl-deliver/feed_settings.hpp"

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/deliver/host_fence.hpp>

namespace ftlfeed::app {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kHour{3'600'000};
constexpr milliseconds kDay{86'400'000};
constexpr std::int64_t kKeptHoursMax = 24 * 3660;

}  // namespace

void FeedSettings::bind(core::Settings& settings) {
    settings.bind("build.builders", builders, "Files that are built at the same time; 0 = only deliver here", 0, 64);
    settings.bind("build.poll_interval_ms", build.poll_interval, "Longest wait for news that nobody announced",
                  milliseconds(10), milliseconds(10'000));
    settings.bind("build.retry_first_ms", build.build.retry_first,
                  "Pause after a file's first failed build; doubles with each further one", milliseconds(1), kHour);
    settings.bind("build.retry_max_ms", build.build.retry_max, "Longest pause of a file whose build fails",
                  milliseconds(1), kDay);
    settings.bind("build.audit_interval_ms", build.audit_interval,
                  "Every file is built anew this often to prove that no change was missed", milliseconds(1000),
                  milliseconds(kDay * 30));
    settings.bind("build.audit_pause_ms", build.audit_pause, "Between two files of the audit", milliseconds(0), kHour);
    deliver::bind_settings(settings, deliver);
    redis.bind(settings);
    deliver::bind_settings(settings, cache);
    settings.bind("deliver.housekeeping_interval_ms", housekeeping_interval,
                  "Trims the outbox and the history of attempts, looks for old transactions", milliseconds(100), kHour);
    settings.bind("deliver.failed_kept_hours", failed_kept_hours, "How long failed attempts are kept", 1,
                  kKeptHoursMax);
    settings.bind("deliver.proven_kept_hours", proven_kept_hours,
                  "How long proofs are kept; that of what a receiver holds now stays for ever", 1, kKeptHoursMax);
}

void FeedSettings::validate() const {
    static_cast<void>(cache_connection());
    static_cast<void>(deliver::HostFence(deliver.allowed_hosts));
    if (!deliver.master_key_file.empty()) static_cast<void>(core::read_master_key(deliver.master_key_file));
    if (deliver.worker.empty()) throw core::InvalidInput("deliver.worker is empty: give this worker a name");
    // The lease is renewed every quarter of its TTL; a margin near that would leave no time to send.
    if (deliver.lease_margin * 2 > deliver.lease_ttl) {
        throw core::InvalidInput("deliver.lease_margin_ms must be at most half of deliver.lease_ttl_ms");
    }
    if (build.build.retry_first > build.build.retry_max) {
        throw core::InvalidInput("build.retry_first_ms exceeds build.retry_max_ms");
    }
}

std::optional<cache::ConnectionSettings> FeedSettings::cache_connection() const {
    if (redis.uri.empty()) return std::nullopt;
    return redis.connection("ftl-deliver");
}

}  // namespace ftlfeed::app

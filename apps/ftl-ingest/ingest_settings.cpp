#include "ftl-ingest/ingest_settings.hpp"

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/secret.hpp>

namespace ftlfeed::app {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMinute{60'000};
constexpr milliseconds kHour{3'600'000};
constexpr milliseconds kDay{86'400'000};

}  // namespace

void IngestSettings::bind(core::Settings& settings) {
    settings.bind("provider.kind", provider_kind, "Whose answers are read: sportmonks");
    settings.bind("provider.url", provider_url, "Where it is, up to and without /v3");
    settings.bind("provider.token_file", provider_token_file,
                  "File with the token, or credential:NAME for a systemd credential");
    settings.bind("provider.page_rows", provider_page_rows, "Fixtures on a page of a list", 1, 50);
    settings.bind("provider.connect_timeout_ms", provider_connect, "To connect, DNS included", milliseconds(1),
                  kMinute);
    settings.bind("provider.answer_timeout_ms", provider_answer, "For a whole answer", milliseconds(1), kMinute);

    settings.bind("ingest.poll_interval_ms", poller.poll_interval,
                  "From one in-play request to the next; 0 = as soon as the last answer is committed", milliseconds(0),
                  kHour);
    settings.bind("ingest.season_interval_ms", poller.season_interval, "Between two reads of the season's fixtures",
                  milliseconds(100), kDay);
    settings.bind("ingest.season_days_back", season_days_back,
                  "Days before the provider's time whose fixtures are read", 0, 400);
    settings.bind("ingest.season_days_ahead", season_days_ahead,
                  "Days after the provider's time whose fixtures are read", 0, 400);
    settings.bind("ingest.by_id_first_ms", poller.by_id_first,
                  "First pause between two reads by id of a fixture that left the in-play list; then it doubles",
                  milliseconds(1), kHour);
    settings.bind("ingest.by_id_max_ms", poller.by_id_max, "Longest pause between two reads by id", milliseconds(1),
                  kHour);
    settings.bind("ingest.failure_first_ms", poller.failure_first, "Back-off after a failed poll, with full jitter",
                  milliseconds(1), kHour);
    settings.bind("ingest.failure_max_ms", poller.failure_max, "Longest back-off after failed polls", milliseconds(1),
                  kHour);
    settings.bind("ingest.alert_failures", alert_failures, "Failed polls in a row that raise an alert", 1, 1000);
    settings.bind("ingest.lease_ttl_ms", lease_ttl, "A standby takes over a lease that it saw unmoved for so long",
                  milliseconds(100), kHour);
    settings.bind("ingest.lease_renew_ms", lease_renew, "Between two renewals of the lease", milliseconds(10), kHour);
    settings.bind("ingest.lease_watch_ms", lease_watch, "Between two looks at a lease that another holds",
                  milliseconds(10), kHour);
    settings.bind("ingest.bump_after_settlement", bump_after_settlement,
                  "Whether bumps of a settled fixture, which are always recorded, reach the totals");
    settings.bind("capture.on_withdrawal", on_withdrawal,
                  "Bumps of an event that the provider took back: reverse or keep");
    settings.bind("capture.absences_max", absences_max,
                  "Complete answers in a row without an event that withdraw it, where nothing else proves it", 1, 1000);
    settings.bind("capture.quiet_ms", quiet,
                  "By the provider's clock, from a final state until a match is over and nothing is bumped any more",
                  milliseconds(0), kDay);
}

void IngestSettings::validate() const {
    if (provider_kind != "sportmonks") {
        throw core::InvalidInput("provider.kind is \"" + provider_kind + "\"; known is: sportmonks");
    }
    if (!provider_url.starts_with("http://") && !provider_url.starts_with("https://")) {
        throw core::InvalidInput("provider.url must begin with http:// or https://");
    }
    if (provider_token_file.empty()) {
        throw core::InvalidInput(
            "provider.token_file is not set: write the token into a file that only this user reads");
    }
    if (on_withdrawal != "reverse" && on_withdrawal != "keep") {
        throw core::InvalidInput("capture.on_withdrawal is \"" + on_withdrawal + "\"; it may be reverse or keep");
    }
    // One lost renewal must not lose the lease.
    if (lease_renew * 2 > lease_ttl) {
        throw core::InvalidInput("ingest.lease_renew_ms must be at most half of ingest.lease_ttl_ms");
    }
    if (poller.by_id_first > poller.by_id_max || poller.failure_first > poller.failure_max) {
        throw core::InvalidInput("a first pause (ingest.by_id_first_ms, ingest.failure_first_ms) exceeds its maximum");
    }
}

capture::SportmonksSettings IngestSettings::provider() const {
    capture::SportmonksSettings settings;
    settings.url = provider_url;
    settings.token = core::read_secret(provider_token_file);
    settings.page_rows = static_cast<int>(provider_page_rows);
    settings.limits.connect = provider_connect;
    settings.limits.whole = provider_answer;
    return settings;
}

capture::PollerSettings IngestSettings::polling() const {
    auto settings = poller;
    settings.season_days_back = std::chrono::days(season_days_back);
    settings.season_days_ahead = std::chrono::days(season_days_ahead);
    settings.alert_failures = static_cast<int>(alert_failures);
    return settings;
}

capture::Ingest::Options IngestSettings::storing() const {
    capture::Ingest::Options options;
    options.bump_after_settlement = bump_after_settlement;
    options.on_withdrawal = on_withdrawal == "keep" ? capture::OnWithdrawal::kKeep : capture::OnWithdrawal::kReverse;
    options.quiet = std::chrono::ceil<std::chrono::seconds>(quiet);
    options.absences_max = static_cast<std::int32_t>(absences_max);
    return options;
}

store::LeaseKeeper::Settings IngestSettings::lease(const std::string& provider_name) const {
    return {"ingest:" + provider_name, lease_ttl, lease_renew, lease_watch};
}

}  // namespace ftlfeed::app

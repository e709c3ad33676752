#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <ftlfeed/capture/ingest.hpp>
#include <ftlfeed/capture/poller.hpp>
#include <ftlfeed/capture/sportmonks.hpp>
#include <ftlfeed/core/settings.hpp>
#include <ftlfeed/store/lease_keeper.hpp>

namespace ftlfeed::app {

/// The settings of ftl-ingest: sections provider, ingest and capture. docs/configuration.md has each of them.
struct IngestSettings {
    std::string provider_kind = "sportmonks";
    std::string provider_url = "https://api.sportmonks.com";
    std::string provider_token_file;
    std::int64_t provider_page_rows = capture::kPageRowsDefault;
    std::chrono::milliseconds provider_connect{3000};
    std::chrono::milliseconds provider_answer{8000};
    std::int64_t season_days_back = 45;
    std::int64_t season_days_ahead = 120;
    std::int64_t alert_failures = 3;
    std::chrono::milliseconds lease_ttl{8000};
    std::chrono::milliseconds lease_renew{2000};
    std::chrono::milliseconds lease_watch{1000};
    bool bump_after_settlement = false;
    std::string on_withdrawal = "reverse";
    std::int64_t absences_max = 3;
    std::chrono::milliseconds quiet{120'000};
    capture::PollerSettings poller;

    void bind(core::Settings& settings);
    /// Checks what concerns several settings. Throws core::InvalidInput.
    void validate() const;

    /// Reads the token. Throws core::InvalidInput.
    [[nodiscard]] capture::SportmonksSettings provider() const;
    [[nodiscard]] capture::PollerSettings polling() const;
    [[nodiscard]] capture::Ingest::Options storing() const;
    [[nodiscard]] store::LeaseKeeper::Settings lease(const std::string& provider_name) const;
};

}  // namespace ftlfeed::app

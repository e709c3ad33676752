#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ftlfeed/capture/provider.hpp>
#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/net/http_client.hpp>

namespace ftlfeed::capture {

constexpr int kPageRowsDefault = 50;  ///< The most that the provider allows.

struct SportmonksSettings {
    std::string url;     ///< Up to and without `/v3`, as `https://api.sportmonks.com`.
    core::Secret token;  ///< Sent in the Authorization header, so that it stands in no log of addresses.
    std::string name = "sportmonks";
    int page_rows = kPageRowsDefault;  ///< 1 to 50.
    net::HttpLimits limits;
};

/// Reads the Sportmonks football API, version 3.
/// Throws core::Failure: busy with retry_after() when a limit is reached (429, or body code 5005), permanent for a token
/// or plan that is refused, unavailable for everything that is no whole answer (HTML, half a body, 5xx, wrong types).
class SportmonksClient final : public Provider {
public:
    explicit SportmonksClient(SportmonksSettings settings, core::Clock& clock = core::Clock::real());
    ~SportmonksClient() override;

    [[nodiscard]] const std::string& name() const override;
    [[nodiscard]] ProviderAnswer in_play() override;
    [[nodiscard]] ProviderAnswer fixtures_between(std::chrono::sys_days first, std::chrono::sys_days last,
                                                  const std::vector<std::int64_t>& season_ids) override;
    [[nodiscard]] ProviderAnswer fixture(std::int64_t id) override;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ftlfeed::capture

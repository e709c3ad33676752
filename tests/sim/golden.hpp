#pragma once

#include <filesystem>
#include <string>

#include "provider.hpp"
#include "support/paths.hpp"
#include "support/temp_folder.hpp"
#include "tournament.hpp"

namespace ftl::test {

inline std::filesystem::path sim_file(const std::string& name) { return source_dir() / "tests" / "sim" / name; }

inline ftlfeed::sim::Tournament sample(const std::string& name) {
    return ftlfeed::sim::read_tournament(sim_file("data/" + name).string());
}

/// Plays a provider without sockets, as a reader on one connection would.
class Playback {
public:
    explicit Playback(const std::string& data, ftlfeed::sim::ProviderSettings settings = {})
        : Playback(sample(data), std::move(settings)) {}
    explicit Playback(ftlfeed::sim::Tournament tournament, ftlfeed::sim::ProviderSettings settings = {})
        : provider_(std::move(tournament), std::move(settings)) {}

    /// One request, its answer delivered whole.
    ftlfeed::sim::ProviderAnswer get(const std::string& target) {
        auto answer = ask(target);
        provider_.delivered(answer);
        return answer;
    }

    /// One request whose answer is lost.
    ftlfeed::sim::ProviderAnswer ask(const std::string& target) {
        return provider_.answer({"GET", target, token, "127.0.0.1:8080"}, moment);
    }

    /// Polls until the provider's clock is at `instant` ("2026-06-11T19:00:00Z") and returns the answer of that poll.
    /// An answer with status 0 when that instant never comes.
    ftlfeed::sim::ProviderAnswer poll_until(const std::string& instant, const std::string& target) {
        for (std::size_t n = 0; n <= status().instants + 1; ++n) {
            auto answer = get(target);
            if (ftlfeed::sim::utc_text(status().clock) == instant) return answer;
        }
        ftlfeed::sim::ProviderAnswer none;
        none.status = 0;
        return none;
    }

    [[nodiscard]] ftlfeed::sim::ProviderStatus status() const { return provider_.status(moment); }

    std::string token = "sim-token";
    ftlfeed::sim::Provider::Moment moment{};

private:
    ftlfeed::sim::Provider provider_;
};

}  // namespace ftl::test

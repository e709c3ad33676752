#pragma once

#include <string>
#include <vector>

#include <ftlfeed/capture/poller.hpp>

#include "capture/poll_plan.hpp"

namespace ftlfeed::capture {

constexpr const char* kFixtureFailingAlert = "capture.fixture_failing";

/// One poll of a poller: lives for its length, changes the poller's memory.
class Poller::Round {
public:
    Round(Poller& poller, store::Session& session) : poller_(poller), session_(session) {}

    PollReport run();

private:
    void load_stored(const ProviderAnswer& answer);
    void store_all(const ProviderAnswer& answer, const Asked& asked);
    bool is_remembered(const FixtureSnapshot& fixture, const std::vector<std::uint8_t>& digest) const;
    void store_one(const FixtureSnapshot& fixture, const Asked& asked);
    void keep_rejected(const RejectedFixture& fixture);
    void fixture_failed(std::int64_t id, const std::string& reason);
    void fixture_recovered(std::int64_t id);
    void read_season();
    void read_by_id();
    bool read_one(std::int64_t id, ByIdPace& pace);

    Poller& poller_;
    store::Session& session_;
    PollView view_;
    PollReport report_;
    bool has_failed_ = false;
};

}  // namespace ftlfeed::capture

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ftlfeed/capture/provider.hpp>

namespace ftl::test {

/// Says what a test wants said, and notes what it was asked. What a real provider does on the wire is tried with
/// `ftl-sim provider`; here the order of answers and failures is what matters.
class ScriptedProvider final : public ftlfeed::capture::Provider {
public:
    using Answer = ftlfeed::capture::ProviderAnswer;
    std::function<Answer()> on_in_play = [] { return Answer{}; };
    std::function<Answer()> on_season = [] { return Answer{}; };
    std::function<Answer(std::int64_t)> on_fixture = [](std::int64_t) { return Answer{}; };
    std::vector<std::string> asked;

    [[nodiscard]] const std::string& name() const override { return name_; }
    [[nodiscard]] Answer in_play() override {
        asked.emplace_back("in_play");
        return on_in_play();
    }
    [[nodiscard]] Answer fixtures_between(std::chrono::sys_days, std::chrono::sys_days,
                                          const std::vector<std::int64_t>&) override {
        asked.emplace_back("season");
        return on_season();
    }
    [[nodiscard]] Answer fixture(std::int64_t id) override {
        asked.push_back("fixture " + std::to_string(id));
        return on_fixture(id);
    }
    /// How often `what` was asked.
    [[nodiscard]] int times(const std::string& what) const {
        int count = 0;
        for (const auto& one : asked) count += one == what ? 1 : 0;
        return count;
    }

private:
    std::string name_ = "sportmonks";
};

}  // namespace ftl::test

#include "clock.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace ftlfeed::sim {
namespace {

using std::chrono::sys_seconds;

class ReaderClock final : public Clock {
public:
    ReaderClock(std::vector<sys_seconds> instants, sys_seconds start) : instants_(std::move(instants)), now_(start) {}

    void inplay_requested(Monotonic) override {
        // The first request needs no answer before it: nobody could have been told anything yet.
        if (!std::exchange(may_move_, false)) return;
        if (next_ < instants_.size()) now_ = instants_[next_++];
    }

    void inplay_delivered() override { may_move_ = true; }

    [[nodiscard]] sys_seconds now(Monotonic) const override { return now_; }

private:
    std::vector<sys_seconds> instants_;
    std::size_t next_ = 0;
    sys_seconds now_;
    bool may_move_ = false;
};

class PacedClock final : public Clock {
public:
    PacedClock(std::vector<Stretch> stretches, double speed, sys_seconds start)
        : stretches_(std::move(stretches)), speed_(speed), start_(start) {}

    void inplay_requested(Monotonic moment) override {
        if (!begun_) begun_ = moment;
    }

    void inplay_delivered() override {}

    [[nodiscard]] sys_seconds now(Monotonic moment) const override {
        if (!begun_) return start_;
        using Seconds = std::chrono::duration<double>;
        auto played = std::chrono::floor<std::chrono::seconds>(Seconds(moment - *begun_) * speed_);
        for (const auto& stretch : stretches_) {
            if (played <= stretch.to - stretch.from) return stretch.from + played;
            played -= stretch.to - stretch.from;
        }
        return stretches_.empty() ? start_ : stretches_.back().to;
    }

private:
    std::vector<Stretch> stretches_;
    double speed_;
    sys_seconds start_;
    std::optional<Monotonic> begun_;
};

}  // namespace

std::unique_ptr<Clock> make_reader_clock(std::vector<sys_seconds> instants, sys_seconds start) {
    return std::make_unique<ReaderClock>(std::move(instants), start);
}

std::unique_ptr<Clock> make_paced_clock(std::vector<Stretch> stretches, double speed, sys_seconds start) {
    return std::make_unique<PacedClock>(std::move(stretches), speed, start);
}

std::vector<Stretch> stretches_of(const std::vector<MatchScript>& scripts) {
    constexpr std::chrono::minutes kMargin{1};
    std::vector<Stretch> stretches;
    for (const auto& script : scripts) {
        if (script.snapshots.empty()) continue;
        stretches.push_back({script.snapshots.front().at - kMargin, script.snapshots.back().at + kMargin});
    }
    std::sort(stretches.begin(), stretches.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
    std::vector<Stretch> merged;
    for (const auto& stretch : stretches) {
        if (!merged.empty() && stretch.from <= merged.back().to) {
            merged.back().to = std::max(merged.back().to, stretch.to);
        } else {
            merged.push_back(stretch);
        }
    }
    return merged;
}

}  // namespace ftlfeed::sim

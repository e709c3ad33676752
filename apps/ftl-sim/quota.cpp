#include "quota.hpp"

namespace ftlfeed::sim {
namespace {

constexpr int kShownWithoutLimit = 3000;
constexpr std::chrono::hours kWindow{1};

}  // namespace

bool Quota::spend(Moment moment) {
    if (per_hour_ == 0) return true;
    if (!since_ || moment - *since_ >= kWindow) {
        since_ = moment;
        spent_ = 0;
    }
    if (spent_ == per_hour_) return false;
    ++spent_;
    return true;
}

int Quota::limit() const { return per_hour_ == 0 ? kShownWithoutLimit : per_hour_; }

int Quota::resets_in_seconds(Moment moment) const {
    const auto used = since_ ? moment - *since_ : Moment::duration::zero();
    return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(kWindow - used).count());
}

}  // namespace ftlfeed::sim

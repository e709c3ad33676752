#include "deliver/cache_comparison.hpp"

namespace ftlfeed::deliver {

CacheStanding standing_of(const core::Version& ours, const std::optional<core::Version>& cached) {
    if (!cached || *cached < ours) return CacheStanding::kBehind;
    return *cached == ours ? CacheStanding::kSame : CacheStanding::kAhead;
}

ComparisonSchedule::Due ComparisonSchedule::due(core::SteadyTime now, std::uint64_t connections) const {
    const bool is_another = connections != connections_;
    return {is_another || now >= next_totals_, is_another || now >= next_documents_};
}

void ComparisonSchedule::totals_compared(core::SteadyTime now, bool is_lost) {
    next_totals_ = now + totals_interval_;
    if (is_lost) next_documents_ = core::SteadyTime::min();
}

void ComparisonSchedule::documents_compared(core::SteadyTime now, std::uint64_t connections) {
    next_documents_ = now + documents_interval_;
    connections_ = connections;
}

void ComparisonSchedule::start_anew() { next_totals_ = next_documents_ = core::SteadyTime::min(); }

}  // namespace ftlfeed::deliver

#pragma once

#include <compare>
#include <cstdint>

namespace ftlfeed::deliver {

/// Names a destination: the id of its row in `delivery_assignment`. A value.
struct AssignmentId {
    std::int64_t value = 0;

    auto operator<=>(const AssignmentId&) const = default;
};

}  // namespace ftlfeed::deliver

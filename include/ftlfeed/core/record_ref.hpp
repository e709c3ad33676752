#pragma once

#include <compare>
#include <string>

namespace ftlfeed::core {

/// Names a record that files are made of, and the event whose collection it belongs to (empty = none). A value.
struct RecordRef {
    std::string kind;
    std::string id;
    std::string event;

    auto operator<=>(const RecordRef&) const = default;
};

}  // namespace ftlfeed::core

#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace ftlfeed::core {

/// Which version of a file: (epoch, seq, render), compared in that order. epoch grows at every promotion or restore,
/// seq with every change of content, render with every change of how a destination gets it. {0,0,0} = none. A value.
struct Version {
    std::int64_t epoch = 0;
    std::int64_t seq = 0;
    std::int64_t render = 0;

    /// Fixed width, so that text order is version order (Lua's numbers are doubles): `%010d:%020d:%010d`.
    [[nodiscard]] std::string text() const;
    /// Reads text(). Throws InvalidInput.
    static Version parse(std::string_view text);
    [[nodiscard]] bool is_none() const { return *this == Version{}; }

    auto operator<=>(const Version&) const = default;
};

}  // namespace ftlfeed::core

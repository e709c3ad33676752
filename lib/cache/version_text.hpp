#pragma once

#include <optional>
#include <string_view>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/version.hpp>

namespace ftlfeed::cache {

/// The version that an entry's field v holds, in the form of core::Version::text() (`%010d:%020d:%010d`, whose order as
/// text is that of versions). Nothing when it holds anything else: such an entry is none of ours and counts as missing, in
/// the script of put_if_newer as well.
[[nodiscard]] inline std::optional<core::Version> version_in(std::string_view text) {
    try {
        return core::Version::parse(text);
    } catch (const core::InvalidInput&) {
        return std::nullopt;
    }
}

}  // namespace ftlfeed::cache

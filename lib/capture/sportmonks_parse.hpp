#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/capture/snapshot.hpp>

namespace ftlfeed::capture {

/// What stands in one answer (one page of one).
struct SportmonksAnswer {
    bool has_data = false;  ///< False: "no result", the key `data` is missing, null, or an object without an id.
    std::vector<FixtureSnapshot> fixtures;
    std::vector<RejectedFixture> rejected;
    bool has_more = false;
    std::optional<std::int64_t> next_page;  ///< When it is told as a number, a text of digits or in a URL.
    std::optional<std::chrono::sys_seconds>
        provider_time;  ///< `current_timestamp` of the subscription; paid plans only.
    std::optional<std::chrono::seconds> limit_resets_in;
    std::optional<std::int64_t> error_code;  ///< `code` of an error's body.
    std::string message;                     ///< Cut to length.
};

/// Reads an answer's body. Pure. Throws core::Failure::unavailable when it is no whole answer: HTML, half a body, nothing,
/// not the shape of one. A single fixture or event that cannot be read is rejected alone.
[[nodiscard]] SportmonksAnswer parse_answer(const std::string& body);

}  // namespace ftlfeed::capture

#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/deadline.hpp>
#include <ftlfeed/core/secret.hpp>

namespace ftlfeed::deliver {

/// The words of a command that gives a credential: the program's absolute path and its arguments, parted by blanks. No
/// shell reads it, so quotes, `$`, `|` and their like are refused rather than passed on. Throws core::InvalidInput.
[[nodiscard]] std::vector<std::string> command_words(const std::string& command);

struct ResolveRules {
    std::vector<std::string> programs;  ///< Those that may be run, by absolute path; empty: none.
    std::chrono::milliseconds limit{10'000};
};

/// What the command prints, without its last line break. It runs without a shell, with an empty environment but for PATH,
/// without input, its errors thrown away (they may hold what it resolves), in a session of its own that is killed whole
/// at the limit or the deadline. Throws core::InvalidInput when it may not be run, Failure::unavailable when it fails or
/// is late, Failure::permanent when it prints nothing or more than 64 KiB. Neither holds a word of its output.
[[nodiscard]] core::Secret resolve_by_command(const std::string& command, const ResolveRules& rules,
                                              core::Deadline deadline, const core::Clock& clock);

}  // namespace ftlfeed::deliver

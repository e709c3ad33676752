#pragma once

#include <string>
#include <string_view>

#include "cache/command.hpp"

namespace ftlfeed::cache {

/// A script that Redis runs as one step. Its SHA-1 names it, where the server knows it already.
class Script {
public:
    explicit Script(std::string_view text);

    /// EVALSHA: the text does not cross the network. Answered NOSCRIPT after a restart, a fail-over or a flush.
    [[nodiscard]] Command by_hash(std::string_view key, std::span<const std::string_view> arguments) const;
    /// EVAL: the text does, and is known from then on.
    [[nodiscard]] Command by_text(std::string_view key, std::span<const std::string_view> arguments) const;

private:
    std::string_view text_;
    std::string hash_;
};

/// Replaces the hash at KEYS[1] by the pairs in ARGV when it holds no version or an older one than ARGV[2]. ARGV begins
/// with 'v' and the version. Answers 1 when it stored, else the version that is held.
[[nodiscard]] const Script& put_script();

/// Makes a hash at KEYS[1] and takes it away again: does this Redis take writes? With the commands of put_script() alone.
[[nodiscard]] const Script& try_script();

/// Sets KEYS[1] to ARGV[1] (digits of one width) unless it holds as much or more. Answers what it holds then.
[[nodiscard]] const Script& raise_script();

}  // namespace ftlfeed::cache

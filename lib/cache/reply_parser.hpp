#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "cache/reply.hpp"

namespace ftlfeed::cache {

/// Cuts a stream of bytes into replies, by hiredis' reader; a reply is whole or it is none. Threads: confined to one.
class ReplyParser {
public:
    struct Limits {
        std::size_t bytes_max = std::size_t{64} << 20U;  ///< Of one reply as it comes.
        std::size_t elements_max = 1'000'000;            ///< Of one reply, nested ones too.
        int depth_max = 4;                               ///< Arrays in arrays.
    };

    explicit ReplyParser(Limits limits);
    ~ReplyParser();
    ReplyParser(ReplyParser&&) noexcept;
    ReplyParser& operator=(ReplyParser&&) noexcept;

    /// Copies the bytes.
    void feed(std::string_view bytes);
    /// The next whole reply, in the order in which they came; nothing until more bytes are fed.
    /// Throws core::Failure::unavailable with connection_lost() when the bytes are no RESP2 or beyond a limit: what
    /// follows them cannot be understood any more, so that every further call throws too.
    [[nodiscard]] std::optional<Reply> next();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace ftlfeed::cache

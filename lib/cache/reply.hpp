#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::cache {

/// What Redis answers, in RESP2. A value.
struct Reply {
    enum class Kind { kNil, kInteger, kStatus, kText, kError, kArray };
    Kind kind = Kind::kNil;
    std::int64_t integer = 0;
    std::string text;  ///< Of a status, a text or an error: bytes, whatever they are.
    std::vector<Reply> elements;

    [[nodiscard]] bool is_nil() const { return kind == Kind::kNil; }
    [[nodiscard]] bool is_text() const { return kind == Kind::kText; }

    bool operator==(const Reply&) const = default;
};

/// An answer (never one of kind kError: that is a failure here), or what became of the request instead.
using ReplyResult = std::variant<Reply, core::Failure>;

}  // namespace ftlfeed::cache

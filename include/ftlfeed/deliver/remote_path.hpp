#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ftlfeed::deliver {

/// Where a file lies below a destination's folder: parts joined by `/`. It can never leave that folder: no part is
/// empty, begins with a dot (so neither `..` nor one of our temporary names) or holds a control character (CR, LF, NUL)
/// or a backslash, and it is valid UTF-8. A value.
class RemotePath {
public:
    static constexpr std::size_t kPartBytesMax = 180;  ///< Leaves room for the temporary name around it (NAME_MAX 255).
    static constexpr std::size_t kBytesMax = 900;

    /// Throws core::InvalidInput naming the part that is wrong.
    explicit RemotePath(std::string text);

    [[nodiscard]] const std::string& text() const { return text_; }
    /// The folders in order, without the file's own name.
    [[nodiscard]] std::vector<std::string> folders() const;
    [[nodiscard]] std::string_view name() const;

    auto operator<=>(const RemotePath&) const = default;

private:
    std::string text_;
};

}  // namespace ftlfeed::deliver

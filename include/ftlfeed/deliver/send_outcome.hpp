#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace ftlfeed::deliver {

/// How sure a proof is about what readers at the receiver saw and hold.
enum class Guarantee {
    kAtomicReplace,   ///< Readers saw the old file or the new one, never a part or a gap.
    kReplaceWithGap,  ///< For a moment there was no file.
    kSizeChecked,     ///< The receiver's size was compared.
    kContentChecked,  ///< The receiver compared a digest of the bytes.
    kAcknowledged,    ///< The receiver said that it has them (2xx); it cannot be looked at.
};
/// As stored in `delivery_state.guarantee`: `atomic_replace` …
[[nodiscard]] std::string_view name_of(Guarantee guarantee);

/// The receiver confirmed the bytes.
struct Stored {
    std::string receipt;  ///< What the receiver said, for people: an inode, an ETag, a reply line.
    Guarantee guarantee = Guarantee::kSizeChecked;

    bool operator==(const Stored&) const = default;
};

/// The receiver, or its file system, will not take *this file*: its name, size or content. The destination is well.
/// (What is wrong with the whole destination is thrown as core::Failure, permanent() when it lasts.)
struct Refused {
    std::string reason;
    /// A newer version cannot help (the name is the trouble): the slow pace stays until somebody acts.
    bool lasts = false;

    bool operator==(const Refused&) const = default;
};

/// The check right before the publishing step said no: lease, ownership or version moved on. Nothing was published.
struct Withheld {
    bool operator==(const Withheld&) const = default;
};

/// The receiver wants nothing more, for good: the destination is switched off with this reason.
struct Gone {
    std::string reason;

    bool operator==(const Gone&) const = default;
};

using SendOutcome = std::variant<Stored, Refused, Withheld, Gone>;

}  // namespace ftlfeed::deliver

#include <ftlfeed/deliver/send_outcome.hpp>

#include <ftlfeed/core/assert.hpp>

namespace ftlfeed::deliver {

std::string_view name_of(Guarantee guarantee) {
    switch (guarantee) {
        case Guarantee::kAtomicReplace:
            return "atomic_replace";
        case Guarantee::kReplaceWithGap:
            return "replace_with_gap";
        case Guarantee::kSizeChecked:
            return "size_checked";
        case Guarantee::kContentChecked:
            return "content_checked";
        case Guarantee::kAcknowledged:
            return "acknowledged";
    }
    FTL_ASSERT(false && "a guarantee without a name");
    return "";
}

}  // namespace ftlfeed::deliver

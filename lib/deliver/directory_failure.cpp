#include "deliver/directory_failure.hpp"

#include <cerrno>
#include <cstring>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::deliver {
namespace {

enum class Scope { kFile, kDestination, kDestinationLasts };

/// A denied step in the folder itself concerns every file; one on the way of a single file concerns that file.
Scope scope_of(int error, DirectoryStep step, bool at_root) {
    const bool concerns_all = step == DirectoryStep::kFolder || at_root;
    switch (error) {
        case EACCES:
        case EPERM:
            return concerns_all ? Scope::kDestinationLasts : Scope::kFile;
        case EROFS:
            return Scope::kDestinationLasts;
        case ENAMETOOLONG:
        case EISDIR:
        case EFBIG:
        case EILSEQ:
        case EINVAL:
            return step == DirectoryStep::kFolder ? Scope::kDestinationLasts : Scope::kFile;
        // Something that is no folder stands in the way, or a symbolic link, which is never followed.
        case ENOTDIR:
        case ELOOP:
        case EEXIST:
        case ENOTEMPTY:
            return step == DirectoryStep::kFolder ? Scope::kDestinationLasts : Scope::kFile;
        // ENOENT of the folder: a share that is not mounted comes back. Of a file: somebody cleared up under our hands.
        default:
            return Scope::kDestination;  // ENOSPC, EDQUOT, EIO, ESTALE, EMFILE, ENOENT and what we do not know.
    }
}

/// The name's trouble stays with every version; the rest may go away with the next one.
bool lasts(int error) { return error == ENAMETOOLONG || error == EILSEQ || error == EINVAL; }

}  // namespace

Refused directory_refusal(int error, DirectoryStep step, bool at_root, const std::string& what) {
    const char* name = strerrorname_np(error);
    const std::string code = name != nullptr ? name : "errno " + std::to_string(error);
    const std::string text = what + ": " + code + " (" + std::strerror(error) + ")";
    switch (scope_of(error, step, at_root)) {
        case Scope::kFile:
            return Refused{text, lasts(error)};
        case Scope::kDestination:
            throw core::Failure::unavailable(text).with_native_code(code);
        case Scope::kDestinationLasts:
            throw core::Failure::permanent(text).with_native_code(code);
    }
    return Refused{text, false};
}

}  // namespace ftlfeed::deliver

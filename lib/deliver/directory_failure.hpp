#pragma once

#include <string>

#include <ftlfeed/deliver/remote_path.hpp>
#include <ftlfeed/deliver/send_outcome.hpp>

namespace ftlfeed::deliver {

/// What a step on the file system was about: a failure's scope follows from it.
enum class DirectoryStep {
    kFolder,     ///< The destination's folder itself.
    kSubfolder,  ///< A folder below it, on this file's way.
    kFile,       ///< Making, writing or renaming the file in it.
};

/// The one reader of errno values of lib/deliver. Returns Refused when only this file is concerned (its name, its size,
/// something in its way); throws core::Failure when the destination is: no space, no rights, read-only, I/O errors,
/// permanent() where trying again soon cannot help. `at_root`: the step happened directly in the destination's folder.
[[nodiscard]] Refused directory_refusal(int error, DirectoryStep step, bool at_root, const std::string& what);

}  // namespace ftlfeed::deliver

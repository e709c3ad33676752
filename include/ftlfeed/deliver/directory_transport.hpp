#pragma once

#include <set>
#include <string>

#include <ftlfeed/deliver/assignment_id.hpp>
#include <ftlfeed/deliver/transport.hpp>

namespace ftlfeed::deliver {

/// A folder on this machine or on a mounted share. A version is written beside its place under a temporary name that
/// carries the destination and the version, synced, and renamed over the old file; then the folder is synced.
/// The folder itself must exist (a share that is not mounted must not be filled below its mount point); folders below
/// it are made. Symbolic links below it are never followed, so nothing is written outside. Guarantee: atomic_replace.
/// Receipt: `inode=N bytes=N mtime=SECONDS.NANOSECONDS`.
/// Threads: confined. Blocks as long as the file system does; the deadline is looked at between the steps.
class DirectoryTransport final : public Transport {
public:
    /// `folder` is absolute. Throws core::InvalidInput when it is not. Touches nothing yet.
    DirectoryTransport(std::string folder, AssignmentId assignment, const core::Clock& clock);

    [[nodiscard]] SendOutcome put(const Outgoing& file, SendGuard& guard) override;
    [[nodiscard]] SendOutcome remove(const Outgoing& file, SendGuard& guard) override;
    /// Compares the bytes as well: the file can be read here.
    [[nodiscard]] Look look(const Outgoing& file, SendGuard& guard) override;
    /// Writes a temporary file into the folder, syncs it and removes it.
    [[nodiscard]] SendOutcome test(SendGuard& guard) override;

private:
    void remove_leftovers(int folder, const RemotePath& path);

    std::string folder_;
    AssignmentId assignment_;
    const core::Clock& clock_;
    std::set<std::string> swept_;  ///< Folders where leftovers of a dead predecessor were looked for.
};

}  // namespace ftlfeed::deliver

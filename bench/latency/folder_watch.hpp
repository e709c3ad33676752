#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace ftl::bench {

using Time = std::chrono::steady_clock::time_point;

/// Sees files that are renamed into one folder, by inotify. Threads: confined to one thread.
class FolderWatch {
public:
    /// Throws std::system_error when the folder cannot be watched.
    explicit FolderWatch(const std::string& folder);
    ~FolderWatch();
    FolderWatch(const FolderWatch&) = delete;
    FolderWatch& operator=(const FolderWatch&) = delete;

    /// When a file was renamed to `name`, counted from the last call on; nothing when that did not happen by `deadline`.
    std::optional<Time> wait_for(const std::string& name, Time deadline);
    /// Forgets what has been seen so far.
    void drain();

private:
    int file_;
};

}  // namespace ftl::bench

#include "folder_watch.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace ftl::bench {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Is `name` among the events that were read?
bool has_name(const char* events, std::size_t bytes, const std::string& name) {
    for (std::size_t at = 0; at < bytes;) {
        const auto* event = reinterpret_cast<const inotify_event*>(events + at);
        if (event->len > 0 && name == event->name) return true;
        at += sizeof(inotify_event) + event->len;
    }
    return false;
}

}  // namespace

FolderWatch::FolderWatch(const std::string& folder) : file_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    if (file_ < 0 || inotify_add_watch(file_, folder.c_str(), IN_MOVED_TO) < 0) {
        throw std::system_error(errno, std::generic_category(), "watch " + folder);
    }
}

FolderWatch::~FolderWatch() { close(file_); }

std::optional<Time> FolderWatch::wait_for(const std::string& name, Time deadline) {
    alignas(inotify_event) std::array<char, 4096> events{};
    while (true) {
        const auto bytes = read(file_, events.data(), events.size());
        const auto now = steady_clock::now();
        if (bytes > 0 && has_name(events.data(), static_cast<std::size_t>(bytes), name)) return now;
        if (now >= deadline) return std::nullopt;
        if (bytes > 0) continue;
        pollfd waiting{file_, POLLIN, 0};
        poll(&waiting, 1,
             static_cast<int>(std::max<std::int64_t>(1, duration_cast<milliseconds>(deadline - now).count())));
    }
}

void FolderWatch::drain() {
    std::array<char, 4096> events{};
    while (read(file_, events.data(), events.size()) > 0) {
    }
}

}  // namespace ftl::bench

#include "receive.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "failure.hpp"
#include "received_log.hpp"

namespace ftlfeed::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kWatched = IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ONLYDIR | IN_EXCL_UNLINK;
constexpr std::size_t kReadBytes = 256 * 1024;

struct Event {
    int watch = 0;
    std::uint32_t mask = 0;
    std::string name;

    [[nodiscard]] bool is(std::uint32_t bits) const { return (mask & bits) != 0; }
};

/// Files that a scan found, until the mark comes out of the queue that was put there right after the scan. A rename
/// whose event comes before the mark speaks for itself; what is left then was there before the watch.
struct Scan {
    const char* note = nullptr;
    std::map<std::string, FileRead> found;
};

bool is_temporary(const std::string& name) { return name.empty() || name.front() == '.'; }

std::string joined(const std::string& folder, const std::string& name) {
    return folder.empty() ? name : folder + "/" + name;
}

}  // namespace

class Receiver::Watcher {
public:
    explicit Watcher(const ReceiveSettings& settings)
        : root_(settings.folder),
          log_(settings.log),
          inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
          stop_(eventfd(0, EFD_CLOEXEC)) {
        if (inotify_ < 0 || stop_ < 0) throw system_failure("cannot watch folders");
        if (!fs::is_directory(root_)) throw std::runtime_error(root_ + " is not a folder");
        if (fs::equivalent(root_, "/")) throw std::runtime_error("the whole file system cannot be watched");
        // What is there before the start has been logged by an earlier run, or is none of ours.
        watch_tree("", [this](const std::string& path) {
            if (const auto mark = mark_of(full(path))) known_[path] = *mark;
        });
    }

    ~Watcher() {
        ::close(inotify_);
        ::close(stop_);
    }
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    void run() {
        std::array<pollfd, 2> ready{{{inotify_, POLLIN, 0}, {stop_, POLLIN, 0}}};
        bool is_stopping = false;
        while (!is_stopping) {
            if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) throw system_failure("cannot wait");
            is_stopping = ready[1].revents != 0;
            // All that is queued, before a stop too: the marks of scans are in the queue already.
            while (read_events()) {
                while (!queue_.empty()) {
                    const auto event = std::move(queue_.front());
                    queue_.pop_front();
                    handle(event);
                }
                log_.sync();
            }
        }
    }

    void stop() const {
        const std::uint64_t one = 1;
        // Async-signal-safe; a full counter means that a stop is pending already.
        [[maybe_unused]] const auto written = ::write(stop_, &one, sizeof one);
    }

private:
    [[nodiscard]] std::string full(const std::string& path) const { return path.empty() ? root_ : root_ + "/" + path; }

    /// Returns false when nothing is queued.
    bool read_events() {
        alignas(inotify_event) static thread_local std::array<char, kReadBytes> buffer;
        const auto count = ::read(inotify_, buffer.data(), buffer.size());
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
        if (count <= 0) throw system_failure("cannot read the folder's events");
        for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
            const auto* raw = reinterpret_cast<const inotify_event*>(buffer.data() + at);
            queue_.push_back({raw->wd, raw->mask, raw->len > 0 ? std::string(raw->name) : ""});
            at += sizeof(inotify_event) + raw->len;
        }
        return true;
    }

    void handle(const Event& event) {
        if (event.is(IN_Q_OVERFLOW)) return look_again();
        if (const auto scan = scans_.find(event.watch); scan != scans_.end()) return finish(scan);
        const auto folder = folders_.find(event.watch);
        if (folder == folders_.end()) return;  // An event of a folder that has gone meanwhile.
        if (event.is(IN_IGNORED)) {
            if (folder->second.empty()) throw std::runtime_error(root_ + " is gone");
            folders_.erase(folder);
            return;
        }
        if (is_temporary(event.name)) return;
        const auto path = joined(folder->second, event.name);
        if (event.is(IN_ISDIR)) return handle_folder(event, path);
        if (event.is(IN_MOVED_TO)) return renamed_in(path);
        if (event.is(IN_DELETE | IN_MOVED_FROM)) deleted(path);
    }

    void deleted(const std::string& path) {
        // A scan saw the file, and its mark is still queued: it came before it went.
        for (auto& [mark, scan] : scans_) {
            if (const auto file = scan.found.extract(path)) log(path, file.mapped(), scan.note);
        }
        known_.erase(path);
        log_.deleted(path);
    }

    void handle_folder(const Event& event, const std::string& path) {
        if (event.is(IN_CREATE | IN_MOVED_TO)) return scan_folder(path);
        if (!event.is(IN_MOVED_FROM)) return;
        for (auto folder = folders_.begin(); folder != folders_.end();) {
            const bool is_inside = folder->second == path || folder->second.starts_with(path + "/");
            if (is_inside) inotify_rm_watch(inotify_, folder->first);
            folder = is_inside ? folders_.erase(folder) : std::next(folder);
        }
    }

    void renamed_in(const std::string& path) {
        for (auto& [mark, scan] : scans_) scan.found.erase(path);
        log(path, read_and_hash(full(path)), nullptr);
    }

    void log(const std::string& path, const std::optional<FileRead>& file, const char* note) {
        if (file) known_[path] = file->mark;
        log_.renamed_in(path, file, note);
    }

    /// Watches a folder and all below it, and calls `on_file` for each file that is there by then.
    template <typename OnFile>
    void watch_tree(const std::string& path, OnFile on_file) {
        const int watch = inotify_add_watch(inotify_, full(path).c_str(), kWatched);
        if (watch < 0 && (errno == ENOENT || errno == ENOTDIR)) return;  // Gone again.
        if (watch < 0) throw system_failure("cannot watch " + full(path));
        if (!folders_.try_emplace(watch, path).second) return;
        std::error_code gone;
        // First the watch, then the look: what comes between the two is seen twice, never not at all.
        for (fs::directory_iterator entry(full(path), gone), end; !gone && entry != end; entry.increment(gone)) {
            const auto name = entry->path().filename().string();
            if (is_temporary(name)) continue;
            std::error_code unknown;
            if (entry->is_symlink(unknown)) continue;
            entry->is_directory(unknown) ? watch_tree(joined(path, name), on_file) : on_file(joined(path, name));
        }
    }

    void scan_folder(const std::string& path) {
        Scan scan;
        watch_tree(path, [&](const std::string& file) {
            if (auto read = read_and_hash(full(file))) scan.found.emplace(file, std::move(*read));
        });
        mark(std::move(scan));
    }

    /// Puts a mark into the kernel's queue: adding and removing a watch queues IN_IGNORED, in order, and touches nothing.
    void mark(Scan scan) {
        if (scan.found.empty()) return;
        const int watch = inotify_add_watch(inotify_, "/", IN_DELETE_SELF);
        if (watch < 0 || inotify_rm_watch(inotify_, watch) != 0)
            throw system_failure("cannot mark the folder's events");
        scans_.emplace(watch, std::move(scan));
    }

    void finish(std::map<int, Scan>::iterator scan) {
        const auto done = std::move(scan->second);
        scans_.erase(scan);
        for (const auto& [path, file] : done.found) log(path, file, done.note);
    }

    /// The kernel dropped events: every file that is not as last seen is logged once more, and it is said so.
    void look_again() {
        log_.overflow();
        Scan scan;
        scan.note = "rescan";
        auto missing = known_;
        const auto look = [&](const std::string& path) {
            missing.erase(path);
            auto read = read_and_hash(full(path));
            const auto before = known_.find(path);
            if (!read || (before != known_.end() && before->second == read->mark)) return;
            scan.found.emplace(path, std::move(*read));
        };
        const auto watched = std::exchange(folders_, {});
        // Every folder is entered again: the kernel gives back the watch that it has.
        watch_tree("", look);
        for (const auto& [watch, path] : watched) {
            if (!folders_.contains(watch)) inotify_rm_watch(inotify_, watch);
        }
        for (const auto& [path, mark] : missing) {
            known_.erase(path);
            log_.deleted(path);
        }
        mark(std::move(scan));
    }

    std::string root_;
    ReceivedLog log_;
    int inotify_;
    int stop_;
    std::deque<Event> queue_;
    std::unordered_map<int, std::string> folders_;  // Watch to path below the root; the root's is empty.
    std::map<int, Scan> scans_;                     // By the watch of their mark.
    std::map<std::string, FileMark> known_;
};

Receiver::Receiver(const ReceiveSettings& settings) : watcher_(std::make_unique<Watcher>(settings)) {}

Receiver::~Receiver() = default;

void Receiver::run() { watcher_->run(); }

void Receiver::stop() { watcher_->stop(); }

}  // namespace ftlfeed::sim

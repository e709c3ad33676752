#include <ftlfeed/deliver/directory_transport.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <ftlfeed/core/crash_point.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/core/text.hpp>

#include "deliver/directory_failure.hpp"

namespace ftlfeed::deliver {
namespace {

constexpr std::size_t kChunkBytes = 256 * 1024;

/// A file descriptor, closed at the end.
class Descriptor {
public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);  // An error here is too late to matter: what counts was synced before.
    }
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool is_open() const { return fd_ >= 0; }
    void release() { fd_ = -1; }

private:
    int fd_;
};

/// The version is in the name: after a lost answer the name tells whether *this* version was renamed.
std::string temporary_prefix(const RemotePath& path, AssignmentId assignment) {
    return "." + std::string(path.name()) + ".d" + std::to_string(assignment.value) + "-";
}
std::string temporary_name(const RemotePath& path, AssignmentId assignment, const core::Version& version) {
    return temporary_prefix(path, assignment) + std::to_string(version.epoch) + "-" + std::to_string(version.seq) +
           "-" + std::to_string(version.render) + ".tmp";
}

std::string receipt_of(const struct stat& status) {
    std::string nanoseconds = std::to_string(status.st_mtim.tv_nsec);
    nanoseconds.insert(0, 9 - nanoseconds.size(), '0');
    return "inode=" + std::to_string(status.st_ino) + " bytes=" + std::to_string(status.st_size) +
           " mtime=" + std::to_string(status.st_mtim.tv_sec) + "." + nanoseconds;
}

Descriptor open_root(const std::string& folder) {
    Descriptor root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root.is_open()) {
        static_cast<void>(directory_refusal(errno, DirectoryStep::kFolder, true, "open folder " + folder));
    }
    return root;
}

using FolderOrRefused = std::variant<Descriptor, Refused>;

/// Walks down without following a symbolic link. Folders that are missing are made when `make` is set, and the folder
/// above is synced, or a power cut could take them away again with a proven file in them.
FolderOrRefused open_parent(const std::string& root_folder, const RemotePath& path, bool make) {
    auto folder = open_root(root_folder);
    bool at_root = true;
    for (const auto& name : path.folders()) {
        const auto what = "folder " + name + " of " + path.text();
        if (make) {
            if (::mkdirat(folder.get(), name.c_str(), 0755) == 0) {
                if (::fsync(folder.get()) != 0)
                    return directory_refusal(errno, DirectoryStep::kSubfolder, at_root, what);
            } else if (errno != EEXIST) {
                return directory_refusal(errno, DirectoryStep::kSubfolder, at_root, what);
            }
        }
        Descriptor next(::openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        at_root = false;
        if (!next.is_open()) return directory_refusal(errno, DirectoryStep::kSubfolder, at_root, what);
        folder = std::move(next);
    }
    return folder;
}

bool is_gone(const core::Failure& failure) { return failure.native_code() == "ENOENT"; }

/// Removes the temporary file unless it was renamed: a cancelled send leaves nothing behind.
class TemporaryFile {
public:
    TemporaryFile(int folder, std::string name) : folder_(folder), name_(std::move(name)) {}
    ~TemporaryFile() {
        if (!is_renamed_) ::unlinkat(folder_, name_.c_str(), 0);  // One that stays is found by the next owner's sweep.
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    void renamed() { is_renamed_ = true; }

private:
    int folder_;
    std::string name_;
    bool is_renamed_ = false;
};

void check_deadline(const core::Clock& clock, const SendGuard& guard, const std::string& what) {
    if (guard.deadline().is_over(clock.steady_now())) {
        throw core::Failure::unavailable(what + ": the time for this send is over").with_native_code("ETIMEDOUT");
    }
}

/// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view body, const core::Clock& clock, const SendGuard& guard,
              const std::string& what) {
    while (!body.empty()) {
        check_deadline(clock, guard, what);
        const auto written = ::write(fd, body.data(), std::min(body.size(), kChunkBytes));
        if (written < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        body.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

std::string read_all(int fd, std::size_t bytes, const std::string& what) {
    std::string content(bytes, '\0');
    std::size_t at = 0;
    while (at < bytes) {
        const auto count = ::pread(fd, content.data() + at, bytes - at, static_cast<off_t>(at));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) static_cast<void>(directory_refusal(errno, DirectoryStep::kFile, true, what));
        if (count <= 0) break;
        at += static_cast<std::size_t>(count);
    }
    content.resize(at);
    return content;
}

}  // namespace

DirectoryTransport::DirectoryTransport(std::string folder, AssignmentId assignment, const core::Clock& clock)
    : folder_(std::move(folder)), assignment_(assignment), clock_(clock) {
    if (folder_.empty() || folder_.front() != '/' || folder_.find('\0') != std::string::npos) {
        throw core::InvalidInput("folder " + core::json_quoted(core::shorten(folder_, 200)) +
                                 " of a directory destination: give an absolute path");
    }
}

SendOutcome DirectoryTransport::put(const Outgoing& file, SendGuard& guard) {
    const auto what = "write " + file.path.text() + " in " + folder_;
    auto parent = open_parent(folder_, file.path, true);
    if (auto* refused = std::get_if<Refused>(&parent)) return *refused;
    const int folder = std::get<Descriptor>(parent).get();
    const bool at_root = file.path.folders().empty();
    const auto refusal = [&](int error) { return directory_refusal(error, DirectoryStep::kFile, at_root, what); };
    remove_leftovers(folder, file.path);

    const auto temporary = temporary_name(file.path, assignment_, file.version);
    ::unlinkat(folder, temporary.c_str(), 0);  // An earlier try of this version that was killed; O_EXCL tells the rest.
    Descriptor fd(::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd.is_open()) return refusal(errno);
    TemporaryFile leftover(folder, temporary);
    if (const int error = write_all(fd.get(), file.content.body, clock_, guard, what)) return refusal(error);
    if (::fsync(fd.get()) != 0) return refusal(errno);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return refusal(errno);
    core::durable_step("deliver.temporary_written");

    if (!guard.may_publish()) return Withheld{};
    if (::renameat(folder, temporary.c_str(), folder, std::string(file.path.name()).c_str()) != 0)
        return refusal(errno);
    leftover.renamed();
    core::durable_step("deliver.renamed");
    // From here on readers see the new file; only a power cut could still take it back, so nothing is proven yet.
    if (::fsync(folder) != 0) {
        throw core::Failure::in_doubt(what + ": the folder could not be synced after the rename");
    }
    return Stored{receipt_of(status), Guarantee::kAtomicReplace};
}

SendOutcome DirectoryTransport::remove(const Outgoing& file, SendGuard& guard) {
    const auto& path = file.path;
    const auto what = "remove " + path.text() + " in " + folder_;
    try {
        auto parent = open_parent(folder_, path, false);
        if (auto* refused = std::get_if<Refused>(&parent)) return *refused;
        const int folder = std::get<Descriptor>(parent).get();
        if (!guard.may_publish()) return Withheld{};
        if (::unlinkat(folder, std::string(path.name()).c_str(), 0) != 0 && errno != ENOENT) {
            return directory_refusal(errno, DirectoryStep::kFile, path.folders().empty(), what);
        }
        core::durable_step("deliver.removed");
        if (::fsync(folder) != 0) throw core::Failure::unavailable(what + ": the folder could not be synced");
        return Stored{"removed", Guarantee::kAtomicReplace};
    } catch (const core::Failure& failure) {
        // A folder below is gone: so is the file. The destination's own folder must be there to say so.
        if (!is_gone(failure)) throw;
        static_cast<void>(open_root(folder_));
        return Stored{"was not there", Guarantee::kAtomicReplace};
    }
}

Look DirectoryTransport::look(const Outgoing& file, SendGuard& guard) {
    const auto what = "look at " + file.path.text() + " in " + folder_;
    check_deadline(clock_, guard, what);
    static_cast<void>(open_root(folder_));  // A folder that is away tells nothing about the file: that throws.
    try {
        auto parent = open_parent(folder_, file.path, false);
        if (std::holds_alternative<Refused>(parent)) return Look::kNotThere;
        const int folder = std::get<Descriptor>(parent).get();
        const auto temporary = temporary_name(file.path, assignment_, file.version);
        struct stat status {};
        if (::fstatat(folder, temporary.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
            // It was not renamed, and its sender is gone: nobody else will ever finish it.
            ::unlinkat(folder, temporary.c_str(), 0);
            return Look::kNotThere;
        }
        Descriptor fd(::openat(folder, std::string(file.path.name()).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!fd.is_open() || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return Look::kNotThere;
        // The size alone says little: most changes replace one digit by another.
        if (static_cast<std::size_t>(status.st_size) != file.content.body.size()) return Look::kNotThere;
        if (read_all(fd.get(), file.content.body.size(), what) != file.content.body) return Look::kNotThere;
        // The dead sender may have renamed and not synced.
        if (::fsync(fd.get()) != 0 || ::fsync(folder) != 0) throw core::Failure::unavailable(what + ": cannot sync");
        return Look::kThere;
    } catch (const core::Failure& failure) {
        if (is_gone(failure)) return Look::kNotThere;
        throw;
    }
}

SendOutcome DirectoryTransport::test(SendGuard& guard) {
    const auto what = "write a test file in " + folder_;
    check_deadline(clock_, guard, what);
    const auto root = open_root(folder_);
    // A temporary name: whoever reads the folder passes over it, and should it stay, the next sweep removes it.
    const auto name = ".test.d" + std::to_string(assignment_.value) + "-" + std::to_string(::getpid()) + ".tmp";
    const auto refusal = [&](int error) { return directory_refusal(error, DirectoryStep::kFile, true, what); };
    Descriptor fd(::openat(root.get(), name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd.is_open()) return refusal(errno);
    const TemporaryFile leftover(root.get(), name);
    if (const int error = write_all(fd.get(), "ftlfeed: a test\n", clock_, guard, what)) return refusal(error);
    if (::fsync(fd.get()) != 0) return refusal(errno);
    return Stored{"a test file was written and removed", Guarantee::kAtomicReplace};
}

void DirectoryTransport::remove_leftovers(int folder, const RemotePath& path) {
    // Once for each folder: only a predecessor that was killed can have left something.
    const auto name_at = path.text().size() - path.name().size();
    if (!swept_.insert(path.text().substr(0, name_at)).second) return;
    const std::string marker = ".d" + std::to_string(assignment_.value) + "-";
    Descriptor again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(again.get()), ::closedir);
    if (!entries) return;  // Then they stay: they are in nobody's way, their names begin with a dot.
    again.release();       // closedir() closes it.
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (name.starts_with('.') && name.ends_with(".tmp") && name.find(marker) != std::string_view::npos) {
            ::unlinkat(folder, entry->d_name, 0);
        }
    }
}

}  // namespace ftlfeed::deliver

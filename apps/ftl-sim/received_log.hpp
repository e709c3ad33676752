#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ftlfeed::sim {

/// What tells one version of a file from the next without reading it.
struct FileMark {
    ino_t inode = 0;
    std::int64_t changed_ns = 0;  ///< The inode's change time: a rename sets it.
    friend bool operator==(const FileMark&, const FileMark&) = default;
};

/// A file as it was read.
struct FileRead {
    FileMark mark;
    std::uint64_t bytes = 0;
    std::string sha256;  ///< Lower-case hex.
};

/// None when there is no regular file any more. Throws std::runtime_error when it cannot be read.
[[nodiscard]] std::optional<FileRead> read_and_hash(const std::string& path);
[[nodiscard]] std::optional<FileMark> mark_of(const std::string& path);

[[nodiscard]] std::string sha256_of(const std::string& bytes);

/// Every byte, or false with errno set.
[[nodiscard]] bool write_whole(int file, std::string_view bytes);

/// A request to a webhook, as it is logged. Of one whose body was not read, bytes, hash and status are none.
struct WebhookLine {
    std::string path;  ///< The header ftl-file.
    std::optional<std::uint64_t> bytes;
    std::optional<std::string> sha256;
    std::string webhook_id;
    std::string ftl_version;
    std::optional<int> status;  ///< What was answered, or would have been.
    std::string event;          ///< The header ftl-event.
    std::optional<bool> is_signed;
    bool is_repeated = false;  ///< An id that was taken before.
    std::string complaint;
    std::string fault;  ///< What the script had it do.
};

/// What a pull got, as it is logged. Of anything but a 200, bytes and hash are none.
struct PullLine {
    std::string path;  ///< EVENT/FEED_TYPE[/FILTER]
    std::optional<std::uint64_t> bytes;
    std::optional<std::string> sha256;  ///< Of the unpacked body, as its bytes.
    std::optional<int> status;          ///< None when no whole answer came.
    std::string ftl_version;            ///< What the ETag says without its coding.
    std::string etag;
    std::string coding;
    std::string age;
    std::string error;
};

/// A receiver's log: JSON lines, appended. Threads: confined to one.
class ReceivedLog {
public:
    /// Throws std::runtime_error.
    explicit ReceivedLog(const std::string& path);
    ~ReceivedLog();
    ReceivedLog(const ReceivedLog&) = delete;
    ReceivedLog& operator=(const ReceivedLog&) = delete;

    /// `{"time","path","bytes","sha256"}`; `note` adds `"note"`. A file that is gone has null for both.
    void renamed_in(const std::string& path, const std::optional<FileRead>& file, const char* note = nullptr);
    /// `{"time","path","event":"deleted"}`
    void deleted(const std::string& path);
    /// `{"time","event":"overflow"}`: the kernel dropped events; files that changed meanwhile follow, once each.
    void overflow();
    /// `{"time","path","bytes","sha256","status","ftl_version","etag"}`; "coding", "age" and "error" only where there is one.
    void pulled(const PullLine& line);
    /// `{"time","path","bytes","sha256","webhook_id","ftl_version","status","event","signed"}`; "repeated", "complaint" and
    /// "fault" only where there is one.
    void webhook(const WebhookLine& line);
    /// Until here everything is on the disk. Throws std::runtime_error.
    void sync();

private:
    /// Appends one line: the time, then what `write_fields` writes.
    template <typename WriteFields>
    void append(WriteFields write_fields);

    std::string path_;
    int file_ = -1;
    bool is_dirty_ = false;
};

}  // namespace ftlfeed::sim

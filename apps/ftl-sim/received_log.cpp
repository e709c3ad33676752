#include "received_log.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>

#include "failure.hpp"
#include "json_writer.hpp"
#include "zone.hpp"

namespace ftlfeed::sim {
namespace {

/// Closes on the way out.
class OpenFile {
public:
    explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {}
    ~OpenFile() {
        if (file_ >= 0) ::close(file_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    [[nodiscard]] int get() const { return file_; }

private:
    int file_;
};

FileMark mark_of(const struct stat& status) {
    return {status.st_ino, std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec};
}

std::string hex(const unsigned char* bytes, unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
}

/// "2026-06-11T19:00:00.123Z"
std::string now_text() {
    using namespace std::chrono;
    const auto now = floor<milliseconds>(system_clock::now());
    const auto whole = floor<seconds>(now);
    auto text = utc_text(whole);
    text.pop_back();
    return fmt::format("{}.{:03}Z", text, (now - whole).count());
}

}  // namespace

std::optional<FileMark> mark_of(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return mark_of(status);
}

std::optional<FileRead> read_and_hash(const std::string& path) {
    const OpenFile file(path);
    if (file.get() < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return std::nullopt;
    if (file.get() < 0) throw system_failure("cannot open " + path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) throw system_failure("cannot look at " + path);
    if (!S_ISREG(status.st_mode)) return std::nullopt;

    FileRead read{mark_of(status), 0, ""};
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr);
    std::array<char, 65536> chunk;
    for (;;) {
        const auto count = ::read(file.get(), chunk.data(), chunk.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw system_failure("cannot read " + path);
        if (count == 0) break;
        EVP_DigestUpdate(digest.get(), chunk.data(), static_cast<std::size_t>(count));
        read.bytes += static_cast<std::uint64_t>(count);
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> hash;
    unsigned size = 0;
    EVP_DigestFinal_ex(digest.get(), hash.data(), &size);
    read.sha256 = hex(hash.data(), size);
    return read;
}

std::string sha256_of(const std::string& bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> hash;
    unsigned size = 0;
    EVP_Digest(bytes.data(), bytes.size(), hash.data(), &size, EVP_sha256(), nullptr);
    return hex(hash.data(), size);
}

bool write_whole(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto count = ::write(file, bytes.data(), bytes.size());
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

ReceivedLog::ReceivedLog(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    if (file_ < 0) throw system_failure("cannot open " + path);
}

ReceivedLog::~ReceivedLog() { ::close(file_); }

template <typename WriteFields>
void ReceivedLog::append(WriteFields write_fields) {
    JsonWriter json;
    json.begin_object();
    json.field("time", now_text());
    write_fields(json);
    json.end_object();
    if (!write_whole(file_, json.text() + "\n")) throw system_failure("cannot write " + path_);
    is_dirty_ = true;
}

void ReceivedLog::renamed_in(const std::string& path, const std::optional<FileRead>& file, const char* note) {
    append([&](JsonWriter& json) {
        json.field("path", path);
        json.field("bytes", file ? std::optional(file->bytes) : std::nullopt);
        json.field("sha256", file ? std::optional(file->sha256) : std::nullopt);
        if (note) json.field("note", note);
    });
}

void ReceivedLog::deleted(const std::string& path) {
    append([&](JsonWriter& json) {
        json.field("path", path);
        json.field("event", "deleted");
    });
}

void ReceivedLog::overflow() {
    append([](JsonWriter& json) { json.field("event", "overflow"); });
}

void ReceivedLog::pulled(const PullLine& line) {
    append([&](JsonWriter& json) {
        json.field("path", line.path);
        json.field("bytes", line.bytes);
        json.field("sha256", line.sha256);
        json.field("status", line.status);
        json.field("ftl_version", line.ftl_version);
        json.field("etag", line.etag);
        if (!line.coding.empty()) json.field("coding", line.coding);
        if (!line.age.empty()) json.field("age", line.age);
        if (!line.error.empty()) json.field("error", line.error);
    });
}

void ReceivedLog::webhook(const WebhookLine& line) {
    append([&](JsonWriter& json) {
        json.field("path", line.path);
        json.field("bytes", line.bytes);
        json.field("sha256", line.sha256);
        json.field("webhook_id", line.webhook_id);
        json.field("ftl_version", line.ftl_version);
        json.field("status", line.status);
        json.field("event", line.event);
        json.field("signed", line.is_signed);
        if (line.is_repeated) json.field("repeated", true);
        if (!line.complaint.empty()) json.field("complaint", line.complaint);
        if (!line.fault.empty()) json.field("fault", line.fault);
    });
}

void ReceivedLog::sync() {
    if (is_dirty_ && ::fsync(file_) != 0) throw system_failure("cannot sync " + path_);
    is_dirty_ = false;
}

}  // namespace ftlfeed::sim

#include "pull.hpp"

#include <libdeflate.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "command.hpp"

namespace ftlfeed::sim {
namespace {

/// A whole gzip member, or nothing. Packed files are at most a thousand times smaller than they were.
std::string unpacked(const std::string& packed) {
    const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
        libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
    for (std::size_t room = packed.size() * 8 + 1024; room <= packed.size() * 1200 + 2048; room *= 4) {
        std::string plain(room, '\0');
        std::size_t size = 0;
        std::size_t taken = 0;
        const auto result = libdeflate_gzip_decompress_ex(decompressor.get(), packed.data(), packed.size(),
                                                          plain.data(), plain.size(), &taken, &size);
        if (result == LIBDEFLATE_INSUFFICIENT_SPACE) continue;
        if (result != LIBDEFLATE_SUCCESS || taken != packed.size()) break;
        plain.resize(size);
        return plain;
    }
    throw std::runtime_error("the body is no gzip");
}

/// `"1000-5-1-gzip"` is version 1000-5-1.
std::string version_of(const std::string& etag) {
    constexpr std::string_view kSuffix = "-gzip";
    auto version = etag.size() < 2 ? etag : etag.substr(1, etag.size() - 2);
    if (version.ends_with(kSuffix)) version.resize(version.size() - kSuffix.size());
    return version;
}

}  // namespace

Puller::Puller(PullSettings settings) : settings_(std::move(settings)), http_(settings_.url), log_(settings_.log) {}

void Puller::stop() { stop_.request_stop(); }

void Puller::run() {
    std::mutex mutex;
    std::condition_variable_any nobody;
    const auto stop = stop_.get_token();
    for (std::uint64_t round = 0; !stop.stop_requested(); ++round) {
        if (settings_.rounds_max > 0 && round == settings_.rounds_max) return;
        const auto next = std::chrono::steady_clock::now() + settings_.interval;
        for (const auto& file : files()) pull(file);
        log_.sync();
        std::unique_lock lock(mutex);
        nobody.wait_until(lock, stop, next, [] { return false; });
    }
}

std::vector<std::string> Puller::files() const {
    auto all = settings_.files;
    if (settings_.files_from.empty()) return all;
    std::ifstream list(settings_.files_from);
    for (std::string line; std::getline(list, line);) {
        if (!line.empty()) all.push_back(line);
    }
    return all;
}

void Puller::pull(const std::string& file) {
    PullLine line;
    line.path = file;
    auto& etag = etags_[file];
    std::string fields = "Authorization: Bearer " + settings_.key + "\r\n";
    if (settings_.takes_gzip) fields += "Accept-Encoding: gzip\r\n";
    if (!etag.empty()) fields += "If-None-Match: " + etag + "\r\n";
    try {
        const auto answer = http_.get("/feeds/" + file, fields);
        line.status = answer.status;
        line.etag = answer.field("etag");
        line.ftl_version = version_of(line.etag);
        line.age = answer.field("age");
        line.coding = answer.field("content-encoding");
        if (answer.status == 304 && etag.empty()) throw std::runtime_error("304 for what was never had");
        if (answer.status == 200) {
            const auto body = line.coding == "gzip" ? unpacked(answer.body) : answer.body;
            line.bytes = body.size();
            line.sha256 = sha256_of(body);
            keep(file, body);
            etag = line.etag;
        }
    } catch (const std::runtime_error& error) {
        // The server may be away for a moment, and the next round asks again; the log says it.
        line.error = error.what();
    }
    log_.pulled(line);
}

void Puller::keep(const std::string& file, const std::string& body) const {
    if (settings_.folder.empty()) return;
    const auto path = std::filesystem::path(settings_.folder) / (file + ".json");
    std::filesystem::create_directories(path.parent_path());
    write_file_whole(path.string(), body);
}

}  // namespace ftlfeed::sim

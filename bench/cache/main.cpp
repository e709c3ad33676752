// Puts entries by the cache client and prints how long that took.
//   bench_cache totals URI COUNT SEQ          totals bump:0 … with version 1:SEQ:0, pipelined: seconds
//   bench_cache versions URI COUNT            reads their versions back: seconds
//   bench_cache bodies URI COUNT SEQ FILE     files bench/f0 … with FILE's bytes, one after the other: seconds
//   bench_cache refusals URI COUNT FILE       the same with version 1:0:0, which is refused: microseconds for one
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <ftlfeed/cache/cache_client.hpp>
#include <ftlfeed/core/hash.hpp>

namespace {

namespace cache = ftlfeed::cache;
using ftlfeed::core::FeedKey;

double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<cache::Entry> totals(int count, std::int64_t seq) {
    std::vector<cache::Entry> entries;
    for (int i = 0; i < count; ++i) {
        entries.push_back({cache::Key::bump(i), {1, seq, 0}, {{"t", std::to_string(seq * 1000 + i)}}});
    }
    return entries;
}

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

cache::Document document(std::int64_t seq, const std::string& path) {
    auto body = read(path);
    const auto bytes = body.size();
    auto sha = ftlfeed::core::sha256_hex(body);
    return {{1, seq, 0}, std::move(body), "application/json", {}, bytes, std::move(sha), false};
}

void put_bodies(cache::CacheClient& client, int count, const cache::Document& document, bool is_stored) {
    const auto fields = document.fields();
    for (int i = 0; i < count; ++i) {
        const auto key = cache::Key::document(FeedKey("bench", "f" + std::to_string(i)));
        const auto outcome = client.put_if_newer(key, document.version, fields);
        if (std::holds_alternative<cache::Stored>(outcome) != is_stored) {
            throw std::runtime_error(key.text() + (is_stored ? ": was not stored" : ": was not refused"));
        }
    }
}

void put_totals(cache::CacheClient& client, const std::vector<cache::Entry>& entries) {
    for (const auto& outcome : client.put_all_if_newer(entries)) {
        if (!std::holds_alternative<cache::Stored>(outcome)) throw std::runtime_error("a total was not stored");
    }
}

void read_versions(cache::CacheClient& client, const std::vector<cache::Entry>& entries) {
    std::vector<cache::Key> keys;
    for (const auto& entry : entries) keys.push_back(entry.key);
    for (const auto& version : client.versions(keys)) {
        if (!version) throw std::runtime_error("a total is missing");
    }
}

double measure(const std::vector<std::string>& words) {
    cache::CacheClient client(cache::ConnectionSettings::parse(words[1]));
    client.ping();
    const int count = std::stoi(words[2]);
    if (words[0] == "totals") {
        const auto entries = totals(count, std::stoll(words.at(3)));
        return seconds_of([&] { put_totals(client, entries); });
    }
    if (words[0] == "versions") return seconds_of([&] { read_versions(client, totals(count, 1)); });
    if (words[0] == "bodies") {
        const auto one = document(std::stoll(words.at(3)), words.at(4));
        return seconds_of([&] { put_bodies(client, count, one, true); });
    }
    const auto old = document(0, words.at(3));
    return seconds_of([&] { put_bodies(client, count, old, false); }) / count * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() < 3) {
        std::fprintf(stderr, "usage: bench_cache totals|versions|bodies|refusals URI COUNT …\n");
        return 2;
    }
    try {
        std::printf("%.6f\n", measure(words));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_cache: %s\n", error.what());
        return 1;
    }
}

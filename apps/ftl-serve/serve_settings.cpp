#include "ftl-serve/serve_settings.hpp"

#include <ftlfeed/core/failure.hpp>

#include "common/listen_address.hpp"

namespace ftlfeed::app {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMinute{60'000};
constexpr milliseconds kHour{3'600'000};
constexpr std::int64_t kMany = 1'000'000;
constexpr std::int64_t kMebibyte = std::int64_t{1} << 20U;
/// Revocations reach every server within a second, and reading takes some of it.
constexpr milliseconds kKeysPollMax{800};

void bind_http(core::Settings& settings, ServeSettings& mine) {
    settings.bind("serve.address", mine.address, "IP:PORT where files are served; port 0 takes a free one");
    settings.bind("serve.port_file", mine.port_file, "Where the port that was taken is written");
    settings.bind("serve.threads", mine.threads, "Loops, each with a memory and a Redis connection of its own", 1, 64);
    settings.bind("serve.connections_max", mine.connections_max, "Clients connected at once; more are closed", 1,
                  kMany);
    settings.bind("serve.head_bytes_max", mine.head_bytes_max, "Longest head of a request", 1024, kMebibyte);
    settings.bind("serve.head_timeout_ms", mine.head_timeout, "From a request's first byte to the end of its head",
                  milliseconds(10), kMinute);
    settings.bind("serve.idle_timeout_ms", mine.idle_timeout, "A connection without a request is closed after it",
                  milliseconds(10), kHour);
    settings.bind("serve.write_timeout_ms", mine.write_timeout,
                  "For an answer to be taken, beside the time that its bytes may take", milliseconds(10), kHour);
    settings.bind("serve.bytes_per_second_min", mine.bytes_per_second_min, "Slowest pace of taking an answer", 1,
                  kMebibyte * kMany);
}

}  // namespace

void ServeSettings::bind(core::Settings& settings) {
    redis.bind(settings);
    bind_serve(settings);
}

void ServeSettings::bind_serve(core::Settings& settings) {
    bind_http(settings, *this);
    settings.bind("serve.memory_bytes_max", memory_bytes_max, "Files kept in memory, by all threads together",
                  kMebibyte, kMebibyte * kMany);
    settings.bind("serve.check_timeout_ms", check_timeout, "For Redis to tell a version; then the copy is served",
                  milliseconds(1), kMinute);
    settings.bind("serve.fetch_timeout_ms", fetch_timeout, "For Redis to send a file", milliseconds(1), kMinute);
    settings.bind("serve.postgres_sessions", postgres_sessions, "Files read from Postgres at once", 1, 64);
    settings.bind("serve.postgres_wait_ms", postgres_wait, "Longest wait of a request for Postgres", milliseconds(1),
                  kMinute);
    settings.bind("serve.hold_ms", hold, "How long what Postgres said stands in for a file that Redis lacks",
                  milliseconds(0), kMinute);
    settings.bind("serve.keys_poll_ms", keys_poll, "Keys are read again this often though nobody notified",
                  milliseconds(10), kKeysPollMax);
    settings.bind("serve.grace_ms", grace, "How long keys hold while Postgres is out of reach", milliseconds(1000),
                  kHour);
}

void ServeSettings::complete() {
    static_cast<void>(parse_listen_address("serve.address", address));
    cache = redis.connection("ftl-serve");
    if (grace < keys_poll * 2) throw core::InvalidInput("serve.grace_ms must be at least twice serve.keys_poll_ms");
}

}  // namespace ftlfeed::app

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include <ftlfeed/cache/cache_client.hpp>

#include "support/redis.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using cache::CacheClient;
using cache::Key;

TEST_CASE("cache.cache_client: threads share it and each gets its own answers") {
    constexpr int kThreads = 8;
    constexpr int kPuts = 200;
    CacheClient client(cache::ConnectionSettings::parse("redis://127.0.0.1:" + std::to_string(shared_redis_port())));
    const auto word = unique_word();
    std::atomic<int> right{0};
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < kThreads; ++thread) {
            threads.emplace_back([&, thread] {
                const Key key("test:" + word + ":" + std::to_string(thread));
                for (int seq = 1; seq <= kPuts; ++seq) {
                    const cache::Fields fields{{"t", std::to_string(thread * 1000 + seq)}};
                    const auto outcome = client.put_if_newer(key, {1, seq, 0}, fields);
                    const auto found = client.fetch(key);
                    right += outcome == cache::PutOutcome(cache::Stored{}) && found && found->fields == fields ? 1 : 0;
                }
            });
        }
    }
    CHECK(right == kThreads * kPuts);
}

TEST_CASE("cache.cache_client: of threads that put one entry the newest version stays") {
    constexpr int kThreads = 8;
    constexpr int kPuts = 200;
    CacheClient client(cache::ConnectionSettings::parse("redis://127.0.0.1:" + std::to_string(shared_redis_port())));
    const Key key("test:" + unique_word());
    std::atomic<int> stored{0};
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < kThreads; ++thread) {
            threads.emplace_back([&, thread] {
                for (int i = 1; i <= kPuts; ++i) {
                    const auto seq = (i * 7 + thread * 13) % kPuts + 1;
                    const auto outcome = client.put_if_newer(key, {1, seq, 0}, {{"t", std::to_string(seq)}});
                    stored += outcome == cache::PutOutcome(cache::Stored{}) ? 1 : 0;
                }
            });
        }
    }
    CHECK(client.fetch(key)->fields.at("t") == std::to_string(kPuts));
    CHECK(stored >= 1);
    CHECK(stored <= kPuts);
}

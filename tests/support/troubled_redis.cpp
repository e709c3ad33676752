#include "support/troubled_redis.hpp"

#include <stdexcept>

namespace ftl::test {

namespace {

using Server = std::unique_ptr<RedisServer>;

/// It has 1,000 keys to read and takes 20 ms for each, unless it is told to hurry.
Server loading_redis() {
    auto server = std::make_unique<RedisServer>(
        std::vector<std::string>{"--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024"});
    server->cli({"EVAL", "for i = 1, 1000 do redis.call('SET', 'k' .. i, string.rep('x', 100)) end", "0"});
    server->cli({"SAVE"});
    server->kill();
    server->start();
    return server;
}

Server redis_with(std::vector<std::string> options) { return std::make_unique<RedisServer>(std::move(options)); }

}  // namespace

void TroubledRedis::mend() const {
    std::vector<std::string> words;
    if (code == "OOM") words = {"CONFIG", "SET", "maxmemory", "0"};
    if (code == "READONLY") words = {"REPLICAOF", "NO", "ONE"};
    if (code == "LOADING") words = {"CONFIG", "SET", "key-load-delay", "0"};
    if (code == "NOAUTH") words = {"--no-auth-warning", "-a", "right-one", "CONFIG", "SET", "requirepass", ""};
    const auto answer = server->cli(words);
    if (answer.substr(0, 2) != "OK") throw std::runtime_error("Redis is not mended: " + answer);
}

std::vector<TroubledRedis> troubled_redises() {
    std::vector<TroubledRedis> all;
    all.push_back({redis_with({"--maxmemory", "1", "--maxmemory-policy", "noeviction"}), "OOM", "raise its maxmemory"});
    all.push_back({redis_with({"--replicaof", "127.0.0.1", "1"}), "READONLY", "name the master"});
    all.push_back({redis_with({"--requirepass", "right-one"}), "NOAUTH", "give the password"});
    all.push_back({loading_redis(), "LOADING", "wait"});
    return all;
}

}  // namespace ftl::test

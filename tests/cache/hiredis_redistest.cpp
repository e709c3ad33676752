// What hiredis does by itself, and why it is only our formatter and parser.
#include <doctest/doctest.h>
#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <thread>

#include "cache/loop.hpp"
#include "proxy.hpp"
#include "support/redis.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using cache::Command;
using std::chrono::milliseconds;

namespace {

/// A real Redis whose answers come late: 200 ms each.
class LateRedis {
public:
    LateRedis()
        : proxy_({"127.0.0.1", 0, "127.0.0.1", redis_.port(), 1, sim::ProxyScript::parse("*: down delay=200")}),
          thread_([this] { proxy_.run(); }) {}
    ~LateRedis() { proxy_.stop(); }

    [[nodiscard]] std::uint16_t port() const { return proxy_.port(); }

private:
    RedisServer redis_;
    sim::Proxy proxy_;
    std::jthread thread_;
};

struct FreeContext {
    void operator()(redisContext* it) const { redisFree(it); }
};
struct FreeReply {
    void operator()(void* it) const { freeReplyObject(it); }
};
using OwnedReply = std::unique_ptr<void, FreeReply>;

}  // namespace

TEST_CASE("cache.hiredis: canary - who clears its error after a time-out reads the late answer as that of the next") {
    LateRedis redis;
    const std::unique_ptr<redisContext, FreeContext> context(redisConnect("127.0.0.1", redis.port()));
    REQUIRE(context);
    redisSetTimeout(context.get(), {0, 50'000});
    const OwnedReply first(redisCommand(context.get(), "ECHO first"));
    CHECK_FALSE(first);
    // It says that it is broken, and stays so until somebody who wants to go on takes that away.
    CHECK(context->err != 0);
    context->err = 0;
    redisSetTimeout(context.get(), {5, 0});
    const OwnedReply second(redisCommand(context.get(), "ECHO second"));
    REQUIRE(second);
    CHECK(std::string(static_cast<redisReply*>(second.get())->str) == "first");
}

TEST_CASE("cache.hiredis: the same with our connection and the late answer is nobody's") {
    LateRedis redis;
    cache::ConnectionSettings settings;
    settings.port = redis.port();
    LoopConnection connection(settings);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    CHECK_THROWS_AS(text_of(connection.ask(Command::reading({"ECHO", "first"}), milliseconds(50))), core::Failure);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    CHECK(text_of(connection.ask(Command::reading({"ECHO", "second"}))) == "second");
}

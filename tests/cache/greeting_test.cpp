#include "cache/greeting.hpp"

#include <doctest/doctest.h>

#include <string>

#include "cache/cache_failure.hpp"

using namespace ftlfeed;
using cache::Greeting;
using cache::Reply;

namespace {

Reply status(const std::string& text) { return {Reply::Kind::kStatus, 0, text, {}}; }
Reply info(const std::string& text) { return {Reply::Kind::kText, 0, text, {}}; }

std::string said(Greeting& greeting) {
    std::string bytes;
    for (const auto& command : greeting.take_commands()) bytes += command.bytes();
    return bytes;
}

}  // namespace

TEST_CASE("cache.greeting: nothing is said that is not needed") {
    Greeting greeting(cache::ConnectionSettings{});
    CHECK(said(greeting) ==
          "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$7\r\nftlfeed\r\n*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n");
    CHECK_FALSE(greeting.take(status("OK")));
    CHECK_FALSE(greeting.run_id());
    CHECK_FALSE(greeting.take(info("# Server\r\nredis_version:7.0.15\r\nrun_id:abc123\r\ntcp_port:1\r\n")));
    CHECK(greeting.run_id() == "abc123");
}

TEST_CASE("cache.greeting: user and password and database come first") {
    cache::ConnectionSettings settings;
    settings.user = "u";
    settings.password = core::Secret("p");
    settings.database = 2;
    Greeting greeting(settings);
    CHECK(said(greeting).starts_with(
        "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$1\r\np\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n*3\r\n$6\r\nCLIENT\r\n"));
}

TEST_CASE("cache.greeting: a refused password is told without what the server says of it") {
    cache::ConnectionSettings settings;
    settings.password = core::Secret("hunter2");
    Greeting greeting(settings);
    const auto failure =
        greeting.take(cache::cache_failure("ERR unknown command 'AUTH', with args beginning with: 'hunter2'"));
    REQUIRE(failure);
    CHECK(failure->kind() == core::Failure::Kind::kPermanent);
    CHECK(std::string(failure->what()).find("hunter2") == std::string::npos);
}

TEST_CASE("cache.greeting: a refused name is nothing and a refused database ends it") {
    cache::ConnectionSettings settings;
    settings.database = 99;
    Greeting greeting(settings);
    CHECK(greeting.take(cache::cache_failure("ERR DB index is out of range")));
    CHECK_FALSE(greeting.take(cache::cache_failure("ERR unknown command 'CLIENT'")));
    CHECK_FALSE(greeting.take(cache::cache_failure("NOPERM this user has no permissions to run 'info'")));
    CHECK(greeting.run_id() == "");
}

TEST_CASE("cache.greeting: a server that has no INFO or tells no version is taken as it is and one before 4 is not") {
    const auto greet = [](const cache::ReplyResult& about) {
        Greeting greeting(cache::ConnectionSettings{});
        CHECK_FALSE(greeting.take(cache::cache_failure("ERR unknown command 'CLIENT'")));
        const auto failure = greeting.take(about);
        CHECK(failure.has_value() != greeting.run_id().has_value());
        return failure;
    };
    CHECK_FALSE(greet(cache::cache_failure("ERR unknown command 'INFO', with args beginning with: 'server' ")));
    CHECK_FALSE(greet(info("# Server\r\nrun_id:abc\r\n")));
    CHECK_FALSE(greet(info("redis_version:4.0.0\r\nrun_id:abc\r\n")));
    CHECK_FALSE(greet(info("redis_version:255.255.255\r\nrun_id:abc\r\n")));
    CHECK_FALSE(greet(info("redis_version:unstable\r\nrun_id:abc\r\n")));
    for (const auto* version : {"3.2.12", "2.8.0", "0.9"}) {
        const auto failure = greet(info("redis_version:" + std::string(version) + "\r\nrun_id:abc\r\n"));
        REQUIRE(failure);
        CHECK_FALSE(failure->may_retry());
        CHECK(failure->what() == "it is version " + std::string(version) + "; 4.0 or newer is needed");
    }
    CHECK(greet(cache::cache_failure("LOADING Redis is loading the dataset in memory")));
}

TEST_CASE("cache.greeting: a password for a server that wants none is told as that") {
    for (const auto* said : {"ERR AUTH <password> called without any password configured for the default user.",
                             "ERR Client sent AUTH, but no password is set"}) {
        cache::ConnectionSettings settings;
        settings.password = core::Secret("p");
        Greeting greeting(settings);
        const auto failure = greeting.take(cache::cache_failure(said));
        REQUIRE(failure);
        CHECK(std::string(failure->what()).find("wants no password") != std::string::npos);
    }
}

TEST_CASE("cache.greeting: without a password that is wanted it ends") {
    Greeting greeting(cache::ConnectionSettings{});
    static_cast<void>(greeting.take(cache::cache_failure("NOAUTH Authentication required.")));
    CHECK(greeting.take(cache::cache_failure("NOAUTH Authentication required.")));
    CHECK_FALSE(greeting.run_id());
}

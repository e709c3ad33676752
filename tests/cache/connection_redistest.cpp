#include "cache/connection.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cache/loop.hpp"
#include "support/redis.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using cache::Command;
using cache::Connection;
using cache::ConnectionSettings;
using std::chrono::milliseconds;
using Kind = core::Failure::Kind;

namespace {

Command blocking_for_ever() { return Command::reading({"BLPOP", "nobody-pushes-here", "0"}); }

}  // namespace

TEST_CASE("cache.connection: a thousand requests of one turn are each answered with what was asked for") {
    RedisServer redis;
    LoopConnection connection(to(redis));
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    std::vector<Answer> answers;
    connection.loop().run([&] {
        for (int i = 0; i < 1000; ++i) {
            answers.push_back(connection.ask_inside(Command::reading({"ECHO", std::to_string(i)}), milliseconds(5000)));
        }
    });
    for (int i = 0; i < 1000; ++i) {
        CHECK(text_of(std::move(answers[static_cast<std::size_t>(i)])) == std::to_string(i));
    }
}

TEST_CASE("cache.connection: a request says whether it was handed to the socket") {
    RedisServer redis;
    LoopConnection connection(to(redis));
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    std::promise<bool> at_answer;
    const auto written = connection.loop().run([&] {
        auto token = std::make_shared<Connection::Written>();
        *token = connection.inside().request(Command::reading({"PING"}), milliseconds(5000),
                                             [&, token](const auto&) { at_answer.set_value(**token); });
        CHECK_FALSE(**token);
        return *token;
    });
    CHECK(at_answer.get_future().get());
    CHECK(*written);
}

TEST_CASE(
    "E25: one command of a shared pipeline times out and every caller gets one error once and it connects again") {
    RedisServer redis;
    LoopConnection connection(to(redis));
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    std::vector<Answer> answers;
    connection.loop().run([&] {
        answers.push_back(connection.ask_inside(blocking_for_ever(), milliseconds(50)));
        for (int i = 0; i < 5; ++i) {
            answers.push_back(connection.ask_inside(Command::reading({"ECHO", "lost"}), milliseconds(60'000)));
        }
    });
    for (auto& answer : answers) {
        const auto failure = failure_of(std::move(answer));
        CHECK(failure.kind() == Kind::kUnavailable);
        CHECK(failure.connection_lost());
    }
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    CHECK(connection.server().connections == 2);
    CHECK(text_of(connection.ask(Command::reading({"ECHO", "mine"}))) == "mine");
}

TEST_CASE("E23: a lost answer leaves a change in doubt and a look never") {
    RedisServer redis;
    LoopConnection connection(to(redis));
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    std::vector<Answer> answers;
    redis.stop();
    connection.loop().run([&] {
        answers.push_back(connection.ask_inside(Command::changing({"INCRBY", "price", "5"}), milliseconds(50)));
        answers.push_back(connection.ask_inside(Command::reading({"GET", "price"}), milliseconds(50)));
    });
    CHECK(failure_of(std::move(answers[0])).in_doubt());
    CHECK_FALSE(failure_of(std::move(answers[1])).in_doubt());
    redis.go_on();
    // It had been read by the server all the same: that is what in doubt means.
    CHECK(wait_until([&] { return redis.cli({"GET", "price"}) == "5"; }));
}

TEST_CASE("cache.connection: while it is down a request fails at once and not inside the call") {
    RedisServer redis;
    LoopConnection connection(to(redis));
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    redis.kill();
    REQUIRE(wait_until([&] { return !connection.is_up(); }));
    std::promise<core::Failure> failed;
    bool is_inside = false;  // The loop's alone; here, since the handler outlives the turn that asks.
    connection.loop().run([&] {
        is_inside = true;
        connection.inside().request(Command::changing({"SET", "a", "b"}), milliseconds(60'000), [&](auto result) {
            CHECK_FALSE(is_inside);
            failed.set_value(std::get<core::Failure>(result));
        });
        is_inside = false;
    });
    const auto failure = failed.get_future().get();
    CHECK(failure.may_retry());
    CHECK_FALSE(failure.in_doubt());
}

TEST_CASE("cache.connection: after a restart it is back with another run id") {
    RedisServer redis;
    LoopConnection connection(to(redis));
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    const auto before = connection.server();
    CHECK(before.run_id.size() == 40);
    CHECK(before.connections == 1);
    redis.kill();
    redis.start();
    REQUIRE(wait_until([&] { return connection.server().connections == 2; }));
    CHECK(connection.server().run_id.size() == 40);
    CHECK(connection.server().run_id != before.run_id);
}

TEST_CASE("cache.connection: it tells each time that it comes up and each time that it goes down") {
    RedisServer redis;
    std::atomic<int> ups{0};
    std::atomic<int> downs{0};
    LoopConnection connection(to(redis), {[&](const auto&) { ++ups; }, [&](const auto&) { ++downs; }});
    REQUIRE(wait_until([&] { return ups == 1; }));
    redis.cli({"CLIENT", "KILL", "TYPE", "normal"});
    REQUIRE(wait_until([&] { return ups == 2; }));
    CHECK(downs == 1);
}

TEST_CASE("cache.connection: it selects its database and shows its name") {
    RedisServer redis;
    auto settings = to(redis);
    settings.database = 3;
    settings.name = "ftl-serve";
    LoopConnection connection(settings);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    CHECK(text_of(connection.ask(Command::changing({"SET", "where", "three"}))) == "OK");
    CHECK(redis.cli({"-n", "3", "GET", "where"}) == "three");
    CHECK(redis.cli({"CLIENT", "LIST"}).find("name=ftl-serve") != std::string::npos);
}

TEST_CASE("cache.connection: a wrong password is told and the password is not") {
    RedisServer redis({"--requirepass", "right-one"});
    auto settings = to(redis);
    settings.password = core::Secret("wrong-one");
    std::promise<std::string> down;
    std::atomic<bool> is_told{false};
    LoopConnection connection(settings, {{}, [&](const core::Failure& failure) {
                                             if (!is_told.exchange(true)) down.set_value(failure.what());
                                         }});
    const auto message = down.get_future().get();
    CHECK(message.find("WRONGPASS") != std::string::npos);
    CHECK(message.find("wrong-one") == std::string::npos);
    const auto failure = failure_of(connection.ask(Command::reading({"PING"})));
    CHECK(failure.native_code() == "WRONGPASS");
    CHECK(std::string(failure.what()).find("wrong-one") == std::string::npos);
}

TEST_CASE("cache.connection: with the right password and user it comes up") {
    RedisServer redis({"--user", "feed", "on", ">let-me-in", "~*", "+@all"});
    auto settings = to(redis);
    settings.user = "feed";
    settings.password = core::Secret("let-me-in");
    LoopConnection connection(settings);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    CHECK(text_of(connection.ask(Command::reading({"ACL", "WHOAMI"}))) == "feed");
}

TEST_CASE("cache.connection: a user who may not read INFO is served and has no run id") {
    RedisServer redis({"--user", "feed", "on", ">p", "~*", "+get", "+ping"});
    auto settings = to(redis);
    settings.user = "feed";
    settings.password = core::Secret("p");
    LoopConnection connection(settings);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    CHECK(connection.server().run_id.empty());
    CHECK(text_of(connection.ask(Command::reading({"PING"}))) == "PONG");
}

TEST_CASE("cache.connection: beyond the bound of waiting requests one is refused and the others are answered") {
    RedisServer redis;
    auto settings = to(redis);
    settings.requests_max = 3;
    LoopConnection connection(settings);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    std::vector<Answer> answers;
    connection.loop().run([&] {
        for (int i = 0; i < 4; ++i)
            answers.push_back(connection.ask_inside(Command::reading({"PING"}), milliseconds(5000)));
    });
    CHECK(failure_of(std::move(answers[3])).kind() == Kind::kBusy);
    for (std::size_t i = 0; i < 3; ++i) CHECK(text_of(std::move(answers[i])) == "PONG");
}

TEST_CASE("cache.connection: beyond the bound of bytes to be written a request is refused") {
    RedisServer redis;
    auto settings = to(redis);
    settings.request_bytes_max = 1000;
    LoopConnection connection(settings);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    CHECK(failure_of(connection.ask(Command::reading({"ECHO", std::string(1000, 'x')}))).kind() == Kind::kBusy);
    CHECK(text_of(connection.ask(Command::reading({"ECHO", std::string(900, 'x')}))).size() == 900);
}

TEST_CASE("cache.connection: an answer beyond its bound ends the connection") {
    RedisServer redis;
    redis.cli({"SETRANGE", "big", "1000000", "x"});
    auto settings = to(redis);
    settings.reply_bytes_max = 100'000;
    LoopConnection connection(settings);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    CHECK(failure_of(connection.ask(Command::reading({"GET", "big"}))).native_code() == "PROTOCOL");
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    CHECK(text_of(connection.ask(Command::reading({"GETRANGE", "big", "0", "9"}))).size() == 10);
}

TEST_CASE("cache.connection: an error of Redis fails its own request and no other") {
    RedisServer redis;
    LoopConnection connection(to(redis));
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    std::vector<Answer> answers;
    connection.loop().run([&] {
        answers.push_back(connection.ask_inside(Command::reading({"ECHO", "1"}), milliseconds(5000)));
        answers.push_back(connection.ask_inside(Command::changing({"NO-SUCH-COMMAND"}), milliseconds(5000)));
        answers.push_back(connection.ask_inside(Command::reading({"ECHO", "3"}), milliseconds(5000)));
    });
    CHECK(text_of(std::move(answers[0])) == "1");
    CHECK(failure_of(std::move(answers[1])).kind() == Kind::kPermanent);
    CHECK(text_of(std::move(answers[2])) == "3");
    CHECK(connection.server().connections == 1);
}

TEST_CASE("cache.connection: at its end all who wait get their failure") {
    RedisServer redis;
    Loop loop;
    auto connection = loop.run([&] { return std::make_unique<Connection>(loop.context(), to(redis)); });
    REQUIRE(wait_until([&] { return loop.run([&] { return connection->state() == Connection::State::kUp; }); }));
    int failures = 0;
    loop.run([&] {
        for (int i = 0; i < 3; ++i) {
            connection->request(blocking_for_ever(), milliseconds(60'000), [&](const auto& result) {
                failures += std::holds_alternative<core::Failure>(result) ? 1 : 0;
            });
        }
        connection.reset();
    });
    CHECK(failures == 3);
}

TEST_CASE("cache.connection: a handler may ask again and may end the connection") {
    RedisServer redis;
    Loop loop;
    auto connection = loop.run([&] { return std::make_unique<Connection>(loop.context(), to(redis)); });
    REQUIRE(wait_until([&] { return loop.run([&] { return connection->state() == Connection::State::kUp; }); }));
    std::promise<std::string> second;
    loop.run([&] {
        connection->request(Command::reading({"ECHO", "1"}), milliseconds(5000), [&](const auto&) {
            connection->request(Command::reading({"ECHO", "2"}), milliseconds(5000), [&](const auto& result) {
                connection.reset();
                second.set_value(std::get<cache::Reply>(result).text);
            });
        });
    });
    CHECK(second.get_future().get() == "2");
}

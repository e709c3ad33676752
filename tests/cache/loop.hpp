#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cache/connection.hpp"
#include "support/redis.hpp"

namespace ftl::test {

/// A loop on a thread of its own. Threads: run() and wait() from any.
class Loop {
public:
    Loop() : guard_(boost::asio::make_work_guard(context_)), thread_([this] { context_.run(); }) {}
    ~Loop() { guard_.reset(); }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    boost::asio::io_context& context() { return context_; }

    /// Runs `work` as one turn of the loop and returns what it returns.
    template <typename Work>
    auto run(Work work) {
        // Shared, since this thread may go on before the call of the task has returned in the other.
        const auto task = std::make_shared<std::packaged_task<decltype(work())()>>(std::move(work));
        auto result = task->get_future();
        boost::asio::post(context_, [task] { (*task)(); });
        return result.get();
    }

private:
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
    std::jthread thread_;
};

/// This Redis, with a back-off that a test can wait for.
inline ftlfeed::cache::ConnectionSettings to(const RedisServer& redis) {
    auto settings = ftlfeed::cache::ConnectionSettings::parse(redis.uri());
    settings.backoff_max = std::chrono::milliseconds(100);
    return settings;
}

/// What became of a request; a second call of its handler throws, and ends the test program.
using Answer = std::future<ftlfeed::cache::ReplyResult>;

/// A connection on a loop of its own. Threads: from any.
class LoopConnection {
public:
    using Connection = ftlfeed::cache::Connection;

    explicit LoopConnection(const ftlfeed::cache::ConnectionSettings& settings, Connection::Events events = {}) {
        loop_.run([&] { connection_ = std::make_unique<Connection>(loop_.context(), settings, std::move(events), 1); });
    }
    ~LoopConnection() {
        loop_.run([&] { connection_.reset(); });
    }
    LoopConnection(const LoopConnection&) = delete;
    LoopConnection& operator=(const LoopConnection&) = delete;

    Loop& loop() { return loop_; }
    /// Only inside loop().run().
    Connection& inside() { return *connection_; }

    Connection::State state() {
        return loop_.run([&] { return connection_->state(); });
    }
    Connection::Server server() {
        return loop_.run([&] { return connection_->server(); });
    }
    [[nodiscard]] bool is_up() { return state() == Connection::State::kUp; }

    Answer ask(const ftlfeed::cache::Command& command,
               std::chrono::milliseconds limit = std::chrono::milliseconds(5000)) {
        return loop_.run([&] { return ask_inside(command, limit); });
    }
    /// Inside loop().run(): several of one turn.
    Answer ask_inside(const ftlfeed::cache::Command& command, std::chrono::milliseconds limit) {
        auto promise = std::make_shared<std::promise<ftlfeed::cache::ReplyResult>>();
        connection_->request(command, limit, [promise](auto result) { promise->set_value(std::move(result)); });
        return promise->get_future();
    }

private:
    Loop loop_;
    std::unique_ptr<Connection> connection_;
};

/// The text of an answer; throws the failure that came instead.
inline std::string text_of(Answer answer) {
    auto result = answer.get();
    if (const auto* failure = std::get_if<ftlfeed::core::Failure>(&result)) throw *failure;
    return std::get<ftlfeed::cache::Reply>(result).text;
}

/// The failure that came instead of an answer; throws when there is an answer.
inline ftlfeed::core::Failure failure_of(Answer answer) {
    auto result = answer.get();
    return std::get<ftlfeed::core::Failure>(result);
}

}  // namespace ftl::test

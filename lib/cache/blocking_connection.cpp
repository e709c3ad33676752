#include "cache/blocking_connection.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <ftlfeed/core/metrics.hpp>

#include "cache/connection.hpp"

namespace ftlfeed::cache {

namespace asio = boost::asio;
using core::Failure;

namespace {

/// What callers on other threads may look at.
class Status {
public:
    void set_up(const Connection::Server& server) {
        const std::lock_guard lock(mutex_);
        server_ = {server.run_id, server.connections, true, ""};
        is_settled_ = true;
        settled_.notify_all();
    }
    void set_down(const std::string& why) {
        const std::lock_guard lock(mutex_);
        server_.is_connected = false;
        server_.trouble = why;
        is_settled_ = true;
        settled_.notify_all();
    }
    CacheClient::Server server() const {
        const std::lock_guard lock(mutex_);
        return server_;
    }
    /// Waits for the end of the first attempt to connect.
    void wait_until_settled(std::chrono::milliseconds limit) {
        std::unique_lock lock(mutex_);
        settled_.wait_for(lock, limit, [this] { return is_settled_; });
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable settled_;
    CacheClient::Server server_;
    bool is_settled_ = false;
};

}  // namespace

/// The answers are filled in by the loop alone until the last one is there. Shared by the handlers: a caller may go on
/// before set_value() has returned in the loop.
struct BlockingConnection::Sent {
    explicit Sent(std::size_t count) : results(count), missing(count) {
        if (count == 0) whole.set_value();
    }

    void take(std::size_t place, ReplyResult result) {
        results[place] = std::move(result);
        if (--missing == 0) whole.set_value();
    }

    std::vector<ReplyResult> results;
    std::size_t missing;
    std::promise<void> whole;
};

class BlockingConnection::Impl {
public:
    explicit Impl(const ConnectionSettings& settings)
        : connect_timeout_(settings.connect_timeout),
          request_timeout_(settings.request_timeout),
          guard_(asio::make_work_guard(loop_)),
          connection_(std::in_place, loop_, settings, events()),
          // What escapes from the loop is a bug or a lack of memory, and ends the process: nobody would be answered.
          thread_([this] { loop_.run(); }) {}

    ~Impl() {
        asio::post(loop_, [this] {
            connection_.reset();
            guard_.reset();
        });
        thread_.join();
    }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    std::shared_ptr<Sent> begin(std::vector<Command> commands) {
        status_.wait_until_settled(connect_timeout_);
        auto sent = std::make_shared<Sent>(commands.size());
        asio::post(loop_, [this, sent, commands = std::move(commands)] {
            for (std::size_t i = 0; i < commands.size(); ++i) {
                connection_->request(commands[i], request_timeout_,
                                     [sent, i](ReplyResult result) { sent->take(i, std::move(result)); });
            }
        });
        return sent;
    }

    [[nodiscard]] CacheClient::Server server() const { return status_.server(); }

private:
    Connection::Events events() {
        return {[this](const Connection::Server& server) {
                    status_.set_up(server);
                    connections_.increment();
                },
                [this](const Failure& why) {
                    status_.set_down(why.what());
                    failures_.increment();
                }};
    }

    std::chrono::milliseconds connect_timeout_;
    std::chrono::milliseconds request_timeout_;
    core::Counter connections_ = core::counter("ftl_cache_connections_total", "Connections to Redis that came up.");
    core::Counter failures_ =
        core::counter("ftl_cache_connection_failures_total", "Connections to Redis that broke or did not come up.");
    Status status_;
    asio::io_context loop_{1};
    asio::executor_work_guard<asio::io_context::executor_type> guard_;
    std::optional<Connection> connection_;
    std::jthread thread_;  // Last: it uses all the others.
};

BlockingConnection::BlockingConnection(const ConnectionSettings& settings) : impl_(std::make_unique<Impl>(settings)) {}
BlockingConnection::~BlockingConnection() = default;

std::shared_ptr<BlockingConnection::Sent> BlockingConnection::begin(std::vector<Command> commands) {
    return impl_->begin(std::move(commands));
}

std::vector<ReplyResult> BlockingConnection::finish(Sent& sent) {
    // Each request has its limit, so this ends.
    sent.whole.get_future().get();
    return std::move(sent.results);
}

std::vector<ReplyResult> BlockingConnection::exchange(std::vector<Command> commands) {
    if (commands.empty()) return {};
    return finish(*begin(std::move(commands)));
}

Reply BlockingConnection::ask(Command command) {
    std::vector<Command> commands;
    commands.push_back(std::move(command));
    return reply_in(std::move(exchange(std::move(commands)).front()));
}

CacheClient::Server BlockingConnection::server() const { return impl_->server(); }

void throw_first_failure(const std::vector<ReplyResult>& results,
                         const std::function<bool(const ReplyResult&)>& is_no_failure) {
    const Failure* first = nullptr;
    for (const auto& result : results) {
        const auto* failure = std::get_if<Failure>(&result);
        if (failure == nullptr || is_no_failure(result)) continue;
        if (first == nullptr || (failure->in_doubt() && !first->in_doubt())) first = failure;
    }
    if (first != nullptr) throw Failure(*first);
}

Reply reply_in(ReplyResult result) {
    if (const auto* failure = std::get_if<Failure>(&result)) throw Failure(*failure);
    return std::get<Reply>(std::move(result));
}

}  // namespace ftlfeed::cache

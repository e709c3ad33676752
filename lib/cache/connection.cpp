#include "cache/connection.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <deque>
#include <optional>
#include <utility>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/failure.hpp>

#include "cache/cache_failure.hpp"
#include "cache/greeting.hpp"
#include "cache/reply_parser.hpp"
#include "cache/socket.hpp"
#include "cache/soonest_limit.hpp"

namespace ftlfeed::cache {

namespace asio = boost::asio;
using core::Failure;
using std::chrono::milliseconds;

namespace {

/// Longer than anybody waits, and far from the end of the clock.
constexpr std::chrono::hours kLimitMax{24};
/// What a buffer for writing may keep when it is empty.
constexpr std::size_t kKeptBytesMax = std::size_t{4} << 20U;
constexpr std::size_t kReadBytes = std::size_t{64} << 10U;

core::SteadyTime now() { return core::Clock::real().steady_now(); }

ReplyResult result_of(Reply reply) {
    if (reply.kind == Reply::Kind::kError) return cache_failure(reply.text);
    return reply;
}

const Failure* failure_in(const ReplyResult& result) { return std::get_if<Failure>(&result); }

}  // namespace

/// Lives as long as an operation of it is pending. Callbacks of an earlier connection are known by its generation.
class Connection::Impl : public std::enable_shared_from_this<Connection::Impl> {
    struct Waiting {
        Handler handler;
        std::shared_ptr<bool> is_written;
        std::string name;
        bool may_change;
    };

    /// One socket and its buffers, which its pending operations keep alive.
    struct Wire {
        Wire(asio::io_context& loop, const ConnectionSettings& settings)
            : socket(loop, settings), parser({settings.reply_bytes_max}) {}

        Socket socket;
        ReplyParser parser;
        std::string outgoing;
        std::array<char, kReadBytes> incoming{};
    };

    /// A callback that does nothing once its connection is gone.
    template <typename Callback>
    auto guarded(Callback callback) {
        return [self = shared_from_this(), generation = generation_, callback](auto&&... arguments) {
            if (generation == self->generation_) callback(std::forward<decltype(arguments)>(arguments)...);
        };
    }

public:
    Impl(asio::io_context& loop, ConnectionSettings settings, Events events, std::uint64_t jitter_seed)
        : loop_(loop),
          settings_(std::move(settings)),
          events_(std::move(events)),
          jitter_(jitter_seed),
          connect_timer_(loop),
          limit_timer_(loop) {}

    void begin() {
        asio::post(loop_, guarded([this] { connect(); }));
    }

    Written request(const Command& command, milliseconds limit, Handler handler) {
        FTL_ASSERT(limit.count() >= 0 && limit <= kLimitMax);
        const auto refusal = refusal_of(command);
        if (!refusal) return enqueue(command, now() + limit, std::move(handler));
        asio::post(loop_, [handler = std::move(handler), refusal = *refusal] { handler(refusal); });
        return std::make_shared<const bool>(false);
    }

    void close() {
        if (state_ == State::kClosed) return;
        end(State::kClosed, lost("closed"));
    }

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] const Server& server() const { return server_; }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

private:
    void connect() {
        state_ = State::kConnecting;
        try {
            wire_ = std::make_shared<Wire>(loop_, settings_);
        } catch (const core::InvalidInput& error) {
            return drop(lost(error.what()));
        }
        connect_limit_ = now() + settings_.connect_timeout;
        connect_timer_.expires_at(connect_limit_);
        connect_timer_.async_wait(guarded([this](const auto& error) {
            if (!error && state_ == State::kConnecting)
                drop(lost("no connection within " + std::to_string(settings_.connect_timeout.count()) + " ms"));
        }));
        wire_->socket.connect(guarded([this](std::error_code error) {
            if (error == Socket::fenced_off()) return drop(lost(Failure::permanent(error.message())));
            if (error) return drop(lost(error.message()));
            read();
            greet();
        }));
    }

    [[nodiscard]] Failure lost(const std::string& why) const {
        return Failure::unavailable("Redis " + settings_.place() + ": " + why).with_connection_lost();
    }

    /// What needs a person (a password, say) is told as such, though the connection is tried again.
    [[nodiscard]] Failure lost(const Failure& why) const { return here(why).with_connection_lost(); }

    [[nodiscard]] Failure here(const Failure& failure) const { return failure.within("Redis " + settings_.place()); }

    /// Why a request cannot be taken now.
    [[nodiscard]] std::optional<Failure> refusal_of(const Command& command) const {
        if (state_ != State::kUp) return last_failure_ ? *last_failure_ : lost("not connected yet");
        const bool is_full = waiting_.size() >= settings_.requests_max ||
                             outgoing_.size() + command.bytes().size() > settings_.request_bytes_max;
        if (is_full) return Failure::busy("Redis " + settings_.place() + ": too many requests wait for their answers");
        return std::nullopt;
    }

    Written enqueue(const Command& command, core::SteadyTime limit, Handler handler) {
        auto is_written = std::make_shared<bool>(false);
        waiting_.push_back({std::move(handler), is_written, command.name(), command.may_change()});
        limits_.push(limit);
        ++unwritten_;
        outgoing_ += command.bytes();
        arm_limit();
        if (!is_writing_ && !is_flush_posted_) {
            is_flush_posted_ = true;
            asio::post(loop_, guarded([this] { flush(); }));
        }
        return is_written;
    }

    void flush() {
        is_flush_posted_ = false;
        if (is_writing_ || outgoing_.empty()) return;
        is_writing_ = true;
        // The two take turns, so that their memory is not asked for again and again.
        std::swap(wire_->outgoing, outgoing_);
        for (auto i = waiting_.size() - unwritten_; i < waiting_.size(); ++i) *waiting_[i].is_written = true;
        unwritten_ = 0;
        wire_->socket.write(wire_->outgoing, guarded([this, wire = wire_](std::error_code error, std::size_t) {
                                if (error) return drop(lost(error.message()));
                                wire->outgoing.clear();
                                if (wire->outgoing.capacity() > kKeptBytesMax) wire->outgoing.shrink_to_fit();
                                is_writing_ = false;
                                flush();
                            }));
    }

    void read() {
        auto& into = wire_->incoming;
        wire_->socket.read_some(into.data(), into.size(),
                                guarded([this, wire = wire_](std::error_code error, std::size_t bytes) {
                                    if (error) return drop(lost(error.message()));
                                    wire->parser.feed({wire->incoming.data(), bytes});
                                    if (give_replies(*wire)) read();
                                }));
    }

    /// Hands out all whole replies. Returns false when the connection was given up meanwhile.
    bool give_replies(Wire& wire) {
        const auto generation = generation_;
        try {
            while (auto reply = wire.parser.next()) {
                give(std::move(*reply));
                if (generation != generation_) return false;
            }
            return true;
        } catch (const Failure& failure) {
            drop(lost(failure));
            return false;
        }
    }

    void give(Reply reply) {
        if (waiting_.empty() || !*waiting_.front().is_written) return drop(lost("an answer that nobody asked for"));
        const auto first = std::move(waiting_.front());
        waiting_.pop_front();
        limits_.pop();
        auto result = result_of(std::move(reply));
        const auto* failure = failure_in(result);
        // Only what was asked by others proves that this server is of use.
        if (failure == nullptr && state_ == State::kUp) attempts_ = 0;
        const bool is_wrong_server = failure != nullptr && failure->connection_lost();
        const auto why = is_wrong_server ? std::optional(lost(*failure)) : std::nullopt;
        const auto generation = generation_;
        // The greeting tells the place itself.
        if (failure != nullptr && state_ == State::kUp) result = here(*failure);
        first.handler(std::move(result));
        if (why && generation == generation_) drop(*why);
    }

    /// One timer for all: it is set for the soonest limit, and set anew when it goes off too early.
    void arm_limit() {
        const auto soonest = limits_.soonest();
        if (!soonest || (limit_armed_ && *limit_armed_ <= *soonest)) return;
        limit_armed_ = soonest;
        limit_timer_.expires_at(*soonest);
        limit_timer_.async_wait(guarded([this](const auto& error) {
            if (error) return;  // Set for a sooner limit.
            limit_armed_.reset();
            const auto over = limits_.soonest();
            if (!over || now() < *over) return arm_limit();
            drop(lost("no answer in time"));
        }));
    }

    void greet() {
        greeting_.emplace(settings_);
        for (const auto& command : greeting_->take_commands()) {
            enqueue(command, connect_limit_, [this](const ReplyResult& result) {
                // Called by the loop with this alive, or by end(), which has a reason already.
                if (state_ != State::kConnecting) return;
                if (const auto failure = greeting_->take(result)) return drop(lost(*failure));
                if (const auto run_id = greeting_->run_id()) become_up(*run_id);
            });
        }
    }

    void become_up(const std::string& run_id) {
        connect_timer_.cancel();
        state_ = State::kUp;
        last_failure_.reset();
        server_ = {run_id, server_.connections + 1};
        if (events_.on_up) events_.on_up(server_);
    }

    /// Gives the connection up and comes back later.
    void drop(const Failure& why) {
        last_failure_ = why;
        const auto keep = shared_from_this();
        end(State::kDown, why);
        // A handler may have closed it.
        if (state_ != State::kDown) return;
        connect_timer_.expires_after(
            core::full_jitter(++attempts_, settings_.backoff_first, settings_.backoff_max, jitter_()));
        connect_timer_.async_wait(guarded([this](const auto& error) {
            if (!error) connect();
        }));
    }

    /// Everybody who waits gets one failure, after all is in its new state: a handler may ask again at once.
    void end(State state, const Failure& why) {
        state_ = state;
        ++generation_;
        connect_timer_.cancel();
        limit_timer_.cancel();
        if (wire_) wire_->socket.close();
        wire_.reset();
        const auto waiting = std::exchange(waiting_, {});
        limits_.clear();
        limit_armed_.reset();
        outgoing_.clear();
        unwritten_ = 0;
        is_writing_ = is_flush_posted_ = false;
        // Told before the callers are, so that one who failed finds the news there.
        if (state == State::kDown && events_.on_down) events_.on_down(why);
        for (const auto& one : waiting) one.handler(failure_of(one, why));
    }

    static Failure failure_of(const Waiting& one, const Failure& why) {
        const auto what = one.name + ": " + why.what();
        const bool is_in_doubt = one.may_change && *one.is_written;
        const auto failure = is_in_doubt       ? Failure::in_doubt(what)
                             : why.may_retry() ? Failure::unavailable(what)
                                               : Failure::permanent(what);
        return failure.with_native_code(why.native_code()).with_connection_lost();
    }

    asio::io_context& loop_;
    ConnectionSettings settings_;
    Events events_;
    core::Jitter jitter_;
    asio::steady_timer connect_timer_;  ///< For connecting, and for coming back.
    asio::steady_timer limit_timer_;
    core::SteadyTime connect_limit_;

    State state_ = State::kConnecting;
    std::uint64_t generation_ = 0;
    int attempts_ = 0;
    Server server_;
    std::optional<Failure> last_failure_;

    std::shared_ptr<Wire> wire_;
    std::optional<Greeting> greeting_;
    std::string outgoing_;
    bool is_writing_ = false;
    bool is_flush_posted_ = false;
    std::deque<Waiting> waiting_;  ///< In the order of their answers.
    std::size_t unwritten_ = 0;    ///< So many at its end are in outgoing_.
    SoonestLimit limits_;          ///< Of waiting_.
    std::optional<core::SteadyTime> limit_armed_;
};

Connection::Connection(asio::io_context& loop, ConnectionSettings settings, Events events, std::uint64_t jitter_seed)
    : impl_(std::make_shared<Impl>(loop, std::move(settings), std::move(events), jitter_seed)) {
    impl_->begin();
}

Connection::~Connection() { close(); }

Connection::Written Connection::request(const Command& command, milliseconds limit, Handler handler) {
    return impl_->request(command, limit, std::move(handler));
}

Connection::State Connection::state() const { return impl_->state(); }
const Connection::Server& Connection::server() const { return impl_->server(); }
std::size_t Connection::waiting() const { return impl_->waiting(); }

void Connection::close() {
    const auto keep = impl_;
    keep->close();
}

}  // namespace ftlfeed::cache

#include <ftlfeed/store/session.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <optional>
#include <pqxx/connection>
#include <pqxx/errorhandler>
#include <pqxx/nontransaction>
#include <pqxx/result>
#include <pqxx/transaction>
#include <pqxx/version>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/crash_point.hpp>
#include <ftlfeed/core/failure.hpp>

#include "store/connection.hpp"
#include "store/pg_failure.hpp"
#include "store/planned.hpp"
#include "store/watchdog.hpp"

namespace ftlfeed::store {

using core::Failure;

namespace {

constexpr int kTriesMax = 5;
constexpr std::size_t kStatementsMax = 500;
constexpr std::chrono::milliseconds kRetryFirst{10};
constexpr std::chrono::milliseconds kRetryMax{500};

#if PQXX_VERSION_MAJOR < 7
using Policy = pqxx::readwrite_policy;

bool is_of_pqxx(const std::exception& error) { return dynamic_cast<const pqxx::pqxx_exception*>(&error) != nullptr; }
#else
using Policy = pqxx::write_policy;

template <typename... Kinds>
bool is_one_of(const std::exception& error) {
    return ((dynamic_cast<const Kinds*>(&error) != nullptr) || ...);
}

/// Version 7 has no common base any more.
bool is_of_pqxx(const std::exception& error) {
    return is_one_of<pqxx::failure, pqxx::internal_error, pqxx::usage_error, pqxx::argument_error,
                     pqxx::conversion_error, pqxx::range_error>(error);
}
#endif

using Write = pqxx::transaction<pqxx::read_committed>;
using Read = pqxx::transaction<pqxx::read_committed, Policy::read_only>;
using ReadSnapshot = pqxx::transaction<pqxx::repeatable_read, Policy::read_only>;

/// A connection that stays the one that it was: it never comes back by itself, with its locks and settings gone.
std::unique_ptr<pqxx::connection> connect_once(const ConnectionText& text) {
    auto connection = std::make_unique<pqxx::connection>(text.text);
#if PQXX_VERSION_MAJOR < 7
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    // Deprecated because libpqxx 7, which does not reconnect, has no need of it. Version 6 has no other way.
    connection->inhibit_reactivation(true);
#pragma GCC diagnostic pop
#endif
    return connection;
}

/// What one connection has prepared: the name of each statement's text.
class Statements {
public:
    explicit Statements(pqxx::connection& connection) : connection_(connection) {}

    [[nodiscard]] bool are_of(const pqxx::transaction_base& tx) const { return &tx.conn() == &connection_; }

    /// nullptr when there are too many already.
    const std::string* name_of(const std::string& sql) {
        if (const auto found = names_.find(sql); found != names_.end()) return &found->second;
        if (names_.size() == kStatementsMax) return nullptr;
        auto name = "ftl" + std::to_string(names_.size());
        connection_.prepare(name, sql);
        return &names_.emplace(sql, std::move(name)).first->second;
    }

private:
    pqxx::connection& connection_;
    std::unordered_map<std::string, std::string> names_;
};

/// Of the session whose unit of work this thread runs; a unit of work may use another session meanwhile.
thread_local Statements* statements_at_work = nullptr;

class StatementsAtWork {
public:
    explicit StatementsAtWork(Statements& statements) : before_(std::exchange(statements_at_work, &statements)) {}
    ~StatementsAtWork() { statements_at_work = before_; }
    StatementsAtWork(const StatementsAtWork&) = delete;
    StatementsAtWork& operator=(const StatementsAtWork&) = delete;

private:
    Statements* before_;
};

/// A second handle of a socket, which stays ours whatever libpq does with its own.
class SocketHandle {
public:
    explicit SocketHandle(int socket) : handle_(fcntl(socket, F_DUPFD_CLOEXEC, 0)) {
        if (handle_ < 0) throw Failure::unavailable("no more file descriptors for a Postgres connection");
    }
    ~SocketHandle() { close(handle_); }
    SocketHandle(const SocketHandle&) = delete;
    SocketHandle& operator=(const SocketHandle&) = delete;
    [[nodiscard]] int get() const { return handle_; }

    /// True when the peer has closed, without reading anything.
    [[nodiscard]] bool is_hung_up() const noexcept {
        pollfd look{handle_, POLLRDHUP, 0};
        return poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    }

private:
    int handle_;
};

}  // namespace

class Session::Impl {
public:
    /// When does what a unit of work does take effect? There a lost answer leaves it in doubt.
    enum class Effect { kNone, kAtCommit, kEachStatement };

    explicit Impl(const ConnectionSettings& settings) : work_limit_(settings.work_limit) {
        const auto text = connection_text(settings);
        password_ = text.password;
        try {
            connection_ = connect_once(text);
        } catch (const std::exception& error) {
            throw pg_failure(error, false, password_).within("connect");
        }
        silence_.emplace(*connection_);
        statements_.emplace(*connection_);
        socket_.emplace(connection_->sock());
        pid_ = connection_->backendpid();
        refuse_standby();
    }

    ~Impl() {
        // pqxx wants to see its parts go before the connection.
        silence_.reset();
        connection_.reset();
    }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    /// Runs `work` in a transaction of the kind `Tx`.
    template <typename Tx>
    void run(const Work& work, Effect effect) {
        if (is_broken()) throw Failure::unavailable("Postgres: the connection is lost").with_connection_lost();
        const SocketWatch watch(socket_->get(), core::Clock::real().steady_now() + work_limit_);
        const StatementsAtWork at_work(*statements_);
        try {
            Tx tx(*connection_);
            work(tx);
            tx.commit();
        } catch (const std::exception& error) {
            if (is_of_pqxx(error)) throw translated(error, watch.has_fired(), effect);
            note_state();
            throw;
        } catch (...) {
            note_state();
            throw;
        }
        note_state();
    }

    [[nodiscard]] bool is_broken() const noexcept { return is_broken_ || socket_->is_hung_up(); }
    [[nodiscard]] int backend_pid() const noexcept { return pid_; }

private:
    void refuse_standby() {
        bool in_recovery = false;
        run<Read>(
            [&](pqxx::transaction_base& tx) { in_recovery = tx.exec("SELECT pg_is_in_recovery()")[0][0].as<bool>(); },
            Effect::kNone);
        if (in_recovery) {
            throw Failure::unavailable("Postgres: this server is in recovery; the primary is needed")
                .with_connection_lost();
        }
    }

    /// After a call: a connection that ended meanwhile, or is another one than before, is of no use any more.
    void note_state() noexcept {
        if (!connection_->is_open() || connection_->backendpid() != pid_) is_broken_ = true;
    }

    Failure translated(const std::exception& error, bool has_timed_out, Effect effect) {
        note_state();
        auto failure = pg_failure(error, !is_broken_, password_);
        // A read-only transaction that was made to write: the statement is wrong, not the server.
        if (effect == Effect::kNone && failure.native_code() == "25006") {
            return Failure::permanent(failure.what()).with_native_code(failure.native_code());
        }
        if (failure.connection_lost()) is_broken_ = true;
        if (has_timed_out) failure = failure.within("no answer within " + std::to_string(work_limit_.count()) + " ms");
        if (failure.in_doubt() && effect == Effect::kNone) {
            return Failure::unavailable(failure.what()).with_connection_lost();
        }
        // An answer with an SQLSTATE says that the statement failed; no answer at all says nothing.
        const bool no_answer = failure.connection_lost() && failure.native_code().empty();
        if (no_answer && effect == Effect::kEachStatement)
            return Failure::in_doubt(failure.what()).with_connection_lost();
        return failure;
    }

    std::chrono::milliseconds work_limit_;
    std::string password_;
    std::unique_ptr<pqxx::connection> connection_;
    std::optional<pqxx::quiet_errorhandler> silence_;  // Without it pqxx prints notices on standard error.
    std::optional<Statements> statements_;
    std::optional<SocketHandle> socket_;
    int pid_ = 0;
    bool is_broken_ = false;
};

Session::Session(const ConnectionSettings& settings) : impl_(std::make_unique<Impl>(settings)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

void Session::write(const Work& work) {
    impl_->run<Write>(work, Impl::Effect::kAtCommit);
    core::durable_step("store.commit");
}

void Session::write_retrying(const Work& work) {
    core::Jitter jitter;
    for (int attempt = 1;; ++attempt) {
        try {
            return write(work);
        } catch (const Failure& failure) {
            const bool may_help = failure.native_code() == "40P01" || failure.native_code() == "40001";
            if (!may_help || failure.connection_lost() || attempt == kTriesMax) throw;
        }
        // Those who met in a deadlock come back at different times.
        std::this_thread::sleep_for(core::full_jitter(attempt, kRetryFirst, kRetryMax, jitter()));
    }
}

void Session::read(const Work& work) { impl_->run<Read>(work, Impl::Effect::kNone); }

void Session::read_snapshot(const Work& work) { impl_->run<ReadSnapshot>(work, Impl::Effect::kNone); }

void Session::without_transaction(const Work& work) {
    impl_->run<pqxx::nontransaction>(work, Impl::Effect::kEachStatement);
}

bool Session::is_broken() const noexcept { return impl_->is_broken(); }

int Session::backend_pid() const noexcept { return impl_->backend_pid(); }

void Session::unlock_all() noexcept {
    if (is_broken()) return;
    try {
        without_transaction([](pqxx::transaction_base& tx) { tx.exec("SELECT pg_advisory_unlock_all()"); });
    } catch (const std::exception&) {
        // Only a lost connection can do this, and with it the locks are gone as well.
    }
}

const std::string* planned_name(pqxx::transaction_base& tx, const std::string& sql) {
    if (!statements_at_work || !statements_at_work->are_of(tx)) return nullptr;
    return statements_at_work->name_of(sql);
}

void execute_script(pqxx::transaction_base& tx, const std::string& sql) { tx.exec(sql); }

}  // namespace ftlfeed::store

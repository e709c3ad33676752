#include <ftlfeed/store/pool.hpp>

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::store {

struct Pool::State {
    ConnectionSettings settings;
    std::size_t sessions_max;
    Greet greet;
    std::mutex mutex;
    std::condition_variable returned;
    std::size_t on_loan = 0;
    std::vector<std::unique_ptr<Session>> idle;
};

Pool::Loan::Loan(Pool& pool, std::unique_ptr<Session> session) : pool_(&pool), session_(std::move(session)) {}
Pool::Loan::Loan(Loan&&) noexcept = default;
Pool::Loan::~Loan() {
    if (session_) pool_->give_back(std::move(session_));
}

Pool::Pool(ConnectionSettings settings, std::size_t sessions_max, Greet greet) : state_(std::make_unique<State>()) {
    FTL_ASSERT(sessions_max > 0);
    state_->settings = std::move(settings);
    state_->sessions_max = sessions_max;
    state_->greet = std::move(greet);
}

Pool::~Pool() = default;

const ConnectionSettings& Pool::settings() const { return state_->settings; }

Pool::Loan Pool::borrow(std::chrono::milliseconds wait_max) {
    std::vector<std::unique_ptr<Session>> dead;  // Closed after the lock: that is I/O.
    std::unique_ptr<Session> session;
    {
        std::unique_lock lock(state_->mutex);
        if (!state_->returned.wait_for(lock, wait_max, [&] { return state_->on_loan < state_->sessions_max; })) {
            throw core::Failure::unavailable("all " + std::to_string(state_->sessions_max) +
                                             " Postgres sessions are in use");
        }
        ++state_->on_loan;
        while (!session && !state_->idle.empty()) {
            auto candidate = std::move(state_->idle.back());
            state_->idle.pop_back();
            (candidate->is_broken() ? dead.emplace_back() : session) = std::move(candidate);
        }
    }
    if (session) return Loan(*this, std::move(session));
    try {
        session = std::make_unique<Session>(state_->settings);
        if (state_->greet) state_->greet(*session);
        return Loan(*this, std::move(session));
    } catch (...) {
        session.reset();
        give_back(nullptr);
        throw;
    }
}

void Pool::give_back(std::unique_ptr<Session> session) {
    const bool is_usable = session && !session->is_broken();
    {
        const std::lock_guard lock(state_->mutex);
        --state_->on_loan;
        if (is_usable) state_->idle.push_back(std::move(session));
    }
    state_->returned.notify_one();
}

}  // namespace ftlfeed::store

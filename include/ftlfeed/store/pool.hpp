#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include <ftlfeed/store/session.hpp>

namespace ftlfeed::store {

/// Sessions that several threads share, each leased to one at a time. Threads: thread-safe.
class Pool {
public:
    /// Called with each new session, before anybody gets it. What it throws is what borrow() throws.
    using Greet = std::function<void(Session&)>;

    /// Opens nothing yet; at most `sessions_max` at once.
    Pool(ConnectionSettings settings, std::size_t sessions_max, Greet greet = {});
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// A session on loan, given back at the end; a broken one is thrown away. Its borrower takes no lock that outlives a
    /// transaction: asking the server to release such locks would cost every loan a round trip.
    class Loan {
    public:
        ~Loan();
        Loan(Loan&&) noexcept;
        Loan& operator=(Loan&&) = delete;
        Session* operator->() const { return session_.get(); }
        Session& operator*() const { return *session_; }

    private:
        friend class Pool;
        Loan(Pool& pool, std::unique_ptr<Session> session);
        Pool* pool_;
        std::unique_ptr<Session> session_;
    };

    /// Waits for a free place until `wait_max`, then throws Failure::unavailable. Connects when no idle session is
    /// left.
    [[nodiscard]] Loan borrow(std::chrono::milliseconds wait_max = std::chrono::seconds(10));
    [[nodiscard]] const ConnectionSettings& settings() const;

private:
    struct State;
    void give_back(std::unique_ptr<Session> session);
    std::unique_ptr<State> state_;
};

}  // namespace ftlfeed::store

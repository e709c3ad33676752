#include "store/watchdog.hpp"

#include <sys/socket.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace ftlfeed::store {

namespace {

/// The deadlines of all running calls, and the thread that looks after them.
class Watchdog {
public:
    /// Never destroyed: a session may outlive main().
    static Watchdog& process_wide() {
        static auto* dog = new Watchdog;
        return *dog;
    }

    std::uint64_t add(int socket, core::SteadyTime deadline) {
        const std::lock_guard lock(mutex_);
        const auto id = ++last_id_;
        const bool is_first_due = watches_.empty() || deadline < next_deadline();
        watches_.emplace(id, Watch{socket, deadline, false});
        if (is_first_due) changed_.notify_one();
        return id;
    }

    void remove(std::uint64_t id) {
        const std::lock_guard lock(mutex_);
        watches_.erase(id);
    }

    bool has_fired(std::uint64_t id) {
        const std::lock_guard lock(mutex_);
        return watches_.at(id).has_fired;
    }

private:
    struct Watch {
        int socket;
        core::SteadyTime deadline;
        bool has_fired;
    };

    Watchdog() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

    /// Few calls run at once, one for each connection: looking at all of them is cheap.
    [[nodiscard]] core::SteadyTime next_deadline() const {
        auto next = core::SteadyTime::max();
        for (const auto& [id, watch] : watches_) {
            if (!watch.has_fired && watch.deadline < next) next = watch.deadline;
        }
        return next;
    }

    void run(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            const auto next = next_deadline();
            if (next == core::SteadyTime::max()) {
                changed_.wait(lock, stop, [this] { return next_deadline() != core::SteadyTime::max(); });
            } else {
                changed_.wait_until(lock, stop, next, [&] { return next_deadline() < next; });
            }
            shut_down_overdue(core::Clock::real().steady_now());
        }
    }

    /// Under the lock, so that no owner closes its socket meanwhile; shutdown() does not block.
    void shut_down_overdue(core::SteadyTime now) {
        for (auto& [id, watch] : watches_) {
            if (watch.has_fired || now < watch.deadline) continue;
            watch.has_fired = true;
            shutdown(watch.socket, SHUT_RDWR);
        }
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<std::uint64_t, Watch> watches_;
    std::uint64_t last_id_ = 0;
    std::jthread thread_;  // Last: it uses all the others.
};

}  // namespace

SocketWatch::SocketWatch(int socket, core::SteadyTime deadline) : id_(Watchdog::process_wide().add(socket, deadline)) {}

SocketWatch::~SocketWatch() { Watchdog::process_wide().remove(id_); }

bool SocketWatch::has_fired() const { return Watchdog::process_wide().has_fired(id_); }

}  // namespace ftlfeed::store

#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <ftlfeed/deliver/directory_transport.hpp>
#include <ftlfeed/deliver/dispatcher.hpp>
#include <ftlfeed/deliver/transport.hpp>

namespace ftl::test {

/// A gate that threads wait at until it is opened. For the forced interleavings.
class Gate {
public:
    void wait() {
        std::unique_lock lock(mutex_);
        ++waiting_;
        moved_.notify_all();
        moved_.wait(lock, [this] { return is_open_; });
        --waiting_;
    }
    void open() {
        const std::lock_guard lock(mutex_);
        is_open_ = true;
        moved_.notify_all();
    }
    [[nodiscard]] int waiting() const {
        const std::lock_guard lock(mutex_);
        return waiting_;
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable moved_;
    bool is_open_ = false;
    int waiting_ = 0;
};

/// A real transport with a hook before and after its put(), and one in may_publish(), where the lease is checked.
class HookedTransport final : public ftlfeed::deliver::Transport {
public:
    struct Hooks {
        std::function<void(const ftlfeed::deliver::Outgoing&)> sees = [](const auto&) {};
        std::function<void()> before_put = [] {};
        std::function<void()> before_publish = [] {};
        std::function<void()> after_put = [] {};
    };
    HookedTransport(std::unique_ptr<ftlfeed::deliver::Transport> real, Hooks hooks)
        : real_(std::move(real)), hooks_(std::move(hooks)) {}

    ftlfeed::deliver::SendOutcome put(const ftlfeed::deliver::Outgoing& file,
                                      ftlfeed::deliver::SendGuard& guard) override {
        hooks_.sees(file);
        hooks_.before_put();
        HookedGuard hooked(guard, hooks_.before_publish);
        auto outcome = real_->put(file, hooked);
        hooks_.after_put();
        return outcome;
    }
    ftlfeed::deliver::SendOutcome remove(const ftlfeed::deliver::Outgoing& file,
                                         ftlfeed::deliver::SendGuard& guard) override {
        return real_->remove(file, guard);
    }
    ftlfeed::deliver::Look look(const ftlfeed::deliver::Outgoing& file, ftlfeed::deliver::SendGuard& guard) override {
        return real_->look(file, guard);
    }

private:
    class HookedGuard final : public ftlfeed::deliver::SendGuard {
    public:
        HookedGuard(ftlfeed::deliver::SendGuard& real, const std::function<void()>& hook) : real_(real), hook_(hook) {}
        [[nodiscard]] ftlfeed::core::Deadline deadline() const override { return real_.deadline(); }
        [[nodiscard]] bool may_publish() override {
            hook_();
            return real_.may_publish();
        }

    private:
        ftlfeed::deliver::SendGuard& real_;
        const std::function<void()>& hook_;
    };

    std::unique_ptr<ftlfeed::deliver::Transport> real_;
    Hooks hooks_;
};

/// Every destination's directory, with these hooks.
inline ftlfeed::deliver::TransportFactory hooked_directories(HookedTransport::Hooks hooks) {
    using namespace ftlfeed;
    return [hooks = std::move(hooks)](const deliver::DestinationSettings& destination) {
        return std::make_unique<HookedTransport>(
            std::make_unique<deliver::DirectoryTransport>(destination.folder, destination.id, core::Clock::real()),
            hooks);
    };
}

/// A receiver that accepts the connection and never answers, as a blocking transport sees it.
class HangingTransport final : public ftlfeed::deliver::Transport {
public:
    explicit HangingTransport(Gate& gate) : gate_(gate) {}
    ftlfeed::deliver::SendOutcome put(const ftlfeed::deliver::Outgoing& /*file*/,
                                      ftlfeed::deliver::SendGuard& /*guard*/) override {
        gate_.wait();
        throw ftlfeed::core::Failure::unavailable("it never answered");
    }
    ftlfeed::deliver::SendOutcome remove(const ftlfeed::deliver::Outgoing& /*file*/,
                                         ftlfeed::deliver::SendGuard& /*guard*/) override {
        throw ftlfeed::core::Failure::unavailable("it never answered");
    }
    ftlfeed::deliver::Look look(const ftlfeed::deliver::Outgoing& /*file*/,
                                ftlfeed::deliver::SendGuard& /*guard*/) override {
        return ftlfeed::deliver::Look::kCannot;
    }

private:
    Gate& gate_;
};

}  // namespace ftl::test

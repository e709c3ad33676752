#pragma once

#include <map>
#include <string>

#include <ftlfeed/core/guarded.hpp>

namespace ftlfeed::app {

/// The part that stands for all workers until each of them is named.
inline constexpr const char* kWorkersPart = "workers";

/// What the program depends on, and whether it answers: the content of /readyz. Threads: thread-safe.
class Readiness {
public:
    void set_ready(const std::string& name);
    void set_waiting(const std::string& name, const std::string& reason);

    /// True when nothing waits. A program that has named nothing yet is not ready.
    [[nodiscard]] bool is_ready() const;
    /// `{"ready":…,"checks":[{"name":…,"ready":…,"reason":…}]}`
    [[nodiscard]] std::string json() const;

private:
    struct State {
        bool is_ready = false;
        std::string reason;
    };
    core::Guarded<std::map<std::string, State>> states_;
};

}  // namespace ftlfeed::app

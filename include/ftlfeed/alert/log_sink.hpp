#pragma once

#include <cstdint>
#include <string>

#include <ftlfeed/store/session.hpp>

namespace ftlfeed::alert {

/// Writes each alert once when it is raised and once when it is cleared to the log. Remembers by alert id what it has
/// written, so that alerts raised by other processes appear too. Threads: confined.
class LogSink {
public:
    /// Looks at the table and logs what is new since the last call. Returns how many lines.
    int pump(store::Session& session);

private:
    std::string snapshot_;
};

}  // namespace ftlfeed::alert

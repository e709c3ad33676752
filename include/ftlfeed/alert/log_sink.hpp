#pragma once

#include <cstdint>
#include <string>

#include <ftlfeed/store/session.hpp>

namespace ftlfeed::alert {

/// Writes each alert to the log once when it is raised and once when it is cleared, whichever process did it. It keeps
/// the snapshot of its last look, so that a transaction that commits late is not missed; a new sink begins with the open
/// alerts. Threads: confined.
class LogSink {
public:
    /// Looks at the table and logs what is new since the last call. Returns how many lines.
    int pump(store::Session& session);

private:
    std::string snapshot_;
};

}  // namespace ftlfeed::alert

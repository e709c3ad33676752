#include "common/alert_log.hpp"

#include <ftlfeed/alert/log_sink.hpp>

namespace ftlfeed::app {

namespace {
constexpr std::chrono::milliseconds kInterval{1000};
}

void add_alert_log(Supervisor& workers) {
    // The sink outlives a lost connection: what it has written stays written.
    workers.add_retrying("alert-log", [sink = alert::LogSink()](Worker& worker) mutable {
        auto session = worker.runtime().connect("alert-log");
        do {
            sink.pump(session);
            worker.ready();
        } while (worker.sleep_for(kInterval));
    });
}

}  // namespace ftlfeed::app

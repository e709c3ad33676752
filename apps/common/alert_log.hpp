#pragma once

#include "common/supervisor.hpp"

namespace ftlfeed::app {

/// Adds a worker that writes alerts to the log as they are raised and cleared, by whichever process. One binary of an
/// installation does this.
void add_alert_log(Supervisor& workers);

}  // namespace ftlfeed::app

#pragma once

#include "common/runtime.hpp"
#include "ftl-serve/serve_settings.hpp"

namespace ftlfeed::app {

/// What ftl-serve does, until the stop.
void run_serve(Runtime& runtime, const ServeSettings& settings);

/// The part of --check: does Redis answer and take what this server reads from Postgres? Throws core::Failure.
void check_cache(const ServeSettings& settings);

}  // namespace ftlfeed::app

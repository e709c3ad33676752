#pragma once

#include <chrono>
#include <cstdint>

#include <ftlfeed/build/worker.hpp>
#include <ftlfeed/core/settings.hpp>
#include <ftlfeed/deliver/dispatcher.hpp>

namespace ftlfeed::app {

/// The settings of ftl-deliver: sections build and deliver. docs/configuration.md has each of them.
struct FeedSettings {
    std::int64_t builders = 2;
    build::WorkerSettings build;
    deliver::DeliverSettings deliver;
    std::chrono::milliseconds housekeeping_interval{30'000};
    std::int64_t failed_kept_hours = 24 * 7;
    std::int64_t proven_kept_hours = 24 * 90;

    void bind(core::Settings& settings);
    /// Checks what concerns several settings. Throws core::InvalidInput.
    void validate() const;
};

}  // namespace ftlfeed::app

#pragma once

#include <memory>

#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/deliver/destination_queue.hpp>
#include <ftlfeed/deliver/destination_settings.hpp>
#include <ftlfeed/deliver/transport.hpp>

namespace ftlfeed::deliver {

using SettingsPtr = std::shared_ptr<const DestinationSettings>;

/// A destination of ours, in memory. The dispatcher owes into its queue; one sender thread at a time drains it.
struct Destination {
    struct State {
        SettingsPtr settings;
        DestinationQueue queue;
        bool is_active = true;    ///< Ours and switched on; off means that nothing more is published.
        bool is_drained = false;  ///< A sender thread is at work.
    };

    Destination(SettingsPtr settings, Tries tries)
        : id(settings->id), state(State{settings, DestinationQueue(settings->pace, tries), true, false}) {}

    const AssignmentId id;
    core::Guarded<State> state;

    /// Confined to the sender thread at work.
    struct Sending {
        SettingsPtr made_for;  ///< The settings that the transport was made from.
        std::unique_ptr<Transport> transport;
        core::Jitter jitter;
    };
    Sending sending;
};

}  // namespace ftlfeed::deliver

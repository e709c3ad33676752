#pragma once

#include "common/supervisor.hpp"
#include "ftl-deliver/feed_settings.hpp"

namespace ftlfeed::app {

/// What ftl-deliver does, until the stop: reads the outbox, builds files, sends them, keeps house.
void run_feeds(Runtime& runtime, const FeedSettings& settings);

/// One round of housekeeping: trims the outbox and the history of attempts, and raises an alert for transactions that
/// are open for too long.
void keep_house(store::Session& session, const FeedSettings& settings);

}  // namespace ftlfeed::app

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/fwd.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::build {

/// The consumer of the outbox that marks files.
inline constexpr const char* kConsumer = "build";

/// Marks what the rows lead to as dirty, in the reader's own transaction (an outbox::Reader::Apply):
/// - every file with a dependency on a touched record;
/// - for a touched event, that the files of each enumerated type are listed anew;
/// - for a touched definition, the same for every event, and that its files wait for no back-off.
/// Order-free; rows are locked in the order of their keys.
void mark(pqxx::transaction_base& tx, std::span<const outbox::OutboxRow> rows);

/// Marks files as dirty by hand; counts as a touch at this moment. `reason` is shown to people. Returns how many.
/// Keys of files that do not exist are ignored.
std::size_t mark_files(pqxx::transaction_base& tx, const std::vector<core::FeedKey>& keys, const std::string& reason);

/// Marks every file of the event (of all events when empty) and has their types listed anew. Returns the files marked.
std::size_t mark_event(pqxx::transaction_base& tx, const std::string& event, const std::string& reason);

/// Makes the marker's cursor when it is missing, and marks everything then: what was written before its time is found.
/// Returns whether it was missing.
bool register_marker(store::Session& session);

}  // namespace ftlfeed::build

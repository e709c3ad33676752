#pragma once

#include <ftlfeed/core/record_ref.hpp>
#include <ftlfeed/store/fwd.hpp>

namespace ftlfeed::outbox {

/// Marks a record, and its event's collection, as changed; takes effect with the caller's transaction. Calls
/// ftl_touch().
void touch(pqxx::transaction_base& tx, const core::RecordRef& record);

}  // namespace ftlfeed::outbox

#pragma once

#include <cstdint>
#include <string>

#include <pqxx/transaction_base>

#include <ftlctl/call.hpp>

namespace ftlctl {

/// `CLIENT/NAME`, the first two operands.
std::string destination_subject(Call& call);

/// The id of the destination that the first two operands name. Throws NotDone when there is none. `lock`: an SQL clause.
std::int64_t find_destination(pqxx::transaction_base& tx, Call& call, const std::string& lock = "");
/// The same with its row locked until the transaction ends.
std::int64_t lock_destination(pqxx::transaction_base& tx, Call& call);

/// The stamp by which ftl-deliver finds changed settings (a trigger sets it, but not when only a failure was forgotten),
/// and a hint that makes it look at once.
void tell_deliver(pqxx::transaction_base& tx, std::int64_t id);

}  // namespace ftlctl

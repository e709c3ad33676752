#pragma once

#include <cstdint>
#include <string>

#include <pqxx/transaction_base>

namespace ftlctl {

/// What a call names, by its id. Throws NotDone when it is not there.
std::int64_t client_id(pqxx::transaction_base& tx, const std::string& code);
std::int64_t event_id(pqxx::transaction_base& tx, const std::string& code);

}  // namespace ftlctl

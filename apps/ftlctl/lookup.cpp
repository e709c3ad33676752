#include <ftlctl/lookup.hpp>

#include <pqxx/result>

#include <ftlfeed/store/value.hpp>

#include <ftlctl/call.hpp>

namespace ftlctl {

using ftlfeed::store::checked;

std::int64_t client_id(pqxx::transaction_base& tx, const std::string& code) {
    const auto rows = tx.exec_params("SELECT id FROM delivery_client WHERE code = $1", checked(code));
    if (!rows.empty()) return rows[0][0].as<std::int64_t>();
    throw NotDone("there is no client '" + code + "'; `ftlctl client list` shows them, `ftlctl client add " + code +
                  "` makes it");
}

std::int64_t event_id(pqxx::transaction_base& tx, const std::string& code) {
    const auto rows = tx.exec_params("SELECT id FROM event WHERE code = $1", checked(code));
    if (!rows.empty()) return rows[0][0].as<std::int64_t>();
    throw NotDone("there is no event '" + code + "'; `ftlctl event list` shows them");
}

}  // namespace ftlctl

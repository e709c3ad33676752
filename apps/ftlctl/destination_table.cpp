#include <ftlctl/destination_table.hpp>

#include <pqxx/result>

#include <ftlfeed/store/value.hpp>

namespace ftlctl {

using ftlfeed::store::checked;

std::string destination_subject(Call& call) { return call.operand(0) + "/" + call.operand(1); }

std::int64_t find_destination(pqxx::transaction_base& tx, Call& call, const std::string& lock) {
    const auto rows = tx.exec_params(
        "SELECT a.id FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id "
        "WHERE c.code = $1 AND a.name = $2" +
            lock,
        checked(call.operand(0)), checked(call.operand(1)));
    if (rows.empty()) {
        throw NotDone("client '" + call.operand(0) + "' has no destination '" + call.operand(1) +
                      "'; `ftlctl destination list` shows them");
    }
    return rows[0][0].as<std::int64_t>();
}

std::int64_t lock_destination(pqxx::transaction_base& tx, Call& call) {
    return find_destination(tx, call, " FOR UPDATE OF a");
}

void tell_deliver(pqxx::transaction_base& tx, std::int64_t id) {
    tx.exec_params("UPDATE delivery_assignment SET txid = pg_current_xact_id() WHERE id = $1", id);
    tx.exec("SELECT pg_notify('ftl_document', '')");
}

}  // namespace ftlctl

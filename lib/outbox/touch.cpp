#include <ftlfeed/outbox/touch.hpp>

#include <pqxx/transaction_base>

#include <ftlfeed/store/value.hpp>

namespace ftlfeed::outbox {

void touch(pqxx::transaction_base& tx, const core::RecordRef& record) {
    const auto& kind = store::checked(record.kind);
    const auto& id = store::checked(record.id);
    const auto& event = store::checked(record.event);
    tx.exec_params("SELECT ftl_touch($1, $2, nullif($3, ''))", kind, id, event);
}

}  // namespace ftlfeed::outbox

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/value.hpp>

namespace ftlfeed::outbox {

bool register_consumer(store::Session& session, const std::string& consumer) {
    if (consumer.empty()) throw core::InvalidInput("outbox: a consumer needs a name");
    bool made = false;
    session.write([&](pqxx::transaction_base& tx) {
        // The statement's snapshot is older than this transaction's xid, so the xid lies at xmax or above: not visible.
        const auto result = tx.exec_params(
            "INSERT INTO outbox_cursor (consumer, system_identifier, snap)"
            " SELECT $1, system_identifier, pg_current_snapshot() FROM pg_control_system()"
            " ON CONFLICT (consumer) DO NOTHING",
            store::checked(consumer));
        made = result.affected_rows() == 1;
    });
    return made;
}

bool unregister_consumer(store::Session& session, const std::string& consumer) {
    bool removed = false;
    session.write([&](pqxx::transaction_base& tx) {
        const auto result = tx.exec_params("DELETE FROM outbox_cursor WHERE consumer = $1", store::checked(consumer));
        removed = result.affected_rows() == 1;
    });
    return removed;
}

}  // namespace ftlfeed::outbox

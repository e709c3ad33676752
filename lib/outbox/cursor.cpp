#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/value.hpp>

#include "outbox/sql.hpp"

namespace ftlfeed::outbox {

bool register_consumer(store::Session& session, const std::string& consumer) {
    bool made = false;
    session.write([&](pqxx::transaction_base& tx) { made = register_consumer(tx, consumer); });
    return made;
}

bool register_consumer(pqxx::transaction_base& tx, const std::string& consumer) {
    if (consumer.empty()) throw core::InvalidInput("outbox: a consumer needs a name");
    static const auto kInsert = std::string(
                                    "INSERT INTO outbox_cursor (consumer, system_identifier, snap)"
                                    " SELECT $1, system_identifier, (") +
                                sql::kOwnOpenSnapshot +
                                ")::pg_snapshot FROM pg_control_system() ON CONFLICT (consumer) DO NOTHING";
    return tx.exec_params(kInsert, store::checked(consumer)).affected_rows() == 1;
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

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/deliver/dispatcher.hpp>

namespace ftlfeed::deliver {

std::int64_t trim_attempts(store::Session& session, std::chrono::hours failed_kept, std::chrono::hours proven_kept,
                           std::int64_t rows_max) {
    std::int64_t trimmed = 0;
    session.write([&](pqxx::transaction_base& tx) {
        const auto failed = tx.exec_params(
            "DELETE FROM delivery_attempt WHERE id IN (SELECT id FROM delivery_attempt "
            "WHERE outcome IN ('failed', 'refused', 'in_doubt') AND ended_at < clock_timestamp() - $1 * interval '1 "
            "hour' "
            "ORDER BY id LIMIT $2)",
            failed_kept.count(), rows_max);
        // The proof of what a receiver holds now stays, however old it is.
        const auto proven = tx.exec_params(
            "DELETE FROM delivery_attempt WHERE id IN (SELECT t.id FROM delivery_attempt t "
            "WHERE t.outcome NOT IN ('failed', 'refused', 'in_doubt') "
            "AND t.ended_at < clock_timestamp() - $1 * interval '1 hour' "
            "AND EXISTS (SELECT 1 FROM delivery_attempt newer WHERE newer.assignment_id = t.assignment_id "
            "AND newer.doc_key = t.doc_key AND newer.id > t.id AND newer.outcome = 'delivered') ORDER BY t.id LIMIT "
            "$2)",
            proven_kept.count(), rows_max);
        trimmed = static_cast<std::int64_t>(failed.affected_rows() + proven.affected_rows());
    });
    return trimmed;
}

}  // namespace ftlfeed::deliver

#include <ftlctl/audit.hpp>

#include <exception>

#include <ftlfeed/store/value.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>

namespace ftlctl {

namespace {

using ftlfeed::store::checked;

void record(pqxx::transaction_base& tx, const std::string& who, const Action& action, bool ok,
            const std::string& error) {
    tx.exec_params(
        "INSERT INTO audit_log (who, action, subject, why, ok, detail) VALUES ($1, $2, $3, nullif($4, ''), $5, "
        "CASE WHEN $6 = '' THEN NULL ELSE jsonb_build_object('error', $6::text) END)",
        checked(who), action.name, checked(action.subject), checked(action.why), ok, error);
}

void record_failure(Call& call, const Action& action, const std::exception& error) {
    try {
        call.session().write([&](pqxx::transaction_base& tx) { record(tx, call.who(), action, false, error.what()); });
    } catch (const std::exception&) {
        // The database that refused the action cannot take the record of it either; the person sees the first error.
    }
}

}  // namespace

void audited(Call& call, const Action& action, const ftlfeed::store::Session::Work& work) {
    auto& session = call.session();
    try {
        session.write([&](pqxx::transaction_base& tx) {
            work(tx);
            record(tx, call.who(), action, true, "");
        });
    } catch (const std::exception& error) {
        record_failure(call, action, error);
        throw;
    }
}

void audited_outside(Call& call, const Action& action, const std::function<void()>& work) {
    auto& session = call.session();
    try {
        work();
    } catch (const std::exception& error) {
        record_failure(call, action, error);
        throw;
    }
    session.write([&](pqxx::transaction_base& tx) { record(tx, call.who(), action, true, ""); });
}

}  // namespace ftlctl

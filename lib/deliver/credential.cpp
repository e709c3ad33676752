#include <ftlfeed/deliver/credential.hpp>

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/failure.hpp>

#include "deliver/sql.hpp"

namespace ftlfeed::deliver {
namespace {

std::string place_of(std::int64_t row_id) { return "delivery_credential:" + std::to_string(row_id); }

core::Bytes bytes_of(const pqxx::field& field) {
    const auto text = store::from_bytea(field.c_str());
    return {text.begin(), text.end()};
}

Credential open_row(const pqxx::row& row, const core::MasterKey& key) {
    Credential credential{row[1].as<std::string>(), {}, ""};
    if (row[2].is_null()) {
        credential.trouble = "it is resolved by a command, which this build does not run";
    } else if (row[2].as<std::string>() != key.id) {
        credential.trouble = "it is under master key " + row[2].as<std::string>() + ", not " + key.id;
    } else {
        try {
            credential.secret =
                core::unseal({bytes_of(row[3]), bytes_of(row[4])}, key.key, place_of(row[0].as<std::int64_t>()));
        } catch (const core::Failure& failure) {
            credential.trouble = failure.what();
        }
    }
    return credential;
}

}  // namespace

void put_credential(store::Session& session, AssignmentId assignment, const std::string& kind,
                    const core::Secret& secret, const core::MasterKey& key) {
    session.write([&](pqxx::transaction_base& tx) {
        // A new row each time: its id is part of what is sealed.
        const auto id =
            tx.exec("SELECT nextval(pg_get_serial_sequence('delivery_credential', 'id'))")[0][0].as<std::int64_t>();
        const auto sealed = core::seal(secret, key.key, place_of(id));
        tx.exec_params("DELETE FROM delivery_credential WHERE assignment_id = $1 AND kind = $2", assignment.value,
                       store::checked(kind));
        tx.exec_params(
            "INSERT INTO delivery_credential (id, assignment_id, kind, key_id, nonce, ciphertext) "
            "OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5::bytea, $6::bytea)",
            id, assignment.value, kind, key.id, store::bytea(sealed.nonce), store::bytea(sealed.ciphertext));
        // The senders make their transports anew.
        tx.exec_params("UPDATE delivery_assignment SET txid = pg_current_xact_id() WHERE id = $1", assignment.value);
    });
}

std::vector<Credential> read_credentials(store::Session& session, AssignmentId assignment, const core::MasterKey& key) {
    std::vector<Credential> credentials;
    session.read([&](pqxx::transaction_base& tx) {
        for (const auto& row : tx.exec_params("SELECT id, kind, key_id, nonce, ciphertext FROM delivery_credential "
                                              "WHERE assignment_id = $1 ORDER BY kind",
                                              assignment.value)) {
            credentials.push_back(open_row(row, key));
        }
    });
    return credentials;
}

}  // namespace ftlfeed::deliver

#include <ftlfeed/deliver/credential.hpp>

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/failure.hpp>

#include "deliver/resolve_command.hpp"
#include "deliver/sql.hpp"

namespace ftlfeed::deliver {
namespace {

std::string place_of(std::int64_t row_id) { return "delivery_credential:" + std::to_string(row_id); }

core::Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

void drop_credential(pqxx::transaction_base& tx, AssignmentId assignment, const std::string& kind) {
    tx.exec_params("DELETE FROM delivery_credential WHERE assignment_id = $1 AND kind = $2", assignment.value,
                   store::checked(kind));
}

/// The senders make their transports anew.
void touch_settings(pqxx::transaction_base& tx, AssignmentId assignment) {
    tx.exec_params("UPDATE delivery_assignment SET txid = pg_current_xact_id() WHERE id = $1", assignment.value);
}

}  // namespace

std::vector<StoredCredential> stored_credentials(pqxx::transaction_base& tx,
                                                 const std::vector<AssignmentId>& assignments) {
    std::vector<StoredCredential> credentials;
    for (const auto& row : tx.exec_params("SELECT assignment_id, id, kind, key_id, nonce, ciphertext, resolve_command "
                                          "FROM delivery_credential WHERE assignment_id = ANY ($1::bigint[]) "
                                          "ORDER BY assignment_id, kind",
                                          id_array(assignments))) {
        credentials.push_back({{row[0].as<std::int64_t>()},
                               row[1].as<std::int64_t>(),
                               row[2].as<std::string>(),
                               text_or_empty(row[3]),
                               bytes_or_empty(row[4]),
                               bytes_or_empty(row[5]),
                               text_or_empty(row[6])});
    }
    return credentials;
}

void put_credential(store::Session& session, AssignmentId assignment, const std::string& kind,
                    const core::Secret& secret, const core::MasterKey& key) {
    session.write([&](pqxx::transaction_base& tx) { put_credential(tx, assignment, kind, secret, key); });
}

void put_credential(pqxx::transaction_base& tx, AssignmentId assignment, const std::string& kind,
                    const core::Secret& secret, const core::MasterKey& key) {
    // A new row each time: its id is part of what is sealed.
    const auto id =
        tx.exec("SELECT nextval(pg_get_serial_sequence('delivery_credential', 'id'))")[0][0].as<std::int64_t>();
    const auto sealed = core::seal(secret, key.key, place_of(id));
    drop_credential(tx, assignment, kind);
    tx.exec_params(
        "INSERT INTO delivery_credential (id, assignment_id, kind, key_id, nonce, ciphertext) "
        "OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5::bytea, $6::bytea)",
        id, assignment.value, kind, key.id, store::bytea(sealed.nonce), store::bytea(sealed.ciphertext));
    touch_settings(tx, assignment);
}

void put_credential_command(pqxx::transaction_base& tx, AssignmentId assignment, const std::string& kind,
                            const std::string& command) {
    static_cast<void>(command_words(command));
    drop_credential(tx, assignment, kind);
    tx.exec_params("INSERT INTO delivery_credential (assignment_id, kind, resolve_command) VALUES ($1, $2, $3)",
                   assignment.value, store::checked(kind), store::checked(command));
    touch_settings(tx, assignment);
}

Credential open_credential(const StoredCredential& stored, const core::MasterKey& key) {
    Credential credential{stored.kind, {}, ""};
    if (!stored.resolve_command.empty()) {
        credential.trouble = "a command gives it";
    } else if (stored.key_id != key.id) {
        credential.trouble = "it is under master key " + stored.key_id + ", not " + key.id;
    } else {
        try {
            credential.secret =
                core::unseal({bytes_of(stored.nonce), bytes_of(stored.ciphertext)}, key.key, place_of(stored.row_id));
        } catch (const core::Failure& failure) {
            credential.trouble = failure.what();
        }
    }
    return credential;
}

std::vector<Credential> read_credentials(store::Session& session, AssignmentId assignment, const core::MasterKey& key) {
    std::vector<Credential> credentials;
    session.read([&](pqxx::transaction_base& tx) {
        credentials.clear();
        for (const auto& stored : stored_credentials(tx, {assignment})) {
            credentials.push_back(open_credential(stored, key));
        }
    });
    return credentials;
}

}  // namespace ftlfeed::deliver

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/deliver/assignment_id.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::deliver {

/// A credential as its row holds it: sealed under the master key `key_id`, or a command that prints it. A value.
struct StoredCredential {
    AssignmentId assignment;
    std::int64_t row_id = 0;
    std::string kind;    ///< `password`, `private_key`, `signing_secret` …
    std::string key_id;  ///< Empty when a command gives it.
    std::string nonce;   ///< Raw bytes, as is the next.
    std::string ciphertext;
    std::string resolve_command;  ///< Empty when it is sealed.

    bool operator==(const StoredCredential&) const = default;
};
/// Those of these destinations, by destination and kind.
[[nodiscard]] std::vector<StoredCredential> stored_credentials(pqxx::transaction_base& tx,
                                                               const std::vector<AssignmentId>& assignments);

/// Stores a credential of a destination, encrypted with the row's id as associated data: copied into another row it does
/// not open. Replaces one of the same kind. The senders make their transports anew.
void put_credential(store::Session& session, AssignmentId assignment, const std::string& kind,
                    const core::Secret& secret, const core::MasterKey& key);
void put_credential(pqxx::transaction_base& tx, AssignmentId assignment, const std::string& kind,
                    const core::Secret& secret, const core::MasterKey& key);
/// Stores a command that prints the credential. Throws core::InvalidInput when it is none (docs/deliver.md).
void put_credential_command(pqxx::transaction_base& tx, AssignmentId assignment, const std::string& kind,
                            const std::string& command);

/// The kind of the secret that signs webhooks, and of the one before it while both hold.
constexpr const char* kSigningSecret = "signing_secret";
constexpr const char* kSigningSecretOld = "signing_secret_old";

/// One stored credential as it could be read.
struct Credential {
    std::string kind;
    core::Secret secret;  ///< Empty when `trouble` is not.
    std::string trouble;  ///< Why it could not be opened; never a secret.
};
/// One that cannot be opened (another key, damaged bytes, a command) says so.
[[nodiscard]] Credential open_credential(const StoredCredential& stored, const core::MasterKey& key);
/// All of a destination, by kind. One that cannot be opened harms no other.
[[nodiscard]] std::vector<Credential> read_credentials(store::Session& session, AssignmentId assignment,
                                                       const core::MasterKey& key);

}  // namespace ftlfeed::deliver

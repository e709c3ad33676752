#pragma once

#include <string>
#include <vector>

#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/deliver/assignment_id.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::deliver {

/// Stores a credential of a destination (`kind`: password, private_key, signing_secret …), encrypted with the row's id
/// as associated data: copied into another row it does not open. Replaces one of the same kind.
void put_credential(store::Session& session, AssignmentId assignment, const std::string& kind,
                    const core::Secret& secret, const core::MasterKey& key);

/// One stored credential as it could be read.
struct Credential {
    std::string kind;
    core::Secret secret;  ///< Empty when `trouble` is not.
    std::string trouble;  ///< Why it could not be opened; never a secret.
};
/// All of a destination, by kind. One that cannot be opened (another key, damaged bytes) says so and harms no other.
[[nodiscard]] std::vector<Credential> read_credentials(store::Session& session, AssignmentId assignment,
                                                       const core::MasterKey& key);

}  // namespace ftlfeed::deliver

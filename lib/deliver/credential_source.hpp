#pragma once

#include <string>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/deadline.hpp>
#include <ftlfeed/deliver/credential.hpp>
#include <ftlfeed/deliver/standard_webhook.hpp>

#include "deliver/resolve_command.hpp"

namespace ftlfeed::deliver {

/// What opens stored credentials.
struct CredentialSource {
    std::string master_key_file;
    ResolveRules rules;
};

/// The credential's text: opened under the master key, or printed by its command. Throws core::InvalidInput when settings
/// or row do not fit, core::Failure as resolve_by_command() does. Neither holds a secret.
[[nodiscard]] core::Secret secret_of(const StoredCredential& stored, const CredentialSource& source,
                                     core::Deadline deadline, const core::Clock& clock);

/// The secrets that sign a webhook: the present one, then the one before it while both hold. The present one must be
/// there; an old one that cannot be opened is left out with a warning. Throws as secret_of().
[[nodiscard]] std::vector<SigningSecret> signing_secrets(const std::vector<StoredCredential>& credentials,
                                                         const CredentialSource& source, core::Deadline deadline,
                                                         const core::Clock& clock);

}  // namespace ftlfeed::deliver

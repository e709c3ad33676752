#include "deliver/credential_source.hpp"

#include <algorithm>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

namespace ftlfeed::deliver {
namespace {

const StoredCredential* find_kind(const std::vector<StoredCredential>& credentials, std::string_view kind) {
    const auto found = std::find_if(credentials.begin(), credentials.end(),
                                    [&](const StoredCredential& stored) { return stored.kind == kind; });
    return found == credentials.end() ? nullptr : &*found;
}

}  // namespace

core::Secret secret_of(const StoredCredential& stored, const CredentialSource& source, core::Deadline deadline,
                       const core::Clock& clock) {
    if (!stored.resolve_command.empty()) {
        return resolve_by_command(stored.resolve_command, source.rules, deadline, clock);
    }
    if (source.master_key_file.empty()) {
        throw core::InvalidInput("the credential " + stored.kind +
                                 " is sealed; set deliver.master_key_file to its key");
    }
    // Read each time, which is seldom: the file may have been replaced.
    auto credential = open_credential(stored, core::read_master_key(source.master_key_file));
    if (!credential.trouble.empty()) {
        throw core::InvalidInput("the credential " + stored.kind + " cannot be opened: " + credential.trouble);
    }
    return std::move(credential.secret);
}

std::vector<SigningSecret> signing_secrets(const std::vector<StoredCredential>& credentials,
                                           const CredentialSource& source, core::Deadline deadline,
                                           const core::Clock& clock) {
    const auto* present = find_kind(credentials, kSigningSecret);
    if (present == nullptr) {
        throw core::InvalidInput("it has no signing secret; give it one with `ftlctl destination set … --secret-file`");
    }
    std::vector<SigningSecret> secrets{SigningSecret::parse(secret_of(*present, source, deadline, clock))};
    const auto* old = find_kind(credentials, kSigningSecretOld);
    if (old == nullptr) return secrets;
    try {
        secrets.push_back(SigningSecret::parse(secret_of(*old, source, deadline, clock)));
    } catch (const core::InvalidInput& wrong) {
        // Whoever knows the new one is served; whoever does not, refuses, and that shows.
        core::log_warning("deliver.old_secret_left_out",
                          {{"assignment", old->assignment.value}, {"error", wrong.what()}});
    }
    return secrets;
}

}  // namespace ftlfeed::deliver

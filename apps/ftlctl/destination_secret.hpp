#pragma once

#include <optional>
#include <string>
#include <vector>

#include <pqxx/transaction_base>

#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/deliver/assignment_id.hpp>

#include <ftlctl/call.hpp>
#include <ftlctl/command.hpp>

namespace ftlctl {

/// A secret as it was given with a call: its text with the key that encrypts it, or a command that prints it.
class GivenSecret {
public:
    GivenSecret(ftlfeed::core::Secret text, ftlfeed::core::MasterKey key)
        : text_(std::move(text)), key_(std::move(key)) {}
    explicit GivenSecret(std::string command) : command_(std::move(command)) {}

    void store_as(pqxx::transaction_base& tx, ftlfeed::deliver::AssignmentId id, const std::string& kind) const;
    /// As the one that signs.
    void store(pqxx::transaction_base& tx, ftlfeed::deliver::AssignmentId id) const;
    /// As the one that signs; the one before goes on to sign beside it. Throws NotDone when two sign already.
    void rotate(pqxx::transaction_base& tx, ftlfeed::deliver::AssignmentId id) const;
    /// The key's id, or `command`.
    [[nodiscard]] std::string source() const { return command_.empty() ? key_.id : "command"; }

private:
    ftlfeed::core::Secret text_;
    ftlfeed::core::MasterKey key_;
    std::string command_;
};

/// The one on standard input, or `command`. Throws UsageError when the master key is not known.
GivenSecret given_secret(Call& call, const std::optional<std::string>& command);

/// --secret-file and --secret-command, and what they gave: a secret that signs, checked. Throws UsageError.
std::vector<Option> signing_secret_options();
std::optional<GivenSecret> signing_secret_option(Call& call);

/// Throws NotDone when there is none.
void drop_old_secret(pqxx::transaction_base& tx, ftlfeed::deliver::AssignmentId id);

}  // namespace ftlctl

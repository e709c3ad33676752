#include <ftlctl/destination_secret.hpp>

#include <pqxx/result>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/deliver/credential.hpp>
#include <ftlfeed/deliver/standard_webhook.hpp>

namespace ftlctl {

namespace {

using ftlfeed::deliver::AssignmentId;
using ftlfeed::deliver::kSigningSecret;
using ftlfeed::deliver::kSigningSecretOld;

bool has_credential(pqxx::transaction_base& tx, AssignmentId id, const char* kind) {
    return !tx.exec_params("SELECT 1 FROM delivery_credential WHERE assignment_id = $1 AND kind = $2", id.value,
                           std::string(kind))
                .empty();
}

ftlfeed::core::MasterKey master_key(Call& call) {
    if (call.settings().master_key_file().empty()) {
        throw UsageError("which key encrypts it? Set deliver.master_key_file as for ftl-deliver");
    }
    return ftlfeed::core::read_master_key(call.settings().master_key_file());
}

}  // namespace

void GivenSecret::store_as(pqxx::transaction_base& tx, AssignmentId id, const std::string& kind) const {
    if (command_.empty()) {
        ftlfeed::deliver::put_credential(tx, id, kind, text_, key_);
    } else {
        ftlfeed::deliver::put_credential_command(tx, id, kind, command_);
    }
}

void GivenSecret::store(pqxx::transaction_base& tx, AssignmentId id) const { store_as(tx, id, kSigningSecret); }

void GivenSecret::rotate(pqxx::transaction_base& tx, AssignmentId id) const {
    if (has_credential(tx, id, kSigningSecretOld)) {
        throw NotDone(
            "two secrets sign already; when the client has changed over, drop the old one: `ftlctl destination set … "
            "--drop-old-secret`");
    }
    // What is sealed is bound to the row, which stays.
    tx.exec_params("UPDATE delivery_credential SET kind = $3 WHERE assignment_id = $1 AND kind = $2", id.value,
                   std::string(kSigningSecret), std::string(kSigningSecretOld));
    store(tx, id);
}

GivenSecret given_secret(Call& call, const std::optional<std::string>& command) {
    if (command) return GivenSecret(*command);
    auto key = master_key(call);
    return {call.secret_from_input(), std::move(key)};
}

std::vector<Option> signing_secret_options() {
    return {{"secret-file", "FILE", "the whsec_ secret that signs a webhook; - is standard input"},
            {"secret-command", "COMMAND", "instead: a program and its arguments that print it, run by ftl-deliver"}};
}

std::optional<GivenSecret> signing_secret_option(Call& call) {
    const auto file = call.option("secret-file");
    const auto command = call.option("secret-command");
    if (file && command) throw UsageError("--secret-file and --secret-command are two ways to give one secret");
    if (command) return GivenSecret(*command);
    if (!file) return std::nullopt;
    auto key = master_key(call);
    auto text = *file == "-" ? call.secret_from_input() : ftlfeed::core::read_secret(*file);
    static_cast<void>(ftlfeed::deliver::SigningSecret::parse(text));  // Here the mistake is still easy to mend.
    return GivenSecret(std::move(text), std::move(key));
}

void drop_old_secret(pqxx::transaction_base& tx, AssignmentId id) {
    const auto dropped =
        tx.exec_params("DELETE FROM delivery_credential WHERE assignment_id = $1 AND kind = $2 RETURNING 1", id.value,
                       std::string(kSigningSecretOld));
    if (dropped.empty()) throw NotDone("one secret signs; there is no old one to drop");
}

}  // namespace ftlctl

#include <ftlctl/command.hpp>

#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/deliver/credential.hpp>
#include <ftlfeed/store/value.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlctl/audit.hpp>
#include <ftlctl/call.hpp>
#include <ftlctl/destination_settings.hpp>

namespace ftlctl {

namespace {

using ftlfeed::store::checked;

NotDone no_destination(const std::string& client, const std::string& name) {
    return NotDone("client '" + client + "' has no destination '" + name + "'; `ftlctl destination list` shows them");
}

std::string subject_of(Call& call) { return call.operand(0) + "/" + call.operand(1); }

std::int64_t find_destination(pqxx::transaction_base& tx, Call& call, const std::string& lock = "") {
    const auto rows = tx.exec_params(
        "SELECT a.id FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id "
        "WHERE c.code = $1 AND a.name = $2" +
            lock,
        checked(call.operand(0)), checked(call.operand(1)));
    if (rows.empty()) throw no_destination(call.operand(0), call.operand(1));
    return rows[0][0].as<std::int64_t>();
}

/// The destination's id, its row locked until the transaction ends.
std::int64_t lock_destination(pqxx::transaction_base& tx, Call& call) {
    return find_destination(tx, call, " FOR UPDATE OF a");
}

// The stamp by which ftl-deliver finds changed settings (a trigger sets it, but not when only a failure was forgotten),
// and a hint that makes it look at once.
void tell_deliver(pqxx::transaction_base& tx, std::int64_t id) {
    tx.exec_params("UPDATE delivery_assignment SET txid = pg_current_xact_id() WHERE id = $1", id);
    tx.exec("SELECT pg_notify('ftl_document', '')");
}

void apply(pqxx::transaction_base& tx, std::int64_t id, const std::vector<SettingChange>& changes) {
    for (const auto& change : changes) {
        // Columns and types come from a table in this program, never from the call.
        const auto statement = "UPDATE delivery_assignment SET " + change.column + " = " +
                               (change.is_null ? "NULL" : "$2::" + change.type) + " WHERE id = $1";
        if (change.is_null) {
            tx.exec_params(statement, id);
        } else {
            tx.exec_params(statement, id, change.text);
        }
    }
}

std::int64_t client_id(pqxx::transaction_base& tx, const std::string& code) {
    const auto rows = tx.exec_params("SELECT id FROM delivery_client WHERE code = $1", checked(code));
    if (rows.empty()) {
        throw NotDone("there is no client '" + code + "'; make it with `ftlctl client add " + code + "`");
    }
    return rows[0][0].as<std::int64_t>();
}

int add(Call& call) {
    const auto& name = call.operand(1);
    if (!ftlfeed::core::FeedKey::is_valid_part(name)) {
        throw UsageError("NAME is '" + name + "'; it may hold a-z, 0-9, '-' and '_', 1 to 100 of them");
    }
    const auto transport = call.option("transport").value();
    if (transport != "directory") {
        throw UsageError("--transport is '" + transport + "'; this version has: directory");
    }
    if (!call.option("folder")) throw UsageError("a directory destination needs --folder PATH");
    const auto changes = destination_changes(call);
    audited(call, {"destination add", subject_of(call), ""}, [&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec_params(
            "INSERT INTO delivery_assignment (client_id, name, transport) VALUES ($1, $2, $3) "
            "ON CONFLICT DO NOTHING RETURNING id",
            client_id(tx, call.operand(0)), name, transport);
        if (rows.empty()) throw NotDone("destination '" + subject_of(call) + "' is there already");
        const auto id = rows[0][0].as<std::int64_t>();
        apply(tx, id, changes);
        tell_deliver(tx, id);
    });
    call.report().fact("destination", subject_of(call));
    call.report().fact("transport", transport);
    return 0;
}

int set(Call& call) {
    const auto changes = destination_changes(call);
    if (changes.empty()) throw UsageError("nothing to set; `ftlctl destination set --help` lists the settings");
    std::string columns;
    for (const auto& change : changes) columns += (columns.empty() ? "" : ", ") + change.column;
    audited(call, {"destination set", subject_of(call), columns}, [&](pqxx::transaction_base& tx) {
        const auto id = lock_destination(tx, call);
        apply(tx, id, changes);
        // Somebody changed something: it deserves a try now, whatever the pace was.
        tx.exec_params(
            "UPDATE delivery_assignment SET failures = 0, next_try = NULL, last_error = NULL, refusal_lasts = false "
            "WHERE id = $1",
            id);
        tell_deliver(tx, id);
    });
    call.report().fact("destination", subject_of(call));
    call.report().fact("set", columns);
    return 0;
}

/// Credentials come by standard input and lie encrypted in the database, bound to their row.
int set_secret(Call& call) {
    const auto& kind = call.operand(2);
    if (!ftlfeed::core::FeedKey::is_valid_part(kind)) {
        throw UsageError("KIND is '" + kind + "'; it is a word such as password, private_key or signing_secret");
    }
    if (call.settings().master_key_file().empty()) {
        throw UsageError("which key encrypts it? Set deliver.master_key_file as for ftl-deliver");
    }
    const auto key = ftlfeed::core::read_master_key(call.settings().master_key_file());
    const auto secret = call.secret_from_input();
    audited_outside(call, {"destination secret", subject_of(call) + "/" + kind, ""}, [&] {
        std::int64_t id = 0;
        call.session().read([&](pqxx::transaction_base& tx) { id = find_destination(tx, call); });
        ftlfeed::deliver::put_credential(call.session(), ftlfeed::deliver::AssignmentId{id}, kind, secret, key);
        call.session().write([&](pqxx::transaction_base& tx) { tell_deliver(tx, id); });
    });
    call.report().fact("destination", subject_of(call));
    call.report().fact("secret", kind);
    call.report().fact("key", key.id);
    return 0;
}

int list(Call& call) {
    call.session().read([&](pqxx::transaction_base& tx) {
        call.report().table(
            "destinations",
            tx.exec("SELECT c.code || '/' || a.name AS destination, a.transport, a.is_on AND c.is_on AS on, "
                    "CASE WHEN NOT a.is_on THEN a.off_reason ELSE c.off_reason END AS off_reason, "
                    "coalesce(a.host || coalesce(':' || a.port, ''), '') || coalesce(a.folder, '') AS place, "
                    "a.name_template, coalesce(array_to_string(a.events, ','), 'all') AS events, "
                    "coalesce(array_to_string(a.feed_types, ','), 'all') AS feed_types, a.on_retire, a.render, "
                    "a.failures, a.last_error "
                    "FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id ORDER BY 1"));
    });
    return 0;
}

int on(Call& call) {
    audited(call, {"destination on", subject_of(call), ""}, [&](pqxx::transaction_base& tx) {
        const auto id = lock_destination(tx, call);
        tx.exec_params(
            "UPDATE delivery_assignment SET is_on = true, off_reason = NULL, off_by = NULL, off_at = NULL, "
            "failures = 0, next_try = NULL, last_error = NULL, refusal_lasts = false WHERE id = $1",
            id);
        tell_deliver(tx, id);
    });
    call.report().fact("destination", subject_of(call));
    call.report().fact("on", true);
    return 0;
}

int off(Call& call) {
    const auto reason = call.option("reason").value();
    if (reason.empty()) throw UsageError("--reason is empty; the next person needs to know why");
    audited(call, {"destination off", subject_of(call), reason}, [&](pqxx::transaction_base& tx) {
        const auto id = lock_destination(tx, call);
        tx.exec_params(
            "UPDATE delivery_assignment SET is_on = false, off_reason = $2, off_by = $3, off_at = clock_timestamp() "
            "WHERE id = $1",
            id, checked(reason), checked(call.who()));
        tell_deliver(tx, id);
    });
    call.report().fact("destination", subject_of(call));
    call.report().fact("on", false);
    return 0;
}

std::vector<Option> add_options() {
    auto options = destination_options();
    options.insert(options.begin(), {"transport", "NAME", "how files get there: directory", true});
    return options;
}

}  // namespace

std::vector<Command> destination_commands() {
    return {
        {{"destination", "add"},
         {"CLIENT", "NAME"},
         "a place that a client's files are sent to",
         "From now on the destination is owed the newest version of every file that it wants. Sending starts when\n"
         "ftl-deliver runs with deliver.enabled.\n\n"
         "  ftlctl destination add acme main --transport directory --folder /srv/acme --feed-types standings,scorers",
         add_options(),
         add},
        {{"destination", "set"},
         {"CLIENT", "NAME"},
         "change a destination's settings",
         "A change of the folder, host, port or name template sends every file again.\n\n"
         "  ftlctl destination set acme main --slow-retry-ms 60000",
         destination_options(),
         set},
        {{"destination", "secret"},
         {"CLIENT", "NAME", "KIND"},
         "store a credential, read from standard input",
         "It is encrypted under the master key and never shown again. An argument could be read by every user of the\n"
         "machine, so there is none for it.\n\n"
         "  ftlctl destination secret acme main password --deliver.master_key_file /etc/ftlfeed/key < password.txt",
         {},
         set_secret},
        {{"destination", "list"},
         {},
         "the destinations with their settings",
         "  ftlctl destination list --json",
         {},
         list},
        {{"destination", "on"},
         {"CLIENT", "NAME"},
         "send to it again",
         "Failures are forgotten; what became new meanwhile is sent.\n\n  ftlctl destination on acme main",
         {},
         on},
        {{"destination", "off"},
         {"CLIENT", "NAME"},
         "send nothing to it",
         "Files go on being built; nothing counts as owed while it is off.\n\n"
         "  ftlctl destination off acme main --reason 'their disk is full'",
         {{"reason", "TEXT", "why; shown to whoever looks next", true}},
         off},
    };
}

}  // namespace ftlctl

#include <ftlctl/command.hpp>

#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/deliver/credential.hpp>
#include <ftlfeed/store/value.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlctl/audit.hpp>
#include <ftlctl/call.hpp>
#include <ftlctl/destination_secret.hpp>
#include <ftlctl/destination_settings.hpp>
#include <ftlctl/destination_table.hpp>
#include <ftlctl/destination_try.hpp>
#include <ftlctl/lookup.hpp>

namespace ftlctl {

namespace {

using ftlfeed::store::checked;

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

/// What a transport cannot do without.
void check_transport(Call& call, const std::string& transport) {
    if (transport == "directory") {
        if (!call.option("folder")) throw UsageError("a directory destination needs --folder PATH");
    } else if (transport == "webhook") {
        if (!call.option("url")) throw UsageError("a webhook destination needs --url https://…");
        if (!call.option("secret-file") && !call.option("secret-command")) {
            throw UsageError(
                "a webhook signs what it sends: give --secret-file FILE, or - for standard input; the client gets the "
                "same secret. Make one: echo whsec_$(openssl rand -base64 32)");
        }
    } else if (transport == "redis") {
        if (!call.option("host")) throw UsageError("a redis destination needs --host NAME");
    } else {
        throw UsageError("--transport is '" + transport + "'; this version has: directory, redis, webhook");
    }
}

int add(Call& call) {
    const auto& name = parse_name("NAME", call.operand(1));
    const auto transport = call.option("transport").value();
    check_transport(call, transport);
    const auto changes = destination_changes(call);
    const auto secret = signing_secret_option(call);
    audited(call, {"destination add", destination_subject(call), ""}, [&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec_params(
            "INSERT INTO delivery_assignment (client_id, name, transport) VALUES ($1, $2, $3) "
            "ON CONFLICT DO NOTHING RETURNING id",
            client_id(tx, call.operand(0)), name, transport);
        if (rows.empty()) throw NotDone("destination '" + destination_subject(call) + "' is there already");
        const auto id = rows[0][0].as<std::int64_t>();
        apply(tx, id, changes);
        if (secret) secret->store(tx, {id});
        tell_deliver(tx, id);
    });
    call.report().fact("destination", destination_subject(call));
    call.report().fact("transport", transport);
    return 0;
}

int set(Call& call) {
    const auto changes = destination_changes(call);
    const auto secret = signing_secret_option(call);
    const bool drops_old = call.flag("drop-old-secret");
    if (changes.empty() && !secret && !drops_old) {
        throw UsageError("nothing to set; `ftlctl destination set --help` lists the settings");
    }
    std::string names;
    for (const auto& change : changes) names += (names.empty() ? "" : ", ") + change.column;
    if (drops_old) names += std::string(names.empty() ? "" : ", ") + "old secret dropped";
    if (secret) names += std::string(names.empty() ? "" : ", ") + "signing secret";
    audited(call, {"destination set", destination_subject(call), names}, [&](pqxx::transaction_base& tx) {
        const auto id = lock_destination(tx, call);
        apply(tx, id, changes);
        if (drops_old) drop_old_secret(tx, {id});
        if (secret) secret->rotate(tx, {id});
        // Somebody changed something: it deserves a try now, whatever the pace was.
        tx.exec_params(
            "UPDATE delivery_assignment SET failures = 0, next_try = NULL, last_error = NULL, refusal_lasts = false "
            "WHERE id = $1",
            id);
        tell_deliver(tx, id);
    });
    call.report().fact("destination", destination_subject(call));
    call.report().fact("set", names);
    return 0;
}

/// Credentials come by standard input and lie encrypted in the database, bound to their row.
int set_secret(Call& call) {
    const auto& kind = call.operand(2);
    if (!ftlfeed::core::FeedKey::is_valid_part(kind)) {
        throw UsageError("KIND is '" + kind + "'; it is a word such as password, private_key or signing_secret");
    }
    const auto secret = given_secret(call, call.option("command"));
    audited(call, {"destination secret", destination_subject(call) + "/" + kind, ""}, [&](pqxx::transaction_base& tx) {
        const auto id = lock_destination(tx, call);
        secret.store_as(tx, {id}, kind);
        tell_deliver(tx, id);
    });
    call.report().fact("destination", destination_subject(call));
    call.report().fact("secret", kind);
    call.report().fact("key", secret.source());
    return 0;
}

int list(Call& call) {
    call.session().read([&](pqxx::transaction_base& tx) {
        call.report().table(
            "destinations",
            tx.exec("SELECT c.code || '/' || a.name AS destination, a.transport, a.is_on AND c.is_on AS on, "
                    "CASE WHEN NOT a.is_on THEN a.off_reason ELSE c.off_reason END AS off_reason, "
                    "concat_ws(' ', coalesce(a.url_scheme || '://', '') || a.host || coalesce(':' || a.port, '') || "
                    "coalesce(split_part(a.url_path, '?', 1), ''), a.folder) AS place, "
                    "a.name_template, coalesce(array_to_string(a.events, ','), 'all') AS events, "
                    "coalesce(array_to_string(a.feed_types, ','), 'all') AS feed_types, a.on_retire, a.render, "
                    "a.failures, a.last_error "
                    "FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id ORDER BY 1"));
    });
    return 0;
}

int on(Call& call) {
    audited(call, {"destination on", destination_subject(call), ""}, [&](pqxx::transaction_base& tx) {
        const auto id = lock_destination(tx, call);
        tx.exec_params(
            "UPDATE delivery_assignment SET is_on = true, off_reason = NULL, off_by = NULL, off_at = NULL, "
            "failures = 0, next_try = NULL, last_error = NULL, refusal_lasts = false WHERE id = $1",
            id);
        tell_deliver(tx, id);
    });
    call.report().fact("destination", destination_subject(call));
    call.report().fact("on", true);
    return 0;
}

int off(Call& call) {
    const auto reason = call.reason();
    audited(call, {"destination off", destination_subject(call), reason}, [&](pqxx::transaction_base& tx) {
        const auto id = lock_destination(tx, call);
        tx.exec_params(
            "UPDATE delivery_assignment SET is_on = false, off_reason = $2, off_by = $3, off_at = clock_timestamp() "
            "WHERE id = $1",
            id, checked(reason), checked(call.who()));
        tell_deliver(tx, id);
    });
    call.report().fact("destination", destination_subject(call));
    call.report().fact("on", false);
    return 0;
}

std::vector<Option> add_options() {
    auto options = destination_options();
    options.insert(options.begin(), {"transport", "NAME", "how files get there: directory, redis, webhook", true});
    for (auto& option : signing_secret_options()) options.push_back(std::move(option));
    return options;
}

std::vector<Option> set_options() {
    auto options = destination_options();
    for (auto& option : signing_secret_options()) options.push_back(std::move(option));
    options.push_back({"drop-old-secret", "", "sign by the present secret alone from now on"});
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
         "  ftlctl destination add acme main --transport directory --folder /srv/acme --feed-types standings,scorers\n"
         "  ftlctl destination add acme hook --transport webhook --url https://acme.example/in --secret-file - \\\n"
         "    --deliver.master_key_file /etc/ftlfeed/key < secret.txt",
         add_options(),
         add},
        {{"destination", "set"},
         {"CLIENT", "NAME"},
         "change a destination's settings",
         "A change of the folder, URL, host, port or name template sends every file again. A new signing secret does\n"
         "not take the old one's place at once: both sign until the old one is dropped, so that the client can change\n"
         "over.\n\n"
         "  ftlctl destination set acme main --slow-retry-ms 60000\n"
         "  ftlctl destination set acme hook --secret-file - < new-secret.txt\n"
         "  ftlctl destination set acme hook --drop-old-secret",
         set_options(),
         set},
        {{"destination", "secret"},
         {"CLIENT", "NAME", "KIND"},
         "store a credential, read from standard input",
         "It is encrypted under the master key and never shown again. An argument could be read by every user of the\n"
         "machine, so there is none for it.\n\n"
         "  ftlctl destination secret acme main password --deliver.master_key_file /etc/ftlfeed/key < password.txt\n"
         "  ftlctl destination secret acme main password --command '/usr/local/bin/vault-read acme'",
         {{"command", "COMMAND", "a program and its arguments that print it, run by ftl-deliver without a shell"}},
         set_secret},
        {{"destination", "test"},
         {"CLIENT", "NAME"},
         "try whether it takes files",
         "From this machine, with its settings and secrets, past queue and pace. A webhook gets a signed message of\n"
         "the type ftlfeed.test; in a folder a temporary file is written and removed, in a Redis an entry. No file of\n"
         "yours is touched.\n\n"
         "  ftlctl destination test acme hook --config /etc/ftlfeed/deliver.toml",
         {},
         test_destination},
        {{"destination", "send"},
         {"CLIENT", "NAME", "KEY"},
         "send the newest version of a file again",
         "For a receiver that lost it. ftl-deliver sends it as an occasion of its own, with a proof of its own; to a\n"
         "webhook under another webhook-id, so that it is not dropped as a repetition.\n\n"
         "  ftlctl destination send acme hook wc2026/standings",
         {},
         send_again},
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

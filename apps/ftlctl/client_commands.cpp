#include <ftlctl/command.hpp>

#include <ftlfeed/store/value.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlctl/audit.hpp>
#include <ftlctl/call.hpp>
#include <ftlctl/lookup.hpp>

namespace ftlctl {

namespace {

using ftlfeed::store::checked;

// A trigger stamps the client's destinations, by which ftl-deliver finds the change; this makes it look at once.
void tell_deliver(pqxx::transaction_base& tx) { tx.exec("SELECT pg_notify('ftl_document', '')"); }

int add(Call& call) {
    const auto& code = parse_name("CODE", call.operand(0));
    audited(call, {"client add", code, ""}, [&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec_params(
            "INSERT INTO delivery_client (code, name) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id", code,
            checked(call.option_or("name", code)));
        if (rows.empty()) throw NotDone("client '" + code + "' is there already");
    });
    call.report().fact("client", code);
    return 0;
}

int list(Call& call) {
    call.session().read([&](pqxx::transaction_base& tx) {
        call.report().table(
            "clients", tx.exec("SELECT c.code AS client, c.name, c.is_on AS on, c.off_reason, c.off_by, "
                               "c.off_at, "
                               "(SELECT count(*) FROM delivery_assignment a WHERE a.client_id = c.id) AS destinations "
                               "FROM delivery_client c ORDER BY c.code"));
    });
    return 0;
}

int on(Call& call) {
    const auto& code = call.operand(0);
    audited(call, {"client on", code, ""}, [&](pqxx::transaction_base& tx) {
        tx.exec_params(
            "UPDATE delivery_client SET is_on = true, off_reason = NULL, off_by = NULL, off_at = NULL WHERE id = $1",
            client_id(tx, code));
        tell_deliver(tx);
    });
    call.report().fact("client", code);
    call.report().fact("on", true);
    return 0;
}

int off(Call& call) {
    const auto& code = call.operand(0);
    const auto reason = call.reason();
    audited(call, {"client off", code, reason}, [&](pqxx::transaction_base& tx) {
        tx.exec_params(
            "UPDATE delivery_client SET is_on = false, off_reason = $2, off_by = $3, off_at = clock_timestamp() "
            "WHERE id = $1",
            client_id(tx, code), checked(reason), checked(call.who()));
        tell_deliver(tx);
    });
    call.report().fact("client", code);
    call.report().fact("on", false);
    return 0;
}

}  // namespace

std::vector<Command> client_commands() {
    return {
        {{"client", "add"},
         {"CODE"},
         "somebody who gets files",
         "A client has destinations; nothing is sent before it has one.\n\n"
         "  ftlctl client add acme --name 'Acme Sports'",
         {{"name", "TEXT", "what people call it (default: CODE)"}},
         add},
        {{"client", "list"}, {}, "the clients", "  ftlctl client list", {}, list},
        {{"client", "on"},
         {"CODE"},
         "send to this client again",
         "What became new meanwhile is sent; what the client has already is not.\n\n  ftlctl client on acme",
         {},
         on},
        {{"client", "off"},
         {"CODE"},
         "send nothing to this client",
         "All its destinations rest; files go on being built.\n\n  ftlctl client off acme --reason 'contract ended'",
         {{"reason", "TEXT", "why; shown to whoever looks next", true}},
         off},
    };
}

}  // namespace ftlctl

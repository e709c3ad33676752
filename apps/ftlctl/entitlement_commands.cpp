#include <ftlctl/command.hpp>

#include <optional>

#include <ftlfeed/store/value.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlctl/audit.hpp>
#include <ftlctl/call.hpp>
#include <ftlctl/lookup.hpp>

// A trigger notifies the servers in the transaction that changes an entitlement.

namespace ftlctl {

namespace {

using ftlfeed::store::checked;

/// A list of names as an array, or NULL (all) when the option is not given.
std::optional<std::string> names_of(const Call& call, const std::string& option) {
    const auto text = call.option(option);
    if (!text) return std::nullopt;
    return ftlfeed::store::text_array(parse_names("--" + option, *text));
}

int entitle(Call& call) {
    const auto& code = call.operand(0);
    const auto events = names_of(call, "events");
    const auto feed_types = names_of(call, "feed-types");
    audited(call, {"client entitle", code, ""}, [&](pqxx::transaction_base& tx) {
        tx.exec_params(
            "INSERT INTO client_entitlement (client_id, events, feed_types, created_by) "
            "SELECT $1::bigint, $2::text[], $3::text[], $4 WHERE NOT EXISTS (SELECT FROM client_entitlement e WHERE "
            "e.client_id = $1::bigint AND e.events IS NOT DISTINCT FROM $2::text[] AND e.feed_types IS NOT DISTINCT "
            "FROM $3::text[])",
            client_id(tx, code), events, feed_types, checked(call.who()));
    });
    call.report().fact("client", code);
    call.report().fact("events", call.option_or("events", "all"));
    call.report().fact("feed_types", call.option_or("feed-types", "all"));
    return 0;
}

int unentitle(Call& call) {
    const auto& code = call.operand(0);
    std::int64_t removed = 0;
    audited(call, {"client unentitle", code, ""}, [&](pqxx::transaction_base& tx) {
        removed = static_cast<std::int64_t>(
            tx.exec_params("DELETE FROM client_entitlement WHERE client_id = $1", client_id(tx, code)).affected_rows());
    });
    call.report().fact("client", code);
    call.report().fact("removed", removed);
    return 0;
}

int entitlements(Call& call) {
    call.session().read([&](pqxx::transaction_base& tx) {
        call.report().table(
            "entitlements",
            tx.exec("SELECT c.code AS client, coalesce(array_to_string(e.events, ','), 'all') AS events, "
                    "coalesce(array_to_string(e.feed_types, ','), 'all') AS feed_types, e.created_by, "
                    "e.created_at FROM client_entitlement e JOIN delivery_client c ON c.id = e.client_id "
                    "ORDER BY c.code, e.id"));
    });
    return 0;
}

}  // namespace

std::vector<Command> entitlement_commands() {
    return {
        {{"client", "entitle"},
         {"CODE"},
         "what the client may pull",
         "Adds to what it may pull already. A client without an entitlement may pull nothing, whatever keys it has.\n\n"
         "  ftlctl client entitle acme --events wc2026 --feed-types calendar,standings",
         {{"events", "LIST", "of these events (default: all)"},
          {"feed-types", "LIST", "files of these types (default: all)"}},
         entitle},
        {{"client", "unentitle"},
         {"CODE"},
         "take away all that the client may pull",
         "Its keys stay and open nothing, within a second.\n\n  ftlctl client unentitle acme",
         {},
         unentitle},
        {{"client", "entitlements"}, {}, "who may pull what", "  ftlctl client entitlements", {}, entitlements},
    };
}

}  // namespace ftlctl

#include <ftlctl/command.hpp>

#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/serve/presented_key.hpp>
#include <ftlfeed/store/value.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <regex>

#include <ftlctl/audit.hpp>
#include <ftlctl/call.hpp>

// A trigger notifies the servers in the transaction that changes a key or an entitlement.

namespace ftlctl {

namespace {

namespace serve = ftlfeed::serve;
using ftlfeed::store::bytea;
using ftlfeed::store::checked;

std::int64_t client_id(pqxx::transaction_base& tx, const std::string& code) {
    const auto rows = tx.exec_params("SELECT id FROM delivery_client WHERE code = $1", checked(code));
    if (rows.empty()) throw NotDone("there is no client '" + code + "'; `ftlctl client list` shows them");
    return rows[0][0].as<std::int64_t>();
}

/// Empty = never.
std::string expiry_of(const Call& call) {
    const auto text = call.option_or("expires", "");
    static const std::regex kForm(R"(\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?)");
    if (!text.empty() && !std::regex_match(text, kForm)) {
        throw UsageError("--expires is '" + text +
                         "'; write 2027-01-31 (its first moment, UTC) or 2027-01-31T18:00:00Z");
    }
    return text.empty() || text.ends_with('Z') ? text : text + "T00:00:00Z";
}

int issue(Call& call) {
    const auto& code = call.operand(0);
    const auto expires = expiry_of(call);
    const auto key = serve::make_key();
    const auto digest = serve::key_digest(key.reveal());
    std::int64_t id = 0;
    bool is_entitled = false;
    audited(call, {"key issue", code, ""}, [&](pqxx::transaction_base& tx) {
        const auto client = client_id(tx, code);
        if (!expires.empty() && tx.exec_params("SELECT WHERE $1::timestamptz > clock_timestamp()", expires).empty()) {
            throw NotDone("--expires " + expires + " has passed already");
        }
        id = tx.exec_params1(
                   "INSERT INTO client_key (client_id, key_hash, label, created_by, expires_at) VALUES ($1, "
                   "$2::bytea, nullif($3, ''), $4, nullif($5, '')::timestamptz) RETURNING id",
                   client, bytea({digest.begin(), digest.end()}), checked(call.option_or("label", "")),
                   checked(call.who()), expires)[0]
                 .as<std::int64_t>();
        is_entitled = !tx.exec_params("SELECT FROM client_entitlement WHERE client_id = $1", client).empty();
    });
    call.report().fact("client", code);
    call.report().fact("id", id);
    // The one time that it is seen: only its hash is kept.
    call.report().fact("key", key.reveal());
    if (!is_entitled) call.report().fact("hint", "it opens nothing yet: ftlctl client entitle " + code);
    return 0;
}

int revoke(Call& call) {
    const auto id = parse_number("ID", call.operand(0));
    const auto reason = call.option("reason").value();
    if (reason.empty()) throw UsageError("--reason is empty; the next person needs to know why");
    audited(call, {"key revoke", call.operand(0), reason}, [&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec_params(
            "UPDATE client_key SET revoked_at = clock_timestamp(), revoked_by = $2, reason = $3 "
            "WHERE id = $1 AND revoked_at IS NULL RETURNING id",
            id, checked(call.who()), checked(reason));
        if (!rows.empty()) return;
        const bool is_there = !tx.exec_params("SELECT FROM client_key WHERE id = $1", id).empty();
        throw NotDone(is_there ? "key " + call.operand(0) + " is revoked already"
                               : "there is no key " + call.operand(0) + "; `ftlctl key list` shows them");
    });
    call.report().fact("id", id);
    call.report().fact("revoked", true);
    return 0;
}

int list(Call& call) {
    call.session().read([&](pqxx::transaction_base& tx) {
        const auto code = call.option_or("client", "");
        if (!code.empty()) static_cast<void>(client_id(tx, code));
        call.report().table(
            "keys",
            tx.exec_params("SELECT k.id, c.code AS client, k.label, "
                           "CASE WHEN k.revoked_at IS NOT NULL THEN 'revoked' WHEN k.expires_at <= clock_timestamp() "
                           "THEN 'expired' WHEN NOT c.is_on THEN 'client off' ELSE 'good' END AS state, "
                           "to_char(k.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS created_at, "
                           "k.created_by, "
                           "to_char(k.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS expires_at, "
                           "to_char(k.revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS revoked_at, "
                           "k.revoked_by, k.reason, left(encode(k.key_hash, 'hex'), 8) AS sha256 "
                           "FROM client_key k JOIN delivery_client c ON c.id = k.client_id "
                           "WHERE $1 = '' OR c.code = $1 ORDER BY k.id",
                           checked(code)));
    });
    return 0;
}

/// A list of names as an array, or NULL (all) when the option is not given.
std::optional<std::string> names_of(const Call& call, const std::string& option) {
    const auto text = call.option(option);
    if (!text) return std::nullopt;
    const auto names = split_list(*text);
    if (names.empty()) throw UsageError("--" + option + " names nothing; leave it out to mean all");
    for (const auto& name : names) {
        if (!ftlfeed::core::FeedKey::is_valid_part(name)) {
            throw UsageError("--" + option + " holds '" + name + "'; names are of a-z, 0-9, '-' and '_'");
        }
    }
    return ftlfeed::store::text_array(names);
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
                    "to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS "
                    "created_at FROM client_entitlement e JOIN delivery_client c ON c.id = e.client_id "
                    "ORDER BY c.code, e.id"));
    });
    return 0;
}

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

}  // namespace

std::vector<Command> key_commands() {
    auto commands = entitlement_commands();
    commands.insert(
        commands.end(),
        {{{"key", "issue"},
          {"CLIENT"},
          "a new key for a client that pulls",
          "The key is shown once and only its hash is kept. A client may have several: issue the next one, let the "
          "client "
          "change over, then revoke the old one.\n\n  ftlctl key issue acme --label production --expires 2027-12-31",
          {{"label", "TEXT", "what its owner calls it"},
           {"expires", "TIME", "2027-01-31 or 2027-01-31T18:00:00Z (default: never)"}},
          issue},
         {{"key", "revoke"},
          {"ID"},
          "a key opens nothing any more",
          "Every server refuses it within a second, on open connections too.\n\n"
          "  ftlctl key revoke 7 --reason 'was in a mail'",
          {{"reason", "TEXT", "why; shown to whoever looks next", true}},
          revoke},
         {{"key", "list"},
          {},
          "the keys, without the keys",
          "`sha256` is the beginning of a key's hash: printf %s KEY | sha256sum finds a key that somebody shows "
          "you.\n\n"
          "  ftlctl key list --client acme",
          {{"client", "CODE", "only this client's"}},
          list}});
    return commands;
}

}  // namespace ftlctl

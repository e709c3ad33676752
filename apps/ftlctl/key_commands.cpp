#include <ftlctl/command.hpp>

#include <ftlfeed/serve/presented_key.hpp>
#include <ftlfeed/store/value.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <regex>

#include <ftlctl/audit.hpp>
#include <ftlctl/call.hpp>
#include <ftlctl/lookup.hpp>

// A trigger notifies the servers in the transaction that changes a key.

namespace ftlctl {

namespace {

namespace serve = ftlfeed::serve;
using ftlfeed::store::bytea;
using ftlfeed::store::checked;

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
    const auto reason = call.reason();
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
                           "k.created_at, k.created_by, k.expires_at, k.revoked_at, k.revoked_by, k.reason, "
                           "left(encode(k.key_hash, 'hex'), 8) AS sha256 "
                           "FROM client_key k JOIN delivery_client c ON c.id = k.client_id "
                           "WHERE $1 = '' OR c.code = $1 ORDER BY k.id",
                           checked(code)));
    });
    return 0;
}

}  // namespace

std::vector<Command> key_commands() {
    return {
        {{"key", "issue"},
         {"CLIENT"},
         "a new key for a client that pulls",
         "The key is shown once and only its hash is kept. A client may have several: issue the next one, let the\n"
         "client change over, then revoke the old one.\n\n"
         "  ftlctl key issue acme --label production --expires 2027-12-31",
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
         list},
    };
}

}  // namespace ftlctl

#include <ftlctl/command.hpp>

#include <vector>

#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/store/value.hpp>
#include <pqxx/result>
#include <pqxx/row>
#include <pqxx/transaction_base>

#include <ftlctl/audit.hpp>
#include <ftlctl/call.hpp>
#include <ftlctl/feed_why.hpp>
#include <ftlctl/lookup.hpp>

namespace ftlctl {

namespace {

using ftlfeed::core::FeedKey;
using ftlfeed::store::checked;

namespace build = ftlfeed::build;

constexpr auto kReason = "rebuild";
constexpr std::size_t kBodyBytesMax = 256U * 1024U * 1024U;

NotDone no_file(const std::string& key) {
    return NotDone("there is no file '" + key + "'; `ftlctl feed list` shows them");
}

int list(Call& call) {
    call.session().read([&](pqxx::transaction_base& tx) {
        call.report().table("files",
                            tx.exec_params("SELECT d.doc_key AS file, d.epoch, d.seq, d.body_bytes AS bytes, "
                                           "d.changed_at, "
                                           "d.retired_at IS NOT NULL AS retired, q.doc_key IS NOT NULL AS dirty, "
                                           "coalesce(q.failures, 0) AS failures, q.last_error "
                                           "FROM feed_document d LEFT JOIN feed_dirty q USING (doc_key) "
                                           "WHERE $1 = '' OR d.event = $1 ORDER BY d.doc_key",
                                           checked(call.option_or("event", ""))));
    });
    return 0;
}

/// `EPOCH:SEQ`, as `feed history` shows it.
struct WantedVersion {
    std::int64_t epoch = 0;
    std::int64_t seq = 0;
};

WantedVersion parse_version(const std::string& text) {
    const auto colon = text.find(':');
    if (colon == std::string::npos) throw UsageError("--version is '" + text + "'; write EPOCH:SEQ");
    return {parse_number("--version", text.substr(0, colon)), parse_number("--version", text.substr(colon + 1))};
}

/// The newest, or the one that was asked for. A move of the epoch stamps the newest anew and leaves history as it was.
pqxx::row find_version(pqxx::transaction_base& tx, Call& call, const std::string& key) {
    const std::string columns = "epoch, seq, body_bytes, body_gz, encode(body_hash, 'hex') AS sha256, changed_at, ";
    const auto version = call.option("version");
    if (!version) {
        const auto rows =
            tx.exec_params("SELECT " + columns +
                               "content_type, retired_at IS NOT NULL AS retired FROM feed_document WHERE doc_key = $1",
                           key);
        if (rows.empty()) throw no_file(key);
        return rows[0];
    }
    const auto wanted = parse_version(*version);
    const auto rows = tx.exec_params("SELECT " + columns +
                                         "is_retired AS retired FROM feed_version WHERE doc_key = $1 AND epoch <= $2 "
                                         "AND seq = $3 ORDER BY epoch DESC LIMIT 1",
                                     key, wanted.epoch, wanted.seq);
    if (rows.empty()) {
        throw NotDone("version " + *version + " of '" + key +
                      "' was never there or is no longer kept; `ftlctl feed "
                      "history " +
                      key + "` shows them");
    }
    return rows[0];
}

/// Who has the newest version, or who got the one that was asked for.
pqxx::result holders(pqxx::transaction_base& tx, const std::string& key, bool is_newest, std::int64_t seq) {
    if (is_newest) {
        return tx.exec_params(
            "SELECT c.code || '/' || a.name AS destination, s.sent_epoch || ':' || s.sent_seq || ':' || "
            "s.sent_render AS sent, s.sent_path AS path, s.age_ms, s.failures, s.last_error "
            "FROM delivery_state s JOIN delivery_assignment a ON a.id = s.assignment_id "
            "JOIN delivery_client c ON c.id = a.client_id WHERE s.doc_key = $1 ORDER BY 1",
            key);
    }
    return tx.exec_params(
        "SELECT c.code || '/' || a.name AS destination, t.outcome, t.path, t.age_ms, t.receipt, t.error "
        "FROM delivery_attempt t JOIN delivery_assignment a ON a.id = t.assignment_id "
        "JOIN delivery_client c ON c.id = a.client_id WHERE t.doc_key = $1 AND t.seq = $2 ORDER BY t.id",
        key, seq);
}

int show(Call& call) {
    const auto key = FeedKey::parse(call.operand(0)).doc_key();
    std::string body;
    call.session().read_snapshot([&](pqxx::transaction_base& tx) {
        const auto row = find_version(tx, call, key);
        if (call.flag("body")) {
            body = ftlfeed::core::gunzip(ftlfeed::store::from_bytea(row["body_gz"].c_str()), kBodyBytesMax);
            return;
        }
        const bool is_newest = !call.option("version").has_value();
        call.report().fact("file", key);
        call.report().fact("version", row["epoch"].as<std::string>() + ":" + row["seq"].as<std::string>());
        if (is_newest) call.report().fact("content_type", row["content_type"]);
        call.report().fact("bytes", row["body_bytes"]);
        call.report().fact("sha256", row["sha256"]);
        call.report().fact("changed_at", row["changed_at"]);
        call.report().fact("retired", row["retired"]);
        if (is_newest) {
            call.report().table("reads",
                                tx.exec_params("SELECT record_kind AS kind, record_id AS id FROM feed_dependency "
                                               "WHERE doc_key = $1 ORDER BY 1, 2",
                                               key));
        }
        call.report().table("destinations", holders(tx, key, is_newest, row["seq"].as<std::int64_t>()));
    });
    if (call.flag("body")) call.report().raw(std::move(body));
    return 0;
}

int rebuild(Call& call) {
    std::vector<FeedKey> keys;
    if (const auto key = call.operand_if(0)) keys.push_back(FeedKey::parse(*key));
    const auto event = call.option_or("event", "");
    const int ways = (keys.empty() ? 0 : 1) + (event.empty() ? 0 : 1) + (call.flag("all") ? 1 : 0);
    if (ways != 1) throw UsageError("say which: a KEY, --event CODE or --all");
    const auto subject = !keys.empty() ? keys[0].doc_key() : !event.empty() ? event : "all";
    std::int64_t marked = 0;
    audited(call, {"feed rebuild", subject, ""}, [&](pqxx::transaction_base& tx) {
        if (!event.empty()) static_cast<void>(event_id(tx, event));
        // A file whose content stays the same sends nothing; of an event, files that were never born are found too.
        const auto files = keys.empty() ? build::mark_event(tx, event, kReason) : build::mark_files(tx, keys, kReason);
        if (!keys.empty() && files == 0) throw no_file(subject);
        marked = static_cast<std::int64_t>(files);
    });
    call.report().fact("marked", marked);
    return 0;
}

}  // namespace

std::vector<Command> feed_commands() {
    return {
        {{"feed", "list"},
         {},
         "the files with their versions",
         "Dirty files wait for a build. A failure that repeats is shown with its message.\n\n"
         "  ftlctl feed list --event wc2026",
         {{"event", "CODE", "only files of this event"}},
         list},
        {{"feed", "show"},
         {"KEY"},
         "one file: version, what it reads, who has it",
         "KEY is EVENT/FEED_TYPE or EVENT/FEED_TYPE/FILTER.\n\n"
         "  ftlctl feed show wc2026/standings --body | jq .",
         {{"body", "", "print the file's bytes and nothing else"},
          {"version", "EPOCH:SEQ", "an earlier version, as `feed history` names it"}},
         show},
        {{"feed", "why"},
         {"KEY"},
         "why a file is dirty or not, what it reads, how it was built",
         "It tells what is missing where nothing moves: no mark, no reader, no builder, a build that fails.\n\n"
         "  ftlctl feed why wc2026/standings",
         {{"limit", "N", "so many builds (default: 20)"}},
         feed_why},
        {{"feed", "history"},
         {"KEY"},
         "a file's versions and what became of each at every destination",
         "A version that nobody got was overtaken by a newer one before its turn came, and says so.\n\n"
         "  ftlctl feed history wc2026/standings --limit 100",
         {{"limit", "N", "so many versions and attempts (default: 20)"}},
         feed_history},
        {{"feed", "rebuild"},
         {"[KEY]"},
         "build files again now",
         "A file whose content stays the same gets no new version and is not sent again, so this is always safe.\n\n"
         "  ftlctl feed rebuild wc2026/standings\n  ftlctl feed rebuild --event wc2026",
         {{"event", "CODE", "every file of this event"}, {"all", "", "every file"}},
         rebuild},
    };
}

}  // namespace ftlctl

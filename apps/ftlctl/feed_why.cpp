#include <ftlctl/feed_why.hpp>

#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/store/value.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlctl/call.hpp>

namespace ftlctl {

namespace {

constexpr std::int64_t kRowsDefault = 20;
constexpr std::int64_t kRowsMax = 10'000;

/// $1 = doc_key, $2 = feed_type. One row whatever there is.
constexpr auto kStanding = R"(
SELECT f.feed_type IS NOT NULL AS has_definition, coalesce(f.is_on, false) AS is_definition_on,
       EXISTS (SELECT FROM feed_key WHERE doc_key = $1) AS is_listed, d.doc_key IS NOT NULL AS is_built,
       d.retired_at IS NOT NULL AS is_retired, q.doc_key IS NOT NULL AS is_dirty, q.claimed_by IS NOT NULL AS is_claimed,
       coalesce(q.reason, '') AS reason, coalesce(q.failures, 0) AS failures, coalesce(q.last_error, '') AS last_error,
       coalesce(ceil(extract(epoch FROM ftl_due_at(q.first_touch, q.last_touch, q.not_before, coalesce(f.quiet_ms, 0),
                coalesce(f.quiet_ms_max, 0), clock_timestamp()) - clock_timestamp()) * 1000), 0)::bigint AS due_in_ms,
       (SELECT min(o.record_kind || ':' || o.record_id) FROM outbox_cursor c, outbox o JOIN feed_dependency x USING (record_kind, record_id)
         WHERE c.consumer = 'build' AND x.doc_key = $1 AND o.txid >= pg_snapshot_xmin(c.snap)
           AND NOT pg_visible_in_snapshot(o.txid, c.snap)) AS unread_touch,
       EXISTS (SELECT FROM outbox_cursor WHERE consumer = 'build') AS has_cursor,
       d.built_at, d.audited_at AS proven_unchanged_at
  FROM (SELECT) one LEFT JOIN feed_definition f ON f.feed_type = $2 LEFT JOIN feed_document d ON d.doc_key = $1
  LEFT JOIN feed_dirty q ON q.doc_key = $1)";

FileStanding standing_of(const pqxx::row& row) {
    FileStanding file;
    file.has_definition = row["has_definition"].as<bool>();
    file.is_definition_on = row["is_definition_on"].as<bool>();
    file.is_listed = row["is_listed"].as<bool>();
    file.is_built = row["is_built"].as<bool>();
    file.is_retired = row["is_retired"].as<bool>();
    file.is_dirty = row["is_dirty"].as<bool>();
    file.is_claimed = row["is_claimed"].as<bool>();
    file.reason = row["reason"].as<std::string>();
    file.failures = row["failures"].as<int>();
    file.last_error = row["last_error"].as<std::string>();
    file.due_in_ms = row["due_in_ms"].as<std::int64_t>();
    if (!row["unread_touch"].is_null()) file.unread_touch = row["unread_touch"].as<std::string>();
    file.has_cursor = row["has_cursor"].as<bool>();
    return file;
}

std::string explain_mark(const FileStanding& file) {
    const auto due = file.due_in_ms > 0 ? "due in " + std::to_string(file.due_in_ms) + " ms" : std::string("due now");
    if (file.is_claimed) return "dirty (" + file.reason + "): a builder is at it";
    if (file.failures > 0) {
        return "dirty (" + file.reason + "): its build failed " + std::to_string(file.failures) + " times, next try " +
               due + "; " + file.last_error;
    }
    if (file.due_in_ms > 0) return "dirty (" + file.reason + "): it waits until its records are quiet, " + due;
    return "dirty (" + file.reason + "): due now; if it stays so, no ftl-deliver builds";
}

std::string explain_absence(const FileStanding& file) {
    if (!file.has_definition) return "no definition has this feed type";
    if (!file.is_definition_on) return "the definition is off (feed_definition.is_on)";
    if (!file.is_listed) return "the definition does not list it for this event (keys_sql), or the event is not there";
    return "listed, and never built";
}

std::int64_t rows_wanted(Call& call) {
    const auto rows = call.number("limit").value_or(kRowsDefault);
    if (rows < 1 || rows > kRowsMax) throw UsageError("--limit has to be 1 to " + std::to_string(kRowsMax));
    return rows;
}

NotDone never_heard_of(const std::string& key) {
    return NotDone("nothing is known of a file '" + key + "'; `ftlctl feed list` shows those that are there");
}

/// $1 = doc_key, $2 = rows.
constexpr auto kVersions = R"(
SELECT epoch || ':' || seq AS version, changed_at,
       (extract(epoch FROM created_at - changed_at) * 1000)::bigint AS built_after_ms, body_bytes AS bytes,
       encode(body_hash, 'hex') AS sha256, is_retired AS retired
  FROM feed_version WHERE doc_key = $1 ORDER BY epoch DESC, seq DESC LIMIT $2)";

/// $1 = doc_key, $2 = rows. A version that no destination tried was overtaken by a newer one before its turn came.
constexpr auto kFates = R"(
SELECT v.epoch || ':' || v.seq AS version, v.changed_at, v.body_bytes AS bytes, v.is_retired AS retired,
       count(a.id) FILTER (WHERE a.outcome IN ('delivered', 'delivered_equal', 'deleted', 'kept')) AS proven,
       count(a.id) FILTER (WHERE a.outcome NOT IN ('delivered', 'delivered_equal', 'deleted', 'kept')) AS failed,
       CASE WHEN count(a.id) = 0 AND EXISTS (SELECT FROM feed_version n WHERE n.doc_key = v.doc_key AND n.seq > v.seq)
            THEN 'overtaken by a newer version' END AS note
  FROM feed_version v LEFT JOIN delivery_attempt a ON a.doc_key = v.doc_key AND a.seq = v.seq AND a.epoch >= v.epoch
 WHERE v.doc_key = $1 GROUP BY v.doc_key, v.epoch, v.seq ORDER BY v.epoch DESC, v.seq DESC LIMIT $2)";

/// $1 = doc_key, $2 = rows.
constexpr auto kAttempts = R"(
SELECT a.ended_at AS at, c.code || '/' || d.name AS destination,
       a.epoch || ':' || a.seq || ':' || a.render AS version, a.occasion, a.outcome, a.bytes, a.age_ms, a.receipt, a.error
  FROM delivery_attempt a JOIN delivery_assignment d ON d.id = a.assignment_id JOIN delivery_client c ON c.id = d.client_id
 WHERE a.doc_key = $1 ORDER BY a.id DESC LIMIT $2)";

}  // namespace

std::string explain(const FileStanding& file) {
    if (file.is_dirty) return explain_mark(file);
    if (file.unread_touch) {
        return "about to be dirty: a touch of " + *file.unread_touch +
               " waits for the reader of the outbox; if it stays so, no ftl-deliver builds";
    }
    if (file.is_retired) return "retired: " + explain_absence(file);
    if (!file.is_built) return "not there: " + explain_absence(file);
    if (!file.has_cursor) return "clean, but nobody reads the outbox: `ftlctl outbox register build`";
    return "clean: nothing that it reads was touched since its last build";
}

int feed_why(Call& call) {
    const auto key = ftlfeed::core::FeedKey::parse(call.operand(0));
    const auto doc_key = key.doc_key();
    const auto rows_max = rows_wanted(call);
    call.session().read_snapshot([&](pqxx::transaction_base& tx) {
        const auto row = tx.exec_params(kStanding, doc_key, key.feed_type())[0];
        const auto file = standing_of(row);
        if (!file.is_built && !file.is_dirty && !file.is_listed && !file.has_definition) throw never_heard_of(doc_key);
        auto& report = call.report();
        report.fact("file", doc_key);
        report.fact("why", explain(file));
        if (file.is_built) {
            report.fact("built_at", row["built_at"]);
            report.fact("proven_unchanged_at", row["proven_unchanged_at"]);
        }
        report.table("builds", tx.exec_params(kVersions, doc_key, rows_max));
        report.table("reads", tx.exec_params("SELECT x.record_kind AS kind, x.record_id AS id, "
                                             "max(o.created_at) AS last_touch_kept "
                                             "FROM feed_dependency x LEFT JOIN outbox o USING (record_kind, record_id) "
                                             "WHERE x.doc_key = $1 GROUP BY 1, 2 ORDER BY 1, 2",
                                             doc_key));
    });
    return 0;
}

int feed_history(Call& call) {
    const auto doc_key = ftlfeed::core::FeedKey::parse(call.operand(0)).doc_key();
    const auto rows_max = rows_wanted(call);
    call.session().read_snapshot([&](pqxx::transaction_base& tx) {
        const auto versions = tx.exec_params(kFates, doc_key, rows_max);
        const auto attempts = tx.exec_params(kAttempts, doc_key, rows_max);
        if (versions.empty() && attempts.empty()) throw never_heard_of(doc_key);
        call.report().fact("file", doc_key);
        call.report().table("versions", versions);
        call.report().table("attempts", attempts);
    });
    return 0;
}

}  // namespace ftlctl

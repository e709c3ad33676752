#include <ftlfeed/build/marker.hpp>

#include <algorithm>
#include <map>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <string_view>

#include <ftlfeed/store/value.hpp>

#include "store/planned.hpp"

namespace ftlfeed::build {

namespace {

/// $1 = kinds, $2 = ids, $3 and $4 = first and last touch of each, in microseconds since 1970.
///
/// A touched definition marks the files of its type by their keys: one that never could be built has no dependencies.
/// A type whose files are one per event needs no enumeration at each touch: it is listed once, when the event comes, and
/// again when the event has gone. Whoever is later of a new event's and a new definition's transaction sees the other.
constexpr const char* kMark = R"(
WITH touched AS (
    SELECT kind, id, to_timestamp(first_us / 1000000.0) AS first_touch, to_timestamp(last_us / 1000000.0) AS last_touch
      FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS t (kind, id, first_us, last_us)
), marked AS (
    SELECT d.doc_key, t.first_touch, t.last_touch, t.kind
      FROM touched t JOIN feed_dependency d ON d.record_kind = t.kind AND d.record_id = t.id
    UNION ALL
    SELECT k.doc_key, t.first_touch, t.last_touch, t.kind
      FROM touched t JOIN feed_key k ON t.kind = 'definition' AND k.feed_type = t.id
    UNION ALL
    SELECT t.id || '/' || f.feed_type || '/*', t.first_touch, t.last_touch, t.kind
      FROM touched t CROSS JOIN feed_definition f
     WHERE t.kind = 'event' AND f.is_on
       AND (f.keys_sql IS NOT NULL
            OR NOT EXISTS (SELECT FROM feed_key k WHERE k.event = t.id AND k.feed_type = f.feed_type)
            OR NOT EXISTS (SELECT FROM event e WHERE e.code = t.id))
    UNION ALL
    SELECT e.code || '/' || t.id || '/*', t.first_touch, t.last_touch, t.kind
      FROM touched t
      JOIN LATERAL (SELECT code FROM event UNION SELECT k.event FROM feed_key k WHERE k.feed_type = t.id) e ON true
     WHERE t.kind = 'definition'
)
INSERT INTO feed_dirty AS f (doc_key, first_touch, last_touch, reason)
SELECT doc_key, min(first_touch), max(last_touch), CASE WHEN bool_or(kind = 'definition') THEN 'definition' ELSE 'touch' END
  FROM marked GROUP BY doc_key ORDER BY doc_key COLLATE "C"
ON CONFLICT (doc_key) DO UPDATE
   SET gen = f.gen + 1, first_touch = least(f.first_touch, excluded.first_touch),
       last_touch = greatest(f.last_touch, excluded.last_touch), marked_at = clock_timestamp(), reason = excluded.reason,
       first_since_claim = CASE WHEN f.claim_xmin IS NOT NULL
                                THEN least(f.first_since_claim, excluded.first_touch) END,
       -- An edited definition may be the cure.
       failures = CASE WHEN excluded.reason = 'definition' THEN 0 ELSE f.failures END,
       not_before = CASE WHEN excluded.reason = 'definition' THEN clock_timestamp() ELSE f.not_before END)";

/// $1 = doc_keys, $2 = reason.
constexpr const char* kMarkFiles = R"(
INSERT INTO feed_dirty AS f (doc_key, first_touch, last_touch, reason)
SELECT k.doc_key, clock_timestamp(), clock_timestamp(), $2
  FROM unnest($1::text[]) AS k (doc_key) ORDER BY k.doc_key COLLATE "C"
ON CONFLICT (doc_key) DO UPDATE
   SET gen = f.gen + 1, last_touch = greatest(f.last_touch, excluded.last_touch), marked_at = clock_timestamp(),
       first_since_claim = CASE WHEN f.claim_xmin IS NOT NULL
                                THEN least(f.first_since_claim, excluded.first_touch) END,
       reason = excluded.reason, failures = 0, not_before = clock_timestamp())";

struct Touches {
    std::int64_t first_us;
    std::int64_t last_us;
};

std::string number_array(const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const auto number : numbers) text += (text.empty() ? "{" : ",") + std::to_string(number);
    return text.empty() ? "{}" : text + "}";
}

}  // namespace

void mark(pqxx::transaction_base& tx, std::span<const outbox::OutboxRow> rows) {
    // A page holds the same few records many times.
    std::map<std::pair<std::string_view, std::string_view>, Touches> touched;
    for (const auto& row : rows) {
        const auto at = store::to_micros(row.created_at);
        const auto [entry, is_new] = touched.try_emplace({row.record.kind, row.record.id}, Touches{at, at});
        if (is_new) continue;
        entry->second.first_us = std::min(entry->second.first_us, at);
        entry->second.last_us = std::max(entry->second.last_us, at);
    }
    if (touched.empty()) return;
    std::vector<std::string> kinds;
    std::vector<std::string> ids;
    std::vector<std::int64_t> first_us;
    std::vector<std::int64_t> last_us;
    for (const auto& [record, touches] : touched) {
        kinds.emplace_back(record.first);
        ids.emplace_back(record.second);
        first_us.push_back(touches.first_us);
        last_us.push_back(touches.last_us);
    }
    store::exec_planned(tx, kMark, store::text_array(kinds), store::text_array(ids), number_array(first_us),
                        number_array(last_us));
}

std::size_t mark_files(pqxx::transaction_base& tx, const std::vector<core::FeedKey>& keys, const std::string& reason) {
    std::vector<std::string> doc_keys;
    doc_keys.reserve(keys.size());
    for (const auto& key : keys) doc_keys.push_back(key.doc_key());
    const auto existing = tx.exec_params(
        "SELECT array_agg(doc_key) FROM (SELECT doc_key FROM feed_key WHERE doc_key = ANY($1::text[])"
        " UNION SELECT doc_key FROM feed_document WHERE doc_key = ANY($1::text[])) k",
        store::text_array(doc_keys));
    if (existing[0][0].is_null()) return 0;
    return tx.exec_params(kMarkFiles, existing[0][0].as<std::string>(), store::checked(reason)).affected_rows();
}

std::size_t mark_event(pqxx::transaction_base& tx, const std::string& event, const std::string& reason) {
    const auto keys = tx.exec_params(
        "SELECT array_agg(doc_key), count(*) FILTER (WHERE is_file) FROM ("
        "SELECT doc_key, true AS is_file FROM feed_key WHERE $1 IN ('', event) UNION ALL "
        "SELECT e.code || '/' || f.feed_type || '/*', false FROM feed_definition f, event e WHERE $1 IN ('', e.code)) "
        "k",
        store::checked(event));
    if (keys[0][0].is_null()) return 0;
    tx.exec_params(kMarkFiles, keys[0][0].as<std::string>(), store::checked(reason));
    return keys[0][1].as<std::size_t>();
}

bool register_marker(store::Session& session) {
    bool made = false;
    // One transaction: marks without a cursor, or a cursor without marks, would leave a change that nobody finds.
    session.write_retrying([&](pqxx::transaction_base& tx) {
        made = outbox::register_consumer(tx, kConsumer);
        if (made) mark_event(tx, "", "new cursor");
    });
    return made;
}

}  // namespace ftlfeed::build

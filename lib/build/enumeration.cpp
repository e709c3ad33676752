#include "build/enumeration.hpp"

#include <algorithm>
#include <iterator>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <vector>

#include <ftlfeed/build/sql_resolver.hpp>
#include <ftlfeed/core/crash_point.hpp>
#include <ftlfeed/store/value.hpp>

#include "build/definition_session.hpp"

namespace ftlfeed::build {

namespace {

/// $1 = event, $2 = feed_type, $3 = filters and $4 = doc_keys that are born.
constexpr const char* kInsertKeys = R"(
INSERT INTO feed_key (doc_key, event, feed_type, filter)
SELECT doc_key, $1, $2, filter FROM unnest($3::text[], $4::text[]) AS k (filter, doc_key) ON CONFLICT DO NOTHING)";

/// $1 = doc_keys, sorted, $2 and $3 = the touches that led to the enumeration. A back-off ends: a file whose record has
/// gone cannot be built any more, and is to be retired now.
constexpr const char* kMarkListed = R"(
INSERT INTO feed_dirty AS f (doc_key, first_touch, last_touch, reason)
SELECT doc_key, $2::timestamptz, $3::timestamptz, 'listed' FROM unnest($1::text[]) AS k (doc_key)
ON CONFLICT (doc_key) DO UPDATE
   SET gen = f.gen + 1, first_touch = least(f.first_touch, excluded.first_touch),
       last_touch = greatest(f.last_touch, excluded.last_touch), marked_at = clock_timestamp(),
       first_since_claim = CASE WHEN f.claim_xmin IS NOT NULL
                                THEN least(f.first_since_claim, excluded.first_touch) END,
       reason = excluded.reason, failures = 0, not_before = clock_timestamp())";

struct Difference {
    std::vector<std::string> born;  ///< Filters.
    std::vector<std::string> gone;
    [[nodiscard]] bool is_empty() const { return born.empty() && gone.empty(); }
};

/// Both sorted.
Difference compare(const std::vector<std::string>& before, const std::vector<std::string>& now) {
    Difference difference;
    std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::back_inserter(difference.born));
    std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(difference.gone));
    return difference;
}

std::vector<std::string> doc_keys(const MarkedKey& key, const std::vector<std::string>& filters) {
    std::vector<std::string> keys;
    keys.reserve(filters.size());
    for (const auto& filter : filters) keys.push_back(core::FeedKey(key.event, key.feed_type, filter).doc_key());
    return keys;
}

Difference read_difference(store::Session& session, const Claim& claim, const MarkedKey& key,
                           const ResolverRegistry& resolvers, const BuildObserver& observer, std::string& snapshot) {
    Difference difference;
    session.read_snapshot([&](pqxx::transaction_base& tx) {
        const auto row = tx.exec_params(
            "SELECT pg_current_snapshot()::text, ARRAY(SELECT filter FROM feed_key"
            " WHERE event = $1 AND feed_type = $2)",
            key.event, key.feed_type)[0];
        snapshot = row[0].as<std::string>();
        auto before = store::from_text_array(row[1].as<std::string>());
        std::sort(before.begin(), before.end());
        if (observer) observer(BuildStep::kSnapshot, claim.doc_key);
        const auto definition = load_definition(tx, key.feed_type);
        std::vector<std::string> now;
        if (definition && definition->is_on) {
            pin_settings(tx, resolvers.limits());
            now = enumerate_filters(tx, key.event, *definition, resolvers.limits());
        }
        difference = compare(before, now);
    });
    return difference;
}

}  // namespace

BuildOutcome enumerate_files(store::Session& session, const Claim& claim, const MarkedKey& key,
                             const ResolverRegistry& resolvers, const BuildObserver& observer, std::string& snapshot) {
    const auto difference = read_difference(session, claim, key, resolvers, observer, snapshot);
    if (observer) observer(BuildStep::kResolved, claim.doc_key);
    const BuildOutcome outcome{BuildResult::kEnumerated, claim.doc_key, {}, ""};
    if (difference.is_empty()) return outcome;

    const auto born = doc_keys(key, difference.born);
    const auto gone = doc_keys(key, difference.gone);
    auto marked = born;
    marked.insert(marked.end(), gone.begin(), gone.end());
    std::sort(marked.begin(), marked.end());
    // Keys and marks in one transaction: whether a build runs before or after it, the mark outlives it.
    session.write_retrying([&](pqxx::transaction_base& tx) {
        tx.exec_params(kInsertKeys, key.event, key.feed_type, store::text_array(difference.born),
                       store::text_array(born));
        tx.exec_params("DELETE FROM feed_key WHERE doc_key = ANY ($1::text[])", store::text_array(gone));
        tx.exec_params(kMarkListed, store::text_array(marked), claim.first_touch, claim.last_touch);
        if (observer) observer(BuildStep::kWritten, claim.doc_key);
        check_lock(tx, claim.doc_key);
    });
    core::durable_step("build.enumerated");
    if (observer) observer(BuildStep::kCommitted, claim.doc_key);
    return outcome;
}

}  // namespace ftlfeed::build

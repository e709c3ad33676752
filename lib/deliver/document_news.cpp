#include "deliver/document_news.hpp"

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

#include "deliver/sql.hpp"
#include "store/planned.hpp"

namespace ftlfeed::deliver {
namespace {

/// A row that somebody wrote by hand under no lawful key must not stop all the others.
std::optional<core::FeedKey> key_of(const pqxx::field& doc_key) {
    try {
        return core::FeedKey::parse(doc_key.c_str());
    } catch (const core::InvalidInput& wrong) {
        core::log_error("deliver.unlawful_key", {{"error", wrong.what()}});
        return std::nullopt;
    }
}

}  // namespace

void DocumentNews::start(store::Session& session) {
    session.read([&](pqxx::transaction_base& tx) {
        snapshot_ = tx.exec("SELECT pg_current_snapshot()")[0][0].as<std::string>();
    });
}

std::vector<DocumentSeen> DocumentNews::read(store::Session& session) {
    FTL_ASSERT(!snapshot_.empty());
    std::vector<DocumentSeen> news;
    std::string snapshot;
    // One statement, so one snapshot: what it does not show, the next look will.
    session.without_transaction([&](pqxx::transaction_base& tx) {
        const auto rows =
            store::exec_planned(tx,
                                "SELECT s.snap, d.doc_key, d.epoch, d.seq, " + micros_sql("d.changed_at") +
                                    " FROM (SELECT pg_current_snapshot() AS snap) s LEFT JOIN feed_document d "
                                    "ON d.txid >= pg_snapshot_xmin($1::pg_snapshot) "
                                    "AND NOT pg_visible_in_snapshot(d.txid, $1::pg_snapshot) ORDER BY d.epoch, d.seq",
                                snapshot_);
        snapshot = rows[0][0].as<std::string>();
        for (const auto& row : rows) {
            if (row[1].is_null()) continue;
            const auto key = key_of(row[1]);
            if (!key) continue;
            news.push_back({*key,
                            {row[2].as<std::int64_t>(), row[3].as<std::int64_t>(), 0},
                            from_micros(row[4].as<std::int64_t>())});
        }
    });
    snapshot_ = snapshot;
    return news;
}

std::vector<OwedSeen> compare_destination(store::Session& session, const DestinationSettings& settings) {
    std::vector<OwedSeen> owed;
    const auto array = [](const std::optional<std::vector<std::string>>& names) {
        return names ? std::optional(store::text_array(*names)) : std::nullopt;
    };
    session.read([&](pqxx::transaction_base& tx) {
        // The oldest change that waits: what was noted, else the first version after the proven one, else the newest.
        const auto rows = tx.exec_params(
            "SELECT d.doc_key, d.epoch, d.seq, " + micros_sql("d.changed_at") + ", " +
                micros_sql("coalesce(s.waiting_since, (SELECT min(v.changed_at) FROM feed_version v "
                           "WHERE s.sent_seq > 0 AND v.doc_key = d.doc_key "
                           "AND (v.epoch, v.seq) > (s.sent_epoch, s.sent_seq)), d.changed_at)") +
                ", coalesce(s.failures, 0), (extract(epoch FROM s.next_try - clock_timestamp()) * 1000)::bigint, "
                "coalesce(s.refusal_lasts, false), s.sending_seq IS NOT NULL, "
                "s.doc_key IS NULL OR (s.sent_epoch, s.sent_seq, s.sent_render) < (d.epoch, d.seq, $2) "
                "FROM feed_document d LEFT JOIN delivery_state s ON s.assignment_id = $1 AND s.doc_key = d.doc_key "
                "WHERE ($3::text[] IS NULL OR d.event = ANY ($3::text[])) "
                "AND ($4::text[] IS NULL OR d.feed_type = ANY ($4::text[])) "
                "AND (s.doc_key IS NULL OR (s.sent_epoch, s.sent_seq, s.sent_render) < (d.epoch, d.seq, $2) "
                "OR s.sending_seq IS NOT NULL) ORDER BY d.epoch, d.seq",
            settings.id.value, settings.render, array(settings.events), array(settings.feed_types));
        for (const auto& row : rows) {
            const auto key = key_of(row[0]);
            if (!key) continue;
            OwedSeen seen{*key, {}, {}, {}, {}, false, false};
            seen.version = {row[1].as<std::int64_t>(), row[2].as<std::int64_t>(), settings.render};
            seen.changed_at = from_micros(row[3].as<std::int64_t>());
            seen.waiting_since = from_micros(row[4].as<std::int64_t>());
            seen.tries.failures = row[5].as<int>();
            if (!row[6].is_null()) seen.tries.left = std::chrono::milliseconds(row[6].as<std::int64_t>());
            seen.tries.lasts = row[7].as<bool>();
            seen.is_sending = row[8].as<bool>();
            seen.is_owed = row[9].as<bool>();
            owed.push_back(std::move(seen));
        }
    });
    return owed;
}

}  // namespace ftlfeed::deliver

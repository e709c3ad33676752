#include "deliver/body_table.hpp"

#include <optional>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>

#include "deliver/send_record.hpp"
#include "deliver/sql.hpp"
#include "store/planned.hpp"

namespace ftlfeed::deliver {
namespace {

BodyPtr read_body(pqxx::transaction_base& tx, const core::FeedKey& key, const core::Version& version) {
    // The newest version stands in feed_document under the present epoch; older ones, and all under the epoch that they
    // were built in, in feed_version. seq alone never repeats within a database, so it finds them after a move too.
    static const auto kSelect =
        "SELECT body_gz, body_bytes, body_hash, content_type, " + micros_sql("last_modified") +
        " FROM feed_document WHERE doc_key = $1 AND epoch = $2 AND seq = $3 UNION ALL "
        "SELECT * FROM (SELECT v.body_gz, v.body_bytes, v.body_hash, d.content_type, " +
        micros_sql("date_trunc('second', v.changed_at)") +
        " FROM feed_version v JOIN feed_document d USING (doc_key) WHERE v.doc_key = $1 AND v.epoch <= $2 "
        "AND v.seq = $3 ORDER BY v.epoch DESC LIMIT 1) AS kept LIMIT 1";
    const auto rows = store::exec_planned(tx, kSelect, key.doc_key(), version.epoch, version.seq);
    if (rows.empty()) return nullptr;
    auto body = std::make_shared<Body>();
    body->gz = store::from_bytea(rows[0][0].c_str());
    body->bytes = core::gunzip(body->gz, rows[0][1].as<std::size_t>());
    body->content_type = rows[0][3].as<std::string>();
    body->last_modified = from_micros(rows[0][4].as<std::int64_t>());
    const auto hash = core::sha256(body->bytes);
    body->sha256.assign(hash.begin(), hash.end());
    if (body->sha256 != store::from_bytea(rows[0][2].c_str())) {
        throw core::Failure::permanent("the stored body of " + key.doc_key() + " is damaged: its hash differs");
    }
    return body;
}

core::Version content_version(const core::Version& version) { return {version.epoch, version.seq, 0}; }

}  // namespace

BodyPtr load_body(pqxx::transaction_base& tx, BodyCache& bodies, const core::FeedKey& key,
                  const core::Version& version) {
    auto body = bodies.get(key.doc_key(), content_version(version), [&] { return read_body(tx, key, version); });
    if (!body) throw core::Failure::permanent("the body of " + key.doc_key() + " is no longer kept");
    return body;
}

void fill_body(pqxx::transaction_base& tx, BodyCache& bodies, Sending& sending) {
    const auto rows = store::exec_planned(
        tx,
        "SELECT " + micros_sql("changed_at") +
            ", retired_at IS NOT NULL FROM feed_document WHERE doc_key = $1 AND seq = $2 "
            "UNION ALL SELECT " +
            micros_sql("changed_at") + ", is_retired FROM feed_version WHERE doc_key = $1 AND seq = $2 LIMIT 1",
        sending.key.doc_key(), sending.version.seq);
    if (rows.empty() || rows[0][1].as<bool>()) return;
    sending.changed_at = from_micros(rows[0][0].as<std::int64_t>());
    if (sending.waiting_since == core::SystemTime{}) sending.waiting_since = sending.changed_at;
    sending.body = bodies.get(sending.key.doc_key(), content_version(sending.version),
                              [&] { return read_body(tx, sending.key, sending.version); });
}

}  // namespace ftlfeed::deliver

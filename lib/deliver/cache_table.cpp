#include "deliver/cache_table.hpp"

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/deliver/cache_keeper.hpp>
#include <ftlfeed/store/lease.hpp>

#include "deliver/sql.hpp"
#include "store/planned.hpp"

namespace ftlfeed::deliver {

void register_cache(store::Session& session) {
    session.write_retrying([](pqxx::transaction_base& tx) {
        tx.exec("INSERT INTO delivery_client (code, name) VALUES ('ftlfeed', 'Built in') ON CONFLICT DO NOTHING");
        tx.exec(
            "INSERT INTO delivery_assignment (client_id, name, transport, on_retire) "
            "SELECT id, 'cache', 'cache', 'delete' FROM delivery_client WHERE code = 'ftlfeed' "
            "ON CONFLICT (client_id, name) DO NOTHING");
    });
}

std::optional<OurCache> our_cache(store::Session& session) {
    std::optional<OurCache> ours;
    session.without_transaction([&](pqxx::transaction_base& tx) {
        const auto rows = store::exec_planned(
            tx,
            "SELECT a.render, e.epoch FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id "
            "JOIN delivery_owner o ON o.assignment_id = a.id "
            "JOIN lease l ON l.name = 'deliver:' || o.worker AND l.fence = o.fence CROSS JOIN cluster_epoch e "
            "WHERE a.transport = 'cache' AND a.is_on AND c.is_on AND l.holder = $1",
            store::process_identity());
        if (!rows.empty()) ours = {rows[0][0].as<std::int64_t>(), rows[0][1].as<std::int64_t>()};
    });
    return ours;
}

std::vector<TotalRow> read_totals(store::Session& session) {
    std::vector<TotalRow> totals;
    session.without_transaction([&](pqxx::transaction_base& tx) {
        const auto rows = store::exec_planned(tx, "SELECT instrument_id, epoch, seq, total FROM instrument_bump");
        totals.reserve(static_cast<std::size_t>(rows.size()));
        for (const auto& row : rows) {
            totals.push_back({row[0].as<std::int64_t>(),
                              {row[1].as<std::int64_t>(), row[2].as<std::int64_t>(), 0},
                              row[3].as<std::int64_t>()});
        }
    });
    return totals;
}

std::vector<DocumentRow> read_document_versions(store::Session& session, std::int64_t render) {
    std::vector<DocumentRow> documents;
    session.without_transaction([&](pqxx::transaction_base& tx) {
        const auto rows = store::exec_planned(tx, "SELECT doc_key, epoch, seq FROM feed_document");
        documents.reserve(static_cast<std::size_t>(rows.size()));
        for (const auto& row : rows) {
            documents.push_back(
                {row[0].as<std::string>(), {row[1].as<std::int64_t>(), row[2].as<std::int64_t>(), render}});
        }
    });
    return documents;
}

std::vector<StoredDocument> load_documents(store::Session& session, const std::vector<std::string>& doc_keys,
                                           std::int64_t render) {
    std::vector<StoredDocument> documents;
    session.without_transaction([&](pqxx::transaction_base& tx) {
        static const auto kSelect =
            "SELECT doc_key, epoch, seq, body_gz, content_type, encode(body_hash, 'hex'), body_bytes, " +
            micros_sql("changed_at") + ", " + micros_sql("last_modified") +
            ", retired_at IS NOT NULL FROM feed_document WHERE doc_key = ANY ($1::text[])";
        for (const auto& row : store::exec_planned(tx, kSelect, store::text_array(doc_keys))) {
            cache::Document content;
            content.version = {row[1].as<std::int64_t>(), row[2].as<std::int64_t>(), render};
            content.is_retired = row[9].as<bool>();
            if (!content.is_retired) content.body_gz = store::from_bytea(row[3].c_str());
            content.content_type = row[4].as<std::string>();
            content.body_sha256 = row[5].as<std::string>();
            content.body_bytes = row[6].as<std::uint64_t>();
            content.changed_at = from_micros(row[7].as<std::int64_t>());
            content.last_modified = from_micros(row[8].as<std::int64_t>());
            documents.push_back({row[0].as<std::string>(), std::move(content)});
        }
    });
    return documents;
}

}  // namespace ftlfeed::deliver

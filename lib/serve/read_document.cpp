#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/store/value.hpp>

#include "serve/document_reader.hpp"
#include "store/planned.hpp"

namespace ftlfeed::serve {

DocumentPtr read_document(store::Session& session, const std::string& doc_key) {
    std::shared_ptr<cache::Document> document;
    session.read([&](pqxx::transaction_base& tx) {
        // The version is the one that Redis will hold: with the render of the built-in destination that writes it there.
        static const auto kSelect =
            "SELECT epoch, seq, (SELECT coalesce(max(render), 1) FROM delivery_assignment WHERE transport = 'cache'), "
            "CASE WHEN retired_at IS NULL THEN body_gz END, content_type, body_bytes, encode(body_hash, 'hex'), " +
            store::micros_sql("changed_at") + ", " + store::micros_sql("last_modified") +
            " FROM feed_document WHERE doc_key = $1";
        const auto rows = store::exec_planned(tx, kSelect, store::checked(doc_key));
        if (rows.empty()) return;
        const auto row = rows[0];
        document = std::make_shared<cache::Document>();
        document->version = {row[0].as<std::int64_t>(), row[1].as<std::int64_t>(), row[2].as<std::int64_t>()};
        document->is_retired = row[3].is_null();
        if (!document->is_retired) document->body_gz = store::from_bytea(row[3].c_str());
        document->content_type = row[4].as<std::string>();
        document->body_bytes = row[5].as<std::uint64_t>();
        document->body_sha256 = row[6].as<std::string>();
        document->changed_at = store::from_micros(row[7].as<std::int64_t>());
        document->last_modified = store::from_micros(row[8].as<std::int64_t>());
    });
    return document;
}

}  // namespace ftlfeed::serve

#include "history.hpp"

#include <pqxx/nontransaction>
#include <pqxx/result>
#include <utility>

namespace ftl::test::outbox {

std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
    return out << verdict.rows << " rows, " << verdict.skipped << " skipped, " << verdict.repeated << " repeated, "
               << verdict.ghosts << " ghosts";
}

std::string run_sql(const std::string& uri, const std::string& sql) {
    pqxx::connection connection(uri);
    pqxx::nontransaction session(connection);
    const auto rows = session.exec(sql);
    return rows.empty() ? std::string() : std::string(rows[0][0].c_str());
}

void make_sink(const std::string& uri) {
    run_sql(uri,
            "CREATE TABLE IF NOT EXISTS sink (n bigint GENERATED ALWAYS AS IDENTITY, consumer text NOT NULL,"
            " row_id bigint NOT NULL, record_id text NOT NULL)");
}

Verdict judge(const std::string& uri, const std::string& consumer) {
    pqxx::connection connection(uri);
    pqxx::nontransaction session(connection);
    const auto row = session.exec_params1(
        "SELECT count(o.id), count(o.id) FILTER (WHERE s.row_id IS NULL), coalesce(sum(s.times - 1), 0),"
        "       count(*) FILTER (WHERE o.id IS NULL)"
        "  FROM (SELECT id FROM outbox WHERE record_kind = 'test') o FULL JOIN (SELECT row_id, count(*) AS times FROM "
        "sink WHERE consumer = $1 GROUP BY 1) s"
        "    ON s.row_id = o.id",
        consumer);
    return {row[0].as<std::int64_t>(), row[1].as<std::int64_t>(), row[2].as<std::int64_t>(), row[3].as<std::int64_t>()};
}

std::vector<std::string> delivered(const std::string& uri, const std::string& consumer) {
    pqxx::connection connection(uri);
    pqxx::nontransaction session(connection);
    std::vector<std::string> ids;
    for (const auto& row : session.exec_params("SELECT record_id FROM sink WHERE consumer = $1 ORDER BY n", consumer)) {
        ids.emplace_back(row[0].c_str());
    }
    return ids;
}

Writer& Writer::touch(const std::string& id) {
    tx_->exec_params("SELECT ftl_touch('test', $1)", id);
    return *this;
}

Writer& Writer::run(const std::string& sql) {
    tx_->exec(sql);
    return *this;
}

std::string Writer::value(const std::string& sql) { return tx_->exec1(sql)[0].c_str(); }

void Writer::commit() {
    tx_->commit();
    tx_.reset();
}

void Writer::abort() {
    tx_->abort();
    tx_.reset();
}

void Writer::prepare(const std::string& gid) {
    tx_->exec("PREPARE TRANSACTION " + tx_->quote(gid));
    // The server ended the transaction; what the object does now only earns a warning.
    tx_->abort();
    tx_.reset();
}

void commit_each(const std::string& uri, const std::vector<std::string>& ids) {
    pqxx::connection connection(uri);
    for (const auto& id : ids) {
        pqxx::work tx(connection);
        tx.exec_params("SELECT ftl_touch('test', $1)", id);
        tx.commit();
    }
}

std::jthread passing_transactions(std::string uri) {
    return std::jthread([uri = std::move(uri)](const std::stop_token& stop) {
        pqxx::connection connection(uri);
        while (!stop.stop_requested()) {
            pqxx::work tx(connection);
            tx.exec("SELECT pg_current_xact_id()");
            tx.commit();
        }
    });
}

}  // namespace ftl::test::outbox

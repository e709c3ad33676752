#include "readers.hpp"

#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/session.hpp>
#include <ftlfeed/store/value.hpp>
#include <map>
#include <pqxx/connection>
#include <pqxx/result>
#include <pqxx/transaction>
#include <stdexcept>
#include <utility>
#include <vector>

#include "outbox/sql.hpp"
#include "support/session.hpp"

namespace ftl::test::outbox {

namespace {

namespace product = ftlfeed::outbox;
namespace store = ftlfeed::store;

constexpr const char* kApplication = "outbox_reader";

const std::map<std::string, Method> kNames = {
    {"snapshot", Method::kSnapshot},
    {"id_greater", Method::kIdGreater},
    {"xmin_horizon", Method::kXminHorizon},
    {"text_order", Method::kTextOrder},
    {"one_statement", Method::kOneStatementLock},
    {"own_finished", Method::kOwnFinished},
};

/// A page in one statement, so that the readers keep up with the writers.
void deliver(pqxx::transaction_base& tx, const std::string& consumer, const std::vector<std::string>& row_ids,
             const std::vector<std::string>& record_ids) {
    tx.exec_params(
        "INSERT INTO sink (consumer, row_id, record_id) SELECT $1, r.row_id::bigint, r.record_id"
        " FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS r (row_id, record_id, n) ORDER BY r.n",
        consumer, store::text_array(row_ids), store::text_array(record_ids));
}

void after_page(pqxx::transaction_base& tx, const ReaderOptions& options) {
    if (!options.and_then_sql.empty()) tx.exec(options.and_then_sql);
    if (options.before_commit) options.before_commit();
}

class ProductReader final : public AnyReader {
public:
    explicit ProductReader(const ReaderOptions& options)
        : options_(options),
          session_(settings_of(options.uri, kApplication)),
          reader_(session_, options.consumer, reader_options()) {}

    std::size_t read_page() override {
        return reader_.read_page([this](pqxx::transaction_base& tx, std::span<const product::OutboxRow> rows) {
            std::vector<std::string> row_ids;
            std::vector<std::string> record_ids;
            for (const auto& row : rows) {
                row_ids.push_back(std::to_string(row.id));
                record_ids.push_back(row.record.id);
            }
            deliver(tx, options_.consumer, row_ids, record_ids);
            after_page(tx, options_);
        });
    }

private:
    [[nodiscard]] product::Reader::Options reader_options() const {
        product::Reader::Options result;
        result.page_rows_max = options_.page_rows_max;
        return result;
    }

    ReaderOptions options_;
    store::Session session_;
    product::Reader reader_;
};

/// What the wrong readers share: a cursor row, a page, a transaction.
class WrongReader : public AnyReader {
public:
    explicit WrongReader(const ReaderOptions& options) : options_(options), connection_(options.uri) {}

    std::size_t read_page() override {
        pqxx::work tx(connection_);
        const auto rows = read_in(tx);
        std::vector<std::string> row_ids;
        std::vector<std::string> record_ids;
        for (const auto& row : rows) {
            row_ids.emplace_back(row[0].c_str());
            record_ids.emplace_back(row["record_id"].c_str());
        }
        deliver(tx, options_.consumer, row_ids, record_ids);
        if (!rows.empty()) after_page(tx, options_);
        move_cursor(tx, rows);
        tx.commit();
        return rows.size();
    }

protected:
    virtual pqxx::result read_in(pqxx::work& tx) = 0;
    virtual void move_cursor(pqxx::work& tx, const pqxx::result& rows) = 0;

    [[nodiscard]] const ReaderOptions& options() const { return options_; }

private:
    ReaderOptions options_;
    pqxx::connection connection_;
};

class IdGreater final : public WrongReader {
public:
    using WrongReader::WrongReader;

private:
    pqxx::result read_in(pqxx::work& tx) override {
        const auto after = tx.exec_params1(
            "SELECT coalesce(after_id, 0) FROM outbox_cursor WHERE consumer = $1 FOR UPDATE", options().consumer);
        return tx.exec_params("SELECT id, record_id FROM outbox WHERE id > $1 ORDER BY id LIMIT $2",
                              after[0].as<std::int64_t>(), options().page_rows_max);
    }
    void move_cursor(pqxx::work& tx, const pqxx::result& rows) override {
        if (rows.empty()) return;
        tx.exec_params("UPDATE outbox_cursor SET after_id = $2 WHERE consumer = $1", options().consumer,
                       rows.back()[0].as<std::int64_t>());
    }
};

class XminHorizon final : public WrongReader {
public:
    using WrongReader::WrongReader;

private:
    pqxx::result read_in(pqxx::work& tx) override {
        const auto after = tx.exec_params1(
            "SELECT coalesce(after_txid::text, '0'), coalesce(after_id, 0) FROM outbox_cursor WHERE consumer = $1"
            " FOR UPDATE",
            options().consumer);
        return tx.exec_params(
            "SELECT id, record_id, txid::text AS txid_text FROM outbox WHERE (txid, id) > ($1::xid8, $2)"
            " AND txid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY txid, id LIMIT $3",
            after[0].c_str(), after[1].as<std::int64_t>(), options().page_rows_max);
    }
    void move_cursor(pqxx::work& tx, const pqxx::result& rows) override {
        if (rows.empty()) return;
        tx.exec_params("UPDATE outbox_cursor SET after_txid = $2::xid8, after_id = $3 WHERE consumer = $1",
                       options().consumer, rows.back()[2].c_str(), rows.back()[0].as<std::int64_t>());
    }
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    std::size_t count = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
        text.replace(at, what.size(), by);
        ++count;
    }
    // A canary that no longer differs from the product would prove nothing.
    if (count == 0) throw std::logic_error("the product's query has no \"" + what + "\" to spoil");
    return text;
}

/// The product's own statements with one of their rules broken.
class SpoiltSnapshot final : public WrongReader {
public:
    SpoiltSnapshot(Method method, const ReaderOptions& options) : WrongReader(options), method_(method) {
        if (method == Method::kTextOrder) page_ = replaced(page_, "ORDER BY txid, id", "ORDER BY txid::text, id");
    }

private:
    pqxx::result read_in(pqxx::work& tx) override {
        const std::string lock =
            "SELECT snap::text, coalesce(upto::text, ''), coalesce(after_txid::text, '0'), coalesce(after_id, 0),"
            " pg_current_snapshot()::text FROM outbox_cursor WHERE consumer = $1 FOR UPDATE";
        const auto cursor = tx.exec_params1(lock, options().consumer);
        upto_ = cursor[1].c_str();
        if (upto_.empty()) upto_ = new_snapshot(tx, cursor[4].c_str());
        return tx.exec_params(page_, cursor[0].c_str(), upto_, cursor[2].c_str(), cursor[3].as<std::int64_t>(),
                              options().page_rows_max);
    }

    std::string new_snapshot(pqxx::work& tx, const std::string& from_the_lock) const {
        if (method_ == Method::kOneStatementLock) return from_the_lock;
        if (method_ == Method::kOwnFinished) return tx.exec1("SELECT pg_current_snapshot()::text")[0].c_str();
        return tx.exec1(ftlfeed::outbox::sql::kOwnOpenSnapshot)[0].c_str();
    }

    void move_cursor(pqxx::work& tx, const pqxx::result& rows) override {
        if (std::cmp_equal(rows.size(), options().page_rows_max)) {
            tx.exec_params(ftlfeed::outbox::sql::kKeepWindow, options().consumer, upto_, rows.back()[1].c_str(),
                           rows.back()[0].as<std::int64_t>());
        } else {
            tx.exec_params(ftlfeed::outbox::sql::kCloseWindow, options().consumer, upto_);
        }
    }

    Method method_;
    std::string page_ = ftlfeed::outbox::sql::kPage;
    std::string upto_;
};

/// A new cursor for those that keep a place instead of a snapshot.
void start_now(store::Session& session, const std::string& consumer) {
    session.write([&](pqxx::transaction_base& tx) {
        tx.exec_params(
            "UPDATE outbox_cursor SET after_id = (SELECT coalesce(max(id), 0) FROM outbox),"
            " after_txid = (SELECT coalesce(max(txid), '0') FROM outbox) WHERE consumer = $1",
            consumer);
    });
}

}  // namespace

Method method_named(const std::string& name) { return kNames.at(name); }

std::string name_of(Method method) {
    for (const auto& [name, value] : kNames) {
        if (value == method) return name;
    }
    throw std::logic_error("a method without a name");
}

std::unique_ptr<AnyReader> make_reader(Method method, const ReaderOptions& options) {
    store::Session session(settings_of(options.uri, kApplication));
    if (product::register_consumer(session, options.consumer) &&
        (method == Method::kIdGreater || method == Method::kXminHorizon)) {
        start_now(session, options.consumer);
    }
    switch (method) {
        case Method::kSnapshot:
            return std::make_unique<ProductReader>(options);
        case Method::kIdGreater:
            return std::make_unique<IdGreater>(options);
        case Method::kXminHorizon:
            return std::make_unique<XminHorizon>(options);
        case Method::kTextOrder:
        case Method::kOneStatementLock:
        case Method::kOwnFinished:
            return std::make_unique<SpoiltSnapshot>(method, options);
    }
    throw std::logic_error("a method without a reader");
}

std::unique_ptr<AnyReader> snapshot_reader(const std::string& uri, std::size_t page_rows_max) {
    ReaderOptions options;
    options.uri = uri;
    options.consumer = "snapshot";
    options.page_rows_max = page_rows_max;
    return make_reader(Method::kSnapshot, options);
}

std::size_t drain(AnyReader& reader) {
    std::size_t total = 0;
    for (std::size_t rows = reader.read_page(); rows > 0; rows = reader.read_page()) total += rows;
    return total;
}

}  // namespace ftl::test::outbox

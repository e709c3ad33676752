#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <pqxx/nontransaction>
#include <pqxx/result>
#include <pqxx/transaction>
#include <string>
#include <thread>

#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/deliver/dispatcher.hpp>
#include <ftlfeed/store/session.hpp>
#include <ftlfeed/store/value.hpp>

#include "support/paths.hpp"
#include "support/pg.hpp"
#include "support/session.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

namespace ftl::test {

using std::chrono::milliseconds;

/// A database with a client, folders for its destinations, and the builder's part: published versions.
class DeliverWorld {
public:
    DeliverWorld() { exec("INSERT INTO delivery_client (code, name) VALUES ('acme', 'Acme')"); }

    /// A directory destination `NAME` in its own folder, with quick tries. Returns its id.
    std::int64_t add_destination(const std::string& name, const std::string& more_columns = "",
                                 const std::string& more_values = "") const {
        std::filesystem::create_directories(folder(name));
        return std::stoll(
            value("INSERT INTO delivery_assignment (client_id, name, transport, folder, first_retry_ms, slow_retry_ms" +
                  more_columns + ") VALUES ((SELECT id FROM delivery_client WHERE code = 'acme'), '" + name +
                  "', 'directory', '" + folder(name).string() + "', 20, 100" + more_values + ") RETURNING id"));
    }
    [[nodiscard]] std::filesystem::path folder(const std::string& name) const { return temp / name; }

    /// Runs the real ftl-deliver on this database, with a lease that is soon over and without builders.
    [[nodiscard]] std::vector<std::string> command() const {
        return {app("ftl-deliver").string(),
                "--postgres.uri",
                db.uri(),
                "--deliver.enabled",
                "true",
                "--deliver.lease_ttl_ms",
                "800",
                "--deliver.lease_margin_ms",
                "100",
                "--deliver.look_interval_ms",
                "50",
                "--build.builders",
                "0"};
    }

    /// What a build commits: the document, its version, the NOTIFY. Returns seq.
    std::int64_t publish(const std::string& doc_key, const std::string& body, bool notify = true) const {
        const auto seq = std::stoll(value("SELECT nextval('version_seq')"));
        exec(publish_sql(doc_key, body, seq, "clock_timestamp()", false) + (notify ? "; NOTIFY ftl_document" : ""));
        return seq;
    }
    void retire(const std::string& doc_key) const {
        const auto seq = std::stoll(value("SELECT nextval('version_seq')"));
        exec(publish_sql(doc_key, "", seq, "clock_timestamp()", true) + "; NOTIFY ftl_document");
    }

    /// One statement; `changed_at` is an SQL expression.
    static std::string publish_sql(const std::string& doc_key, const std::string& body, std::int64_t seq,
                                   const std::string& changed_at, bool is_retired, std::int64_t epoch = 1000) {
        using namespace ftlfeed;
        const auto slash = doc_key.find('/');
        const auto second = doc_key.find('/', slash + 1);
        const auto event = doc_key.substr(0, slash);
        const auto type = doc_key.substr(slash + 1, second == std::string::npos ? second : second - slash - 1);
        const auto filter = second == std::string::npos ? "" : doc_key.substr(second + 1);
        const auto gz = store::bytea(core::gzip(body));
        const auto hash = store::bytea(core::sha256(body));
        const auto numbers = std::to_string(epoch) + ", " + std::to_string(seq);
        const auto retired = std::string(is_retired ? "clock_timestamp()" : "NULL");
        return "WITH stamp AS (SELECT " + changed_at +
               " AS at), version AS (INSERT INTO feed_version (doc_key, epoch, seq, "
               "content_hash, body_hash, body_gz, body_bytes, changed_at, is_retired) SELECT '" +
               doc_key + "', " + numbers + ", '" + hash + "', '" + hash + "', '" + gz + "', " +
               std::to_string(body.size()) + ", at, " + (is_retired ? "true" : "false") +
               " FROM stamp RETURNING changed_at) "
               "INSERT INTO feed_document (doc_key, event, feed_type, filter, body_gz, body_bytes, content_type, "
               "content_hash, body_hash, changed_at, last_modified, epoch, seq, retired_at) SELECT '" +
               doc_key + "', '" + event + "', '" + type + "', '" + filter + "', '" + gz + "', " +
               std::to_string(body.size()) + ", 'application/json', '" + hash + "', '" + hash +
               "', changed_at, date_trunc('second', changed_at), " + numbers + ", " + retired +
               " FROM version "
               "ON CONFLICT (doc_key) DO UPDATE SET body_gz = excluded.body_gz, body_bytes = excluded.body_bytes, "
               "content_hash = excluded.content_hash, body_hash = excluded.body_hash, changed_at = "
               "excluded.changed_at, "
               "last_modified = excluded.last_modified, epoch = excluded.epoch, seq = excluded.seq, "
               "txid = pg_current_xact_id(), retired_at = excluded.retired_at";
    }

    [[nodiscard]] ftlfeed::store::ConnectionSettings connection() const { return settings_of(db); }
    [[nodiscard]] std::int64_t owed() const { return std::stoll(value("SELECT count(*) FROM delivery_owed")); }
    [[nodiscard]] std::int64_t count(const std::string& table_and_where) const {
        return std::stoll(value("SELECT count(*) FROM " + table_and_where));
    }
    [[nodiscard]] std::int64_t proofs(const std::string& outcome = "delivered") const {
        return count("delivery_attempt WHERE outcome = '" + outcome + "'");
    }

    Database db;
    TempFolder temp;

private:
    /// Statements of the test's own thread, on one connection that is made anew when a test has cut it.
    pqxx::result exec(const std::string& sql) const {
        for (bool is_again = false;; is_again = true) {
            try {
                if (!connection_ || !connection_->is_open()) connection_ = std::make_unique<pqxx::connection>(db.uri());
                pqxx::nontransaction statement(*connection_);
                return statement.exec(sql);
            } catch (const pqxx::broken_connection&) {
                connection_.reset();
                if (is_again) throw;
            }
        }
    }
    [[nodiscard]] std::string value(const std::string& sql) const {
        const auto rows = exec(sql);
        return rows.empty() || rows[0][0].is_null() ? "" : rows[0][0].as<std::string>();
    }

    mutable std::unique_ptr<pqxx::connection> connection_;
};

/// Short intervals; the lease is long enough that a slow machine does not lose it by accident.
inline ftlfeed::deliver::DeliverSettings quick_settings() {
    ftlfeed::deliver::DeliverSettings settings;
    settings.is_enabled = true;
    settings.poll_interval = milliseconds(50);
    settings.look_interval = milliseconds(40);
    settings.lease_ttl = milliseconds(3000);
    settings.lease_margin = milliseconds(200);
    settings.drain_limit = milliseconds(3000);
    return settings;
}

/// A dispatcher on a thread of its own, drained at the end.
class RunningDispatcher {
public:
    explicit RunningDispatcher(const DeliverWorld& world, ftlfeed::deliver::DeliverSettings settings = quick_settings(),
                               ftlfeed::deliver::TransportFactory transports = {},
                               ftlfeed::core::Clock& clock = ftlfeed::core::Clock::real())
        : RunningDispatcher(world.connection(), std::move(settings), std::move(transports), clock) {}
    explicit RunningDispatcher(ftlfeed::store::ConnectionSettings connection,
                               const ftlfeed::deliver::DeliverSettings& settings = quick_settings(),
                               ftlfeed::deliver::TransportFactory transports = {},
                               ftlfeed::core::Clock& clock = ftlfeed::core::Clock::real())
        : dispatcher_(settings, std::move(connection),
                      transports ? std::move(transports) : ftlfeed::deliver::built_in_transports(settings, clock),
                      clock),
          thread_([this](const std::stop_token& stop) { dispatcher_.run(stop); }) {}

    void stop() {
        thread_.request_stop();
        thread_.join();
    }
    [[nodiscard]] ftlfeed::deliver::Dispatcher::Status status() const { return dispatcher_.status(); }

private:
    ftlfeed::deliver::Dispatcher dispatcher_;
    std::jthread thread_;
};

/// The content of a file, or "" when it is not there.
inline std::string content(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline bool holds(const std::filesystem::path& path, const std::string& body) {
    return wait_until([&] { return content(path) == body; });
}

}  // namespace ftl::test

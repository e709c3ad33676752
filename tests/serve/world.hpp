#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <pqxx/nontransaction>
#include <pqxx/result>
#include <string>
#include <vector>

#include <ftlfeed/cache/cache_client.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/store/value.hpp>

#include "http.hpp"
#include "support/paths.hpp"
#include "support/pg.hpp"
#include "support/process.hpp"
#include "support/redis.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

namespace ftl::test {

inline const std::string kKeyField = "Authorization: Bearer k1\r\n";

/// Event `wc`, and client `acme` with key `k1`, which may pull everything.
inline void add_client(const std::string& uri) {
    pqxx::connection connection(uri);
    pqxx::nontransaction tx(connection);
    tx.exec("INSERT INTO event (code, name, provider, provider_season_id) VALUES ('wc', 'Cup', 'sim', 1)");
    tx.exec("INSERT INTO delivery_client (code, name) VALUES ('acme', 'Acme')");
    tx.exec("INSERT INTO client_entitlement (client_id, created_by) SELECT id, 'test' FROM delivery_client");
    tx.exec("INSERT INTO client_key (client_id, key_hash, created_by) SELECT id, '" +
            ftlfeed::store::bytea(ftlfeed::core::sha256("k1")) + "', 'test' FROM delivery_client");
}

/// A file as a build writes it to Postgres, in version (1000, seq).
inline void publish(const std::string& uri, const std::string& doc_key, const std::string& body, std::int64_t seq,
                    bool is_retired = false) {
    using namespace ftlfeed;
    const auto slash = doc_key.find('/');
    pqxx::connection connection(uri);
    pqxx::nontransaction tx(connection);
    const auto hash = store::bytea(core::sha256(body));
    tx.exec(
        "INSERT INTO feed_document (doc_key, event, feed_type, body_gz, body_bytes, content_type, content_hash, "
        "body_hash, changed_at, last_modified, epoch, seq, retired_at) VALUES ('" +
        doc_key + "', '" + doc_key.substr(0, slash) + "', '" + doc_key.substr(slash + 1) + "', '" +
        store::bytea(core::gzip(body)) + "', " + std::to_string(body.size()) + ", 'application/json', '" + hash +
        "', '" + hash + "', to_timestamp(1780000000.5), to_timestamp(1780000000 + " + std::to_string(seq) +
        "), 1000, " + std::to_string(seq) + ", " + (is_retired ? "now()" : "NULL") +
        ") ON CONFLICT (doc_key) DO UPDATE SET body_gz = excluded.body_gz, body_bytes = excluded.body_bytes, "
        "body_hash = excluded.body_hash, last_modified = excluded.last_modified, seq = excluded.seq, "
        "retired_at = excluded.retired_at");
}

/// A file as it lies in Redis, in version (1000, seq, 1).
inline ftlfeed::cache::Document document(const std::string& body, std::int64_t seq, bool is_retired = false) {
    using namespace ftlfeed;
    cache::Document made;
    made.version = {1000, seq, 1};
    if (!is_retired) made.body_gz = core::gzip(body);
    made.content_type = "application/json";
    made.changed_at = core::SystemTime(std::chrono::seconds(1'780'000'000));
    made.body_bytes = body.size();
    made.body_sha256 = core::sha256_hex(body);
    made.is_retired = is_retired;
    made.last_modified = core::SystemTime(std::chrono::seconds(1'780'000'000 + seq));
    return made;
}

inline void put(const RedisServer& redis, const std::string& doc_key, const ftlfeed::cache::Document& made) {
    using namespace ftlfeed;
    auto settings = cache::ConnectionSettings::parse(redis.uri());
    settings.request_timeout = std::chrono::seconds(30);
    cache::CacheClient client(settings);
    static_cast<void>(
        client.put_if_newer(cache::Key::document(core::FeedKey::parse(doc_key)), made.version, made.fields()));
}

/// How often Redis was asked by this command, as Redis counts it.
inline int calls(const RedisServer& redis, const std::string& command) {
    const auto text = redis.cli({"INFO", "commandstats"});
    const auto at = text.find("cmdstat_" + command + ":calls=");
    return at == std::string::npos ? 0 : std::stoi(text.substr(text.find('=', at) + 1));
}

/// ftl-serve on servers of its own.
class ServeWorld {
public:
    explicit ServeWorld(std::vector<std::string> more = {}) : ServeWorld(std::nullopt, std::move(more)) {}
    /// On another Postgres than the tests' own.
    ServeWorld(const std::optional<std::string>& uri, std::vector<std::string> more,
               std::vector<std::string> redis_options = {})
        : redis(std::move(redis_options)), more_(std::move(more)) {
        if (!uri) db_.emplace();
        uri_ = uri.value_or(db_ ? db_->uri() : "");
        add_client(uri_);
        start();
    }

    void start() {
        std::filesystem::remove(temp / "port");
        std::vector<std::string> command{app("ftl-serve").string(),
                                         "--postgres.uri",
                                         uri_,
                                         "--cache.uri",
                                         redis.uri(),
                                         "--serve.address",
                                         "127.0.0.1:0",
                                         "--serve.port_file",
                                         temp / "port",
                                         "--ops.address",
                                         "127.0.0.1:0",
                                         "--ops.port_file",
                                         temp / "ops"};
        command.insert(command.end(), more_.begin(), more_.end());
        ProcessOptions options;
        options.log = temp / "log";
        server.emplace(command, options);
        REQUIRE(
            wait_until([&] { return std::filesystem::exists(temp / "port") && is_ready(); }, std::chrono::seconds(20)));
    }

    [[nodiscard]] const std::string& uri() const { return uri_; }
    [[nodiscard]] std::uint16_t port() const { return number_in("port"); }
    [[nodiscard]] TcpSocket connect() const { return TcpSocket::connect(port()); }
    /// On a connection of its own, with the key.
    [[nodiscard]] Pulled get(const std::string& path, const std::string& fields = "",
                             const std::string& method = "GET") const {
        auto socket = connect();
        return pull(socket, path, kKeyField + fields, method);
    }
    [[nodiscard]] std::string ops(const std::string& path) const {
        auto socket = TcpSocket::connect(number_in("ops"));
        socket.send("GET " + path + " HTTP/1.1\r\nHost: ops\r\n\r\n");
        return socket.receive_all();
    }
    /// A series without labels, or with them as they are written.
    [[nodiscard]] double metric(const std::string& name) const {
        const auto text = ops("/metrics");
        const auto at = text.find("\n" + name + " ");
        return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
    }
    [[nodiscard]] std::string log() const { return read_file(temp / "log"); }
    void exec(const std::string& sql) const {
        pqxx::connection connection(uri_);
        pqxx::nontransaction(connection).exec(sql);
    }

    TempFolder temp;
    RedisServer redis;
    std::optional<Process> server;

private:
    [[nodiscard]] std::uint16_t number_in(const std::string& name) const {
        return static_cast<std::uint16_t>(std::stoi(read_file(temp / name)));
    }
    [[nodiscard]] bool is_ready() const {
        try {
            return ops("/readyz").starts_with("HTTP/1.1 200");
        } catch (const std::exception&) {
            return false;  // Not there yet.
        }
    }

    std::optional<Database> db_;
    std::string uri_;
    std::vector<std::string> more_;
};

}  // namespace ftl::test

#include "support/pg.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <pqxx/nontransaction>
#include <random>
#include <stdexcept>

#include <ftlfeed/store/migrator.hpp>

#include "support/session.hpp"

namespace ftl::test {

namespace {

// Any number that nobody else takes: one template is made at a time on a server.
constexpr auto kTemplateLock = "pg_advisory_lock(7065101)";

std::string with_database(const std::string& uri, const std::string& database) {
    const auto authority = uri.find("://");
    if (authority == std::string::npos) throw std::runtime_error("FTL_TEST_PG is not a URI: " + uri);
    const auto path = uri.find('/', authority + 3);
    const auto query = std::min(uri.find('?'), uri.size());
    return uri.substr(0, std::min(path, query)) + "/" + database + uri.substr(query);
}

pqxx::result run(pqxx::connection& connection, const std::string& sql) {
    pqxx::nontransaction session(connection);
    return session.exec(sql);
}

/// A name that changes with the migrations, so that a server that lives longer never clones an old schema (FNV-1a).
std::string template_name() {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const auto& migration : ftlfeed::store::migrations()) {
        for (const char c : migration.name + migration.up_sql) {
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        }
    }
    return "ftl_template_" + std::to_string(hash);
}

bool has_database(pqxx::connection& server, const std::string& name) {
    return !run(server, "SELECT 1 FROM pg_database WHERE datname = " + server.quote(name)).empty();
}

void migrate(const std::string& uri) {
    auto session = connect(uri);
    ftlfeed::store::Migrator(session).up();
}

/// Makes the template under a name of its own first: one that died half made is never cloned.
void make_template(pqxx::connection& server, const std::string& name) {
    const auto half_made = name + "_half";
    run(server, "DROP DATABASE IF EXISTS " + half_made);
    run(server, "CREATE DATABASE " + half_made);
    migrate(with_database(server_uri(), half_made));
    run(server, "ALTER DATABASE " + half_made + " RENAME TO " + name);
}

std::string migrated_template(pqxx::connection& server) {
    const auto name = template_name();
    if (has_database(server, name)) return name;
    // The lock ends with the connection, which the caller throws away.
    run(server, std::string("SELECT ") + kTemplateLock);
    if (!has_database(server, name)) make_template(server, name);
    return name;
}

std::string unique_name() {
    static std::atomic<int> count{0};
    static const unsigned kSalt = std::random_device{}();
    return "t_" + std::to_string(getpid()) + "_" + std::to_string(kSalt) + "_" + std::to_string(++count);
}

}  // namespace

std::string server_uri() {
    const char* uri = std::getenv("FTL_TEST_PG");
    if (uri == nullptr || *uri == '\0') {
        throw std::runtime_error("FTL_TEST_PG is not set: run the tests by tests/run.sh, or start tools/servers.sh");
    }
    return uri;
}

Database::Database(Content content) : name_(unique_name()) {
    pqxx::connection server(server_uri());
    const auto origin = content == Content::kMigrated ? migrated_template(server) : std::string("template0");
    run(server, "CREATE DATABASE " + name_ + " TEMPLATE " + origin);
    uri_ = with_database(server_uri(), name_);
}

Database::~Database() {
    if (std::getenv("FTL_TEST_PG_DISPOSABLE") != nullptr) return;
    try {
        pqxx::connection server(server_uri());
        run(server, "DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
    } catch (const std::exception&) {
        // A test may have ended the server itself; what is left goes with the server's folder.
    }
}

pqxx::result Database::exec(const std::string& sql) const {
    auto connection = connect();
    return run(connection, sql);
}

std::string Database::value(const std::string& sql) const {
    const auto rows = exec(sql);
    if (rows.empty()) return "";
    return rows[0][0].as<std::string>("NULL");
}

}  // namespace ftl::test

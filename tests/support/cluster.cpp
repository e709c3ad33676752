#include "support/cluster.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <ftlfeed/store/migrator.hpp>
#include <ftlfeed/store/session.hpp>
#include <pqxx/connection>
#include <pqxx/nontransaction>
#include <pqxx/result>
#include <stdexcept>

#include "support/free_port.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

namespace ftl::test {

namespace {

std::string checked_run(const std::vector<std::string>& command) {
    const auto result = run_command(command, {}, std::chrono::seconds(90));
    if (result.exit_code != 0) {
        throw std::runtime_error(command.front() + " ended with " + std::to_string(result.exit_code) + "\n" +
                                 result.output + result.errors);
    }
    return result.output;
}

/// Postgres refuses to run as root; tools/servers.sh takes the same user.
std::vector<std::string> as_server_user(std::vector<std::string> command) {
    if (geteuid() != 0) return command;
    std::vector<std::string> words{"setpriv",          "--reuid=nobody",  "--regid=nogroup",
                                   "--clear-groups",   "--inh-caps=-all", "env",
                                   "HOME=/nonexistent"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

void make_server_folder(const std::filesystem::path& folder) {
    std::vector<std::string> command{"install", "-d", "-m", "0700", folder.string()};
    if (geteuid() == 0) command.insert(command.begin() + 2, {"-o", "nobody", "-g", "nogroup"});
    checked_run(command);
}

void open_for_server_user(const std::filesystem::path& folder) {
    std::filesystem::permissions(folder, std::filesystem::perms::others_exec | std::filesystem::perms::others_read,
                                 std::filesystem::perm_options::add);
}

std::string query(const std::string& uri, const std::string& sql) {
    pqxx::connection connection(uri);
    pqxx::nontransaction session(connection);
    const auto rows = session.exec(sql);
    return rows.empty() ? std::string() : std::string(rows[0][0].c_str());
}

}  // namespace

void Cluster::servers(const std::vector<std::string>& arguments) {
    std::vector<std::string> command{(source_dir() / "tools/servers.sh").string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    checked_run(command);
}

Cluster::Cluster() {
    open_for_server_user(folder_.path());
    servers({"start", folder_.path().string()});
    read_environment();
}

Cluster::Cluster(StandbyOf of) {
    open_for_server_user(folder_.path());
    const auto& folder = folder_.path();
    for (const auto* name : {"postgres", "run"}) make_server_folder(folder / name);
    of.primary.run_tool("pg_basebackup",
                        {"-d", of.primary.uri(), "-D", (folder / "postgres").string(), "-R", "-c", "fast"});
    const auto log = folder / "postgres.log";
    write_file(log, "");
    if (geteuid() == 0) checked_run({"chown", "nobody:nogroup", log.string()});
    const auto port = std::to_string(free_port());
    write_file(folder / "servers.env", "FTL_PG_URI=postgresql://ftl@127.0.0.1:" + port +
                                           "/postgres\nFTL_PG_PORT=" + port + "\nPG_BIN=" + of.primary.bin_ + "\n");
    read_environment();
    start();
}

Cluster::~Cluster() {
    try {
        servers({"stop", folder_.path().string()});
    } catch (const std::exception&) {
        // The folder goes all the same, and a server without its folder ends by itself.
    }
}

void Cluster::read_environment() {
    std::ifstream file(folder_ / "servers.env");
    for (std::string line; std::getline(file, line);) {
        const auto equals = line.find('=');
        const auto value = line.substr(std::min(equals, line.size() - 1) + 1);
        if (line.starts_with("FTL_PG_URI=")) uri_prefix_ = value.substr(0, value.rfind('/') + 1);
        if (line.starts_with("PG_BIN=")) bin_ = value;
    }
    if (uri_prefix_.empty() || bin_.empty()) throw std::runtime_error("servers.env is not complete");
}

std::string Cluster::uri(const std::string& database) const { return uri_prefix_ + database; }

std::string Cluster::make_database(const std::string& name) const {
    query(uri(), "CREATE DATABASE " + name);
    auto session = connect(uri(name));
    ftlfeed::store::Migrator(session).up();
    return uri(name);
}

std::string Cluster::run_tool(const std::string& tool, const std::vector<std::string>& arguments) const {
    std::vector<std::string> command{bin_ + "/" + tool};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return checked_run(as_server_user(command));
}

std::unique_ptr<Cluster> Cluster::make_standby() const {
    return std::unique_ptr<Cluster>(new Cluster(StandbyOf{*this}));
}

void Cluster::promote() {
    query(uri(), "SELECT pg_promote()");
    if (!wait_until([this] { return query(uri(), "SELECT pg_is_in_recovery()") == "f"; })) {
        throw std::runtime_error("the standby was not promoted");
    }
}

void Cluster::set_next_xid(std::uint64_t xid) {
    constexpr std::uint64_t kSegmentBytes = std::uint64_t{32} * 8192;
    constexpr std::uint64_t kXidsPerSegment = kSegmentBytes * 4;
    stop();
    // The commit log's page of that xid must exist; pg_resetwal does not make it.
    const auto segment = data() / "pg_xact" / fmt::format("{:04X}", xid / kXidsPerSegment);
    if (!std::filesystem::exists(segment)) {
        write_file(segment, "");
        if (geteuid() == 0) checked_run({"chown", "nobody:nogroup", segment.string()});
    }
    std::filesystem::resize_file(segment, kSegmentBytes);
    run_tool("pg_resetwal", {"-x", std::to_string(xid), "-D", data().string()});
    start();
}

void Cluster::freeze() {
    query(uri(), "UPDATE pg_database SET datallowconn = true");
    run_tool("vacuumdb", {"--maintenance-db", uri(), "--all", "--freeze", "-q"});
    query(uri(), "CHECKPOINT");
}

}  // namespace ftl::test

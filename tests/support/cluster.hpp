#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/temp_folder.hpp"

namespace ftl::test {

/// A Postgres of its own (tools/servers.sh), for tests that stop it, copy it or move its transaction ids. Takes two
/// seconds; everything goes at the end.
/// Threads: confined to one thread; its URIs may be used by any.
class Cluster {
public:
    Cluster();
    ~Cluster();
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    [[nodiscard]] std::string uri(const std::string& database = "postgres") const;

    /// Makes a database with all migrations and returns its URI.
    std::string make_database(const std::string& name) const;

    void stop() { servers({"stop-postgres", folder_.path().string(), "fast"}); }
    /// As a power cut would, but for the caches: `pg_ctl stop -m immediate`.
    void stop_immediately() { servers({"stop-postgres", folder_.path().string(), "immediate"}); }
    /// Starts it again on its port.
    void start() { servers({"start-postgres", folder_.path().string()}); }

    /// Runs a program of Postgres' bin folder as the servers' user, and returns what it wrote to standard output. Throws
    /// std::runtime_error with its errors when it fails.
    std::string run_tool(const std::string& tool, const std::vector<std::string>& arguments) const;

    [[nodiscard]] std::filesystem::path data() const { return folder_ / "postgres"; }

    /// A hot standby that streams from this one.
    [[nodiscard]] std::unique_ptr<Cluster> make_standby() const;

    /// Ends a standby's recovery and waits until it takes writes.
    void promote();

    /// Sets the next transaction id, of 32 bits: greater than all that were used, by 2^31 at most since freeze(). Stops
    /// the server and starts it again.
    void set_next_xid(std::uint64_t xid);
    /// Freezes every row of every database.
    void freeze();

private:
    struct StandbyOf {
        const Cluster& primary;
    };
    explicit Cluster(StandbyOf of);
    void read_environment();
    static void servers(const std::vector<std::string>& arguments);

    TempFolder folder_;
    std::string uri_prefix_;  ///< Up to the slash before the database's name.
    std::string bin_;
};

}  // namespace ftl::test

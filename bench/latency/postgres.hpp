#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

struct pg_conn;

namespace ftl::bench {

/// One plain libpq connection: the bench stands on nothing of ours. Threads: confined to one thread.
class Postgres {
public:
    /// Throws std::runtime_error.
    explicit Postgres(const std::string& uri);

    /// One statement or several in one string; `values` are $1, $2 … of a single one. Returns the first field of the
    /// first row. Throws std::runtime_error.
    std::string run(const std::string& sql, const std::vector<std::string>& values = {});
    /// Waits for a notification. Returns whether one came.
    bool wait_for_notify(std::chrono::milliseconds limit);

private:
    struct Close {
        void operator()(pg_conn* connection) const;
    };
    std::unique_ptr<pg_conn, Close> connection_;
};

}  // namespace ftl::bench

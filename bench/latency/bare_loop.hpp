#pragma once

#include <string>
#include <thread>

#include "postgres.hpp"

namespace ftl::bench {

/// The least that any such product does: LISTEN, SELECT what is new, write it beside its place, fsync, rename. What
/// nobody can leave out who wants the file to be there after a crash.
class BareLoop {
public:
    /// Makes its table, and files `bare.json` in `folder`.
    BareLoop(const std::string& uri, std::string folder);

    /// The statement that a writer commits, with the new body as $1.
    static const char* write_statement();

private:
    void run(const std::stop_token& stop);

    Postgres postgres_;  // The thread's alone, once it has started.
    std::string folder_;
    std::jthread thread_;
};

}  // namespace ftl::bench

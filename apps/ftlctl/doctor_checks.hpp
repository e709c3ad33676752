#pragma once

#include <string>
#include <vector>

#include <ftlctl/call.hpp>

namespace ftlctl {

/// One thing that `doctor` looked at. A value.
struct Finding {
    std::string check;
    bool is_ok = true;
    std::string what;    ///< What was found
    std::string remedy;  ///< What to do about it; empty when all is well
};

/// Looks at everything that does not need the tables: the connection, the server, the clocks.
std::vector<Finding> check_server(Call& call);
/// Whether the tables are there, and are the ones that this program knows.
Finding check_migrations(Call& call);
/// Looks at what the tables say. Needs a migrated database.
std::vector<Finding> check_installation(Call& call);

}  // namespace ftlctl

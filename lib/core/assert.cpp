#include <ftlfeed/core/assert.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace ftlfeed::core {

void assertion_failed(const char* expression, std::source_location where) {
    const auto what = std::string("broken invariant: ") + expression + " at " + where.file_name() + ":" +
                      std::to_string(where.line()) + " in " + where.function_name();
#ifdef NDEBUG
    throw Bug(what);
#else
    // The one place that prints without having been asked: the process ends here and nobody else could tell why.
    std::fputs((what + "\n").c_str(), stderr);
    std::abort();
#endif
}

}  // namespace ftlfeed::core

#pragma once

#include <istream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace ftlctl {

/// The whole program: `args` without its name. Returns the exit code: 0 done, 1 failed (the database said no, a check
/// of `doctor` found a problem), 2 called or configured wrongly. Nothing is tried twice: a person or a script waits.
int run_program(const std::vector<std::string>& args, const std::map<std::string, std::string>& environment,
                std::istream& input, std::ostream& out, std::ostream& errors);

}  // namespace ftlctl

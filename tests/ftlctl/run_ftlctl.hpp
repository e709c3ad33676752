#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <ftlctl/program.hpp>

namespace ftl::test {

/// What one call of ftlctl gave.
struct Answer {
    int exit_code = -1;
    std::string output;
    std::string errors;

    [[nodiscard]] bool says(const std::string& text) const { return output.find(text) != std::string::npos; }
    [[nodiscard]] bool complains(const std::string& text) const { return errors.find(text) != std::string::npos; }
};

/// Calls ftlctl in this process as user `tester`, on the database `uri` when it is not empty.
inline Answer run_ftlctl(const std::string& uri, const std::vector<std::string>& args, const std::string& input = "") {
    std::map<std::string, std::string> environment{{"USER", "tester"}};
    if (!uri.empty()) environment["FTL_POSTGRES_URI"] = uri;
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream errors;
    Answer answer;
    answer.exit_code = ftlctl::run_program(args, environment, in, out, errors);
    answer.output = out.str();
    answer.errors = errors.str();
    return answer;
}

}  // namespace ftl::test

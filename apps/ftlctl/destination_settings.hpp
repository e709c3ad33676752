#pragma once

#include <string>
#include <vector>

#include <ftlctl/call.hpp>
#include <ftlctl/command.hpp>

namespace ftlctl {

/// One setting that an operator gave: an SQL expression for its column, with the text that it takes as parameter.
struct SettingChange {
    std::string column;
    std::string type;  ///< The parameter's SQL type
    std::string text;
    bool is_null = false;
};

/// The options that `destination add` and `destination set` share.
std::vector<Option> destination_options();

/// The changes that the call's options ask for, checked. Throws UsageError.
std::vector<SettingChange> destination_changes(Call& call);

}  // namespace ftlctl

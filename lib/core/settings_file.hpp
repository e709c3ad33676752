#pragma once

#include <string>
#include <vector>

namespace ftlfeed::core {

/// One setting as a TOML file has it. A scalar is in `text`; an array of strings in `list`.
struct FileSetting {
    std::string key;  ///< `section.key`
    bool is_list = false;
    std::string text;
    std::vector<std::string> list;
    std::string origin;  ///< `FILE:LINE`, for messages.
};

/// All settings of a TOML file. Throws InvalidInput naming file and line. The one place that knows toml++.
[[nodiscard]] std::vector<FileSetting> read_settings_file(const std::string& path);

}  // namespace ftlfeed::core

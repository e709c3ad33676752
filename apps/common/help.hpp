#pragma once

#include <string>

#include <ftlfeed/core/settings.hpp>

namespace ftlfeed::app {

/// The text of `--help`: what the program is for, how it is called, and every setting with its default. Pure.
[[nodiscard]] std::string help_text(const std::string& program, const std::string& intro,
                                    const core::Settings& settings);

}  // namespace ftlfeed::app

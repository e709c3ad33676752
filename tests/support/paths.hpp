#pragma once

#include <filesystem>
#include <string>

namespace ftl::test {

/// The root of the source tree.
[[nodiscard]] std::filesystem::path source_dir();

/// The build folder that this test belongs to.
[[nodiscard]] std::filesystem::path binary_dir();

/// Where the build puts a binary of ours: `app("ftl-ingest")`. Throws std::runtime_error when it has not been built.
[[nodiscard]] std::filesystem::path app(const std::string& name);

}  // namespace ftl::test

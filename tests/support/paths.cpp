#include "support/paths.hpp"

#include <stdexcept>
#include <string>

namespace ftl::test {

std::filesystem::path source_dir() { return FTL_SOURCE_DIR; }

std::filesystem::path binary_dir() { return FTL_BINARY_DIR; }

std::filesystem::path app(const std::string& name) {
    auto path = binary_dir() / "bin" / name;
    if (!std::filesystem::exists(path)) throw std::runtime_error("not built: " + path.string());
    return path;
}

}  // namespace ftl::test

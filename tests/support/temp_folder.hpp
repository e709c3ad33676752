#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ftl::test {

/// A new empty folder, removed with all it holds at the end.
class TempFolder {
public:
    TempFolder();
    ~TempFolder();
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// The path of `name` in it.
    [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

/// The whole content of a file. Throws std::runtime_error when it cannot be read.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Writes a file, and the folders above it. Throws std::runtime_error when it cannot.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace ftl::test

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ftlfeed::core {

/// The settings that a binary knows, each bound to a variable that already holds its default.
/// Keys are `section.key`; a time has its unit in its name (`poll_interval_ms`). Bad values and unknown keys throw
/// InvalidInput; an unknown key names the nearest known one. Threads: confined to one thread.
class Settings {
public:
    void bind(std::string key, std::string& target, std::string doc);
    void bind(std::string key, bool& target, std::string doc);
    void bind(std::string key, std::int64_t& target, std::string doc, std::int64_t min, std::int64_t max);
    void bind(std::string key, double& target, std::string doc, double min, double max);
    /// Whole milliseconds.
    void bind(std::string key, std::chrono::milliseconds& target, std::string doc, std::chrono::milliseconds min,
              std::chrono::milliseconds max);
    /// TOML: an array of strings; variables and flags: separated by commas.
    void bind(std::string key, std::vector<std::string>& target, std::string doc);

    /// Reads `--config FILE` (TOML), then FTL_SECTION_KEY variables, then `--section.key VALUE` (or `=VALUE`): the
    /// later one wins. `args` is without the program's name. Returns the arguments that are no settings, in order
    /// (`--check`, words).
    std::vector<std::string> load(const std::vector<std::string>& args,
                                  const std::map<std::string, std::string>& environment);

    struct Described {
        std::string key;
        std::string doc;
        std::string default_text;
        bool takes_list = false;
        bool is_bool = false;
    };
    /// For --help and for the test that every setting is documented. In order of binding.
    [[nodiscard]] std::vector<Described> describe() const;

private:
    struct Entry {
        std::string key;
        std::string doc;
        std::string default_text;
        bool takes_list = false;
        bool is_bool = false;
        std::function<void(const std::string& value)> assign;
        std::function<void(const std::vector<std::string>& values)> assign_list;
    };
    Entry& find(const std::string& key, const std::string& origin);
    void load_file(const std::string& path);
    void load_environment(const std::map<std::string, std::string>& environment);
    [[nodiscard]] std::string nearest_variable(const std::string& name) const;

    std::vector<Entry> entries_;
};

/// This process's environment, for load().
[[nodiscard]] std::map<std::string, std::string> process_environment();

}  // namespace ftlfeed::core

#include "core/settings_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::core {

namespace {

class Reader {
public:
    explicit Reader(std::string path) : path_(std::move(path)) {}

    std::vector<FileSetting> read() {
        std::ifstream file(path_, std::ios::binary);
        if (!file) throw InvalidInput("cannot read the configuration file " + path_);
        const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        if (file.bad()) throw InvalidInput("cannot read the configuration file " + path_);
        try {
            walk(toml::parse(text, path_), "");
        } catch (const toml::parse_error& error) {
            throw InvalidInput(fmt::format("{}:{}: {}", path_, error.source().begin.line, error.description()));
        }
        // toml++ gives a table in alphabetical order; messages are about the first wrong line.
        std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.line < b.line; });
        std::vector<FileSetting> settings;
        settings.reserve(found_.size());
        for (auto& item : found_) settings.push_back(std::move(item.setting));
        return settings;
    }

private:
    struct Found {
        unsigned line = 0;
        FileSetting setting;
    };

    void walk(const toml::table& table, const std::string& prefix) {
        for (const auto& [key, node] : table) {
            const auto path = prefix.empty() ? std::string(key.str()) : prefix + '.' + std::string(key.str());
            if (const auto* inner = node.as_table()) {
                walk(*inner, path);
            } else {
                add(path, node);
            }
        }
    }

    void add(const std::string& key, const toml::node& node) {
        const auto line = node.source().begin.line;
        FileSetting setting;
        setting.key = key;
        setting.origin = fmt::format("{}:{}", path_, line);
        if (const auto* array = node.as_array()) {
            setting.is_list = true;
            for (const auto& element : *array) {
                if (!element.is_string())
                    throw InvalidInput(setting.origin + ": " + key + " must be an array of strings");
                setting.list.push_back(element.as_string()->get());
            }
        } else {
            setting.text = scalar(node, setting.origin + ": " + key);
        }
        found_.push_back({static_cast<unsigned>(line), std::move(setting)});
    }

    static std::string scalar(const toml::node& node, const std::string& where) {
        if (const auto* text = node.as_string()) return text->get();
        if (const auto* number = node.as_integer()) return std::to_string(number->get());
        if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
        if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
        throw InvalidInput(where + " must be a text, a number, true or false");
    }

    std::string path_;
    std::vector<Found> found_;
};

}  // namespace

std::vector<FileSetting> read_settings_file(const std::string& path) { return Reader(path).read(); }

}  // namespace ftlfeed::core

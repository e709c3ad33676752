#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ftlctl {

class Call;

/// What the tables say of one file at one moment. A value.
struct FileStanding {
    bool has_definition = false;
    bool is_definition_on = false;
    bool is_listed = false;
    bool is_built = false;
    bool is_retired = false;
    bool is_dirty = false;
    bool is_claimed = false;
    std::string reason;  ///< Of the mark: touch, definition, listed, rebuild, audit …
    int failures = 0;
    std::string last_error;
    std::int64_t due_in_ms = 0;               ///< Of the mark; 0 or less: due.
    std::optional<std::string> unread_touch;  ///< A record that it reads, touched and not read by the marker yet.
    bool has_cursor = false;
};

/// One sentence: why the file is dirty or clean, and what is missing where nothing moves. Pure.
[[nodiscard]] std::string explain(const FileStanding& file);

/// `ftlctl feed why`: what a file reads, how it was built, why it is dirty or not.
int feed_why(Call& call);
/// `ftlctl feed history`: its versions and what became of each at every destination.
int feed_history(Call& call);

}  // namespace ftlctl

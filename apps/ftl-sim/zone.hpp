#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace ftlfeed::sim {

/// A time zone of the system's database: g++ 12 has no std::chrono::locate_zone. Immutable.
class Zone {
public:
    /// "UTC" needs no database. Returns nothing for a name that the database does not have.
    [[nodiscard]] static std::shared_ptr<const Zone> find(const std::string& name);

    [[nodiscard]] const std::string& name() const { return name_; }
    /// How far local time is ahead of UTC at `time`.
    [[nodiscard]] std::chrono::seconds ahead(std::chrono::sys_seconds time) const;

private:
    struct Change {
        std::chrono::sys_seconds from;
        std::chrono::seconds ahead;
    };

    std::string name_;
    std::chrono::seconds first_{0};
    std::vector<Change> changes_;
};

/// "2026-06-11 19:00:00" in `zone`.
[[nodiscard]] std::string naive_text(std::chrono::sys_seconds time, const Zone& zone);
/// "2026-06-11" in `zone`.
[[nodiscard]] std::string date_text(std::chrono::sys_seconds time, const Zone& zone);
/// "2026-06-11T19:00:00Z".
[[nodiscard]] std::string utc_text(std::chrono::sys_seconds time);

}  // namespace ftlfeed::sim

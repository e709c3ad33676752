#include "zone.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>

namespace ftlfeed::sim {
namespace {

constexpr std::size_t kHeaderBytes = 44;

/// Walks over a TZif file (RFC 8536), big-endian, within its bounds.
class Bytes {
public:
    explicit Bytes(std::string content) : content_(std::move(content)) {}

    [[nodiscard]] bool has(std::size_t at, std::size_t count) const {
        return at <= content_.size() && count <= content_.size() - at;
    }
    [[nodiscard]] std::uint8_t byte(std::size_t at) const { return static_cast<std::uint8_t>(content_[at]); }
    [[nodiscard]] std::uint64_t number(std::size_t at, std::size_t width) const {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < width; ++i) value = (value << 8) | byte(at + i);
        return value;
    }
    [[nodiscard]] bool is_header(std::size_t at) const {
        return has(at, kHeaderBytes) && content_.compare(at, 4, "TZif") == 0;
    }

private:
    std::string content_;
};

/// The counts of a header, in the order in which the file has them.
struct Counts {
    std::size_t utc, standard, leap, times, types, letters;
};

Counts counts_at(const Bytes& bytes, std::size_t at) {
    const auto count = [&](std::size_t n) { return static_cast<std::size_t>(bytes.number(at + 20 + 4 * n, 4)); };
    return {count(0), count(1), count(2), count(3), count(4), count(5)};
}

bool is_safe_name(const std::string& name) {
    const auto good = [](unsigned char c) { return std::isalnum(c) || c == '/' || c == '_' || c == '-' || c == '+'; };
    return !name.empty() && name.size() < 64 && name.front() != '/' && std::all_of(name.begin(), name.end(), good);
}

struct Civil {
    std::chrono::year_month_day day;
    std::chrono::hh_mm_ss<std::chrono::seconds> time;
};

Civil civil(std::chrono::sys_seconds time) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    return {std::chrono::year_month_day{day}, std::chrono::hh_mm_ss{time - day}};
}

std::string date_of(const Civil& moment) {
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(moment.day.year()),
                       static_cast<unsigned>(moment.day.month()), static_cast<unsigned>(moment.day.day()));
}

std::string time_of(const Civil& moment) {
    return fmt::format("{:02}:{:02}:{:02}", moment.time.hours().count(), moment.time.minutes().count(),
                       moment.time.seconds().count());
}

}  // namespace

std::shared_ptr<const Zone> Zone::find(const std::string& name) {
    auto zone = std::make_shared<Zone>();
    zone->name_ = name;
    if (name == "UTC") return zone;
    if (!is_safe_name(name)) return nullptr;
    std::ifstream file("/usr/share/zoneinfo/" + name, std::ios::binary);
    const Bytes bytes(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!bytes.is_header(0)) return nullptr;

    // The first block has 32-bit times; the second one, 64-bit, is the one to read.
    const auto old = counts_at(bytes, 0);
    const std::size_t at =
        kHeaderBytes + old.times * 5 + old.types * 6 + old.letters + old.leap * 8 + old.standard + old.utc;
    if (!bytes.is_header(at)) return nullptr;
    const auto counts = counts_at(bytes, at);
    const std::size_t times = at + kHeaderBytes;
    const std::size_t kinds = times + counts.times * 8;
    const std::size_t types = kinds + counts.times;
    if (counts.types == 0 || !bytes.has(types, counts.types * 6)) return nullptr;

    const auto ahead_of = [&](std::size_t type) {
        return std::chrono::seconds{static_cast<std::int32_t>(bytes.number(types + type * 6, 4))};
    };
    zone->first_ = ahead_of(0);
    for (std::size_t i = 0; i < counts.times; ++i) {
        if (bytes.byte(kinds + i) >= counts.types) return nullptr;
        const auto from = static_cast<std::int64_t>(bytes.number(times + i * 8, 8));
        zone->changes_.push_back(
            {std::chrono::sys_seconds{std::chrono::seconds{from}}, ahead_of(bytes.byte(kinds + i))});
    }
    return zone;
}

std::chrono::seconds Zone::ahead(std::chrono::sys_seconds time) const {
    const auto later = std::upper_bound(changes_.begin(), changes_.end(), time,
                                        [](auto moment, const Change& change) { return moment < change.from; });
    return later == changes_.begin() ? first_ : std::prev(later)->ahead;
}

std::string naive_text(std::chrono::sys_seconds time, const Zone& zone) {
    const auto local = civil(time + zone.ahead(time));
    return date_of(local) + " " + time_of(local);
}

std::string date_text(std::chrono::sys_seconds time, const Zone& zone) {
    return date_of(civil(time + zone.ahead(time)));
}

std::string utc_text(std::chrono::sys_seconds time) {
    const auto utc = civil(time);
    return date_of(utc) + "T" + time_of(utc) + "Z";
}

}  // namespace ftlfeed::sim

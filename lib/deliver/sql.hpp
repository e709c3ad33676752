#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <pqxx/result>
#include <pqxx/strconv>
#include <string>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/deliver/assignment_id.hpp>
#include <ftlfeed/store/value.hpp>

namespace ftlfeed::deliver {

/// Stamps travel as whole microseconds since 1970, which is what Postgres keeps: `kMicros(column)` in SQL.
inline std::string micros_sql(const std::string& expression) {
    return "(extract(epoch FROM " + expression + ") * 1000000)::bigint";
}
inline core::SystemTime from_micros(std::int64_t micros) {
    return core::SystemTime(std::chrono::duration_cast<core::SystemTime::duration>(std::chrono::microseconds(micros)));
}
inline std::int64_t to_micros(core::SystemTime time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

/// A `bigint[]` parameter.
inline std::string id_array(const std::vector<AssignmentId>& ids) {
    std::string text = "{";
    for (const auto id : ids) {
        if (text.size() > 1) text += ',';
        text += std::to_string(id.value);
    }
    return text + "}";
}

inline std::optional<std::string> text_or_none(const pqxx::field& field) {
    return field.is_null() ? std::nullopt : std::optional(field.as<std::string>());
}
inline std::string text_or_empty(const pqxx::field& field) {
    return field.is_null() ? std::string() : field.as<std::string>();
}
inline std::string bytes_or_empty(const pqxx::field& field) {
    return field.is_null() ? std::string() : store::from_bytea(field.c_str());
}

}  // namespace ftlfeed::deliver

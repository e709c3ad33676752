#pragma once

#include <cstdint>
#include <optional>
#include <pqxx/result>
#include <pqxx/strconv>
#include <string>
#include <vector>

#include <ftlfeed/deliver/assignment_id.hpp>
#include <ftlfeed/store/value.hpp>

namespace ftlfeed::deliver {

using store::from_micros;
using store::micros_sql;
using store::to_micros;

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

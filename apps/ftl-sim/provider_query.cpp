#include "provider_query.hpp"

#include <utility>

#include "parsing.hpp"

namespace ftlfeed::sim {
namespace {

constexpr std::size_t kPerPageMax = 50;
constexpr std::size_t kPerPagePopulate = 1000;

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            plain += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            i += 2;
        } else {
            plain += text[i] == '+' ? ' ' : text[i];
        }
    }
    return plain;
}

std::optional<ApiError> read_filters(std::string_view text, Query& query) {
    while (!text.empty()) {
        auto filter = take_until(text, ";");
        const std::string name(take_until(filter, ":"));
        if (name == "populate") {
            query.includes = {};
            query.per_page = kPerPagePopulate;
            continue;
        }
        std::set<std::int64_t> ids;
        while (!filter.empty()) {
            const auto id = whole_number<std::int64_t>(take_until(filter, ","));
            if (!id) return ApiError{ApiCode::kInvalidQueryParameter, "filters"};
            ids.insert(*id);
        }
        if (ids.empty()) return ApiError{ApiCode::kFilterNotApplicable, name};
        if (name == "idAfter") {
            query.id_after = *ids.begin();
        } else if (name == "fixtureLeagues") {
            query.leagues = std::move(ids);
        } else if (name == "fixtureSeasons") {
            query.seasons = std::move(ids);
        } else {
            return ApiError{ApiCode::kFilterNotApplicable, name};
        }
    }
    return std::nullopt;
}

/// Reads one parameter into the query. `filters` is read after all others: populate switches includes off.
std::optional<ApiError> read_parameter(const std::string& name, const std::string& value, const QueryRules& rules,
                                       Query& query) {
    const ApiError invalid{ApiCode::kInvalidQueryParameter, name};
    if (name == "api_token" || name == "filters") return std::nullopt;
    if (name == "include") {
        auto includes = parse_includes(value, rules.plan_lacks);
        if (const auto* error = std::get_if<ApiError>(&includes)) return *error;
        query.includes = std::get<Includes>(std::move(includes));
        return std::nullopt;
    }
    if (name == "timezone") {
        query.zone = Zone::find(value);
        return query.zone ? std::nullopt : std::optional(invalid);
    }
    if (name == "page") {
        query.page = whole_number<std::size_t>(value).value_or(0);
        return query.page > 0 ? std::nullopt : std::optional(invalid);
    }
    if (name == "per_page") {
        query.per_page = whole_number<std::size_t>(value).value_or(0);
        if (query.per_page > 0 && query.per_page <= kPerPageMax) return std::nullopt;
        return ApiError{ApiCode::kPaginationLimit, name};
    }
    if (name == "order" && (value == "asc" || value == "desc")) {
        query.descending = value == "desc";
        return std::nullopt;
    }
    return name == "locale" && value == "en" ? std::nullopt : std::optional(invalid);
}

std::string query_text(const Parameters& parameters) {
    std::string text;
    for (const auto& [name, value] : parameters) {
        if (name == "api_token" || name == "page") continue;
        text += name + "=" + value + "&";
    }
    return text;
}

}  // namespace

Target parse_target(std::string_view target) {
    Target parsed;
    parsed.path = decoded(take_until(target, "?"));
    while (!target.empty()) {
        auto pair = take_until(target, "&");
        const auto name = decoded(take_until(pair, "="));
        if (!name.empty()) parsed.parameters[name] = decoded(pair);
    }
    return parsed;
}

std::variant<Query, ApiError> read_query(const Parameters& parameters, const QueryRules& rules) {
    Query query;
    query.zone = Zone::find("UTC");
    query.per_page = rules.per_page;
    for (const auto& [name, value] : parameters) {
        if (auto error = read_parameter(name, value, rules, query)) return *error;
    }
    if (const auto filters = parameters.find("filters"); filters != parameters.end()) {
        if (auto error = read_filters(filters->second, query)) return *error;
    }
    query.again = query_text(parameters);
    return query;
}

}  // namespace ftlfeed::sim

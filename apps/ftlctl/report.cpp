#include <ftlctl/report.hpp>

#include <algorithm>
#include <cstdio>

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <pqxx/result>

namespace ftlctl {

namespace {

// Types by their number in pg_type; every other one is shown as the text that Postgres sends.
constexpr pqxx::oid kBool = 16;
constexpr pqxx::oid kInt8 = 20;
constexpr pqxx::oid kInt2 = 21;
constexpr pqxx::oid kInt4 = 23;
constexpr pqxx::oid kFloat4 = 700;
constexpr pqxx::oid kFloat8 = 701;
constexpr pqxx::oid kTimestampTz = 1184;
constexpr pqxx::oid kNumeric = 1700;

/// "2026-06-11 19:00:00.5+00" as "2026-06-11T19:00:00.500Z": every session of the store is in UTC.
std::string iso_time(std::string text) {
    if (!text.ends_with("+00")) return text;
    text.resize(text.size() - 3);
    std::ranges::replace(text, ' ', 'T');
    const auto dot = text.find('.');
    auto fraction = dot == std::string::npos ? "" : text.substr(dot + 1);
    fraction.resize(3, '0');
    return text.substr(0, dot) + "." + fraction + "Z";
}

Cell cell_of(const pqxx::field& field) {
    if (field.is_null()) return {};
    switch (field.type()) {
        case kBool:
            return field.as<bool>();
        case kInt8:
        case kInt2:
        case kInt4:
            return field.as<std::int64_t>();
        case kFloat4:
        case kFloat8:
        case kNumeric:
            return field.as<double>();
        case kTimestampTz:
            return iso_time(field.as<std::string>());
        default:
            return std::string(field.c_str(), field.size());
    }
}

// A text from a database may hold anything; on a terminal a control character could rewrite the screen.
std::string printable(const std::string& text) {
    std::string clean = text;
    std::ranges::replace_if(
        clean, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
    return clean;
}

std::string text_of(const Cell& cell) {
    struct Show {
        std::string operator()(std::monostate) const { return "-"; }
        std::string operator()(bool value) const { return value ? "yes" : "no"; }
        std::string operator()(std::int64_t value) const { return std::to_string(value); }
        std::string operator()(double value) const {
            char text[64];
            std::snprintf(text, sizeof text, "%.1f", value);
            return text;
        }
        std::string operator()(const std::string& value) const { return printable(value); }
    };
    return std::visit(Show{}, cell);
}

/// Characters, not bytes: names are in many scripts.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

void write_text(JsonWriter& writer, const std::string& text) {
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void write_cell(JsonWriter& writer, const Cell& cell) {
    struct Write {
        JsonWriter& to;
        void operator()(std::monostate) const { to.Null(); }
        void operator()(bool value) const { to.Bool(value); }
        void operator()(std::int64_t value) const { to.Int64(value); }
        void operator()(double value) const { to.Double(value); }
        void operator()(const std::string& value) const { write_text(to, value); }
    };
    std::visit(Write{writer}, cell);
}

void print_line(std::ostream& out, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
    std::string line;
    for (std::size_t place = 0; place < cells.size(); ++place) {
        line += cells[place];
        if (place + 1 < cells.size()) line.append(widths[place] - width_of(cells[place]) + 2, ' ');
    }
    out << line << '\n';
}

void print_table(std::ostream& out, const std::vector<std::string>& columns,
                 const std::vector<std::vector<Cell>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& column : columns) widths.push_back(width_of(column));
    std::vector<std::vector<std::string>> lines;
    for (const auto& row : rows) {
        auto& line = lines.emplace_back();
        for (std::size_t place = 0; place < row.size(); ++place) {
            line.push_back(text_of(row[place]));
            widths[place] = std::max(widths[place], width_of(line.back()));
        }
    }
    print_line(out, columns, widths);
    for (const auto& line : lines) print_line(out, line, widths);
}

}  // namespace

void Report::fact(std::string name, Cell value) { facts_.emplace_back(std::move(name), std::move(value)); }

void Report::fact(std::string name, const pqxx::field& value) { fact(std::move(name), cell_of(value)); }

void Report::table(std::string name, std::vector<std::string> columns, std::vector<std::vector<Cell>> rows) {
    tables_.push_back({std::move(name), std::move(columns), std::move(rows)});
}

void Report::table(std::string name, const pqxx::result& rows) {
    Table table{std::move(name), {}, {}};
    for (pqxx::row::size_type column = 0; column < rows.columns(); ++column) {
        table.columns.emplace_back(rows.column_name(column));
    }
    for (const auto& row : rows) {
        auto& cells = table.rows.emplace_back();
        for (const auto& field : row) cells.push_back(cell_of(field));
    }
    tables_.push_back(std::move(table));
}

void Report::print_text(std::ostream& out) const {
    if (raw_) {
        out << *raw_;
        return;
    }
    for (const auto& [name, value] : facts_) out << name << ": " << text_of(value) << '\n';
    const bool has_titles = tables_.size() > 1 || !facts_.empty();
    for (const auto& table : tables_) {
        if (has_titles) out << '\n' << table.name << '\n';
        if (table.rows.empty()) {
            out << (has_titles ? "none" : "no " + table.name) << '\n';
        } else {
            print_table(out, table.columns, table.rows);
        }
    }
}

void Report::print_json(std::ostream& out) const {
    rapidjson::StringBuffer buffer;
    JsonWriter writer(buffer);
    writer.StartObject();
    for (const auto& [name, value] : facts_) {
        write_text(writer, name);
        write_cell(writer, value);
    }
    for (const auto& table : tables_) {
        write_text(writer, table.name);
        writer.StartArray();
        for (const auto& row : table.rows) {
            writer.StartObject();
            for (std::size_t place = 0; place < row.size(); ++place) {
                write_text(writer, table.columns[place]);
                write_cell(writer, row[place]);
            }
            writer.EndObject();
        }
        writer.EndArray();
    }
    if (raw_) {
        writer.Key("body");
        write_text(writer, *raw_);
    }
    writer.EndObject();
    out << buffer.GetString() << '\n';
}

}  // namespace ftlctl

#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pqxx {
class field;
class result;
}  // namespace pqxx

namespace ftlctl {

/// One value of an answer; monostate is "none".
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// What a command answers: single facts and tables, printed as text for people or as one JSON object for programs.
/// Threads: confined to one thread.
class Report {
public:
    void fact(std::string name, Cell value);
    /// From a query; a timestamptz is shown in UTC with milliseconds, as in ISO 8601.
    void fact(std::string name, const pqxx::field& value);
    /// A table with its rows; a name of its own each.
    void table(std::string name, std::vector<std::string> columns, std::vector<std::vector<Cell>> rows);
    /// A table from a query: its columns are named as the query names them.
    void table(std::string name, const pqxx::result& rows);
    /// A text that is printed as it is, instead of everything else (a file's body).
    void raw(std::string text) { raw_ = std::move(text); }

    void print_text(std::ostream& out) const;
    void print_json(std::ostream& out) const;

private:
    struct Table {
        std::string name;
        std::vector<std::string> columns;
        std::vector<std::vector<Cell>> rows;
    };
    std::vector<std::pair<std::string, Cell>> facts_;
    std::vector<Table> tables_;
    std::optional<std::string> raw_;
};

}  // namespace ftlctl

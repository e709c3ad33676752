#include <ftlfeed/build/definition.hpp>

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/store/value.hpp>

#include "build/definition_row.hpp"

namespace ftlfeed::build {

FeedDefinition definition_of(const pqxx::row& row, int first, const std::string& feed_type) {
    return {feed_type,
            row[first].as<std::string>(),
            row[first + 1].as<std::string>(),
            row[first + 2].as<std::string>(),
            row[first + 3].as<std::string>(),
            store::from_text_array(row[first + 4].as<std::string>()),
            row[first + 5].as<bool>()};
}

std::optional<FeedDefinition> load_definition(pqxx::transaction_base& tx, const std::string& feed_type) {
    const auto rows =
        tx.exec_params(std::string("SELECT ") + kDefinitionColumns + " FROM feed_definition f WHERE f.feed_type = $1",
                       store::checked(feed_type));
    if (rows.empty()) return std::nullopt;
    return definition_of(rows[0], 0, feed_type);
}

}  // namespace ftlfeed::build

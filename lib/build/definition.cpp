#include <ftlfeed/build/definition.hpp>

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/store/value.hpp>

namespace ftlfeed::build {

std::optional<FeedDefinition> load_definition(pqxx::transaction_base& tx, const std::string& feed_type) {
    const auto rows = tx.exec_params(
        "SELECT resolver, coalesce(body_sql, ''), coalesce(keys_sql, ''), content_type, volatile_pointers, is_on"
        " FROM feed_definition WHERE feed_type = $1",
        store::checked(feed_type));
    if (rows.empty()) return std::nullopt;
    const auto row = rows[0];
    return FeedDefinition{feed_type,
                          row[0].as<std::string>(),
                          row[1].as<std::string>(),
                          row[2].as<std::string>(),
                          row[3].as<std::string>(),
                          store::from_text_array(row[4].as<std::string>()),
                          row[5].as<bool>()};
}

}  // namespace ftlfeed::build

#pragma once

#include <exception>
#include <string>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::store {

/// A Postgres error by its SQLSTATE (empty = none known). Pure; a table test has every class.
/// Source: PostgreSQL documentation, appendix A.
[[nodiscard]] core::Failure sqlstate_failure(const std::string& sqlstate, const std::string& message);

/// What a libpqxx exception means. The one reader of pqxx's exceptions. `is_open`: does the connection still stand? Its
/// text is kept without `password`.
[[nodiscard]] core::Failure pg_failure(const std::exception& error, bool is_open, const std::string& password);

}  // namespace ftlfeed::store

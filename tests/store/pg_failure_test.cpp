#include <doctest/doctest.h>

#include <pqxx/except>
#include <type_traits>

#include "store/pg_failure.hpp"

using namespace ftlfeed::store;
using ftlfeed::core::Failure;
using Kind = Failure::Kind;

namespace {

/// libpqxx 7 wants the query too.
template <typename Error>
Error made() {
    if constexpr (std::is_constructible_v<Error, const char*>) {
        return Error("x");
    } else {
        return Error("x", "q");
    }
}

}  // namespace

TEST_CASE("store.pg_failure: each SQLSTATE has its meaning") {
    struct Row {
        const char* sqlstate;
        Kind kind;
        bool is_lost;
    };
    for (const auto& [sqlstate, kind, is_lost] : {
             Row{"08000", Kind::kUnavailable, true},  Row{"08006", Kind::kUnavailable, true},
             Row{"0A000", Kind::kPermanent, false},   Row{"21000", Kind::kPermanent, false},
             Row{"22001", Kind::kPermanent, false},   Row{"22P02", Kind::kPermanent, false},
             Row{"23502", Kind::kPermanent, false},   Row{"23505", Kind::kPermanent, false},
             Row{"25006", Kind::kUnavailable, true},  Row{"25P02", Kind::kPermanent, false},
             Row{"25P03", Kind::kUnavailable, true},  Row{"28P01", Kind::kPermanent, false},
             Row{"3D000", Kind::kPermanent, false},   Row{"40000", Kind::kBusy, false},
             Row{"40001", Kind::kBusy, false},        Row{"40003", Kind::kInDoubt, false},
             Row{"40P01", Kind::kBusy, false},        Row{"42601", Kind::kPermanent, false},
             Row{"42P01", Kind::kPermanent, false},   Row{"53100", Kind::kUnavailable, false},
             Row{"53200", Kind::kUnavailable, false}, Row{"53300", Kind::kUnavailable, true},
             Row{"54000", Kind::kPermanent, false},   Row{"55006", Kind::kBusy, false},
             Row{"55P03", Kind::kBusy, false},        Row{"57014", Kind::kBusy, false},
             Row{"57P01", Kind::kUnavailable, true},  Row{"57P02", Kind::kUnavailable, true},
             Row{"57P03", Kind::kUnavailable, true},  Row{"57P04", Kind::kPermanent, false},
             Row{"58030", Kind::kUnavailable, false}, Row{"P0001", Kind::kPermanent, false},
             Row{"XX000", Kind::kUnavailable, false}, Row{"ZZ999", Kind::kUnavailable, false},
         }) {
        CAPTURE(sqlstate);
        const auto failure = sqlstate_failure(sqlstate, "x");
        CHECK(failure.kind() == kind);
        CHECK(failure.connection_lost() == is_lost);
        CHECK(failure.native_code() == sqlstate);
    }
}

TEST_CASE("store.pg_failure: each of libpqxx's exceptions has its meaning") {
    const auto of = [](const std::exception& error, bool is_open = true) { return pg_failure(error, is_open, ""); };
    CHECK(of(pqxx::in_doubt_error("x")).in_doubt());
    CHECK(of(pqxx::in_doubt_error("x")).connection_lost());
    CHECK(of(pqxx::broken_connection("x")).kind() == Kind::kUnavailable);
    CHECK(of(pqxx::broken_connection("x")).connection_lost());
    CHECK(of(pqxx::too_many_connections("x")).native_code() == "53300");
    CHECK(of(made<pqxx::deadlock_detected>()).native_code() == "40P01");
    CHECK(of(made<pqxx::serialization_failure>()).native_code() == "40001");
    CHECK(of(made<pqxx::statement_completion_unknown>()).in_doubt());
    CHECK(of(pqxx::transaction_rollback("x")).kind() == Kind::kBusy);
    CHECK(of(pqxx::unique_violation("x", "q", "23505")).kind() == Kind::kPermanent);
    CHECK(of(pqxx::sql_error("x", "q", "57P01")).connection_lost());
    CHECK(of(pqxx::sql_error("x", "q", "XX000"), false).connection_lost());
    CHECK(of(pqxx::usage_error("x")).kind() == Kind::kPermanent);
    CHECK(of(pqxx::conversion_error("x")).kind() == Kind::kPermanent);
    CHECK(of(pqxx::failure("x"), false).connection_lost());
}

TEST_CASE("store.pg_failure: the text is one line without the statement and without the password") {
    const auto failure = pg_failure(
        pqxx::sql_error("ERROR:  no hunter2\nDETAIL: hunter2 hunter2\n", "SELECT 'q'", "22000"), true, "hunter2");
    CHECK(std::string(failure.what()) == "Postgres: ERROR:  no *** DETAIL: *** ***");
}

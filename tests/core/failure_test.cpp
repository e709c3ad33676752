#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>

using namespace ftlfeed::core;
using std::chrono::milliseconds;

TEST_CASE("core.failure: each kind answers its questions") {
    CHECK(Failure::unavailable("a").may_retry());
    CHECK(Failure::busy("a").may_retry());
    CHECK(Failure::in_doubt("a").may_retry());
    CHECK_FALSE(Failure::permanent("a").may_retry());
    CHECK(Failure::in_doubt("a").in_doubt());
    CHECK_FALSE(Failure::busy("a").in_doubt());
    CHECK_FALSE(Failure::unavailable("a").connection_lost());
    CHECK(Failure::unavailable("a").with_connection_lost().connection_lost());
}

TEST_CASE("core.failure: a word in front keeps all the answers") {
    const auto inner =
        Failure::in_doubt("lost").with_native_code("57P01").with_retry_after(milliseconds(120)).with_connection_lost();
    const auto outer = inner.within("client a");
    CHECK(std::string(outer.what()) == "client a: lost");
    CHECK(outer.kind() == Failure::Kind::kInDoubt);
    CHECK(outer.native_code() == "57P01");
    CHECK(outer.retry_after() == milliseconds(120));
    CHECK(outer.connection_lost());
    CHECK(outer.where().line() == inner.where().line());
}

TEST_CASE("core.failure: a text from outside is cut to 2000 bytes and says so") {
    const Failure failure = Failure::unavailable(std::string(5000, 'x'));
    const std::string what = failure.what();
    CHECK(what.size() <= 2000);
    CHECK(what.ends_with(" bytes cut]"));
    CHECK(std::string(failure.within(std::string(3000, 'y')).what()).size() <= 2000);
}

TEST_CASE("core.failure: it knows where it was made") {
    const Failure failure = Failure::busy("a");
    CHECK(std::string(failure.where().file_name()).ends_with("failure_test.cpp"));
}

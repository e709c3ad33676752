#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/value.hpp>

using namespace ftlfeed;
using namespace ftlfeed::store;

TEST_CASE("store.value: a text with a NUL is refused and the place is named") {
    CHECK(checked(std::string("Müller")) == "Müller");
    CHECK(checked(std::string()).empty());
    CHECK_THROWS_WITH_AS(static_cast<void>(checked(std::string("a\0b", 3))), "text holds a NUL at byte 1",
                         core::InvalidInput);
    CHECK_THROWS_AS(static_cast<void>(checked(std::string_view("\0", 1))), core::InvalidInput);
    CHECK_THROWS_AS(static_cast<void>(text_array({"a", std::string("b\0", 2)})), core::InvalidInput);
}

TEST_CASE("store.value: bytes go to bytea's text and come back") {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    CHECK(bytea(std::string_view("\0\x0F\xFF", 3)) == "\\x000fff");
    CHECK(bytea(std::vector<std::uint8_t>{0, 255}) == "\\x00ff");
    CHECK(from_bytea(bytea(std::string_view(all))) == all);
    CHECK(from_bytea("\\xAbCd") == "\xAB\xCD");
    CHECK(from_bytea("\\x").empty());
    for (const char* bad : {"", "00", "\\x0", "\\x0g", "\\000"})
        CHECK_THROWS_AS(static_cast<void>(from_bytea(bad)), core::Failure);
}

TEST_CASE("store.value: a text array goes to its text and comes back") {
    for (const std::vector<std::string>& values :
         {std::vector<std::string>{}, {""}, {"a"}, {"a", "b"}, {"\"", "\\", "{", "}", ",", " ", "NULL", "ä\n"}}) {
        CHECK(from_text_array(text_array(values)) == values);
    }
    CHECK(text_array({"a\"b\\c"}) == R"({"a\"b\\c"})");
    CHECK(from_text_array("{a,b c}") == std::vector<std::string>{"a", "b c"});
    for (const char* bad : {"", "{", "}", "{a", "a}", "{a,}", "{,a}", "{a}x", "{NULL}", "{{a}}", "{\"a", "{\"a\\"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(static_cast<void>(from_text_array(bad)), core::Failure);
    }
}

TEST_CASE("store.value: a stamp keeps its microseconds on the way to SQL and back") {
    const std::int64_t micros = 1'780'000'000'123'456;
    CHECK(to_micros(from_micros(micros)) == micros);
    CHECK(to_micros(core::SystemTime{}) == 0);
    CHECK(from_micros(-1) < core::SystemTime{});
}

#include <doctest/doctest.h>

#include <string>

#include <ftlfeed/core/text.hpp>

using namespace ftlfeed::core;

TEST_CASE("core.text: UTF-8 is judged by the table of RFC 3629") {
    for (const char* good : {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                             "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "Krychowiak Müller 伊東"}) {
        CAPTURE(good);
        CHECK(is_utf8(good));
    }
    for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xE0\xA0",
                            "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80", "\xF4\x90\x80\x80",
                            "\xF5\x80\x80\x80", "\xFE", "\xFF", "ok\xC3"}) {
        CHECK_FALSE(is_utf8(bad));
    }
}

TEST_CASE("core.text: a JSON string escapes what would break a line or a string") {
    CHECK(json_quoted("a\"b\\c") == R"("a\"b\\c")");
    CHECK(json_quoted(std::string("\n\r\t\0\x1B", 5)) == "\"\\n\\r\\t\\u0000\\u001b\"");
    CHECK(json_quoted("\x7F\xC2\x9B\xE2\x80\xA8") == R"("\u007f\u009b\u2028")");
    CHECK(json_quoted("Größe 伊") == "\"Größe 伊\"");
}

TEST_CASE("core.text: a JSON string is valid UTF-8 whatever the bytes were") {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    const auto quoted = json_quoted(all);
    CHECK(is_utf8(quoted));
    CHECK(json_quoted("a\xFF\xC3z") == "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"");
}

TEST_CASE("core.text: shortening keeps the limit and cuts no character in two") {
    const std::string text = "0123456789012345678901234567890123456789";
    CHECK(shorten(text, text.size()) == text);
    for (std::size_t limit = 0; limit < 45; ++limit) {
        const auto cut = shorten("äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü", limit);
        CAPTURE(limit);
        CHECK(cut.size() <= limit);
        CHECK(is_utf8(cut));
    }
    CHECK(shorten(std::string(100, 'x'), 50) == std::string(31, 'x') + "... [69 bytes cut]");
}

TEST_CASE("core.text: times are written in UTC with milliseconds") {
    using namespace std::chrono;
    const SystemTime time = sys_days(2026y / June / 11) + hours(19) + milliseconds(123);
    CHECK(iso_time(time) == "2026-06-11T19:00:00.123Z");
    CHECK(iso_time(time + microseconds(900)) == "2026-06-11T19:00:00.123Z");
    CHECK(iso_time(SystemTime{} - milliseconds(1)) == "1969-12-31T23:59:59.999Z");
}

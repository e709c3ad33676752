#include <ftlfeed/core/text.hpp>

#include <fmt/format.h>

#include <cstdint>

namespace ftlfeed::core {

namespace {

struct Character {
    std::size_t bytes = 0;  ///< 0: not UTF-8 at this place.
    std::uint32_t code = 0;
};

/// The UTF-8 character that `text` begins with (RFC 3629, section 4: the table of well-formed sequences).
Character first_character(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    const auto lead = byte(0);
    if (lead < 0x80) return {1, lead};
    if (lead < 0xC2 || lead > 0xF4) return {};
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (text.size() < length) return {};
    auto code = lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) return {};
        code = code << 6U | (byte(i) & 0x3FU);
    }
    const bool over_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (over_long || surrogate || code > 0x10FFFF) return {};
    return {length, code};
}

/// C0 and C1 controls, DEL, and the separators that some readers take for the end of a line.
bool is_control(std::uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029;
}

void append_escaped(std::string& out, std::uint32_t code) {
    switch (code) {
        case '"':
            out += "\\\"";
            return;
        case '\\':
            out += "\\\\";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default:
            out += fmt::format("\\u{:04x}", code);
    }
}

}  // namespace

std::string iso_time(SystemTime time) {
    using namespace std::chrono;
    const auto whole = floor<milliseconds>(time);
    const auto day = floor<days>(whole);
    const year_month_day date(day);
    const hh_mm_ss clock(whole - day);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int(date.year()), unsigned(date.month()),
                       unsigned(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                       clock.subseconds().count());
}

std::string shorten(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) return std::string(text);
    // Room for the note, whatever number stands in it; a text too short for one is only cut.
    const auto note_bytes_max = fmt::formatted_size("... [{} bytes cut]", text.size());
    const bool has_note = bytes_max >= 2 * note_bytes_max;
    std::size_t kept = has_note ? bytes_max - note_bytes_max : bytes_max;
    // Back to the border of a character; more than 3 continuation bytes in a row are no UTF-8 anyway.
    for (int i = 0; i < 3 && kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0U) == 0x80; ++i) --kept;
    auto out = std::string(text.substr(0, kept));
    if (has_note) out += fmt::format("... [{} bytes cut]", text.size() - kept);
    return out;
}

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto bytes = first_character(text).bytes;
        if (bytes == 0) return false;
        text.remove_prefix(bytes);
    }
    return true;
}

std::string json_quoted(std::string_view text) {
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    std::string out = "\"";
    out.reserve(text.size() + 2);
    while (!text.empty()) {
        const auto [bytes, code] = first_character(text);
        if (bytes == 0) {
            out += kReplacement;
            text.remove_prefix(1);
            continue;
        }
        if (is_control(code) || code == '"' || code == '\\') {
            append_escaped(out, code);
        } else {
            out += text.substr(0, bytes);
        }
        text.remove_prefix(bytes);
    }
    out += '"';
    return out;
}

}  // namespace ftlfeed::core

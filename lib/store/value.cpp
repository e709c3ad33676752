#include <ftlfeed/store/value.hpp>

#include <chrono>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>

namespace ftlfeed::store {

namespace {

void refuse_nul(std::string_view text) {
    const auto at = text.find('\0');
    if (at != std::string_view::npos) throw core::InvalidInput("text holds a NUL at byte " + std::to_string(at));
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    throw core::Failure::permanent("not a bytea in hex form");
}

std::string hex_form(const char* bytes, std::size_t size) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "\\x";
    text.reserve(2 + 2 * size);
    for (std::size_t i = 0; i < size; ++i) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

/// Reads Postgres's text form of a one-dimensional array.
class ArrayReader {
public:
    explicit ArrayReader(std::string_view text) : text_(text) {}

    std::vector<std::string> read() {
        std::vector<std::string> values;
        expect('{');
        if (peek() != '}') {
            do values.push_back(element());
            while (accept(','));
        }
        expect('}');
        if (!text_.empty()) refuse();
        return values;
    }

private:
    [[noreturn]] static void refuse() {
        throw core::Failure::permanent("not a one-dimensional text array without NULL");
    }
    [[nodiscard]] char peek() const { return text_.empty() ? '\0' : text_.front(); }
    char next() {
        if (text_.empty()) refuse();
        const char c = text_.front();
        text_.remove_prefix(1);
        return c;
    }
    bool accept(char c) {
        if (peek() != c || text_.empty()) return false;
        text_.remove_prefix(1);
        return true;
    }
    void expect(char c) {
        if (!accept(c)) refuse();
    }
    std::string element() { return accept('"') ? quoted() : bare(); }
    std::string quoted() {
        std::string value;
        for (char c = next(); c != '"'; c = next()) value += c == '\\' ? next() : c;
        return value;
    }
    std::string bare() {
        std::string value;
        while (!text_.empty() && peek() != ',' && peek() != '}') {
            const char c = next();
            if (c == '{' || c == '"') refuse();
            value += c == '\\' ? next() : c;
        }
        if (value.empty() || value == "NULL") refuse();
        return value;
    }

    std::string_view text_;
};

}  // namespace

const std::string& checked(const std::string& text) {
    refuse_nul(text);
    return text;
}

std::string checked(std::string_view text) {
    refuse_nul(text);
    return std::string(text);
}

std::string bytea(std::string_view bytes) { return hex_form(bytes.data(), bytes.size()); }

std::string bytea(const std::vector<std::uint8_t>& bytes) {
    return hex_form(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string from_bytea(std::string_view text) {
    if (!text.starts_with("\\x") || text.size() % 2 != 0) throw core::Failure::permanent("not a bytea in hex form");
    std::string bytes;
    bytes.reserve(text.size() / 2 - 1);
    for (std::size_t i = 2; i < text.size(); i += 2) {
        bytes += static_cast<char>(hex_digit(text[i]) * 16 + hex_digit(text[i + 1]));
    }
    return bytes;
}

std::string text_array(const std::vector<std::string>& values) {
    std::string text = "{";
    for (const auto& value : values) {
        refuse_nul(value);
        if (text.size() > 1) text += ',';
        text += '"';
        for (const char c : value) {
            if (c == '"' || c == '\\') text += '\\';
            text += c;
        }
        text += '"';
    }
    return text + '}';
}

std::vector<std::string> from_text_array(std::string_view text) { return ArrayReader(text).read(); }

std::string micros_sql(const std::string& expression) {
    return "(extract(epoch FROM " + expression + ") * 1000000)::bigint";
}

core::SystemTime from_micros(std::int64_t micros) {
    return core::SystemTime(std::chrono::duration_cast<core::SystemTime::duration>(std::chrono::microseconds(micros)));
}

std::int64_t to_micros(core::SystemTime time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace ftlfeed::store

#include "capture/json_text.hpp"

#include <cctype>

namespace ftlfeed::capture {
namespace {

/// Walks over valid JSON without reading its values. Memory safe on any text: it stops at the end.
class Walker {
public:
    explicit Walker(std::string_view text) : rest_(text) {}

    /// Takes the next value off the front.
    std::string_view take_value() {
        skip_blanks();
        std::size_t length = 0;
        if (front() == '"') {
            length = string_length(0);
        } else if (front() == '{' || front() == '[') {
            length = nested_length();
        } else {
            while (length < rest_.size() &&
                   std::string_view(",]}: \t\r\n").find(rest_[length]) == std::string_view::npos)
                ++length;
        }
        const auto value = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return value;
    }

    /// Steps over `mark` when it comes next.
    bool take(char mark) {
        skip_blanks();
        if (front() != mark) return false;
        rest_.remove_prefix(1);
        return true;
    }

private:
    [[nodiscard]] char front() const { return rest_.empty() ? '\0' : rest_.front(); }

    void skip_blanks() {
        while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) rest_.remove_prefix(1);
    }

    /// From the quote at `from` to behind its partner.
    [[nodiscard]] std::size_t string_length(std::size_t from) const {
        for (std::size_t at = from + 1; at < rest_.size(); ++at) {
            if (rest_[at] == '\\') {
                ++at;
            } else if (rest_[at] == '"') {
                return at + 1 - from;
            }
        }
        return rest_.size() - from;
    }

    [[nodiscard]] std::size_t nested_length() const {
        int depth = 0;
        for (std::size_t at = 0; at < rest_.size(); ++at) {
            const char c = rest_[at];
            if (c == '"') {
                at += string_length(at) - 1;
            } else if (c == '{' || c == '[') {
                ++depth;
            } else if ((c == '}' || c == ']') && --depth == 0) {
                return at + 1;
            }
        }
        return rest_.size();
    }

    std::string_view rest_;
};

/// The value of the first member of that name, as a tree's look-up finds it; empty when there is none.
std::string_view member(std::string_view object, std::string_view quoted_name) {
    Walker walker(object);
    if (!walker.take('{')) return {};
    do {
        const auto name = walker.take_value();
        if (name.empty() || !walker.take(':')) return {};
        const auto value = walker.take_value();
        if (name == quoted_name) return value;
    } while (walker.take(','));
    return {};
}

std::vector<std::string_view> elements(std::string_view array) {
    std::vector<std::string_view> values;
    Walker walker(array);
    if (!walker.take('[') || walker.take(']')) return values;
    do {
        values.push_back(walker.take_value());
    } while (!values.back().empty() && walker.take(','));
    return values;
}

}  // namespace

std::vector<FixtureBytes> slice_answer(std::string_view text) {
    std::vector<FixtureBytes> fixtures;
    const auto data = member(text, "\"data\"");
    if (data.empty()) return fixtures;
    const auto values = data.front() == '[' ? elements(data) : std::vector{data};
    fixtures.reserve(values.size());
    for (const auto& value : values) fixtures.push_back({value, elements(member(value, "\"events\""))});
    return fixtures;
}

}  // namespace ftlfeed::capture

#include <ftlfeed/serve/coding.hpp>

#include "serve/header_text.hpp"

namespace ftlfeed::serve {
namespace {

constexpr int kUnset = -1;
constexpr int kMost = 1000;

/// `0`, `0.5`, `1.000` as thousandths; 0 when it is none of these.
int thousandths(std::string_view text) noexcept {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return 0;
    int value = (text[0] - '0') * kMost;
    if (text.size() > 1 && text[1] != '.') return 0;
    int unit = 100;
    for (std::size_t i = 2; i < text.size(); ++i, unit /= 10) {
        if (text[i] < '0' || text[i] > '9') return 0;
        value += (text[i] - '0') * unit;
    }
    return value > kMost ? 0 : value;
}

int quality(std::string_view parameters) noexcept {
    parameters = trimmed(parameters);
    if (parameters.empty()) return kMost;
    if (parameters.size() < 2 || (parameters[0] != 'q' && parameters[0] != 'Q')) return 0;
    parameters = trimmed(parameters.substr(1));
    if (parameters.empty() || parameters[0] != '=') return 0;
    return thousandths(trimmed(parameters.substr(1)));
}

struct Wishes {
    int gzip = kUnset;
    int identity = kUnset;
    int any = kUnset;

    void note(std::string_view member) noexcept {
        const auto mark = member.find(';');
        const auto name = trimmed(member.substr(0, mark));
        const auto q = quality(mark == std::string_view::npos ? std::string_view() : member.substr(mark + 1));
        if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) {
            gzip = q;
        } else if (equals_ignoring_case(name, "identity")) {
            identity = q;
        } else if (name == "*") {
            any = q;
        }
    }
};

}  // namespace

std::optional<Coding> choose_coding(std::string_view accept_encoding) noexcept {
    // What most clients that can unpack send.
    if (accept_encoding == "gzip") return Coding::kGzip;
    Wishes wishes;
    while (!accept_encoding.empty()) {
        const auto member = accept_encoding.substr(0, accept_encoding.find(','));
        wishes.note(member);
        accept_encoding.remove_prefix(member.size());
        if (!accept_encoding.empty()) accept_encoding.remove_prefix(1);
    }
    const int gzip = wishes.gzip != kUnset ? wishes.gzip : wishes.any != kUnset ? wishes.any : 0;
    // Plain bytes are fine unless they are refused, by name or by `*;q=0`; unnamed they come after what is named.
    const bool is_refused = wishes.identity == 0 || (wishes.identity == kUnset && wishes.any == 0);
    const int plain = is_refused ? 0 : wishes.identity != kUnset ? wishes.identity : 1;
    if (gzip == 0 && plain == 0) return std::nullopt;
    return gzip >= plain ? Coding::kGzip : Coding::kPlain;
}

}  // namespace ftlfeed::serve

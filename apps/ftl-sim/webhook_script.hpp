#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fault_rules.hpp"

namespace ftlfeed::sim {

/// How a receiver treats its side of a request that it does not simply answer.
enum class Misdeed {
    kNone,
    kHangBefore,  ///< The head is read, the body never.
    kHangAfter,   ///< All is read, nothing is ever said.
    kClose,       ///< All is read, then the connection ends without an answer.
    kReset,       ///< All is read, then a RST: the answer is lost.
    kCut,         ///< The answer ends in its middle.
};
/// As the script and the log say it: `hang-before` …; empty for kNone.
[[nodiscard]] std::string_view name_of(Misdeed misdeed);

/// What the receiver does with one request.
struct WebhookPlan {
    std::optional<int> status;  ///< None: what the request deserves.
    std::vector<std::pair<std::string, std::string>> headers;
    Misdeed misdeed = Misdeed::kNone;
    bool is_html = false;
    std::uint64_t body_bytes = 0;
    std::uint64_t header_bytes = 0;
    std::uint64_t delay_ms = 0;  ///< Before the answer.
    std::uint64_t drip_ms = 0;   ///< Between the answer's bytes; 0: at once.
};

/// The faults of a webhook's receiver: rules, of which the first that fits a request holds. docs/sim.md has the
/// language.
///
///     1: status=500; 2-3: status=429 retry-after=120; 4: reset; *: ok
///
/// Immutable.
class WebhookScript {
public:
    /// Throws UsageError, naming the word that is wrong.
    [[nodiscard]] static WebhookScript parse(std::string_view text);

    /// `request` counts from 1. Without a fitting rule the request gets what it deserves.
    [[nodiscard]] WebhookPlan plan(std::uint64_t request) const;

private:
    struct Rule {
        Numbers requests;
        WebhookPlan plan;
    };
    static Rule parse_rule(std::string_view text);
    static void parse_word(std::string_view word, WebhookPlan& plan);

    std::vector<Rule> rules_;
};

}  // namespace ftlfeed::sim

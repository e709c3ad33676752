#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fault_rules.hpp"

namespace ftlfeed::sim {

/// A number, or one that the seed picks between two.
struct Span {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    friend bool operator==(const Span&, const Span&) = default;
};

/// How a direction ends once its bytes are through.
enum class End {
    kNone,     ///< Not at all: it goes on until a side closes.
    kStop,     ///< Nothing more is read, so the sender's window fills; the connection stays.
    kSwallow,  ///< What follows is read and thrown away; the connection stays.
    kHalf,     ///< The receiver sees the end of the stream; the other direction goes on.
    kClose,    ///< Both sides are closed.
    kReset,    ///< Both sides get a RST.
};

struct DirectionPlan {
    std::uint64_t delay_ms = 0;     ///< Before each piece.
    std::uint64_t slice_bytes = 0;  ///< The most bytes of a piece; 0: as they come.
    End end = End::kNone;
    std::uint64_t end_after_bytes = 0;
    friend bool operator==(const DirectionPlan&, const DirectionPlan&) = default;
};

/// What the proxy does with one connection.
struct ConnectionPlan {
    bool is_silent = false;  ///< Accepted, read, never answered and never passed on.
    DirectionPlan up;        ///< From the client to the server.
    DirectionPlan down;
    friend bool operator==(const ConnectionPlan&, const ConnectionPlan&) = default;
};

/// The faults of a proxy: rules, of which the first that fits a connection holds. docs/sim.md has the language.
///
///     1: down reset=100; 2-3: up delay=50 slice=1; 20%: silence; *: pass
///
/// Immutable. The same script, seed and connection number give the same plan.
class ProxyScript {
public:
    /// Throws UsageError, naming the word that is wrong.
    [[nodiscard]] static ProxyScript parse(std::string_view text);

    /// `connection` counts from 1. Without a fitting rule everything passes.
    [[nodiscard]] ConnectionPlan plan(std::uint64_t connection, std::uint64_t seed) const;

private:
    struct DirectionRule {
        Span delay_ms;
        Span slice_bytes;
        End end = End::kNone;
        Span end_after_bytes;
    };
    struct Rule {
        Numbers connections;
        unsigned percent = 100;
        bool is_silent = false;
        DirectionRule up;
        DirectionRule down;
    };

    static Rule parse_rule(std::string_view text);
    static void parse_selector(std::string_view text, Rule& rule);
    static void parse_word(std::string_view word, std::vector<DirectionRule*>& directions, Rule& rule);

    std::vector<Rule> rules_;
};

}  // namespace ftlfeed::sim

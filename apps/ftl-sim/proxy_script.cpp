#include "proxy_script.hpp"

#include <array>
#include <utility>

#include "shuffle.hpp"

namespace ftlfeed::sim {
namespace {

constexpr std::string_view kCounted = "connection";

/// "5" or "5..20".
Span span(std::string_view text, std::string_view word) {
    const auto dots = text.find("..");
    if (dots == std::string_view::npos) {
        const auto value = parse_number(text, word);
        return {value, value};
    }
    const Span range{parse_number(text.substr(0, dots), word), parse_number(text.substr(dots + 2), word)};
    if (range.least > range.most) throw wrong_word(word, "has its numbers in the wrong order");
    return range;
}

std::optional<End> end_named(std::string_view name) {
    static constexpr std::array<std::pair<std::string_view, End>, 5> kEnds{{
        {"stop", End::kStop},
        {"swallow", End::kSwallow},
        {"half", End::kHalf},
        {"close", End::kClose},
        {"reset", End::kReset},
    }};
    for (const auto& [known, end] : kEnds) {
        if (name == known) return end;
    }
    return std::nullopt;
}

std::uint64_t picked(const Span& span, Random& random) {
    // Drawn also for a fixed number, so that changing one span does not move all that follow.
    const auto drawn = random.next();
    return span.least + (span.most > span.least ? drawn % (span.most - span.least + 1) : 0);
}

}  // namespace

ProxyScript ProxyScript::parse(std::string_view text) {
    ProxyScript script;
    for (const auto rule : rules_in(text)) script.rules_.push_back(parse_rule(rule));
    return script;
}

ProxyScript::Rule ProxyScript::parse_rule(std::string_view text) {
    const auto parts = split_rule(text, kCounted);
    Rule rule;
    parse_selector(parts.selector, rule);
    std::vector<DirectionRule*> directions{&rule.up, &rule.down};
    for (const auto word : words_of(parts)) parse_word(word, directions, rule);
    return rule;
}

void ProxyScript::parse_selector(std::string_view text, Rule& rule) {
    if (!text.ends_with('%')) {
        rule.connections = parse_numbers(text, kCounted);
        return;
    }
    const auto percent = parse_number(text.substr(0, text.size() - 1), text);
    if (percent > 100) throw wrong_word(text, "is more than all");
    rule.percent = static_cast<unsigned>(percent);
}

void ProxyScript::parse_word(std::string_view word, std::vector<DirectionRule*>& directions, Rule& rule) {
    if (word == "pass") return;
    if (word == "silence") {
        rule.is_silent = true;
    } else if (word == "up") {
        directions = {&rule.up};
    } else if (word == "down") {
        directions = {&rule.down};
    } else if (word == "both") {
        directions = {&rule.up, &rule.down};
    } else {
        const auto equals = word.find('=');
        const auto name = word.substr(0, equals);
        const auto end = end_named(name);
        if (equals == std::string_view::npos || (name != "delay" && name != "slice" && !end)) {
            throw wrong_word(word, "is no fault");
        }
        const auto value = span(word.substr(equals + 1), word);
        for (auto* direction : directions) {
            if (end) {
                direction->end = *end;
                direction->end_after_bytes = value;
            } else {
                (name == "delay" ? direction->delay_ms : direction->slice_bytes) = value;
            }
        }
    }
}

ConnectionPlan ProxyScript::plan(std::uint64_t connection, std::uint64_t seed) const {
    Random random(mix(seed) ^ connection);
    for (const auto& rule : rules_) {
        const bool is_drawn = random.next() % 100 < rule.percent;
        if (!is_drawn || !rule.connections.hold(connection)) continue;
        ConnectionPlan plan;
        plan.is_silent = rule.is_silent;
        for (const auto& [direction, chosen] : {std::pair{&rule.up, &plan.up}, std::pair{&rule.down, &plan.down}}) {
            chosen->delay_ms = picked(direction->delay_ms, random);
            chosen->slice_bytes = picked(direction->slice_bytes, random);
            chosen->end = direction->end;
            chosen->end_after_bytes = picked(direction->end_after_bytes, random);
        }
        return plan;
    }
    return {};
}

}  // namespace ftlfeed::sim

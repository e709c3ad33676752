#include "proxy_script.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "command.hpp"
#include "shuffle.hpp"

namespace ftlfeed::sim {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view take_until(std::string_view& text, std::string_view separators) {
    const auto end = text.find_first_of(separators);
    const auto part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return part;
}

UsageError wrong(std::string_view word, const char* why) {
    return UsageError("script: '" + std::string(word) + "' " + why);
}

std::uint64_t number(std::string_view text, std::string_view word) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) throw wrong(word, "has no number where one belongs");
    return value;
}

/// "5" or "5..20".
Span span(std::string_view text, std::string_view word) {
    const auto dots = text.find("..");
    if (dots == std::string_view::npos) {
        const auto value = number(text, word);
        return {value, value};
    }
    const Span range{number(text.substr(0, dots), word), number(text.substr(dots + 2), word)};
    if (range.least > range.most) throw wrong(word, "has its numbers in the wrong order");
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
    while (!text.empty()) {
        auto line = take_until(text, "\n");
        line = line.substr(0, line.find('#'));
        while (!line.empty()) {
            const auto rule = trimmed(take_until(line, ";"));
            if (!rule.empty()) script.rules_.push_back(parse_rule(rule));
        }
    }
    return script;
}

ProxyScript::Rule ProxyScript::parse_rule(std::string_view text) {
    const auto whole = text;
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) throw wrong(whole, "has no colon after the connection");
    Rule rule;
    parse_selector(trimmed(take_until(text, ":")), rule);
    std::vector<DirectionRule*> directions{&rule.up, &rule.down};
    bool has_words = false;
    while (!text.empty()) {
        const auto word = take_until(text, kBlanks);
        if (word.empty()) continue;
        parse_word(word, directions, rule);
        has_words = true;
    }
    if (!has_words) throw wrong(whole, "says nothing after the colon");
    return rule;
}

void ProxyScript::parse_selector(std::string_view text, Rule& rule) {
    if (text == "*") return;
    if (text.ends_with('%')) {
        const auto percent = number(text.substr(0, text.size() - 1), text);
        if (percent > 100) throw wrong(text, "is more than all");
        rule.percent = static_cast<unsigned>(percent);
        return;
    }
    const auto dash = text.find('-');
    rule.first = number(text.substr(0, dash), text);
    rule.last = rule.first;
    if (dash != std::string_view::npos) {
        const auto last = text.substr(dash + 1);
        rule.last = last.empty() ? UINT64_MAX : number(last, text);
    }
    if (rule.first == 0 || rule.last < rule.first) throw wrong(text, "names no connections: they count from 1");
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
            throw wrong(word, "is no fault");
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
        if (!is_drawn || connection < rule.first || connection > rule.last) continue;
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

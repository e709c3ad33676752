#include "webhook_script.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "command.hpp"

namespace ftlfeed::sim {
namespace {

constexpr std::string_view kBlanks = " \t\r";

constexpr std::array<std::pair<std::string_view, Misdeed>, 5> kMisdeeds{{
    {"hang-before", Misdeed::kHangBefore},
    {"hang-after", Misdeed::kHangAfter},
    {"close", Misdeed::kClose},
    {"reset", Misdeed::kReset},
    {"cut", Misdeed::kCut},
}};

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

}  // namespace

std::string_view name_of(Misdeed misdeed) {
    for (const auto& [name, known] : kMisdeeds) {
        if (known == misdeed) return name;
    }
    return "";
}

WebhookScript WebhookScript::parse(std::string_view text) {
    WebhookScript script;
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

WebhookScript::Rule WebhookScript::parse_rule(std::string_view text) {
    const auto whole = text;
    if (text.find(':') == std::string_view::npos) throw wrong(whole, "has no colon after the request");
    Rule rule;
    parse_selector(trimmed(take_until(text, ":")), rule);
    bool has_words = false;
    while (!text.empty()) {
        const auto word = take_until(text, kBlanks);
        if (word.empty()) continue;
        parse_word(word, rule.plan);
        has_words = true;
    }
    if (!has_words) throw wrong(whole, "says nothing after the colon");
    return rule;
}

void WebhookScript::parse_selector(std::string_view text, Rule& rule) {
    if (text == "*") return;
    const auto dash = text.find('-');
    rule.first = number(text.substr(0, dash), text);
    rule.last = rule.first;
    if (dash != std::string_view::npos) {
        const auto last = text.substr(dash + 1);
        rule.last = last.empty() ? UINT64_MAX : number(last, text);
    }
    if (rule.first == 0 || rule.last < rule.first) throw wrong(text, "names no requests: they count from 1");
}

void WebhookScript::parse_word(std::string_view word, WebhookPlan& plan) {
    if (word == "ok") return;
    if (word == "html") {
        plan.is_html = true;
        return;
    }
    for (const auto& [name, misdeed] : kMisdeeds) {
        if (word != name) continue;
        plan.misdeed = misdeed;
        return;
    }
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) throw wrong(word, "is no fault");
    const auto name = word.substr(0, equals);
    const auto value = word.substr(equals + 1);
    if (name == "status") {
        const auto status = number(value, word);
        if (status < 200 || status > 599) throw wrong(word, "is no status from 200 to 599");
        plan.status = static_cast<int>(status);
    } else if (name == "retry-after") {
        plan.headers.emplace_back("Retry-After", value);
    } else if (name == "location") {
        plan.headers.emplace_back("Location", value);
    } else if (name == "body") {
        plan.body_bytes = number(value, word);
    } else if (name == "headers") {
        plan.header_bytes = number(value, word);
    } else if (name == "delay") {
        plan.delay_ms = number(value, word);
    } else if (name == "drip") {
        plan.drip_ms = number(value, word);
    } else {
        throw wrong(word, "is no fault");
    }
}

WebhookPlan WebhookScript::plan(std::uint64_t request) const {
    for (const auto& rule : rules_) {
        if (request >= rule.first && request <= rule.last) return rule.plan;
    }
    return {};
}

}  // namespace ftlfeed::sim

#include "webhook_script.hpp"

#include <array>
#include <utility>

namespace ftlfeed::sim {
namespace {

constexpr std::string_view kCounted = "request";

constexpr std::array<std::pair<std::string_view, Misdeed>, 5> kMisdeeds{{
    {"hang-before", Misdeed::kHangBefore},
    {"hang-after", Misdeed::kHangAfter},
    {"close", Misdeed::kClose},
    {"reset", Misdeed::kReset},
    {"cut", Misdeed::kCut},
}};

}  // namespace

std::string_view name_of(Misdeed misdeed) {
    for (const auto& [name, known] : kMisdeeds) {
        if (known == misdeed) return name;
    }
    return "";
}

WebhookScript WebhookScript::parse(std::string_view text) {
    WebhookScript script;
    for (const auto rule : rules_in(text)) script.rules_.push_back(parse_rule(rule));
    return script;
}

WebhookScript::Rule WebhookScript::parse_rule(std::string_view text) {
    const auto parts = split_rule(text, kCounted);
    Rule rule;
    rule.requests = parse_numbers(parts.selector, kCounted);
    for (const auto word : words_of(parts)) parse_word(word, rule.plan);
    return rule;
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
    if (equals == std::string_view::npos) throw wrong_word(word, "is no fault");
    const auto name = word.substr(0, equals);
    const auto value = word.substr(equals + 1);
    if (name == "status") {
        const auto status = parse_number(value, word);
        if (status < 200 || status > 599) throw wrong_word(word, "is no status from 200 to 599");
        plan.status = static_cast<int>(status);
    } else if (name == "retry-after") {
        plan.headers.emplace_back("Retry-After", value);
    } else if (name == "location") {
        plan.headers.emplace_back("Location", value);
    } else if (name == "body") {
        plan.body_bytes = parse_number(value, word);
    } else if (name == "headers") {
        plan.header_bytes = parse_number(value, word);
    } else if (name == "delay") {
        plan.delay_ms = parse_number(value, word);
    } else if (name == "drip") {
        plan.drip_ms = parse_number(value, word);
    } else {
        throw wrong_word(word, "is no fault");
    }
}

WebhookPlan WebhookScript::plan(std::uint64_t request) const {
    for (const auto& rule : rules_) {
        if (rule.requests.hold(request)) return rule.plan;
    }
    return {};
}

}  // namespace ftlfeed::sim

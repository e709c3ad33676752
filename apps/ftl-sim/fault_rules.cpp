#include "fault_rules.hpp"

#include <string>

#include "parsing.hpp"

namespace ftlfeed::sim {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::vector<std::string_view> rules_in(std::string_view script) {
    std::vector<std::string_view> rules;
    while (!script.empty()) {
        auto line = take_until(script, "\n");
        line = line.substr(0, line.find('#'));
        while (!line.empty()) {
            const auto rule = trimmed(take_until(line, ";"));
            if (!rule.empty()) rules.push_back(rule);
        }
    }
    return rules;
}

FaultRule split_rule(std::string_view rule, std::string_view counted) {
    if (rule.find(':') == std::string_view::npos) {
        throw wrong_word(rule, "has no colon after the " + std::string(counted));
    }
    auto words = rule;
    const auto selector = trimmed(take_until(words, ":"));
    return {rule, selector, words};
}

std::vector<std::string_view> words_of(const FaultRule& rule) {
    std::vector<std::string_view> words;
    for (auto text = rule.words; !text.empty();) {
        const auto word = take_until(text, kBlanks);
        if (!word.empty()) words.push_back(word);
    }
    if (words.empty()) throw wrong_word(rule.whole, "says nothing after the colon");
    return words;
}

Numbers parse_numbers(std::string_view text, std::string_view counted) {
    Numbers numbers;
    if (text == "*") return numbers;
    const auto dash = text.find('-');
    numbers.first = parse_number(text.substr(0, dash), text);
    numbers.last = numbers.first;
    if (dash != std::string_view::npos) {
        const auto last = text.substr(dash + 1);
        numbers.last = last.empty() ? UINT64_MAX : parse_number(last, text);
    }
    if (numbers.first == 0 || numbers.last < numbers.first) {
        throw wrong_word(text, "names no " + std::string(counted) + "s: they count from 1");
    }
    return numbers;
}

std::uint64_t parse_number(std::string_view text, std::string_view word) {
    const auto value = whole_number<std::uint64_t>(text);
    if (!value) throw wrong_word(word, "has no number where one belongs");
    return *value;
}

UsageError wrong_word(std::string_view word, std::string_view why) {
    return UsageError("script: '" + std::string(word) + "' " + std::string(why));
}

}  // namespace ftlfeed::sim

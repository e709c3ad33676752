#include "cache/command.hpp"

#include <hiredis/hiredis.h>

#include <memory>
#include <new>
#include <vector>

#include <ftlfeed/core/assert.hpp>

namespace ftlfeed::cache {

namespace {

struct FreeText {
    void operator()(char* it) const { redisFreeCommand(it); }
};

std::string formatted(std::span<const std::string_view> words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
        texts.push_back(word.data());
        sizes.push_back(word.size());
    }
    char* made = nullptr;
    const auto size = redisFormatCommandArgv(&made, static_cast<int>(words.size()), texts.data(), sizes.data());
    const std::unique_ptr<char, FreeText> owner(made);
    if (size < 0) throw std::bad_alloc();
    return {made, static_cast<std::size_t>(size)};
}

}  // namespace

Command::Command(std::span<const std::string_view> words, bool may_change)
    : bytes_(formatted(words)), name_(words.front()), may_change_(may_change) {}

Command Command::reading(std::initializer_list<std::string_view> words) {
    return {std::span(words.begin(), words.size()), false};
}

Command Command::changing(std::initializer_list<std::string_view> words) {
    return {std::span(words.begin(), words.size()), true};
}

Command Command::changing(std::span<const std::string_view> words) {
    FTL_ASSERT(!words.empty());
    return {words, true};
}

}  // namespace ftlfeed::cache

#include "cache/command.hpp"

#include <hiredis/hiredis.h>

#include <new>
#include <vector>

#include <ftlfeed/core/assert.hpp>

namespace ftlfeed::cache {

Command::Command(std::span<const std::string_view> words, bool may_change)
    : name_(words.front()), may_change_(may_change) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
        texts.push_back(word.data());
        sizes.push_back(word.size());
    }
    char* made = nullptr;
    const auto size = redisFormatCommandArgv(&made, static_cast<int>(words.size()), texts.data(), sizes.data());
    if (size < 0) throw std::bad_alloc();
    bytes_ = std::shared_ptr<const char>(made, [](const char* it) { redisFreeCommand(const_cast<char*>(it)); });
    size_ = static_cast<std::size_t>(size);
}

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

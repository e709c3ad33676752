#include <ftlfeed/core/version.hpp>

#include <fmt/format.h>

#include <charconv>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::core {

namespace {

constexpr std::size_t kShortDigits = 10;
constexpr std::size_t kSeqDigits = 20;
constexpr std::int64_t kShortMax = 9'999'999'999;

/// False when `digits` holds anything but digits, or more than 64 bits hold.
bool read_number(std::string_view digits, std::int64_t& number) {
    if (digits.find_first_not_of("0123456789") != std::string_view::npos) return false;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

std::string Version::text() const {
    FTL_ASSERT(epoch >= 0 && epoch <= kShortMax && seq >= 0 && render >= 0 && render <= kShortMax);
    return fmt::format("{:010}:{:020}:{:010}", epoch, seq, render);
}

Version Version::parse(std::string_view text) {
    constexpr auto kSeqAt = kShortDigits + 1;
    constexpr auto kRenderAt = kSeqAt + kSeqDigits + 1;
    Version version;
    const bool is_version = text.size() == kRenderAt + kShortDigits && text[kSeqAt - 1] == ':' &&
                            text[kRenderAt - 1] == ':' && read_number(text.substr(0, kShortDigits), version.epoch) &&
                            read_number(text.substr(kSeqAt, kSeqDigits), version.seq) &&
                            read_number(text.substr(kRenderAt), version.render);
    if (!is_version) {
        throw InvalidInput(json_quoted(shorten(text, 60)) +
                           " is no version; it has 10, 20 and 10 digits joined by colons");
    }
    return version;
}

}  // namespace ftlfeed::core

#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ftlfeed::cache {

/// A command as it goes over the wire, made by hiredis. A value.
class Command {
public:
    /// One that changes nothing: when its answer is lost, nothing is in doubt.
    static Command reading(std::initializer_list<std::string_view> words);
    /// One that may have taken effect although its answer is lost.
    static Command changing(std::initializer_list<std::string_view> words);
    static Command changing(std::span<const std::string_view> words);

    [[nodiscard]] const std::string& bytes() const { return bytes_; }
    [[nodiscard]] std::string&& take_bytes() && { return std::move(bytes_); }
    /// Its first word, for messages.
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] bool may_change() const { return may_change_; }

private:
    Command(std::span<const std::string_view> words, bool may_change);

    std::string bytes_;
    std::string name_;
    bool may_change_;
};

}  // namespace ftlfeed::cache

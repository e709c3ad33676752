#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ftlfeed::cache {

/// A command as it goes over the wire, made by hiredis. A value.
class Command {
public:
    /// One that changes nothing: when its answer is lost, nothing is in doubt.
    static Command reading(std::initializer_list<std::string_view> words);
    /// One that may have taken effect although its answer is lost.
    static Command changing(std::initializer_list<std::string_view> words);
    static Command changing(std::span<const std::string_view> words);

    [[nodiscard]] std::string_view bytes() const { return {bytes_.get(), size_}; }
    /// Its first word, for messages.
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] bool may_change() const { return may_change_; }

private:
    Command(std::span<const std::string_view> words, bool may_change);

    std::shared_ptr<const char> bytes_;  ///< As hiredis made them: a body is not copied once more.
    std::size_t size_ = 0;
    std::string name_;
    bool may_change_;
};

}  // namespace ftlfeed::cache

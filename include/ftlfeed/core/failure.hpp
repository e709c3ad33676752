#pragma once

#include <chrono>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>

namespace ftlfeed::core {

/// What leaves a matter open: nothing was decided, somebody has to come back. What settles a matter is a value instead.
/// Thrown by every room; each foreign library's errors are translated into it in one function.
/// Threads: immutable once thrown. The text is cut to 2,000 bytes and never holds a secret.
class Failure : public std::runtime_error {
public:
    enum class Kind {
        kUnavailable,  ///< The other side was not reached or did not answer; nothing was sent that could take effect.
        kBusy,         ///< It answered "not now": deadlock, serialization, rate limit.
        kInDoubt,      ///< Sent, and the answer was lost: look before repeating.
        kPermanent,    ///< Trying the same again cannot help; a person or another input is needed.
    };

    static Failure unavailable(std::string what, std::source_location where = std::source_location::current());
    static Failure busy(std::string what, std::source_location where = std::source_location::current());
    static Failure in_doubt(std::string what, std::source_location where = std::source_location::current());
    static Failure permanent(std::string what, std::source_location where = std::source_location::current());

    /// The same failure with a word in front: where it happened (file, client, attempt). Added once, where it is known.
    [[nodiscard]] Failure within(const std::string& context) const;
    [[nodiscard]] Failure with_native_code(std::string code) const;
    [[nodiscard]] Failure with_retry_after(std::chrono::milliseconds wish) const;
    [[nodiscard]] Failure with_connection_lost() const;

    [[nodiscard]] Kind kind() const noexcept { return kind_; }
    /// Can the same call succeed later, unchanged? True for in_doubt() too, but look first.
    [[nodiscard]] bool may_retry() const noexcept { return kind_ != Kind::kPermanent; }
    [[nodiscard]] bool in_doubt() const noexcept { return kind_ == Kind::kInDoubt; }
    /// The connection is gone and must be thrown away.
    [[nodiscard]] bool connection_lost() const noexcept { return connection_lost_; }
    [[nodiscard]] std::optional<std::chrono::milliseconds> retry_after() const noexcept { return retry_after_; }
    /// SQLSTATE, CURLcode, errno name …; empty when there is none.
    [[nodiscard]] const std::string& native_code() const noexcept { return native_code_; }
    [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

private:
    Failure(Kind kind, const std::string& what, std::source_location where);

    Kind kind_;
    bool connection_lost_ = false;
    std::optional<std::chrono::milliseconds> retry_after_;
    std::string native_code_;
    std::source_location where_;
};

/// Bad input of a person: configuration, a command's arguments, a definition. Names the thing and the remedy.
class InvalidInput : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace ftlfeed::core

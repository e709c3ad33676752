#include <ftlfeed/core/failure.hpp>

#include <utility>

#include <ftlfeed/core/text.hpp>

namespace ftlfeed::core {

namespace {
constexpr std::size_t kWhatBytesMax = 2000;
}

Failure::Failure(Kind kind, const std::string& what, std::source_location where)
    : std::runtime_error(shorten(what, kWhatBytesMax)), kind_(kind), where_(where) {}

Failure Failure::unavailable(std::string what, std::source_location where) {
    return Failure(Kind::kUnavailable, what, where);
}

Failure Failure::busy(std::string what, std::source_location where) { return Failure(Kind::kBusy, what, where); }

Failure Failure::in_doubt(std::string what, std::source_location where) { return Failure(Kind::kInDoubt, what, where); }

Failure Failure::permanent(std::string what, std::source_location where) {
    return Failure(Kind::kPermanent, what, where);
}

Failure Failure::within(const std::string& context) const {
    Failure copy(kind_, context + ": " + what(), where_);
    copy.connection_lost_ = connection_lost_;
    copy.retry_after_ = retry_after_;
    copy.native_code_ = native_code_;
    return copy;
}

Failure Failure::with_native_code(std::string code) const {
    Failure copy = *this;
    copy.native_code_ = std::move(code);
    return copy;
}

Failure Failure::with_retry_after(std::chrono::milliseconds wish) const {
    Failure copy = *this;
    copy.retry_after_ = wish;
    return copy;
}

Failure Failure::with_connection_lost() const {
    Failure copy = *this;
    copy.connection_lost_ = true;
    return copy;
}

}  // namespace ftlfeed::core

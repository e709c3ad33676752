#include <ftlctl/call.hpp>

#include <iterator>
#include <utility>

namespace ftlctl {

namespace {

constexpr std::size_t kSecretBytesMax = 65'536;

}  // namespace

Call::Call(const ProgramSettings& settings, Arguments arguments, std::string who, std::istream& input)
    : settings_(settings), arguments_(std::move(arguments)), who_(std::move(who)), input_(input) {}

std::optional<std::string> Call::operand_if(std::size_t place) const {
    if (place >= arguments_.operands.size()) return std::nullopt;
    return arguments_.operands[place];
}

std::optional<std::int64_t> Call::number(const std::string& name) const {
    const auto text = option(name);
    if (!text) return std::nullopt;
    return parse_number("--" + name, *text);
}

std::string Call::reason() const {
    auto reason = option("reason").value();
    if (reason.empty()) throw UsageError("--reason is empty; the next person needs to know why");
    return reason;
}

ftlfeed::store::Session& Call::session() {
    if (settings_.common.postgres.uri.empty()) {
        throw UsageError("which Postgres? Set FTL_POSTGRES_URI, --postgres.uri URI, or postgres.uri in --config FILE");
    }
    if (!session_) {
        auto postgres = settings_.common.postgres;
        if (has_long_work_) postgres.work_limit = std::chrono::hours(24);
        session_ = std::make_unique<ftlfeed::store::Session>(postgres);
    }
    return *session_;
}

ftlfeed::core::Secret Call::secret_from_input() {
    std::string text;
    for (auto from = std::istreambuf_iterator<char>(input_); from != std::istreambuf_iterator<char>(); ++from) {
        text.push_back(*from);
        if (text.size() > kSecretBytesMax) throw UsageError("the secret on standard input is longer than 64 KiB");
    }
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    if (text.empty()) throw UsageError("the secret is read from standard input, and nothing came");
    return ftlfeed::core::Secret(std::move(text));
}

}  // namespace ftlctl

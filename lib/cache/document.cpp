#include <ftlfeed/cache/document.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include <ftlfeed/core/assert.hpp>

namespace ftlfeed::cache {

namespace {

constexpr std::size_t kShaDigits = 64;

template <typename Number>
std::optional<Number> number_in(const std::string& text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool is_sha256(const std::string& text) {
    return text.size() == kShaDigits && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

/// Takes a field out; nothing when it lacks.
std::optional<std::string> take(Fields& fields, const std::string& name) {
    auto node = fields.extract(name);
    if (node.empty()) return std::nullopt;
    return std::move(node.mapped());
}

}  // namespace

std::string etag(const core::Version& version, Coding coding) {
    const auto* suffix = coding == Coding::kGzip ? "-gzip" : "";
    return fmt::format("\"{}-{}-{}{}\"", version.epoch, version.seq, version.render, suffix);
}

Fields Document::fields() const {
    using std::chrono::microseconds;
    FTL_ASSERT(is_retired == body_gz.empty());
    const auto at = std::chrono::duration_cast<microseconds>(changed_at.time_since_epoch()).count();
    Fields fields{{"etag", etag(version, Coding::kPlain)},
                  {"type", content_type},
                  {"at", std::to_string(at)},
                  {"bytes", std::to_string(body_bytes)},
                  {"sha", body_sha256}};
    if (last_modified != core::SystemTime{}) {
        fields.emplace("lm", std::to_string(std::chrono::system_clock::to_time_t(last_modified)));
    }
    if (is_retired) {
        fields.emplace("gone", "1");
    } else {
        fields.emplace("gz", body_gz);
    }
    return fields;
}

std::optional<Document> Document::from(const core::Version& version, Fields fields) {
    const auto at = number_in<std::int64_t>(fields["at"]);
    const auto bytes = number_in<std::uint64_t>(fields["bytes"]);
    auto gz = take(fields, "gz").value_or("");
    auto type = take(fields, "type").value_or("");
    auto sha = take(fields, "sha").value_or("");
    const bool is_retired = fields.contains("gone");
    const auto lm = fields.contains("lm") ? number_in<std::int64_t>(fields["lm"]) : 0;
    if (!lm) return std::nullopt;
    if (!at || !bytes || type.empty() || !is_sha256(sha) || is_retired != gz.empty()) return std::nullopt;
    const core::SystemTime changed_at{
        std::chrono::duration_cast<core::SystemTime::duration>(std::chrono::microseconds(*at))};
    const core::SystemTime last_modified{std::chrono::seconds(*lm)};
    return Document{version, std::move(gz),  std::move(type), changed_at,
                    *bytes,  std::move(sha), is_retired,      last_modified};
}

}  // namespace ftlfeed::cache

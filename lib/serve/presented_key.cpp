#include <ftlfeed/serve/presented_key.hpp>

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <vector>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>

#include "serve/header_text.hpp"

namespace ftlfeed::serve {
namespace {

constexpr std::string_view kScheme = "bearer";
constexpr std::string_view kParameter = "key=";
constexpr std::size_t kKeyBytes = 32;

std::string_view bearer(std::string_view value) noexcept {
    value = trimmed(value);
    if (value.size() <= kScheme.size() || !equals_ignoring_case(value.substr(0, kScheme.size()), kScheme)) return {};
    if (value[kScheme.size()] != ' ') return {};
    return trimmed(value.substr(kScheme.size()));
}

std::string_view from_query(std::string_view query) noexcept {
    while (!query.empty()) {
        const auto part = query.substr(0, query.find('&'));
        if (part.starts_with(kParameter)) return part.substr(kParameter.size());
        query.remove_prefix(part.size());
        if (!query.empty()) query.remove_prefix(1);
    }
    return {};
}

}  // namespace

std::string_view presented_key(const KeyPlaces& places) noexcept {
    if (!places.authorization.empty()) return bearer(places.authorization);
    if (!places.x_api_key.empty()) return trimmed(places.x_api_key);
    return from_query(places.query);
}

KeyDigest key_digest(std::string_view key) noexcept {
    KeyDigest digest;
    SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
    return digest;
}

core::Secret make_key() {
    std::vector<std::uint8_t> bytes(kKeyBytes);
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
        throw core::Failure::unavailable("the system gives no random bytes for a key");
    }
    return core::Secret("ftl_" + core::hex(bytes));
}

}  // namespace ftlfeed::serve

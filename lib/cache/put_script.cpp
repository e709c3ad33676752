#include "cache/put_script.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <vector>

#include <ftlfeed/core/assert.hpp>

namespace ftlfeed::cache {

namespace {

// Versions are compared as text: Lua's numbers are doubles. A v of any other form is none of ours and counts as missing.
// HSET comes before anything is taken away: Redis looks at maxmemory at a script's first write only, and a full one would
// pass DEL and whatever followed it. Then what the old entry had besides goes.
constexpr std::string_view kPut = R"(local held = redis.call('HGET', KEYS[1], 'v')
if held and #held == 42 and string.find(held, '^%d+:%d+:%d+$') and held >= ARGV[2] then return held end
redis.call('HSET', KEYS[1], unpack(ARGV))
if redis.call('HLEN', KEYS[1]) * 2 > #ARGV then
  local wanted = {}
  for i = 1, #ARGV, 2 do wanted[ARGV[i]] = true end
  for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
    if not wanted[name] then redis.call('HDEL', KEYS[1], name) end
  end
end
return 1)";

// A hash goes with its last field.
constexpr std::string_view kTry = R"(redis.call('HSET', KEYS[1], 'try', '1')
return redis.call('HDEL', KEYS[1], 'try'))";

constexpr std::string_view kRaise = R"(local held = redis.call('GET', KEYS[1])
if held and #held == #ARGV[1] and string.find(held, '^%d+$') and held >= ARGV[1] then return held end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1])";

std::string sha1_hex(std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    const bool is_made = EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1;
    FTL_ASSERT(is_made);
    return fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + size, ""));
}

Command call(std::string_view verb, std::string_view script, std::string_view key,
             std::span<const std::string_view> arguments) {
    std::vector<std::string_view> words{verb, script, "1", key};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return Command::changing(words);
}

}  // namespace

Script::Script(std::string_view text) : text_(text), hash_(sha1_hex(text)) {}

Command Script::by_hash(std::string_view key, std::span<const std::string_view> arguments) const {
    return call("EVALSHA", hash_, key, arguments);
}

Command Script::by_text(std::string_view key, std::span<const std::string_view> arguments) const {
    return call("EVAL", text_, key, arguments);
}

const Script& put_script() {
    static const Script kScript(kPut);
    return kScript;
}

const Script& try_script() {
    static const Script kScript(kTry);
    return kScript;
}

const Script& raise_script() {
    static const Script kScript(kRaise);
    return kScript;
}

}  // namespace ftlfeed::cache

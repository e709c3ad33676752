#include <ftlfeed/cache/cache_client.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/text.hpp>

#include "cache/blocking_connection.hpp"
#include "cache/put_script.hpp"
#include "cache/version_text.hpp"

namespace ftlfeed::cache {

using core::Failure;

namespace {

constexpr std::size_t kChunkEntriesMax = 2000;
/// So many commands are sent together: Redis works on them while the next ones are made.
constexpr std::size_t kSliceMax = 250;
constexpr std::size_t kChunkBytesMax = std::size_t{4} << 20U;
/// From so many bytes on a look at the version is cheaper than a body that may be refused.
constexpr std::size_t kLookBytesMin = 1024;

/// An entry that is to be put; all is borrowed from the caller but the version's text.
struct Put {
    std::string_view key;
    core::Version version;
    std::string version_text;
    const Fields* fields;
    std::size_t bytes;
};

Put put_of(const Key& key, const core::Version& version, const Fields& fields) {
    FTL_ASSERT(!fields.contains("v"));
    std::size_t bytes = 0;
    for (const auto& [name, value] : fields) bytes += name.size() + value.size();
    return {key.text(), version, version.text(), &fields, bytes};
}

std::vector<std::string_view> pairs_of(const Put& put) {
    std::vector<std::string_view> pairs{"v", put.version_text};
    for (const auto& [name, value] : *put.fields) pairs.insert(pairs.end(), {name, value});
    return pairs;
}

/// The first `count` items that make one round trip: at least one.
template <typename Item, typename BytesOf>
std::size_t chunk_of(std::span<const Item> items, BytesOf bytes_of) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < items.size() && count < kChunkEntriesMax && (count == 0 || bytes < kChunkBytesMax)) {
        bytes += bytes_of(items[count++]);
    }
    return count;
}

bool is_unknown_script(const ReplyResult& result) {
    const auto* failure = std::get_if<Failure>(&result);
    return failure != nullptr && failure->native_code() == "NOSCRIPT";
}

std::optional<core::Version> held_version(const Reply& reply) {
    return reply.is_text() ? version_in(reply.text) : std::nullopt;
}

PutOutcome outcome_of(const Reply& reply, const Put& put) {
    if (reply.kind == Reply::Kind::kInteger) return Stored{};
    if (const auto held = held_version(reply)) return Refused{*held};
    // Digits of the right width that are more than any version of ours can be: another program has written them.
    throw Failure::permanent(fmt::format("the Redis entry {} holds no version of ours: {}", put.key,
                                         core::json_quoted(core::shorten(reply.text, 60))));
}

std::optional<std::int64_t> epoch_in(const std::string& text) {
    std::int64_t epoch = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), epoch);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return epoch;
}

}  // namespace

class CacheClient::Impl {
public:
    explicit Impl(const ConnectionSettings& settings) : connection_(settings) {}

    BlockingConnection& connection() { return connection_; }

    std::vector<PutOutcome> put(std::span<const Put> puts) {
        std::vector<PutOutcome> outcomes;
        while (!puts.empty()) {
            const auto count = chunk_of(puts, [](const Put& put) { return put.bytes; });
            for (auto& outcome : put_chunk(puts.first(count))) outcomes.push_back(outcome);
            puts = puts.subspan(count);
        }
        return outcomes;
    }

    std::vector<std::optional<core::Version>> versions(std::span<const Key> keys) {
        std::vector<std::optional<core::Version>> found;
        while (!keys.empty()) {
            const auto count = chunk_of(keys, [](const Key&) { return std::size_t{0}; });
            auto results = ask_each(count, [&](std::size_t i) { return look_of(keys[i].text()); });
            for (auto& result : results) found.push_back(held_version(reply_in(std::move(result))));
            keys = keys.subspan(count);
        }
        return found;
    }

    /// Runs a script by its hash, and by its text where the server does not know it.
    Reply run(const Script& script, std::string_view key, std::span<const std::string_view> arguments) {
        std::vector<Command> commands;
        commands.push_back(script.by_hash(key, arguments));
        auto results = connection_.exchange(std::move(commands));
        if (!is_unknown_script(results.front())) return reply_in(std::move(results.front()));
        return connection_.ask(script.by_text(key, arguments));
    }

private:
    static Command look_of(std::string_view key) { return Command::reading({"HGET", key, "v"}); }

    /// Sends `count` commands and waits for all their answers.
    template <typename CommandOf>
    std::vector<ReplyResult> ask_each(std::size_t count, CommandOf command_of) {
        std::vector<std::shared_ptr<BlockingConnection::Sent>> slices;
        for (std::size_t first = 0; first < count; first += kSliceMax) {
            std::vector<Command> commands;
            for (auto i = first; i < std::min(count, first + kSliceMax); ++i) commands.push_back(command_of(i));
            slices.push_back(connection_.begin(std::move(commands)));
        }
        std::vector<ReplyResult> results;
        results.reserve(count);
        for (const auto& slice : slices) {
            for (auto& result : BlockingConnection::finish(*slice)) results.push_back(std::move(result));
        }
        return results;
    }

    std::vector<PutOutcome> put_chunk(std::span<const Put> puts) {
        std::vector<std::optional<PutOutcome>> outcomes(puts.size());
        look(puts, outcomes);
        run_script(puts, outcomes, [](const Put& put) { return put_script().by_hash(put.key, pairs_of(put)); });
        // Unknown after a restart, a fail-over or a flush of scripts. Sent with its text it is known again.
        run_script(puts, outcomes, [](const Put& put) { return put_script().by_text(put.key, pairs_of(put)); });
        std::vector<PutOutcome> settled;
        for (const auto& outcome : outcomes) {
            if (!outcome) throw Failure::busy("Redis does not know a script that it was sent");
            settled.push_back(*outcome);
        }
        return settled;
    }

    /// Settles those whose entries hold as much already, before their bodies are sent.
    void look(std::span<const Put> puts, std::vector<std::optional<PutOutcome>>& outcomes) {
        std::vector<std::size_t> asked;
        for (std::size_t i = 0; i < puts.size(); ++i) {
            if (puts[i].bytes >= kLookBytesMin) asked.push_back(i);
        }
        auto results = ask_each(asked.size(), [&](std::size_t n) { return look_of(puts[asked[n]].key); });
        for (std::size_t n = 0; n < asked.size(); ++n) {
            const auto held = held_version(reply_in(std::move(results[n])));
            if (held && *held >= puts[asked[n]].version) outcomes[asked[n]] = Refused{*held};
        }
    }

    /// Settles the open ones, but those whose script the server does not know.
    template <typename CommandOf>
    void run_script(std::span<const Put> puts, std::vector<std::optional<PutOutcome>>& outcomes, CommandOf command_of) {
        std::vector<std::size_t> asked;
        for (std::size_t i = 0; i < puts.size(); ++i) {
            if (!outcomes[i]) asked.push_back(i);
        }
        const auto results = ask_each(asked.size(), [&](std::size_t n) { return command_of(puts[asked[n]]); });
        throw_first_failure(results, is_unknown_script);
        for (std::size_t n = 0; n < asked.size(); ++n) {
            if (is_unknown_script(results[n])) continue;
            outcomes[asked[n]] = outcome_of(std::get<Reply>(results[n]), puts[asked[n]]);
        }
    }

    BlockingConnection connection_;
};

CacheClient::CacheClient(const ConnectionSettings& settings) : impl_(std::make_unique<Impl>(settings)) {}
CacheClient::~CacheClient() = default;

PutOutcome CacheClient::put_if_newer(const Key& key, const core::Version& version, const Fields& fields) {
    const auto put = put_of(key, version, fields);
    return impl_->put(std::span(&put, 1)).front();
}

std::vector<PutOutcome> CacheClient::put_all_if_newer(std::span<const Entry> entries) {
    std::vector<Put> puts;
    puts.reserve(entries.size());
    for (const auto& entry : entries) puts.push_back(put_of(entry.key, entry.version, entry.fields));
    return impl_->put(puts);
}

std::optional<core::Version> CacheClient::version(const Key& key) {
    return impl_->versions(std::span(&key, 1)).front();
}

std::vector<std::optional<core::Version>> CacheClient::versions(std::span<const Key> keys) {
    return impl_->versions(keys);
}

std::optional<Entry> CacheClient::fetch(const Key& key) {
    auto reply = impl_->connection().ask(Command::reading({"HGETALL", key.text()}));
    Fields fields;
    for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
        fields.emplace(std::move(reply.elements[i].text), std::move(reply.elements[i + 1].text));
    }
    const auto node = fields.extract("v");
    const auto held = node.empty() ? std::nullopt : version_in(node.mapped());
    if (!held) return std::nullopt;
    return Entry{key, *held, std::move(fields)};
}

std::optional<std::int64_t> CacheClient::ready_epoch() {
    const auto reply = impl_->connection().ask(Command::reading({"GET", Key::bump_ready().text()}));
    return reply.is_text() ? epoch_in(reply.text) : std::nullopt;
}

std::int64_t CacheClient::set_ready_epoch(std::int64_t epoch) {
    const auto text = fmt::format("{:010}", epoch);
    const std::string_view argument = text;
    const auto reply = impl_->run(raise_script(), Key::bump_ready().text(), std::span(&argument, 1));
    return epoch_in(reply.text).value_or(epoch);
}

CacheClient::Server CacheClient::server() const { return impl_->connection().server(); }

void CacheClient::try_write(std::string_view prefix) {
    static_cast<void>(impl_->run(try_script(), Key(std::string(prefix) + "try").text(), {}));
}

void CacheClient::ping() { static_cast<void>(impl_->connection().ask(Command::reading({"PING"}))); }

}  // namespace ftlfeed::cache

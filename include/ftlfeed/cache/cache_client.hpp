#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ftlfeed/cache/connection_settings.hpp>
#include <ftlfeed/cache/document.hpp>
#include <ftlfeed/cache/keys.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/version.hpp>

namespace ftlfeed::cache {

/// The entry holds what was put.
struct Stored {
    bool operator==(const Stored&) const = default;
};
/// Nothing was changed: the entry holds this version, which is the same or newer.
struct Refused {
    core::Version held;
    bool operator==(const Refused&) const = default;
};
using PutOutcome = std::variant<Stored, Refused>;

/// An entry: a key, the version of what it holds, and its fields without v.
struct Entry {
    Key key;
    core::Version version;
    Fields fields;
    bool operator==(const Entry&) const = default;
};

/// Versioned entries in Redis that never go back: an entry is replaced only by one of a newer version, whoever writes, in
/// whatever order and however often. Redis's acknowledgement proves nothing in the long run (it may be flushed, or fail
/// over to a replica that lags): compare versions() from time to time and after each change of server(), and put again.
///
/// Owns one connection and the thread of its loop; it connects at once, and again by itself whenever it broke.
/// Threads: thread-safe; calls share the connection as one pipeline. No call may run when it is destroyed.
/// Every call blocks until its answer, at most request_timeout for each round trip (and, while the first attempt to
/// connect runs, connect_timeout more); put_all_if_newer and versions make one round trip for at most 2,000 entries or
/// 4 MiB.
/// Throws core::Failure: unavailable() when Redis cannot be reached, is full or is the wrong server, busy() when it says
/// "not now", permanent() when a person is needed (password, a Redis Cluster, an entry of another type), and in_doubt() when a
/// put was sent and its answer was lost. All is retry safe: a put in doubt is settled by putting again.
class CacheClient {
public:
    explicit CacheClient(const ConnectionSettings& settings);
    /// Waits for a name server that is being asked, if it does not answer.
    ~CacheClient();
    CacheClient(const CacheClient&) = delete;
    CacheClient& operator=(const CacheClient&) = delete;

    /// Replaces the whole entry when it is missing or holds an older version: no field of the old one stays. Fields of more
    /// than 1 KiB together are sent only when a look at the version has shown that they are wanted.
    /// `fields` has no v. An entry whose v is no version counts as missing.
    PutOutcome put_if_newer(const Key& key, const core::Version& version, const Fields& fields);
    /// The same for many, pipelined; outcomes in the order of the entries. When it throws, some may have been stored.
    std::vector<PutOutcome> put_all_if_newer(std::span<const Entry> entries);

    /// The version that an entry holds; nothing when it is missing.
    [[nodiscard]] std::optional<core::Version> version(const Key& key);
    /// The same for many, pipelined; in the order of the keys.
    [[nodiscard]] std::vector<std::optional<core::Version>> versions(std::span<const Key> keys);

    /// The whole entry; nothing when it is missing.
    [[nodiscard]] std::optional<Entry> fetch(const Key& key);

    /// The epoch in `bump:ready`; nothing while it is missing.
    [[nodiscard]] std::optional<std::int64_t> ready_epoch();
    /// Writes it, never over a greater one. Returns the epoch that it holds then.
    std::int64_t set_ready_epoch(std::int64_t epoch);

    /// Which Redis this is talking to. Compare everything when run_id or connections differ from the last time.
    struct Server {
        std::string run_id;             ///< Another one after each restart; empty before the first connection.
        std::uint64_t connections = 0;  ///< Made so far.
        bool is_connected = false;
        std::string trouble;  ///< Why it is not connected; empty while it is, and before the first attempt has ended.
        bool operator==(const Server&) const = default;
    };
    /// Does not block.
    [[nodiscard]] Server server() const;
    /// Asks for an answer, whichever. Throws as all calls do.
    void ping();
    /// Would it take entries whose keys begin with `prefix`? Makes `PREFIXtry` and takes it away in one step, so that nobody
    /// sees it. Throws as put_if_newer(): a full Redis or a replica answers ping() and fails here.
    void try_write(std::string_view prefix = Key::kDocumentPrefix);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ftlfeed::cache

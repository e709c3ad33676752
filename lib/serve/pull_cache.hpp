#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/serve/key_ring.hpp>

#include "serve/backroom.hpp"
#include "serve/document_reader.hpp"
#include "serve/document_source.hpp"
#include "serve/pull_decision.hpp"

namespace ftlfeed::serve {

/// What a request for a file comes to. A value.
struct PullAnswer {
    enum class Kind {
        kFile,
        kMissing,      ///< 404
        kGone,         ///< 410
        kUnavailable,  ///< 503: neither memory nor Redis nor Postgres has it
    };
    Kind kind = Kind::kUnavailable;
    CopyPtr copy;                             ///< Of kFile
    std::optional<std::chrono::seconds> age;  ///< Since the copy was last known to be the newest; none = it is now.
};

struct PullSettings {
    std::size_t bytes_max = std::size_t{256} << 20U;  ///< Of copies in memory; the least used go first.
    /// What Postgres said (a version, or that there is none) answers for a key that Redis lacks for so long, and copies are
    /// read again from Postgres this often while Redis is out of reach.
    std::chrono::milliseconds hold{1000};
    std::chrono::milliseconds postgres_wait{2000};  ///< Longest wait of a request for Postgres.
    std::chrono::milliseconds push_back_interval{100};
};

/// Files in memory, each checked against Redis's version at every hit. Hits of one moment share one check, but only one
/// that has not been written to the socket yet: its answer could be older than the hit. A body crosses the network only
/// when it changed. What Redis lacks is read from Postgres, once for all that wait.
/// Threads: confined to the loop. Handlers may be called inside get().
class PullCache {
public:
    using Handler = std::function<void(const PullAnswer&)>;
    /// Runs a function on the loop's thread, from any thread.
    using Post = std::function<void(std::function<void()>)>;
    struct Parts {
        DocumentSource& redis;
        DocumentReader& postgres;
        Backroom& backroom;
        /// Writes a file to Redis where that has an older one. Runs in the backroom.
        std::function<void(const std::string& doc_key, const DocumentPtr& document)> keep;
        Post post;
        core::Clock& clock;
    };

    PullCache(const PullSettings& settings, Parts parts) : settings_(settings), parts_(std::move(parts)) {}
    PullCache(const PullCache&) = delete;
    PullCache& operator=(const PullCache&) = delete;

    void get(std::string_view doc_key, Handler handler);
    /// Calls `handler` once the copy of `doc_key` has its plain body: unpacked once, elsewhere than on the loop. False when
    /// the packed bytes are none, or too much waits to be unpacked.
    void with_plain(std::string_view doc_key, const CopyPtr& copy, std::function<void(bool is_there)> handler);
    /// Ends waits that have taken too long. Call it every 50 ms or so.
    void tick();

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    struct Waiter {
        Handler handler;
        std::string wanted;  ///< At least this version.
        int fetches = 0;
    };
    struct Check {
        std::vector<Handler> handlers;
        std::shared_ptr<const bool> is_written;
        std::string held;  ///< The copy's version when it began.
    };
    struct Reading {
        Handler handler;
        core::SteadyTime deadline;
    };
    struct Entry {
        std::string key;
        CopyPtr copy;
        core::SteadyTime confirmed_at{};  ///< When the copy was last known to be the newest.
        core::SteadyTime held_until{};    ///< What Postgres said stands until then.
        core::SteadyTime pushed_at{};
        core::SteadyTime asked_at{};  ///< When Postgres was last asked.
        bool is_missing = false;
        std::shared_ptr<Check> check;  ///< The newest one.
        std::vector<Waiter> fetching;
        bool is_fetching = false;
        std::vector<Reading> reading;
        bool is_reading = false;
        std::list<Entry*>::iterator use;
        std::size_t counted_bytes = 0;
        bool is_evicted = false;  ///< No longer in the map; ends with the answers that it waits for.
    };
    using EntryPtr = std::shared_ptr<Entry>;

    const EntryPtr& entry(std::string_view doc_key);
    void begin_check(const EntryPtr& entry, Handler handler);
    void checked(const EntryPtr& entry, Check& check, const DocumentSource::VersionResult& result);
    void take(const EntryPtr& entry, Step step, std::vector<Handler> handlers, const std::string& wanted);
    void begin_fetch(const EntryPtr& entry);
    void fetched(const EntryPtr& entry, DocumentSource::DocumentResult result);
    void begin_read(const EntryPtr& entry, std::vector<Handler> handlers);
    void was_read(const EntryPtr& entry, const DocumentReader::Result& result);
    void push_back(Entry& entry);
    void unpacked(const std::string& doc_key, const CopyPtr& copy, std::shared_ptr<const std::string> plain);
    /// Takes the document over when it is newer than the copy.
    void install(Entry& entry, const DocumentPtr& document);
    void recount(Entry& entry);
    void make_room();

    [[nodiscard]] Held held(const Entry& entry) const;
    [[nodiscard]] PullAnswer answer(const Entry& entry) const;
    [[nodiscard]] PullAnswer answer_with_age(const Entry& entry) const;

    PullSettings settings_;
    Parts parts_;
    std::list<Entry*> uses_;  ///< The last used first.
    std::unordered_map<std::string, EntryPtr, ViewHash, std::equal_to<>> entries_;
    std::vector<std::weak_ptr<Entry>> readings_;  ///< Entries with somebody who waits for Postgres.
    std::unordered_map<const Copy*, std::vector<std::function<void(bool)>>> unpacking_;
    std::size_t bytes_ = 0;
};

}  // namespace ftlfeed::serve

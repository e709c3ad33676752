#include "serve/pull_cache.hpp"

#include <algorithm>
#include <utility>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>

namespace ftlfeed::serve {
namespace {

/// A version seen in a check can be gone from Redis by the time of the fetch; after so many tries Postgres decides.
constexpr int kFetchesMax = 3;
constexpr std::size_t kEntryBytes = 512;

PullAnswer settled(PullAnswer::Kind kind) { return {kind, nullptr, std::nullopt}; }

}  // namespace

void PullCache::get(std::string_view doc_key, Handler handler) {
    const auto& found = entry(doc_key);
    // An answer to a question that is on its way may be older than this hit.
    if (found->check && !*found->check->is_written) {
        found->check->handlers.push_back(std::move(handler));
        return;
    }
    begin_check(found, std::move(handler));
}

const PullCache::EntryPtr& PullCache::entry(std::string_view doc_key) {
    auto found = entries_.find(doc_key);
    if (found != entries_.end()) {
        uses_.splice(uses_.begin(), uses_, found->second->use);
        return found->second;
    }
    make_room();
    auto made = std::make_shared<Entry>();
    made->key = doc_key;
    uses_.push_front(made.get());
    made->use = uses_.begin();
    recount(*made);
    return entries_.emplace(made->key, std::move(made)).first->second;
}

void PullCache::begin_check(const EntryPtr& entry, Handler handler) {
    auto check = std::make_shared<Check>();
    check->handlers.push_back(std::move(handler));
    if (entry->copy) check->held = entry->copy->version;
    entry->check = check;
    check->is_written = parts_.redis.version(
        entry->key,
        [this, entry, check](const DocumentSource::VersionResult& result) { checked(entry, *check, result); });
}

void PullCache::checked(const EntryPtr& entry, Check& check, const DocumentSource::VersionResult& result) {
    auto handlers = std::move(check.handlers);
    if (entry->check.get() == &check) entry->check.reset();
    if (std::holds_alternative<core::Failure>(result)) {
        return take(entry, without_redis(held(*entry)), std::move(handlers), {});
    }
    const auto& in_redis = std::get<std::optional<std::string>>(result);
    const auto step = after_check(held(*entry), in_redis ? std::optional<std::string_view>(*in_redis) : std::nullopt);
    // A copy that came while this answer was under way is newer than it without Redis having lost anything.
    const bool is_overtaken = entry->copy && entry->copy->version != check.held;
    if (step == Step::kServeAndPushBack && is_overtaken) return take(entry, Step::kServe, std::move(handlers), {});
    take(entry, step, std::move(handlers), in_redis.value_or(""));
}

void PullCache::take(const EntryPtr& entry, Step step, std::vector<Handler> handlers, const std::string& wanted) {
    switch (step) {
        case Step::kServeAndPushBack:
            push_back(*entry);
            [[fallthrough]];
        case Step::kServe: {
            entry->confirmed_at = parts_.clock.steady_now();
            const auto answered = answer(*entry);
            for (const auto& handler : handlers) handler(answered);
            return;
        }
        case Step::kServeWithAge: {
            const auto answered = answer_with_age(*entry);
            for (const auto& handler : handlers) handler(answered);
            const auto now = parts_.clock.steady_now();
            // Nobody waits for it: the next hits get a younger copy.
            const bool is_due = now - entry->confirmed_at > settings_.hold && now - entry->asked_at > settings_.hold;
            if (is_due) begin_read(entry, {});
            return;
        }
        case Step::kFetch:
            for (auto& handler : handlers) entry->fetching.push_back({std::move(handler), wanted, 0});
            return begin_fetch(entry);
        case Step::kAskPostgres:
            return begin_read(entry, std::move(handlers));
        case Step::kMissing:
            for (const auto& handler : handlers) handler(settled(PullAnswer::Kind::kMissing));
            return;
    }
}

void PullCache::begin_fetch(const EntryPtr& entry) {
    if (entry->is_fetching) return;
    entry->is_fetching = true;
    parts_.redis.fetch(entry->key,
                       [this, entry](DocumentSource::DocumentResult result) { fetched(entry, std::move(result)); });
}

void PullCache::fetched(const EntryPtr& entry, DocumentSource::DocumentResult result) {
    entry->is_fetching = false;
    auto waiters = std::exchange(entry->fetching, {});
    const bool has_failed = std::holds_alternative<core::Failure>(result);
    if (!has_failed && std::get<DocumentPtr>(result)) install(*entry, std::get<DocumentPtr>(result));
    std::vector<Handler> served;
    std::vector<Handler> unserved;
    for (auto& waiter : waiters) {
        if (entry->copy && entry->copy->version >= waiter.wanted) {
            served.push_back(std::move(waiter.handler));
        } else if (has_failed || !std::get<DocumentPtr>(result) || ++waiter.fetches >= kFetchesMax) {
            unserved.push_back(std::move(waiter.handler));
        } else {
            // It asked for a newer one than this fetch was sent for.
            entry->fetching.push_back(std::move(waiter));
        }
    }
    if (!served.empty()) take(entry, Step::kServe, std::move(served), {});
    if (!unserved.empty()) {
        take(entry, has_failed ? without_redis(held(*entry)) : Step::kAskPostgres, std::move(unserved), {});
    }
    if (!entry->fetching.empty()) begin_fetch(entry);
}

void PullCache::begin_read(const EntryPtr& entry, std::vector<Handler> handlers) {
    const auto now = parts_.clock.steady_now();
    const auto deadline = now + settings_.postgres_wait;
    if (!handlers.empty() && entry->reading.empty()) readings_.push_back(entry);
    for (auto& handler : handlers) entry->reading.push_back({std::move(handler), deadline});
    if (entry->is_reading) return;
    entry->is_reading = true;
    entry->asked_at = now;
    parts_.postgres.read(entry->key, [this, post = parts_.post, entry](const DocumentReader::Result& result) {
        post([this, entry, result] { was_read(entry, result); });
    });
}

void PullCache::was_read(const EntryPtr& entry, const DocumentReader::Result& result) {
    entry->is_reading = false;
    const auto now = parts_.clock.steady_now();
    if (const auto* document = std::get_if<DocumentPtr>(&result)) {
        entry->held_until = now + settings_.hold;
        entry->confirmed_at = now;
        entry->is_missing = !*document;
        // A file is retired, never deleted: what Postgres does not know is from another database.
        if (!*document) entry->copy.reset();
        if (*document) install(*entry, *document);
        recount(*entry);
    }
    const auto answered = std::holds_alternative<core::Failure>(result) ? answer_with_age(*entry) : answer(*entry);
    for (const auto& waiter : std::exchange(entry->reading, {})) waiter.handler(answered);
}

void PullCache::push_back(Entry& entry) {
    const auto now = parts_.clock.steady_now();
    if (now - entry.pushed_at < settings_.push_back_interval) return;
    entry.pushed_at = now;
    parts_.backroom.run(
        [keep = parts_.keep, doc_key = entry.key, document = entry.copy->document] { keep(doc_key, document); });
}

void PullCache::install(Entry& entry, const DocumentPtr& document) {
    if (entry.copy && entry.copy->document->version >= document->version) return;
    entry.copy = std::make_shared<Copy>(document);
    entry.is_missing = false;
    recount(entry);
    make_room();
}

void PullCache::with_plain(std::string_view doc_key, const CopyPtr& copy, std::function<void(bool)> handler) {
    if (copy->plain_body) return handler(true);
    auto& waiting = unpacking_[copy.get()];
    waiting.push_back(std::move(handler));
    if (waiting.size() > 1) return;
    const auto done = [this, key = std::string(doc_key), copy](std::shared_ptr<const std::string> plain) {
        unpacked(key, copy, std::move(plain));
    };
    const bool is_taken = parts_.backroom.run([post = parts_.post, document = copy->document, done] {
        std::shared_ptr<const std::string> plain;
        try {
            plain = std::make_shared<const std::string>(core::gunzip(document->body_gz, document->body_bytes));
        } catch (const core::Failure&) {
            // Null says it: whoever waits is told.
        }
        post([done, plain] { done(plain); });
    });
    if (!is_taken) done(nullptr);
}

void PullCache::unpacked(const std::string& doc_key, const CopyPtr& copy, std::shared_ptr<const std::string> plain) {
    copy->plain_body = std::move(plain);
    const auto waiting = unpacking_.extract(copy.get());
    if (const auto found = entries_.find(doc_key); found != entries_.end() && found->second->copy == copy) {
        recount(*found->second);
    }
    for (const auto& handler : waiting.mapped()) handler(copy->plain_body != nullptr);
    make_room();
}

void PullCache::tick() {
    const auto now = parts_.clock.steady_now();
    const auto waits = std::exchange(readings_, {});
    for (const auto& weak : waits) {
        const auto entry = weak.lock();
        if (!entry || entry->reading.empty()) continue;
        const auto late = std::stable_partition(entry->reading.begin(), entry->reading.end(),
                                                [&](const Reading& waiter) { return waiter.deadline > now; });
        std::vector<Reading> over(std::make_move_iterator(late), std::make_move_iterator(entry->reading.end()));
        entry->reading.erase(late, entry->reading.end());
        if (!entry->reading.empty()) readings_.push_back(entry);
        for (const auto& waiter : over) waiter.handler(answer_with_age(*entry));
    }
    make_room();
}

Held PullCache::held(const Entry& entry) const {
    return {entry.copy ? std::string_view(entry.copy->version) : std::string_view(),
            parts_.clock.steady_now() < entry.held_until, entry.is_missing};
}

PullAnswer PullCache::answer(const Entry& entry) const {
    if (!entry.copy) return settled(entry.is_missing ? PullAnswer::Kind::kMissing : PullAnswer::Kind::kUnavailable);
    if (entry.copy->is_retired()) return settled(PullAnswer::Kind::kGone);
    return {PullAnswer::Kind::kFile, entry.copy, std::nullopt};
}

PullAnswer PullCache::answer_with_age(const Entry& entry) const {
    auto answered = answer(entry);
    if (answered.kind != PullAnswer::Kind::kFile) {
        return entry.copy ? answered : settled(PullAnswer::Kind::kUnavailable);
    }
    answered.age = std::chrono::duration_cast<std::chrono::seconds>(parts_.clock.steady_now() - entry.confirmed_at);
    return answered;
}

void PullCache::recount(Entry& entry) {
    if (entry.is_evicted) return;
    const auto now = kEntryBytes + entry.key.size() + (entry.copy ? entry.copy->bytes() : 0);
    bytes_ = bytes_ - entry.counted_bytes + now;
    entry.counted_bytes = now;
}

void PullCache::make_room() {
    while (bytes_ > settings_.bytes_max && entries_.size() > 1) {
        auto* least = uses_.back();
        uses_.pop_back();
        bytes_ -= least->counted_bytes;
        least->is_evicted = true;
        entries_.erase(entries_.find(least->key));
    }
}

}  // namespace ftlfeed::serve

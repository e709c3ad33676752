#include <ftlfeed/serve/key_ring.hpp>

#include <algorithm>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <utility>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/store/value.hpp>

#include "store/planned.hpp"

namespace ftlfeed::serve {
namespace {

/// Keys that hold now, by Postgres's clock: a server whose own clock is wrong lets nobody in for longer.
constexpr const char* kKeys =
    "SELECT k.key_hash, k.client_id FROM client_key k JOIN delivery_client c ON c.id = k.client_id AND c.is_on "
    "WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())";
constexpr const char* kEntitlements = "SELECT client_id, events, feed_types FROM client_entitlement";
constexpr const char* kEvents = "SELECT code FROM event";
constexpr const char* kFeedTypes = "SELECT feed_type FROM feed_definition WHERE is_on";

void read_keys(pqxx::transaction_base& tx, KeySnapshot& snapshot) {
    for (const auto& row : store::exec_planned(tx, kKeys)) {
        const auto bytes = store::from_bytea(row[0].c_str());
        KeyDigest digest;
        FTL_ASSERT(bytes.size() == digest.size());
        std::copy(bytes.begin(), bytes.end(), digest.begin());
        snapshot.client_of_key.emplace(digest, row[1].as<std::int64_t>());
    }
}

/// Returns whether the column is NULL, which means all.
bool read_names(const pqxx::field& field, NameSet& names) {
    if (field.is_null()) return true;
    for (auto& name : store::from_text_array(field.c_str())) names.insert(std::move(name));
    return false;
}

void read_entitlements(pqxx::transaction_base& tx, KeySnapshot& snapshot) {
    for (const auto& row : store::exec_planned(tx, kEntitlements)) {
        Entitlement one;
        one.has_all_events = read_names(row[1], one.events);
        one.has_all_feed_types = read_names(row[2], one.feed_types);
        snapshot.entitlements[row[0].as<std::int64_t>()].push_back(std::move(one));
    }
}

void read_column(pqxx::transaction_base& tx, const char* sql, NameSet& names) {
    for (const auto& row : store::exec_planned(tx, sql)) names.insert(row[0].as<std::string>());
}

}  // namespace

Verdict KeySnapshot::judge(const KeyDigest& key, const FeedPath& path) const {
    const auto found = client_of_key.find(key);
    if (found == client_of_key.end()) return Verdict::kNoKey;
    const auto mine = entitlements.find(found->second);
    const bool is_entitled =
        mine != entitlements.end() &&
        std::any_of(mine->second.begin(), mine->second.end(), [&](const Entitlement& one) { return one.covers(path); });
    return is_entitled && events.contains(path.event) && feed_types.contains(path.feed_type) ? Verdict::kAllowed
                                                                                             : Verdict::kNoFile;
}

void KeyRing::refresh(store::Session& session) {
    KeySnapshot snapshot;
    // Before the read: what is revoked while it runs counts from here on.
    snapshot.read_at = clock_.steady_now();
    session.read_snapshot([&](pqxx::transaction_base& tx) {
        read_keys(tx, snapshot);
        read_entitlements(tx, snapshot);
        read_column(tx, kEvents, snapshot.events);
        read_column(tx, kFeedTypes, snapshot.feed_types);
    });
    replace(std::move(snapshot));
}

void KeyRing::replace(KeySnapshot snapshot) {
    auto fresh = std::make_shared<const KeySnapshot>(std::move(snapshot));
    snapshot_.with([&](auto& current) {
        // The newest one stands, whoever comes last.
        if (current->read_at <= fresh->read_at) current.swap(fresh);
    });
    generation_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const KeySnapshot> KeyRing::snapshot() const {
    return snapshot_.with([](const auto& current) { return current; });
}

const KeySnapshot& KeyView::current() {
    const auto generation = ring_.generation();
    if (generation != seen_) {
        snapshot_ = ring_.snapshot();
        seen_ = generation;
    }
    return *snapshot_;
}

Verdict KeyView::judge(const KeyDigest& key, const FeedPath& path, core::SteadyTime now) {
    const auto& snapshot = current();
    return ring_.is_fresh(snapshot, now) ? snapshot.judge(key, path) : Verdict::kUnknowable;
}

Verdict KeyView::judge_key(const KeyDigest& key, core::SteadyTime now) {
    const auto& snapshot = current();
    if (!ring_.is_fresh(snapshot, now)) return Verdict::kUnknowable;
    return snapshot.holds(key) ? Verdict::kNoFile : Verdict::kNoKey;
}

}  // namespace ftlfeed::serve

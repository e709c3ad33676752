#include <ftlfeed/store/lease.hpp>

#include <unistd.h>

#include <array>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <random>
#include <utility>

#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/store/value.hpp>

namespace ftlfeed::store {

bool LeaseWatch::is_stale(const std::string& holder, std::int64_t beat, core::SteadyTime now) {
    if (!unmoved_since_ || holder != holder_ || beat != beat_) {
        holder_ = holder;
        beat_ = beat;
        unmoved_since_ = now;
    }
    return now - *unmoved_since_ >= ttl_;
}

Lease::Lease(std::string name, std::string holder, std::chrono::milliseconds ttl, core::Clock& clock)
    : name_(std::move(name)), holder_(std::move(holder)), ttl_(ttl), clock_(clock), watch_(ttl) {}

namespace {

// A released lease has the holder ''.
constexpr auto kRenew =
    "UPDATE lease SET beat = beat + 1, renewed_at = clock_timestamp() "
    "WHERE name = $1 AND holder = $2 AND fence = $3";
constexpr auto kLook = "SELECT holder, beat FROM lease WHERE name = $1";
constexpr auto kMake = "INSERT INTO lease (name, holder) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING fence";
// Only from the holder and beat that were seen: of two that take over at once, one gets it, and a renewal that came
// between keeps it.
constexpr auto kTakeOver =
    "UPDATE lease SET holder = $2, beat = beat + 1, fence = fence + 1, renewed_at = clock_timestamp() "
    "WHERE name = $1 AND holder = $3 AND beat = $4 RETURNING fence";
constexpr auto kRelease =
    "UPDATE lease SET holder = '', beat = beat + 1 WHERE name = $1 AND holder = $2 AND fence = $3";

}  // namespace

bool Lease::renew(Session& session) {
    // The validity counts from before the statement was sent: the watchers count from after they saw its effect.
    const auto start = clock_.steady_now();
    std::int64_t fence = 0;
    session.write([&](pqxx::transaction_base& tx) {
        if (is_held_ && tx.exec_params(kRenew, checked(name_), checked(holder_), fence_).affected_rows() == 1) {
            fence = fence_;
            return;
        }
        const auto rows = tx.exec_params(kLook, name_);
        if (rows.empty()) {
            const auto made = tx.exec_params(kMake, name_, holder_);
            if (!made.empty()) fence = made[0][0].as<std::int64_t>();
            return;
        }
        const auto other = rows[0][0].as<std::string>();
        const auto beat = rows[0][1].as<std::int64_t>();
        // The time after the answer: what was seen is at least as old.
        const bool is_stale = watch_.is_stale(other, beat, clock_.steady_now());
        if (!other.empty() && !is_stale) return;
        const auto taken = tx.exec_params(kTakeOver, name_, holder_, other, beat);
        if (!taken.empty()) fence = taken[0][0].as<std::int64_t>();
    });
    is_held_ = fence != 0;
    if (is_held_) {
        fence_ = fence;
        valid_until_ = start + ttl_;
    }
    return is_held_;
}

void Lease::release(Session& session) {
    if (!is_held_) return;
    // Whatever comes of it, we no longer act as its holder.
    is_held_ = false;
    valid_until_ = {};
    session.write([&](pqxx::transaction_base& tx) { tx.exec_params(kRelease, name_, holder_, fence_); });
}

std::string process_identity() {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    static const auto kSalt = [] {
        std::random_device random;
        return core::sha256_hex(std::to_string(random()) + ':' + std::to_string(random())).substr(0, 12);
    }();
    return std::string(host.data()) + ':' + std::to_string(getpid()) + ':' + kSalt;
}

}  // namespace ftlfeed::store

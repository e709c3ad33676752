#include <ftlfeed/deliver/destination_queue.hpp>

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "support/rng.hpp"

using namespace ftlfeed;
using namespace ftlfeed::deliver;
using namespace std::chrono_literals;
using core::Failure;
using core::FeedKey;
using core::Version;

namespace {

constexpr Pace kPace{3, 1000ms, 300s};
const core::SteadyTime kNow = core::SteadyTime{} + 1000h;
const core::SystemTime kChanged = core::SystemTime{} + 500'000h;
const auto kDown = Failure::unavailable("no route");

FeedKey file(const std::string& filter) { return {"e", "timeline", filter}; }
Owed owed(std::int64_t seq) { return {{1, seq, 1}, kChanged + std::chrono::seconds(seq)}; }

}  // namespace

TEST_CASE("deliver.queue: per file only the newest waiting version and the oldest change are kept") {
    DestinationQueue queue(kPace, {});
    CHECK(queue.owe(file("a"), owed(2), kNow));
    CHECK(queue.owe(file("a"), owed(5), kNow));
    CHECK_FALSE(queue.owe(file("a"), owed(3), kNow));
    CHECK_FALSE(queue.owe(file("a"), owed(5), kNow));
    CHECK(queue.owed_files() == 1);
    const auto job = queue.take(kNow);
    REQUIRE(job);
    CHECK(job->version == Version{1, 5, 1});
    CHECK(job->waiting_since == owed(2).changed_at);
    queue.succeeded({1, 5, 1}, kNow);
    CHECK(queue.owed_files() == 0);
    CHECK_FALSE(queue.take(kNow + 1h));
    CHECK_FALSE(queue.wake_at());
}

TEST_CASE("deliver.queue: one file at a time and the one that waited longest first") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("a"), owed(1), kNow);
    queue.owe(file("b"), owed(2), kNow + 1ms);
    queue.owe(file("a"), owed(3), kNow + 2ms);  // A newer version does not lose its turn.
    auto job = queue.take(kNow + 5ms);
    REQUIRE(job);
    CHECK(job->key == file("a"));
    CHECK_FALSE(queue.take(kNow + 5ms));
    CHECK_FALSE(queue.wake_at());
    queue.succeeded({1, 3, 1}, kNow + 6ms);
    job = queue.take(kNow + 6ms);
    REQUIRE(job);
    CHECK(job->key == file("b"));
}

TEST_CASE("deliver.queue: a failed send hands its duty to the newer version") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("a"), owed(1), kNow);
    REQUIRE(queue.take(kNow));
    queue.owe(file("a"), owed(2), kNow);
    queue.failed(kDown, kNow, 0.5);
    const auto job = queue.take(queue.wake_at().value());
    REQUIRE(job);
    CHECK(job->version == Version{1, 2, 1});
    CHECK(job->waiting_since == owed(1).changed_at);
    CHECK(queue.owed_files() == 1);
}

TEST_CASE("deliver.queue: a failed send without a newer version is owed on") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("a"), owed(1), kNow);
    REQUIRE(queue.take(kNow));
    queue.failed(kDown, kNow, 0.5);
    CHECK(queue.owed_files() == 1);
    CHECK(queue.wake_at() == kNow + 500ms);
    CHECK_FALSE(queue.take(kNow + 499ms));
    CHECK(queue.take(kNow + 500ms)->version == Version{1, 1, 1});
}

TEST_CASE("deliver.queue: a version newer than the proven one stays owed when the proof comes") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("a"), owed(1), kNow);
    REQUIRE(queue.take(kNow));
    queue.owe(file("a"), owed(2), kNow);
    queue.succeeded({1, 1, 1}, kNow);
    const auto job = queue.take(kNow);
    REQUIRE(job);
    CHECK(job->version == Version{1, 2, 1});
    CHECK(job->waiting_since == owed(2).changed_at);
    queue.succeeded({1, 2, 1}, kNow);
    CHECK(queue.owed_files() == 0);
}

TEST_CASE("deliver.queue: the version that was loaded may be newer than the one that was queued") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("a"), owed(1), kNow);
    REQUIRE(queue.take(kNow));
    queue.owe(file("a"), owed(2), kNow);
    queue.succeeded({1, 2, 1}, kNow);  // The body loaded was that of 2 already.
    CHECK(queue.owed_files() == 0);
    CHECK_FALSE(queue.wake_at());
}

TEST_CASE("deliver.queue: C12 a poison file stops no other") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("poison"), owed(1), kNow);
    queue.owe(file("b"), owed(2), kNow);
    REQUIRE(queue.take(kNow)->key == file("poison"));
    queue.refused(false, kNow, 0.5);
    const auto job = queue.take(kNow);
    REQUIRE(job);
    CHECK(job->key == file("b"));
    queue.succeeded({1, 2, 1}, kNow);
    CHECK_FALSE(queue.take(kNow + 299s));
    CHECK(queue.wake_at() == kNow + 300s);
    // A newer content of the refused file is another question, but no more than once a minute.
    queue.owe(file("poison"), owed(9), kNow + 1s);
    CHECK(queue.wake_at() == kNow + kEarlyTryInterval);
    CHECK(queue.tries_of(file("poison")).failures == 1);
}

TEST_CASE("deliver.queue: C12 a bad login stops all files and no newer version knocks") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("a"), owed(1), kNow);
    queue.owe(file("b"), owed(2), kNow);
    REQUIRE(queue.take(kNow));
    queue.failed(Failure::permanent("530 login incorrect"), kNow, 0.5);
    for (int seq = 3; seq < 100; ++seq) queue.owe(file("a"), owed(seq), kNow + std::chrono::seconds(seq));
    CHECK_FALSE(queue.take(kNow + 299s));
    CHECK(queue.wake_at() == kNow + 300s);
}

TEST_CASE("deliver.queue: only success resets the failures") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("a"), owed(1), kNow);
    auto now = kNow;
    for (int failures = 1; failures <= 6; ++failures) {
        now = std::max(now, queue.wake_at().value());
        REQUIRE(queue.take(now));
        queue.failed(kDown, now, 0.5);
        CHECK(queue.tries().failures == failures);
    }
    queue.owe(file("a"), owed(2), now);
    CHECK(queue.tries().failures == 6);
    queue.settings_changed(kPace, now);
    CHECK(queue.tries().failures == 6);
    REQUIRE(queue.take(now));
    queue.put_back(now);
    CHECK(queue.tries().failures == 6);
    REQUIRE(queue.take(now));
    queue.succeeded({1, 2, 1}, now);
    CHECK(queue.tries().failures == 0);
}

TEST_CASE("deliver.queue: waiting without trying uses up no try and rests the whole destination") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("a"), owed(1), kNow);
    queue.owe(file("b"), owed(2), kNow);
    REQUIRE(queue.take(kNow));
    queue.put_back(kNow + 250ms);
    CHECK(queue.tries().failures == 0);
    CHECK(queue.owed_files() == 2);
    CHECK_FALSE(queue.take(kNow + 249ms));
    CHECK(queue.wake_at() == kNow + 250ms);
    CHECK(queue.take(kNow + 250ms)->key == file("b"));
}

TEST_CASE("deliver.queue: Retry-After is honoured for the whole destination") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("a"), owed(1), kNow);
    queue.owe(file("b"), owed(2), kNow);
    REQUIRE(queue.take(kNow));
    queue.failed(Failure::busy("429").with_retry_after(120s), kNow, 0.5);
    queue.owe(file("b"), owed(3), kNow + 70s);
    CHECK_FALSE(queue.take(kNow + 119s));
    CHECK(queue.take(kNow + 120s));
}

TEST_CASE("deliver.queue: a lost answer is looked at before the file is sent again") {
    DestinationQueue queue(kPace, {});
    queue.owe(file("a"), owed(1), kNow);
    REQUIRE(queue.take(kNow)->kind == Job::Kind::kSend);
    queue.failed(Failure::in_doubt("no answer after the last byte"), kNow, 0.0);
    auto job = queue.take(kNow);
    REQUIRE(job);
    CHECK(job->kind == Job::Kind::kSettle);
    queue.settled(kNow);  // It was not there.
    job = queue.take(kNow);
    REQUIRE(job);
    CHECK(job->kind == Job::Kind::kSend);
    queue.failed(Failure::in_doubt("again"), kNow, 0.0);
    REQUIRE(queue.take(kNow)->kind == Job::Kind::kSettle);
    queue.succeeded({1, 1, 1}, kNow);  // It was there.
    CHECK(queue.owed_files() == 0);
}

TEST_CASE("deliver.queue: a look that proves an older version leaves the newer one owed") {
    DestinationQueue queue(kPace, {});
    queue.restore(file("a"), owed(5), owed(2).changed_at, {}, kNow);
    queue.settle_first(file("a"), kNow);
    REQUIRE(queue.take(kNow)->kind == Job::Kind::kSettle);
    queue.succeeded({1, 4, 1}, kNow);
    const auto job = queue.take(kNow);
    REQUIRE(job);
    CHECK(job->kind == Job::Kind::kSend);
    CHECK(job->version == Version{1, 5, 1});
}

TEST_CASE("deliver.queue: C13 the second look comes when the sender before us can have nothing under way") {
    DestinationQueue queue(kPace, {});
    queue.look_again(file("a"), kNow + 190s);
    CHECK(queue.wake_at() == kNow + 190s);
    CHECK_FALSE(queue.take(kNow + 189s));
    queue.owe(file("a"), owed(1), kNow);
    REQUIRE(queue.take(kNow)->kind == Job::Kind::kSend);
    queue.succeeded({1, 1, 1}, kNow);
    auto job = queue.take(kNow + 190s);
    REQUIRE(job);
    CHECK(job->kind == Job::Kind::kLookAgain);
    queue.settled(kNow + 190s);
    CHECK_FALSE(queue.wake_at());
}

TEST_CASE("deliver.queue: what the tables tell at start is no news and brings nothing forward") {
    const Tries waits{9, kNow + 200s, kNow, true};
    DestinationQueue queue(kPace, waits);
    queue.restore(file("a"), owed(1), owed(1).changed_at, {}, kNow);
    CHECK(queue.wake_at() == kNow + 200s);
    queue.owe(file("a"), owed(2), kNow + 1s);
    CHECK(queue.wake_at() == kNow + kEarlyTryInterval);
}

TEST_CASE("deliver.queue: a change of settings tries at once") {
    DestinationQueue queue(kPace, Tries{9, kNow + 300s, kNow, false});
    queue.owe(file("a"), owed(1), kNow);
    CHECK_FALSE(queue.take(kNow));
    queue.settings_changed(kPace, kNow + 1s);
    CHECK(queue.take(kNow + 1s));
}

TEST_CASE("deliver.queue: the oldest change counts files that wait and the one under way") {
    DestinationQueue queue(kPace, {});
    CHECK_FALSE(queue.oldest_change());
    queue.owe(file("a"), owed(5), kNow);
    queue.owe(file("b"), owed(3), kNow);
    CHECK(queue.oldest_change() == owed(3).changed_at);
    REQUIRE(queue.take(kNow)->key == file("a"));
    queue.succeeded({1, 5, 1}, kNow);
    REQUIRE(queue.take(kNow)->key == file("b"));
    CHECK(queue.oldest_change() == owed(3).changed_at);
    queue.succeeded({1, 3, 1}, kNow);
    CHECK_FALSE(queue.oldest_change());
}

// A model beside it: whatever happens in whatever order, a file is owed until a version at least as new as the newest
// one that was ever owed is proven, and it is never forgotten.
TEST_CASE("deliver.queue: no order of events forgets the newest version of a file") {
    FTL_RNG(rng);
    for (int round = 0; round < ftl::test::rounds(300, 10'000); ++round) {
        DestinationQueue queue(kPace, {});
        std::map<std::string, std::int64_t> newest;
        std::map<std::string, std::int64_t> proven;
        auto now = kNow;
        std::optional<Job> job;
        for (int i = 0; i < 120; ++i) {
            now += std::chrono::milliseconds(rng.between(0, 120'000));
            const auto name = std::string(1, static_cast<char>('a' + rng.between(0, 3)));
            if (rng.chance(0.4)) {
                const auto seq = rng.between(1, 200);
                queue.owe(file(name), owed(seq), now);
                newest[name] = std::max(newest[name], seq);
            }
            if (!job) {
                job = queue.take(now);
                continue;
            }
            const auto key = job->key.filter();
            const auto what = rng.between(0, 5);
            if (what == 0) queue.failed(kDown, now, rng.chance(0.5) ? 0.9 : 0.1);
            if (what == 1) queue.failed(Failure::in_doubt("lost"), now, 0.3);
            if (what == 2) queue.refused(rng.chance(0.3), now, 0.5);
            if (what == 3) queue.put_back(now + 100ms);
            if (what >= 4 && job->kind == Job::Kind::kSend) {
                // The body that is loaded is at least the version that was taken.
                const auto sent = rng.between(job->version.seq, std::max(job->version.seq, newest[key]));
                queue.succeeded({1, sent, 1}, now);
                proven[key] = std::max(proven[key], sent);
            } else if (what >= 4) {
                queue.settled(now);
            }
            job.reset();
        }
        if (job) queue.put_back(now);
        // Drain with a receiver that takes everything.
        std::size_t steps = 0;
        for (auto wake = queue.wake_at(); wake; wake = queue.wake_at()) {
            REQUIRE(++steps < 100);
            now = std::max(now, *wake);
            const auto rest = queue.take(now);
            REQUIRE(rest);
            if (rest->kind == Job::Kind::kSend) {
                queue.succeeded(rest->version, now);
                proven[rest->key.filter()] = std::max(proven[rest->key.filter()], rest->version.seq);
            } else {
                queue.settled(now);
            }
        }
        for (const auto& [name, seq] : newest) {
            CAPTURE(name);
            // A late, older version may be owed after a newer one was proven; it is sent no more than the newest.
            REQUIRE(proven[name] == seq);
        }
        REQUIRE(queue.owed_files() == 0);
    }
}

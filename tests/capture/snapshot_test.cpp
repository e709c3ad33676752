#include <doctest/doctest.h>

#include "builders.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;

TEST_CASE("capture.digest: a change of state or score or kick-off or a name alone changes it") {
    const auto before = with(fixture(), {goal(1, kHomeTeam, 101, 10)});
    const auto old_digest = digest(before);
    CHECK(digest(before) == old_digest);
    CHECK(digest(in_state(before, 3, "HT")) != old_digest);
    CHECK(digest(at_score(before, 1, 0)) != old_digest);
    auto moved = before;
    *moved.kickoff += std::chrono::hours(24);
    CHECK(digest(moved) != old_digest);
    auto renamed = before;
    renamed.home->name = "Homeland FC";
    CHECK(digest(renamed) != old_digest);
    auto shootout = before;
    shootout.shootout = Score{0, 0};
    CHECK(digest(shootout) != old_digest);
    auto grouped = before;
    grouped.group = "Group A";
    CHECK(digest(grouped) != old_digest);
}

TEST_CASE("capture.digest: each member of an event changes it") {
    const auto base = goal(1, kHomeTeam, 101, 10);
    const auto old_digest = digest(with(fixture(), {base}));
    std::vector<EventSnapshot> variants(8, base);
    variants[0].type_id = kPenalty;
    variants[1].minute = 11;
    variants[2].extra_minute = 1;
    variants[3].participant_id = kAwayTeam;
    variants[4].player->id = 102;
    variants[5].related_player = NamedRef{103, "Player 103"};
    variants[6].result = Score{1, 0};
    variants[7].rescinded = true;
    for (const auto& variant : variants) {
        CHECK(digest(with(fixture(), {variant})) != old_digest);
        CHECK(content_hash(variant, Side::kHome) != content_hash(base, Side::kHome));
    }
}

TEST_CASE("capture.digest: the bytes of a rejected row are part of it") {
    auto snapshot = fixture();
    snapshot.rejected = {{1, "{\"id\":1,\"a\":1}", "why"}};
    auto other_payload = snapshot;
    other_payload.rejected[0].raw = "{\"id\":1,\"a\":2}";
    CHECK(digest(snapshot) != digest(other_payload));
    CHECK_FALSE(snapshot.is_complete());
}

TEST_CASE("capture.digest: values next to each other do not run together") {
    auto a = fixture();
    a.group = "AB";
    a.round = "C";
    auto b = fixture();
    b.group = "A";
    b.round = "BC";
    CHECK(digest(a) != digest(b));
}

TEST_CASE("B47: a name in another spelling is no revision of its event") {
    auto base = goal(1, kHomeTeam, 101, 10);
    auto spelt = base;
    spelt.player->name = "P. Layer";
    CHECK(content_hash(base, Side::kHome) == content_hash(spelt, Side::kHome));
    CHECK(digest(with(fixture(), {base})) != digest(with(fixture(), {spelt})));
}

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "includes.hpp"
#include "match_script.hpp"
#include "tournament.hpp"
#include "zone.hpp"

namespace ftlfeed::sim {

class JsonWriter;

constexpr std::int64_t kLeagueId = 732;

/// What a fixture's JSON depends on besides the fixture.
struct WireContext {
    const Tournament& tournament;
    const Zone& zone;  ///< The request's time zone: starting_at is naive in it.
    std::int64_t season_id = 1;
    std::uint64_t seed = 0;  ///< Decides the order of rows: the provider promises none.
    std::chrono::sys_seconds now;
};

/// The fixture as the provider shows it at `context.now`, with the includes asked for and no others.
[[nodiscard]] std::string fixture_json(const WireContext& context, const Match& match, const MatchScript& script,
                                       const Includes& includes);

/// One fixture at one moment: what the writers of its parts share.
struct FixtureView {
    const WireContext& context;
    const Match& match;
    const MatchScript& script;
    const Includes& includes;
    const Snapshot* snapshot;  ///< None before the start.

    [[nodiscard]] State state() const { return snapshot ? snapshot->state : State::kNotStarted; }
    [[nodiscard]] bool has_ended() const { return script.has_ended(context.now); }
    [[nodiscard]] const Team& team(Side side) const {
        return context.tournament.teams[side == Side::kHome ? match.home : match.away];
    }
    [[nodiscard]] std::int64_t period_id(int type_id) const { return match.id * 10 + type_id; }
    /// Differs from list to list, from fixture to fixture and from instant to instant.
    [[nodiscard]] std::uint64_t order_seed(std::uint64_t list) const;
};

void write_scores(JsonWriter& json, const FixtureView& view);
void write_periods(JsonWriter& json, const FixtureView& view);
void write_events(JsonWriter& json, const FixtureView& view);

/// What a list answer says about its pages.
struct Page {
    std::size_t count = 0;
    std::size_t per_page = 25;
    std::size_t current = 1;
    bool has_more = false;
    std::string next;  ///< As JSON: null, a number or a text.
};

/// How the provider writes the page that follows: seen were a URL without the token, and a number.
enum class NextPage { kUrl, kNumber, kText };

/// Everything around `data`.
struct Envelope {
    std::optional<std::string> data;  ///< JSON. Missing altogether when one entity was asked for and there is none.
    std::optional<std::string> message;
    std::optional<Page> page;
    bool plan_is_paid = true;  ///< `meta` is an object on a paid plan and [] on the free one.
    int resets_in_seconds = 3600;
    int remaining = 0;
    std::string timezone = "UTC";
    std::chrono::sys_seconds now;
};

[[nodiscard]] std::string envelope_json(const Envelope& envelope);

}  // namespace ftlfeed::sim

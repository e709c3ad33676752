#include <ftlfeed/capture/snapshot.hpp>

#include <string_view>

#include <ftlfeed/core/hash.hpp>

namespace ftlfeed::capture {
namespace {

// Grows with every change of what is hashed below: stored hashes of older programs then count as different once.
constexpr std::string_view kForm = "1";

/// A text in which each member is told apart from its neighbours by its length, so that no two values look alike.
class Canonical {
public:
    Canonical() { add(kForm); }
    void add(std::string_view text) {
        text_ += std::to_string(text.size());
        text_ += ':';
        text_ += text;
    }
    template <typename Number>
        requires std::integral<Number>
    void add(Number number) {
        add(std::to_string(number));
    }
    void add_none() { text_ += '-'; }
    template <typename Number>
        requires std::integral<Number>
    void add(const std::optional<Number>& number) {
        number ? add(*number) : add_none();
    }
    void add(const std::optional<Score>& score) {
        if (!score) return add_none();
        add(score->home);
        add(score->away);
    }
    void add_id(const std::optional<NamedRef>& ref) { ref ? add(ref->id) : add_none(); }
    void add(const std::optional<NamedRef>& ref) {
        add_id(ref);
        if (ref) add(ref->name);
    }
    [[nodiscard]] std::vector<std::uint8_t> hash() const { return core::sha256(text_); }

private:
    std::string text_;
};

void add_content(Canonical& text, const EventSnapshot& event) {
    text.add(event.id);
    text.add(event.type_id);
    text.add(event.minute);
    text.add(event.extra_minute);
    text.add(event.participant_id);
    text.add_id(event.player);
    text.add_id(event.related_player);
    text.add(event.result);
    text.add(event.rescinded);
}

}  // namespace

std::vector<std::uint8_t> digest(const FixtureSnapshot& snapshot) {
    Canonical text;
    text.add(snapshot.id);
    text.add(snapshot.season_id);
    text.add(snapshot.home);
    text.add(snapshot.away);
    text.add(snapshot.kickoff ? std::optional<std::int64_t>(snapshot.kickoff->time_since_epoch().count())
                              : std::nullopt);
    text.add(snapshot.state_id);
    text.add(snapshot.state);
    text.add(snapshot.has_started);
    text.add(snapshot.group);
    text.add(snapshot.round);
    text.add(snapshot.stage);
    text.add(snapshot.score);
    text.add(snapshot.half_score);
    text.add(snapshot.shootout);
    text.add(snapshot.has_event_list);
    text.add(snapshot.events.size());
    for (const auto& event : snapshot.events) {
        add_content(text, event);
        text.add(event.player ? std::string_view(event.player->name) : std::string_view());
        text.add(event.related_player ? std::string_view(event.related_player->name) : std::string_view());
    }
    for (const auto& rejected : snapshot.rejected) text.add(rejected.raw);
    return text.hash();
}

std::vector<std::uint8_t> content_hash(const EventSnapshot& event, std::optional<Side> team_side) {
    Canonical text;
    add_content(text, event);
    text.add(team_side ? std::optional<int>(*team_side == Side::kHome ? 0 : 1) : std::nullopt);
    return text.hash();
}

}  // namespace ftlfeed::capture

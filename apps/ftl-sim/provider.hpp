#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api_error.hpp"
#include "clock.hpp"
#include "match_script.hpp"
#include "provider_query.hpp"
#include "quota.hpp"
#include "tournament.hpp"
#include "wire.hpp"

namespace ftlfeed::sim {

/// What the K-th in-play answer does instead of being right.
enum class Fault {
    kHtml,       ///< 200 with a page of HTML.
    kHalf,       ///< The body ends in the middle, its Content-Length is that of the whole, the connection is closed.
    kNothing,    ///< The connection is closed without an answer.
    kStrings,    ///< Every number is written as a text.
    kNul,        ///< The player of the first event has U+0000 in the name.
    kNoEvents,   ///< The event lists are empty, the scores are not.
    kError,      ///< 500.
    kRateLimit,  ///< 429.
};

/// "html", "half", "nothing", "strings", "nul", "no-events", "error" or "rate-limit".
[[nodiscard]] std::optional<Fault> fault_named(const std::string& name);

struct ProviderSettings {
    std::int64_t season_id = 1;
    std::uint64_t seed = 1;  ///< Decides the order of rows.
    std::set<std::string, std::less<>> tokens{"sim-token"};
    QueryRules query;
    bool plan_is_paid = true;
    NextPage next_page = NextPage::kUrl;
    int quota = 0;                          ///< Requests an hour; 0: without a limit.
    bool quota_as_422 = false;              ///< Over the quota: 422 with body code 5005 instead of 429.
    bool retry_after = true;                ///< 429 carries Retry-After; the real one does not promise it.
    double speed = 0;                       ///< Times real time; 0: the reader moves the clock ("max").
    std::map<std::uint64_t, Fault> faults;  ///< By the number of the in-play request, from 1.
};

struct ProviderRequest {
    std::string method = "GET";
    std::string target;         ///< Path and query, as sent.
    std::string authorization;  ///< The header's value.
    std::string host = "127.0.0.1";
};

struct ProviderAnswer {
    int status = 200;
    std::string body;
    std::string content_type = "application/json";
    std::vector<std::pair<std::string, std::string>> headers;
    std::optional<Fault> fault;  ///< kHalf and kNothing are up to the server.
    bool is_inplay = false;
    std::vector<std::size_t> ended;  ///< Places of matches whose end this in-play answer shows.
};

/// How far the play is. `GET /sim/status` shows it.
struct ProviderStatus {
    bool at_end = false;  ///< All is played, and every end was delivered by an in-play answer.
    std::chrono::sys_seconds clock;
    std::uint64_t polls = 0;  ///< In-play answers delivered whole.
    std::size_t instants = 0;
    std::size_t fixtures = 0;
    std::size_t terminal = 0;  ///< Fixtures that have ended.
};

/// Plays a tournament as the provider would show it: answers requests, knows no sockets.
/// Threads: confined to one.
class Provider {
public:
    using Moment = Clock::Monotonic;

    Provider(Tournament tournament, ProviderSettings settings);

    [[nodiscard]] ProviderAnswer answer(const ProviderRequest& request, Moment moment);
    /// The answer has left whole. Until then the clock stands still and what ended stays in the in-play list.
    void delivered(const ProviderAnswer& answer);
    [[nodiscard]] ProviderStatus status(Moment moment) const;

private:
    /// A request that was understood, with what its answer needs.
    struct Call {
        Query query;
        std::string path;
        std::string host;
        Moment moment;
        std::chrono::sys_seconds now;
    };

    [[nodiscard]] ProviderAnswer answer_known(const ProviderRequest& request, const Target& target, Moment moment);
    [[nodiscard]] ProviderAnswer route(Call& call);
    [[nodiscard]] ProviderAnswer inplay(Call& call);
    [[nodiscard]] ProviderAnswer fixture(const Call& call, const std::string& id) const;
    [[nodiscard]] ProviderAnswer between(const Call& call, const std::string& from, const std::string& to) const;
    [[nodiscard]] ProviderAnswer status_answer(Moment moment) const;
    [[nodiscard]] ProviderAnswer over_quota(Moment moment) const;

    [[nodiscard]] bool may_see(const ProviderRequest& request, const Parameters& parameters) const;
    [[nodiscard]] bool is_wanted(const Query& query, const Match& match) const;
    [[nodiscard]] Envelope envelope(const Call& call) const;
    [[nodiscard]] ProviderAnswer list_answer(const Call& call, const std::vector<std::size_t>& places,
                                             std::optional<Page> page) const;
    [[nodiscard]] std::string fixture_text(const Call& call, std::size_t place) const;
    [[nodiscard]] std::string next_page(const Call& call) const;

    Tournament tournament_;
    ProviderSettings settings_;
    std::vector<MatchScript> scripts_;
    std::size_t instants_ = 0;
    std::chrono::sys_seconds last_instant_;
    std::unique_ptr<Clock> clock_;
    Quota quota_;
    std::set<std::size_t> end_delivered_;
    std::uint64_t inplay_requests_ = 0;
    std::uint64_t polls_ = 0;
};

}  // namespace ftlfeed::sim

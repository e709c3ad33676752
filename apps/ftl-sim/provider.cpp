#include "provider.hpp"

#include <algorithm>
#include <string_view>

#include "json_writer.hpp"
#include "parsing.hpp"
#include "provider_fault.hpp"

namespace ftlfeed::sim {
namespace {

constexpr const char* kNoResult = "No result found: nothing matches the request, or the plan does not cover it.";
constexpr const char* kRoot = "/v3/football/";

ProviderAnswer json_answer(int status, std::string body) {
    ProviderAnswer answer;
    answer.status = status;
    answer.body = std::move(body);
    return answer;
}

ProviderAnswer refused(const ApiError& error) { return json_answer(422, error_body(error)); }

bool is_date(std::string_view text) {
    static constexpr std::string_view kShape = "dddd-dd-dd";
    return text.size() == kShape.size() && std::equal(text.begin(), text.end(), kShape.begin(), [](char c, char shape) {
               return shape == 'd' ? c >= '0' && c <= '9' : c == shape;
           });
}

/// A day before the first kick-off: nothing has begun, and a fixture list can be read in peace.
std::chrono::sys_seconds start_of(const Tournament& tournament) {
    const auto first = std::min_element(tournament.matches.begin(), tournament.matches.end(),
                                        [](const Match& a, const Match& b) { return a.kickoff < b.kickoff; });
    return first->kickoff - std::chrono::days{1};
}

}  // namespace

Provider::Provider(Tournament tournament, ProviderSettings settings)
    : tournament_(std::move(tournament)), settings_(std::move(settings)), quota_(settings_.quota) {
    for (const auto& match : tournament_.matches) scripts_.push_back(write_script(match));
    auto instants = instants_of(scripts_);
    const auto start = start_of(tournament_);
    instants_ = instants.size();
    last_instant_ = instants.empty() ? start : instants.back();
    clock_ = settings_.speed > 0 ? make_paced_clock(stretches_of(scripts_), settings_.speed, start)
                                 : make_reader_clock(std::move(instants), start);
}

ProviderAnswer Provider::answer(const ProviderRequest& request, Moment moment) {
    const auto target = parse_target(request.target);
    if (request.method != "GET") return json_answer(405, message_body("Only GET is allowed here."));
    if (target.path == "/sim/status") return status_answer(moment);
    if (!may_see(request, target.parameters)) return json_answer(401, message_body("Unauthenticated."));
    auto answer = quota_.spend(moment) ? answer_known(request, target, moment) : over_quota(moment);
    answer.headers.emplace_back("X-RateLimit-Limit", std::to_string(quota_.limit()));
    answer.headers.emplace_back("X-RateLimit-Remaining", std::to_string(quota_.remaining()));
    return answer;
}

ProviderAnswer Provider::answer_known(const ProviderRequest& request, const Target& target, Moment moment) {
    auto query = read_query(target.parameters, settings_.query);
    if (const auto* error = std::get_if<ApiError>(&query)) return refused(*error);
    Call call{std::get<Query>(std::move(query)), target.path, request.host, moment, clock_->now(moment)};
    return route(call);
}

bool Provider::may_see(const ProviderRequest& request, const Parameters& parameters) const {
    if (settings_.tokens.contains(request.authorization)) return true;
    const auto token = parameters.find("api_token");
    return token != parameters.end() && settings_.tokens.contains(token->second);
}

ProviderAnswer Provider::route(Call& call) {
    const auto not_found = json_answer(404, message_body("The requested endpoint does not exist."));
    std::string_view rest = call.path;
    if (!rest.starts_with(kRoot)) return not_found;
    rest.remove_prefix(std::string_view(kRoot).size());
    if (rest == "livescores/inplay") return inplay(call);
    if (!rest.starts_with("fixtures/")) return not_found;
    rest.remove_prefix(std::string_view("fixtures/").size());
    if (!rest.starts_with("between/")) return fixture(call, std::string(rest));
    rest.remove_prefix(std::string_view("between/").size());
    const auto slash = rest.find('/');
    if (slash == std::string_view::npos) return not_found;
    return between(call, std::string(rest.substr(0, slash)), std::string(rest.substr(slash + 1)));
}

ProviderAnswer Provider::inplay(Call& call) {
    clock_->inplay_requested(call.moment);
    call.now = clock_->now(call.moment);
    std::vector<std::size_t> places;
    std::vector<std::size_t> ended;
    for (std::size_t place = 0; place < scripts_.size(); ++place) {
        const auto& script = scripts_[place];
        if (!script.at(call.now) || end_delivered_.contains(place)) continue;
        if (!is_wanted(call.query, tournament_.matches[place])) continue;
        places.push_back(place);
        if (script.has_ended(call.now)) ended.push_back(place);
    }
    // No pages here: the provider documents none for live scores.
    auto answer = list_answer(call, places, std::nullopt);
    answer.is_inplay = true;
    answer.ended = std::move(ended);
    if (const auto fault = settings_.faults.find(++inplay_requests_); fault != settings_.faults.end()) {
        spoil(answer, fault->second);
    }
    return answer;
}

void Provider::delivered(const ProviderAnswer& answer) {
    // A spoilt answer told nobody anything: the clock waits for the next one.
    if (!answer.is_inplay || answer.fault) return;
    ++polls_;
    clock_->inplay_delivered();
    end_delivered_.insert(answer.ended.begin(), answer.ended.end());
}

ProviderAnswer Provider::fixture(const Call& call, const std::string& id) const {
    const auto wanted = whole_number<std::int64_t>(id);
    if (!wanted) return refused({ApiCode::kInvalidQueryParameter, "id"});
    auto around = envelope(call);
    const auto& matches = tournament_.matches;
    const auto match =
        std::find_if(matches.begin(), matches.end(), [&wanted](const Match& m) { return m.id == *wanted; });
    if (match == matches.end()) {
        // No `data` key at all, and 200: so does the provider say that there is none.
        around.message = kNoResult;
    } else {
        around.data = fixture_text(call, static_cast<std::size_t>(match - matches.begin()));
    }
    return json_answer(200, envelope_json(around));
}

ProviderAnswer Provider::between(const Call& call, const std::string& from, const std::string& to) const {
    if (!is_date(from) || !is_date(to) || from > to) return refused({ApiCode::kInvalidQueryParameter, "date"});
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < tournament_.matches.size(); ++place) {
        const auto& match = tournament_.matches[place];
        const auto day = date_text(match.kickoff, *call.query.zone);
        if (from <= day && day <= to && is_wanted(call.query, match)) places.push_back(place);
    }
    std::stable_sort(places.begin(), places.end(), [this](std::size_t a, std::size_t b) {
        return tournament_.matches[a].kickoff < tournament_.matches[b].kickoff;
    });
    if (call.query.descending) std::reverse(places.begin(), places.end());

    const auto first = std::min(places.size(), (call.query.page - 1) * call.query.per_page);
    const auto last = std::min(places.size(), first + call.query.per_page);
    Page page{last - first, call.query.per_page, call.query.page, last < places.size(), "null"};
    if (page.has_more) page.next = next_page(call);
    return list_answer(
        call, {places.begin() + static_cast<std::ptrdiff_t>(first), places.begin() + static_cast<std::ptrdiff_t>(last)},
        page);
}

ProviderAnswer Provider::list_answer(const Call& call, const std::vector<std::size_t>& places,
                                     std::optional<Page> page) const {
    auto around = envelope(call);
    around.page = std::move(page);
    if (places.empty()) around.message = kNoResult;
    std::string rows;
    for (const auto place : places) rows += (rows.empty() ? "" : ",") + fixture_text(call, place);
    around.data = "[" + rows + "]";
    return json_answer(200, envelope_json(around));
}

std::string Provider::fixture_text(const Call& call, std::size_t place) const {
    const WireContext context{tournament_, *call.query.zone, settings_.season_id, settings_.seed, call.now};
    return fixture_json(context, tournament_.matches[place], scripts_[place], call.query.includes);
}

Envelope Provider::envelope(const Call& call) const {
    Envelope around;
    around.plan_is_paid = settings_.plan_is_paid;
    around.resets_in_seconds = quota_.resets_in_seconds(call.moment);
    around.remaining = quota_.remaining();
    around.timezone = call.query.zone->name();
    around.now = call.now;
    return around;
}

/// As JSON. The URL does not carry the token, as the recorded ones did not.
std::string Provider::next_page(const Call& call) const {
    const auto number = std::to_string(call.query.page + 1);
    if (settings_.next_page == NextPage::kNumber) return number;
    JsonWriter json;
    json.value(settings_.next_page == NextPage::kText
                   ? number
                   : "http://" + call.host + call.path + "?" + call.query.again + "page=" + number);
    return json.text();
}

bool Provider::is_wanted(const Query& query, const Match& match) const {
    if (query.leagues && !query.leagues->contains(kLeagueId)) return false;
    if (query.seasons && !query.seasons->contains(settings_.season_id)) return false;
    return match.id > query.id_after;
}

ProviderAnswer Provider::over_quota(Moment moment) const {
    if (settings_.quota_as_422) return refused({ApiCode::kRateLimit, ""});
    auto answer = json_answer(429, message_body("Too Many Attempts."));
    if (settings_.retry_after) {
        answer.headers.emplace_back("Retry-After", std::to_string(quota_.resets_in_seconds(moment)));
    }
    return answer;
}

ProviderStatus Provider::status(Moment moment) const {
    ProviderStatus status;
    status.clock = clock_->now(moment);
    status.polls = polls_;
    status.instants = instants_;
    status.fixtures = scripts_.size();
    std::size_t played = 0;
    for (const auto& script : scripts_) {
        if (!script.snapshots.empty()) ++played;
        if (script.has_ended(status.clock)) ++status.terminal;
    }
    status.at_end = status.clock >= last_instant_ && end_delivered_.size() == played;
    return status;
}

ProviderAnswer Provider::status_answer(Moment moment) const {
    const auto now = status(moment);
    JsonWriter json;
    json.begin_object();
    json.field("at_end", now.at_end);
    json.field("clock", utc_text(now.clock));
    json.field("polls", now.polls);
    json.field("instants", now.instants);
    json.field("fixtures", now.fixtures);
    json.field("terminal", now.terminal);
    json.key("half_time_differs");
    json.begin_array();
    for (const auto& match : tournament_.matches) {
        if (match.half_time_disagrees()) json.value(match.id);
    }
    json.end_array();
    json.end_object();
    return json_answer(200, json.text());
}

}  // namespace ftlfeed::sim

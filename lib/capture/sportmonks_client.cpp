#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <set>

#include <ftlfeed/capture/sportmonks.hpp>
#include <ftlfeed/core/failure.hpp>

#include "capture/sportmonks_failure.hpp"
#include "capture/sportmonks_parse.hpp"

namespace ftlfeed::capture {
namespace {

using std::chrono::sys_days;
using std::chrono::sys_seconds;

// Fixed: a snapshot without one of these would be another snapshot. The rows of `events` name the assist themselves.
constexpr const char* kIncludes = "participants;scores;state;group;round;stage;events";
constexpr int kPagesMax = 400;

/// The Date header (RFC 9110, 5.6.7), the one form that servers still send.
std::optional<sys_seconds> date_header(const net::HttpResponse& response) {
    const auto header = response.headers.find("date");
    if (header == response.headers.end()) return std::nullopt;
    std::tm parts{};
    const char* end = strptime(header->second.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (!end || *end != '\0') return std::nullopt;
    return sys_seconds(std::chrono::seconds(timegm(&parts)));
}

std::string date_text(sys_days day) {
    const std::chrono::year_month_day date(day);
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()));
}

std::string without_slash(std::string url) {
    while (url.ends_with('/')) url.pop_back();
    return url;
}

}  // namespace

class SportmonksClient::Impl {
public:
    Impl(SportmonksSettings settings, core::Clock& clock)
        : settings_(std::move(settings)), clock_(clock), http_(settings_.limits) {
        settings_.url = without_slash(settings_.url);
        // libcurl ends a header's line at a line break: a token with one would write headers of its own.
        const auto& token = settings_.token.reveal();
        if (token.find_first_of("\r\n") != std::string::npos) {
            throw core::InvalidInput("the provider's token holds a line break: its file must be one line");
        }
        headers_ = {"Authorization: " + token, "Accept: application/json"};
    }

    [[nodiscard]] const std::string& name() const { return settings_.name; }

    /// One request. `path` is shown in failures: the token is in no path.
    SportmonksAnswer ask(const std::string& path, const std::string& query) {
        const auto target = settings_.url + "/v3/football/" + path;
        const auto response = http_.get(target + "?include=" + kIncludes + query, headers_);
        try {
            auto body = read_body(response);
            if (const auto failure = sportmonks_failure(response, body, limit_left())) throw *failure;
            auto answer = std::move(*body);
            if (!answer.provider_time) answer.provider_time = date_header(response);
            if (answer.limit_resets_in) {
                limit_resets_at_ = clock_.steady_now() + *answer.limit_resets_in;
            }
            return answer;
        } catch (const core::Failure& failure) {
            throw failure.within("GET " + target);
        }
    }

    /// A list that is empty says `[]`. Without `data` nothing is said, and nothing follows from it.
    SportmonksAnswer ask_list(const std::string& path, const std::string& query) {
        auto answer = ask(path, query);
        if (!answer.has_data) throw core::Failure::unavailable("GET " + path + ": a list without \"data\"");
        return answer;
    }

    /// All pages, or a failure: half of a list is no list.
    SportmonksAnswer ask_pages(const std::string& path, const std::string& query) {
        SportmonksAnswer whole;
        std::set<std::int64_t> seen;
        for (int page = 1; page <= kPagesMax; ++page) {
            auto answer = ask_list(path, query + fmt::format("&per_page={}&page={}", settings_.page_rows, page));
            whole.provider_time = answer.provider_time;
            std::size_t fresh = 0;
            for (auto& fixture : answer.fixtures) {
                // Page numbers move when a fixture is added meanwhile: one may come twice, and then it is the same.
                if (!seen.insert(fixture.id).second) continue;
                ++fresh;
                whole.fixtures.push_back(std::move(fixture));
            }
            std::move(answer.rejected.begin(), answer.rejected.end(), std::back_inserter(whole.rejected));
            if (!answer.has_more) return whole;
            if (fresh == 0 && answer.rejected.empty()) {
                throw core::Failure::unavailable("GET " + path + ": page " + std::to_string(page) +
                                                 " repeats what was there, and says that there is more");
            }
        }
        throw core::Failure::unavailable("GET " + path + ": more than " + std::to_string(kPagesMax) + " pages");
    }

private:
    [[nodiscard]] std::optional<std::chrono::seconds> limit_left() const {
        if (!limit_resets_at_) return std::nullopt;
        const auto left = *limit_resets_at_ - clock_.steady_now();
        return std::max(std::chrono::seconds(0), std::chrono::ceil<std::chrono::seconds>(left));
    }

    SportmonksSettings settings_;
    core::Clock& clock_;
    net::HttpClient http_;
    std::vector<std::string> headers_;
    std::optional<core::SteadyTime> limit_resets_at_;
};

namespace {

ProviderAnswer neutral(SportmonksAnswer answer) {
    return {std::move(answer.fixtures), std::move(answer.rejected), answer.provider_time};
}

}  // namespace

SportmonksClient::SportmonksClient(SportmonksSettings settings, core::Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(settings), clock)) {}
SportmonksClient::~SportmonksClient() = default;

const std::string& SportmonksClient::name() const { return impl_->name(); }

ProviderAnswer SportmonksClient::in_play() { return neutral(impl_->ask_list("livescores/inplay", "")); }

ProviderAnswer SportmonksClient::fixtures_between(sys_days first, sys_days last,
                                                  const std::vector<std::int64_t>& season_ids) {
    std::string query;
    for (const auto id : season_ids) query += (query.empty() ? "&filters=fixtureSeasons:" : ",") + std::to_string(id);
    return neutral(impl_->ask_pages("fixtures/between/" + date_text(first) + "/" + date_text(last), query));
}

ProviderAnswer SportmonksClient::fixture(std::int64_t id) {
    auto answer = neutral(impl_->ask("fixtures/" + std::to_string(id), ""));
    const auto is_other = [id](const FixtureSnapshot& fixture) { return fixture.id != id; };
    if (std::any_of(answer.fixtures.begin(), answer.fixtures.end(), is_other)) {
        throw core::Failure::unavailable("GET fixtures/" + std::to_string(id) + ": the answer is another fixture");
    }
    return answer;
}

}  // namespace ftlfeed::capture

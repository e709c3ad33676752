// Reads the options of the sub-commands and runs them.
#include <fmt/core.h>

#include <cxxopts.hpp>
#include <sstream>
#include <utility>

#include "command.hpp"
#include "generate.hpp"
#include "options.hpp"
#include "parsing.hpp"
#include "provider_server.hpp"
#include "proxy.hpp"

namespace ftlfeed::sim {
namespace {

template <typename Settings>
void take_optional(const cxxopts::ParseResult& options, const std::string& name, Settings& setting) {
    if (options.count(name) > 0) setting = options[name].as<std::size_t>();
}

double speed_of(const std::string& text) {
    if (text == "max") return 0;
    try {
        std::size_t end = 0;
        const double speed = std::stod(text, &end);
        if (end == text.size() && speed > 0 && speed <= 1e6) return speed;
    } catch (const std::logic_error&) {
        // Said below, as for a number out of bounds.
    }
    throw UsageError("--speed is 'max' or a number above 0");
}

/// "3:html" for the third in-play answer.
std::map<std::uint64_t, Fault> faults_of(const std::vector<std::string>& texts) {
    std::map<std::uint64_t, Fault> faults;
    for (const auto& text : texts) {
        std::istringstream reader(text);
        std::uint64_t number = 0;
        char colon = 0;
        std::string name;
        reader >> number >> colon >> name;
        const auto fault = fault_named(name);
        if (number == 0 || colon != ':' || !fault) {
            throw UsageError(
                "--fault " + text +
                ": it is K:KIND, KIND being html, half, nothing, strings, nul, no-events, error or rate-limit");
        }
        faults[number] = *fault;
    }
    return faults;
}

NextPage next_page_of(const std::string& text) {
    if (text == "url") return NextPage::kUrl;
    if (text == "number") return NextPage::kNumber;
    if (text == "text") return NextPage::kText;
    throw UsageError("--next-page is url, number or text");
}

ProviderSettings provider_settings(const cxxopts::ParseResult& options) {
    ProviderSettings settings;
    settings.season_id = options["season"].as<std::int64_t>();
    settings.seed = options["seed"].as<std::uint64_t>();
    const auto tokens = options["token"].as<Texts>();
    settings.tokens = {tokens.begin(), tokens.end()};
    settings.query.per_page = options["per-page"].as<std::size_t>();
    if (settings.query.per_page < 1 || settings.query.per_page > 50) throw UsageError("--per-page is 1 to 50");
    if (options.count("plan-lacks") > 0) {
        const auto lacks = options["plan-lacks"].as<Texts>();
        settings.query.plan_lacks = {lacks.begin(), lacks.end()};
    }
    settings.next_page = next_page_of(options["next-page"].as<std::string>());
    settings.plan_is_paid = !options["free-plan"].as<bool>();
    settings.quota = options["quota"].as<int>();
    if (settings.quota < 0) throw UsageError("--quota is 0 or more");
    settings.quota_as_422 = options["quota-as-422"].as<bool>();
    settings.retry_after = !options["no-retry-after"].as<bool>();
    settings.speed = speed_of(options["speed"].as<std::string>());
    if (options.count("fault") > 0) settings.faults = faults_of(options["fault"].as<Texts>());
    return settings;
}

ProxyScript script_of(const std::string& text) { return ProxyScript::parse(script_text(text)); }

}  // namespace

int run_provider(const std::vector<std::string>& arguments) {
    cxxopts::Options options("ftl-sim provider",
                             "Plays a tournament over HTTP as the football provider would show it.\n");
    auto add = options.add_options();
    add("data", "openfootball's JSON, or what 'ftl-sim generate' wrote", cxxopts::value<std::string>(), "FILE");
    add("port", "Port on 127.0.0.1; 0 takes a free one", cxxopts::value<std::uint16_t>()->default_value("0"), "N");
    add("port-file", "Write the port there once it is open", cxxopts::value<std::string>(), "FILE");
    add("speed", "'max': the reader moves the clock; N: N times real time",
        cxxopts::value<std::string>()->default_value("max"), "S");
    add("season", "Season id of every fixture", cxxopts::value<std::int64_t>()->default_value("1"), "ID");
    add("seed", "Decides the order of rows", cxxopts::value<std::uint64_t>()->default_value("1"), "N");
    add("token", "Accepted token; may be given again", cxxopts::value<Texts>()->default_value("sim-token"), "T");
    add("per-page", "Page size when a request does not say", cxxopts::value<std::size_t>()->default_value("25"), "N");
    add("next-page", "How next_page is written: url, number or text",
        cxxopts::value<std::string>()->default_value("url"), "HOW");
    add("quota", "Requests an hour; 0: without a limit", cxxopts::value<int>()->default_value("0"), "N");
    add("quota-as-422", "Over the quota answer 422 with body code 5005, not 429",
        cxxopts::value<bool>()->default_value("false"));
    add("no-retry-after", "429 without Retry-After", cxxopts::value<bool>()->default_value("false"));
    add("free-plan", "subscription.meta is [] instead of an object", cxxopts::value<bool>()->default_value("false"));
    add("plan-lacks", "Include that the plan does not cover (5002); may be given again", cxxopts::value<Texts>(),
        "INCLUDE");
    add("fault", "The K-th in-play answer goes wrong; may be given again", cxxopts::value<Texts>(), "K:KIND");
    const auto parsed = parse(options, arguments, R"(
Endpoints: /v3/football/livescores/inplay, /v3/football/fixtures/{id}, /v3/football/fixtures/between/{a}/{b},
and /sim/status (without a token) for whoever drives it.
Kinds of --fault: html (a page instead of JSON), half (ends in the middle), nothing (no answer), strings (numbers as
texts), nul (U+0000 in a name), no-events (empty lists), error (500), rate-limit (429). A spoilt answer does not move the
clock: the reader gets the same moment again.

Examples:
  ftl-sim generate --seed 7 --out cup.json
  ftl-sim provider --data cup.json --port 8080
  curl -H 'Authorization: sim-token' \
       'http://127.0.0.1:8080/v3/football/livescores/inplay?include=participants;scores;events.type'
  ftl-sim provider --data cup.json --speed 60 --fault 3:html --fault 5:half
)");
    if (!parsed) return 0;
    Provider provider(read_tournament(needed(*parsed, "data")), provider_settings(*parsed));
    ProviderServer server(std::move(provider), "127.0.0.1", (*parsed)["port"].as<std::uint16_t>());
    const SignalWatch watch({SIGTERM, SIGINT}, [&server](int) { server.stop(); });
    announce_port(*parsed, server.port(), "provider");
    server.run();
    return 0;
}

int run_generate(const std::vector<std::string>& arguments) {
    cxxopts::Options options("ftl-sim generate", "Writes a made-up tournament in openfootball's form, extended.\n");
    auto add = options.add_options();
    add("out", "File to write; - is the standard output", cxxopts::value<std::string>(), "FILE");
    add("seed", "The same seed gives the same bytes", cxxopts::value<std::uint64_t>()->default_value("1"), "N");
    add("teams", "8, 16, 32, 64 or 128", cxxopts::value<std::size_t>()->default_value("32"), "N");
    add("matches", "So many: the groups play more rounds, or the last are left out", cxxopts::value<std::size_t>(),
        "N");
    add("events", "Exactly so many, with as many matches as that takes", cxxopts::value<std::size_t>(), "N");
    const auto parsed = parse(options, arguments, R"(
Examples:
  ftl-sim generate --seed 1 --out cup.json                    32 teams, 64 matches
  ftl-sim generate --seed 2 --events 20000 --out big.json     a long season for a bench
)");
    if (!parsed) return 0;
    GenerateSettings settings;
    settings.seed = (*parsed)["seed"].as<std::uint64_t>();
    settings.teams = (*parsed)["teams"].as<std::size_t>();
    take_optional(*parsed, "matches", settings.matches);
    take_optional(*parsed, "events", settings.events);
    const auto out = needed(*parsed, "out");
    const auto text = generate_tournament(settings);
    if (out != "-") {
        write_file_whole(out, text);
        return 0;
    }
    fmt::print("{}", text);
    return std::fflush(stdout) == 0 ? 0 : 1;
}

int run_proxy(const std::vector<std::string>& arguments) {
    cxxopts::Options options("ftl-sim proxy", "Relays TCP connections and hurts them as a script says.\n");
    auto add = options.add_options();
    add("listen", "Port on 127.0.0.1; 0 takes a free one", cxxopts::value<std::uint16_t>()->default_value("0"), "PORT");
    add("port-file", "Write the port there once it is open", cxxopts::value<std::string>(), "FILE");
    add("to", "Where to", cxxopts::value<std::string>(), "HOST:PORT");
    add("script", "The faults, or @FILE", cxxopts::value<std::string>()->default_value(""), "SCRIPT");
    add("seed", "Decides what the script leaves open", cxxopts::value<std::uint64_t>()->default_value("1"), "N");
    const auto parsed = parse(options, arguments, R"(
A script is rules, parted by ';' or lines: CONNECTIONS: WORDS. The first rule that fits a connection holds.
  CONNECTIONS  3, 2-5, 4-, 20% (drawn by the seed) or *; they count from 1
  up|down|both the direction that the following words are about (up: from the client)
  delay=MS     before each piece        slice=BYTES  pieces of so many bytes at most
  stop=N       after N bytes read no more               swallow=N  throw the rest away
  half=N       after N bytes end this direction         close=N    close both sides
  reset=N      after N bytes RST to both sides
  silence      accept, read, never answer               pass       nothing at all
  A number may be A..B: the seed picks one.
SIGHUP reads @FILE again, and connections count from 1 again. SIGUSR1 resets every open connection.

Examples:
  ftl-sim proxy --listen 7000 --to 127.0.0.1:5432 --script '1: down reset=1000; *: pass'
  ftl-sim proxy --to 127.0.0.1:8080 --script @faults --port-file port
)");
    if (!parsed) return 0;
    const auto to = needed(*parsed, "to");
    const auto colon = to.rfind(':');
    const auto port = colon == std::string::npos ? std::nullopt : whole_number<std::uint16_t>(to.substr(colon + 1));
    if (!port || *port == 0) throw UsageError("--to is '" + to + "'; it has to be HOST:PORT");
    const auto script = (*parsed)["script"].as<std::string>();
    Proxy proxy({"127.0.0.1", (*parsed)["listen"].as<std::uint16_t>(), to.substr(0, colon), *port,
                 (*parsed)["seed"].as<std::uint64_t>(), script_of(script)});
    const SignalWatch watch({SIGTERM, SIGINT, SIGHUP, SIGUSR1}, [&](int signal) {
        if (signal == SIGUSR1) return proxy.cut();
        if (signal != SIGHUP) return proxy.stop();
        try {
            proxy.set_script(script_of(script));
        } catch (const UsageError& error) {
            fmt::print(stderr, "ftl-sim: {}; the old script stays\n", error.what());
        }
    });
    announce_port(*parsed, proxy.port(), "proxy");
    proxy.run();
    return 0;
}

}  // namespace ftlfeed::sim

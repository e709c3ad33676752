#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <ftlfeed/net/http_client.hpp>

#include "support/paths.hpp"
#include "support/pg.hpp"
#include "support/process.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

namespace ftl::test {

/// Eight matches, two at a time now and then: own goals for either side, extra time, a shoot-out, a match without goals and
/// one that is never played, names in several scripts. 14 goals.
inline std::filesystem::path tournament_file() { return source_dir() / "tests" / "capture" / "data" / "cup.json"; }

/// `ftl-sim provider` on a free port, playing a data file as fast as it is read.
class SimProvider {
public:
    explicit SimProvider(const std::vector<std::string>& options = {},
                         const std::filesystem::path& data = tournament_file()) {
        const auto port_file = folder_ / "port";
        std::vector<std::string> command{app("ftl-sim"), "provider", "--data",      data.string(),
                                         "--season",     "77",       "--port-file", port_file.string()};
        command.insert(command.end(), options.begin(), options.end());
        process_ = std::make_unique<Process>(command, ProcessOptions{{}, folder_ / "sim.log", {}, {}, {}});
        if (!wait_until([&] { return std::filesystem::exists(port_file) && !read_file(port_file).empty(); })) {
            throw std::runtime_error("ftl-sim did not open its port");
        }
        url_ = "http://127.0.0.1:" + std::to_string(std::stoi(read_file(port_file)));
    }

    [[nodiscard]] const std::string& url() const { return url_; }
    [[nodiscard]] std::string status() { return http_.get(url_ + "/sim/status", {}).body; }
    [[nodiscard]] bool is_at_end() { return status().find("\"at_end\":true") != std::string::npos; }

private:
    TempFolder folder_;
    std::unique_ptr<Process> process_;
    std::string url_;
    ftlfeed::net::HttpClient http_{{}};
};

/// A database with an event on season 77 and the quickstart's kind of bump rules.
inline void add_event(const Database& database) {
    database.exec(R"(
        INSERT INTO event (code, name, provider, provider_season_id) VALUES ('cup', 'Cup', 'sportmonks', 77);
        INSERT INTO bump_rule (event_id, type_id, role, micro)
        SELECT id, t, r, m FROM event, (VALUES (14, 'scorer', 1000), (14, 'team', 200), (14, 'opponent', -200),
            (16, 'scorer', 800), (16, 'team', 200), (16, 'opponent', -200),
            (15, 'own_goal', -500), (15, 'team', 200), (15, 'opponent', -200)) v (t, r, m))");
}

/// Starts ftl-ingest on a database and a provider.
class IngestProcess {
public:
    IngestProcess(const Database& database, const std::string& provider_url, ProcessOptions options = {}) {
        write_file(folder_ / "token", "sim-token\n");
        options.log = log();
        process_ = std::make_unique<Process>(
            std::vector<std::string>{app("ftl-ingest"), "--postgres.uri", database.uri(), "--provider.url",
                                     provider_url, "--provider.token_file", (folder_ / "token").string(),
                                     "--ingest.poll_interval_ms", "0", "--ingest.lease_ttl_ms", "600",
                                     "--ingest.lease_renew_ms", "150", "--ingest.lease_watch_ms", "50",
                                     "--ingest.failure_first_ms", "5", "--ingest.failure_max_ms", "50"},
            options);
    }
    [[nodiscard]] Process& process() { return *process_; }
    [[nodiscard]] std::filesystem::path log() const { return folder_ / "ingest.log"; }
    [[nodiscard]] std::string said() const { return std::filesystem::exists(log()) ? read_file(log()) : ""; }

private:
    TempFolder folder_;
    std::unique_ptr<Process> process_;
};

/// All that capture must end with, however it came there: events without stamps and source, the net of the ledger, totals,
/// fixtures. By the provider's ids alone.
inline std::string end_state(const Database& database) {
    return database.value(R"(SELECT string_agg(line, E'\n' ORDER BY line) FROM (
        SELECT concat_ws('|', 'event', f.provider_id, m.provider_event_id, m.type, m.minute, m.extra_minute, m.team_side,
                         p.provider_id, m.player_name, a.provider_id, m.result) AS line
        FROM match_event_current m JOIN fixture f ON f.id = m.fixture_id
        LEFT JOIN player p ON p.id = m.player_id LEFT JOIN player a ON a.id = m.assist_player_id
        UNION ALL
        SELECT concat_ws('|', 'ledger', f.provider_id, b.provider_event_id, i.kind, i.provider_id, b.role, sum(b.micro))
        FROM event_bump_log b JOIN fixture f ON f.id = b.fixture_id JOIN instrument i ON i.id = b.instrument_id
        GROUP BY f.provider_id, b.provider_event_id, i.kind, i.provider_id, b.role
        UNION ALL
        SELECT concat_ws('|', 'total', i.kind, i.provider_id, b.total)
        FROM instrument_bump b JOIN instrument i ON i.id = b.instrument_id
        UNION ALL
        SELECT concat_ws('|', 'fixture', provider_id, state, home_score, away_score, home_score_half, away_score_half,
                         home_shootout, away_shootout, group_name, round_name, kickoff, is_incomplete) FROM fixture) x)");
}

}  // namespace ftl::test

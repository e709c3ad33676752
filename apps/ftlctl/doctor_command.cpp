#include <ftlctl/command.hpp>

#include <algorithm>
#include <iterator>

#include <ftlfeed/core/failure.hpp>

#include <ftlctl/call.hpp>
#include <ftlctl/doctor_checks.hpp>

namespace ftlctl {

namespace {

std::vector<Finding> look(Call& call) {
    std::vector<Finding> findings;
    try {
        findings = check_server(call);
    } catch (const ftlfeed::core::Failure& failure) {
        return {{"connection", false, failure.what(), "is Postgres up, and is postgres.uri right?"}};
    }
    findings.push_back(check_migrations(call));
    // Without the tables the rest has nothing to look at.
    if (!findings.back().is_ok) return findings;
    auto rest = check_installation(call);
    std::ranges::move(rest, std::back_inserter(findings));
    return findings;
}

int doctor(Call& call) {
    const auto findings = look(call);
    const auto problems = std::ranges::count_if(findings, [](const Finding& finding) { return !finding.is_ok; });
    std::vector<std::vector<Cell>> rows;
    for (const auto& finding : findings) {
        rows.push_back({finding.is_ok ? "OK" : "PROBLEM", finding.check, finding.what,
                        finding.remedy.empty() ? Cell{} : Cell{finding.remedy}});
    }
    call.report().fact("problems", static_cast<std::int64_t>(problems));
    call.report().table("checks", {"result", "check", "found", "remedy"}, std::move(rows));
    return problems == 0 ? 0 : 1;
}

}  // namespace

std::vector<Command> doctor_commands() {
    return {
        {{"doctor"},
         {},
         "is everything as it should be, and if not, what helps",
         "Looks at the connection, the tables, the cluster's epoch, the readers of the outbox, old transactions, the\n"
         "leases, the destinations' folders, the clocks and more. Changes nothing. Exit code 1 when it finds a "
         "problem.\n"
         "Run it as the user of ftl-deliver, or it cannot tell which folders that may write.\n\n"
         "  ftlctl doctor --config /etc/ftlfeed/ftlctl.toml",
         {},
         doctor},
    };
}

}  // namespace ftlctl

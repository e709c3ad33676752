#include <ftlctl/command.hpp>

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlctl/call.hpp>

namespace ftlctl {

namespace {

int list(Call& call) {
    call.session().read([&](pqxx::transaction_base& tx) {
        call.report().table(
            "alerts",
            tx.exec_params(
                "SELECT severity, kind, subject, message, times, raised_at, last_seen_at, cleared_at "
                "FROM alert WHERE $1 OR cleared_at IS NULL "
                "ORDER BY cleared_at IS NOT NULL, array_position('{critical,warning,info}'::text[], severity), "
                "raised_at DESC, id LIMIT 1000",
                call.flag("all")));
    });
    return 0;
}

}  // namespace

std::vector<Command> alert_commands() {
    return {
        {{"alert", "list"},
         {},
         "what a person should look at",
         "Open alerts, the gravest first. An alert is raised once and clears itself when the trouble is over.\n\n"
         "  ftlctl alert list --json",
         {{"all", "", "those that are over too"}},
         list},
    };
}

}  // namespace ftlctl

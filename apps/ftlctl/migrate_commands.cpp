#include <ftlctl/command.hpp>

#include <ftlfeed/store/migrator.hpp>

#include <ftlctl/audit.hpp>
#include <ftlctl/call.hpp>

namespace ftlctl {

namespace {

using ftlfeed::store::Migrator;

std::string name_of(std::int64_t version) {
    for (const auto& migration : ftlfeed::store::migrations()) {
        if (migration.version == version) return migration.name;
    }
    return "unknown";
}

void report_versions(Call& call, const std::string& table, const std::vector<std::int64_t>& versions) {
    std::vector<std::vector<Cell>> rows;
    for (const auto version : versions) rows.push_back({version, name_of(version)});
    call.report().table(table, {"version", "name"}, std::move(rows));
}

int up(Call& call) {
    // The tables are made by this: only afterwards is there an audit_log to write to.
    call.allow_long_work();
    const auto applied = Migrator(call.session()).up();
    if (!applied.empty()) {
        audited_outside(call, {"migrate up", "to " + std::to_string(applied.back()), ""}, [] {});
    }
    call.report().fact("current", Migrator(call.session()).status().current);
    report_versions(call, "applied", applied);
    return 0;
}

int status(Call& call) {
    const auto status = Migrator(call.session()).status();
    call.report().fact("current", status.current);
    call.report().fact("dirty", status.is_dirty);
    report_versions(call, "pending", status.pending);
    return 0;
}

int down(Call& call) {
    if (!call.flag("yes")) throw UsageError("this drops tables with all they hold; add --yes if you mean it");
    const auto steps = call.number("steps").value_or(1);
    if (steps < 1 || steps > 1'000) throw UsageError("--steps has to be 1 to 1000");
    call.allow_long_work();
    Migrator migrator(call.session());
    std::vector<std::int64_t> undone;
    const auto undo = [&] { undone = migrator.down(static_cast<int>(steps)); };
    // With the first migration the audit log itself goes.
    if (steps < migrator.status().current) {
        audited_outside(call, {"migrate down", std::to_string(steps) + " steps", ""}, undo);
    } else {
        undo();
    }
    call.report().fact("current", migrator.status().current);
    report_versions(call, "undone", undone);
    return 0;
}

}  // namespace

std::vector<Command> migrate_commands() {
    return {
        {{"migrate", "up"},
         {},
         "bring the database to the newest version",
         "Applies every migration that the database lacks, each in a transaction of its own. Two runs at once do not\n"
         "meet. The table `schema_migrations` is golang-migrate's, so its users can run the same files.\n\n"
         "  ftlctl migrate up",
         {},
         up},
        {{"migrate", "status"},
         {},
         "which migrations are applied and which are pending",
         "A dirty database is one whose last migration broke off; it needs a person.\n\n  ftlctl migrate status --json",
         {},
         status},
        {{"migrate", "down"},
         {},
         "undo the newest migration",
         "For people who try something out. It drops what the migration made, data included.\n\n"
         "  ftlctl migrate down --steps 1 --yes",
         {{"steps", "N", "how many (default 1)"}, {"yes", "", "I know that this drops data"}},
         down},
    };
}

}  // namespace ftlctl

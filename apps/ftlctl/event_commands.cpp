#include <ftlctl/command.hpp>

#include <map>

#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/capture/bump_ledger.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/outbox/touch.hpp>
#include <ftlfeed/store/value.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlctl/audit.hpp>
#include <ftlctl/call.hpp>
#include <ftlctl/lookup.hpp>

namespace ftlctl {

namespace {

using ftlfeed::store::checked;

// Beyond it totals could leave the range that readers in JavaScript hold exactly.
constexpr std::int64_t kMicroMax = 1'000'000'000'000;

// The provider's numbers for the types that a rule is usually made for.
const std::map<std::string, std::int64_t>& type_names() {
    static const std::map<std::string, std::int64_t> kNames{
        {"var", 10},          {"goal", 14},        {"own_goal", 15}, {"penalty", 16},         {"missed_penalty", 17},
        {"substitution", 18}, {"yellow_card", 19}, {"red_card", 20}, {"yellow_red_card", 21},
    };
    return kNames;
}

std::int64_t type_of(const std::string& text) {
    if (const auto named = type_names().find(text); named != type_names().end()) return named->second;
    std::string known;
    for (const auto& [name, number] : type_names()) known += " " + name;
    try {
        const auto number = parse_number("TYPE", text);
        if (number > 0 && number < 1'000'000) return number;
    } catch (const UsageError&) {
        // Said below, with the names that are known.
    }
    throw UsageError("TYPE is '" + text + "'; it has to be the provider's type number or one of:" + known);
}

int add(Call& call) {
    const auto& code = parse_name("CODE", call.operand(0));
    const auto season = call.number("season").value();
    if (season < 1)
        throw UsageError("--season is " + std::to_string(season) + "; it has to be the provider's season id");
    const auto name = call.option_or("name", code);
    const auto provider = call.option_or("provider", "sportmonks");
    // Before the event is touched: a cursor that is made later would start behind that touch.
    const bool is_registered = ftlfeed::build::register_marker(call.session());
    audited(call, {"event add", code, ""}, [&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec_params(
            "INSERT INTO event (code, name, provider, provider_season_id) VALUES ($1, $2, $3, $4) "
            "ON CONFLICT DO NOTHING RETURNING id",
            code, checked(name), checked(provider), season);
        if (rows.empty()) {
            throw NotDone("event '" + code + "' or " + provider + "'s season " + std::to_string(season) +
                          " is there already; `ftlctl event list` shows it");
        }
        ftlfeed::outbox::touch(tx, {"event", code, code});
    });
    call.report().fact("event", code);
    call.report().fact("season", season);
    call.report().fact("build_cursor_made", is_registered);
    return 0;
}

int list(Call& call) {
    call.session().read([&](pqxx::transaction_base& tx) {
        call.report().table("events", tx.exec("SELECT e.code AS event, e.name, e.provider, "
                                              "e.provider_season_id AS season, "
                                              "(SELECT count(*) FROM fixture f WHERE f.event_id = e.id) AS fixtures, "
                                              "(SELECT count(*) FROM bump_rule r WHERE r.event_id = e.id) AS rules "
                                              "FROM event e ORDER BY e.code"));
    });
    return 0;
}

std::string role_of(const std::string& text) {
    try {
        return ftlfeed::capture::role_name(ftlfeed::capture::parse_role(text));
    } catch (const ftlfeed::core::InvalidInput& error) {
        throw UsageError("ROLE: " + std::string(error.what()));
    }
}

int set_rule(Call& call) {
    const auto& code = call.operand(0);
    const auto type = type_of(call.operand(1));
    const auto role = role_of(call.operand(2));
    const auto micro = parse_number("MICRO", call.operand(3));
    if (micro > kMicroMax || micro < -kMicroMax) throw UsageError("MICRO is beyond a million units either way");
    audited(call, {"event rule set", code + "/" + std::to_string(type) + "/" + role, ""},
            [&](pqxx::transaction_base& tx) {
                tx.exec_params(
                    "INSERT INTO bump_rule (event_id, type_id, role, micro) VALUES ($1, $2, $3, $4) "
                    "ON CONFLICT (event_id, type_id, role) DO UPDATE SET micro = excluded.micro",
                    event_id(tx, code), type, role, micro);
            });
    call.report().fact("event", code);
    call.report().fact("type", type);
    call.report().fact("role", role);
    call.report().fact("micro", micro);
    return 0;
}

int list_rules(Call& call) {
    call.session().read([&](pqxx::transaction_base& tx) {
        call.report().table(
            "rules", tx.exec_params("SELECT e.code AS event, r.type_id AS type, r.role, r.micro FROM bump_rule r "
                                    "JOIN event e ON e.id = r.event_id WHERE e.code = $1 OR $1 = '' "
                                    "ORDER BY 1, 2, 3",
                                    checked(call.operand_if(0).value_or(""))));
    });
    return 0;
}

}  // namespace

std::vector<Command> event_commands() {
    return {
        {{"event", "add"},
         {"CODE"},
         "read a season of the provider as an event",
         "An event is a tournament or Games. CODE is its name in every file's key and path and never changes.\n"
         "ftl-ingest reads its fixtures within its next reload (10 minutes at most; at once when it starts).\n\n"
         "  ftlctl event add wc2026 --season 26618 --name 'World Cup 2026'",
         {{"season", "ID", "the provider's season id", true},
          {"name", "TEXT", "what people call it (default: CODE)"},
          {"provider", "NAME", "whose season it is (default: sportmonks)"}},
         add},
        {{"event", "list"}, {}, "the events with their seasons", "  ftlctl event list", {}, list},
        {{"event", "rule", "set"},
         {"CODE", "TYPE", "ROLE", "MICRO"},
         "what a match event is worth",
         "A match event of TYPE moves the instrument that has ROLE in it by MICRO millionths; negative amounts are\n"
         "allowed. TYPE is goal, own_goal, penalty, … or the provider's number. ROLE is scorer, own_goal (the player\n"
         "who put it in), assist, team (whose score grew) or opponent. The rule counts from the next event on.\n\n"
         "  ftlctl event rule set wc2026 goal scorer 50000\n"
         "  ftlctl event rule set wc2026 goal opponent -5000",
         {},
         set_rule},
        {{"event", "rule", "list"},
         {"[CODE]"},
         "the rules of one event, or of all",
         "  ftlctl event rule list wc2026",
         {},
         list_rules},
    };
}

}  // namespace ftlctl

#include "deliver/destination_table.hpp"

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <algorithm>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/deliver/dispatcher.hpp>

#include "deliver/sql.hpp"

namespace ftlfeed::deliver {
namespace {

constexpr std::string_view kLeasePrefix = "deliver:";

std::optional<std::vector<std::string>> array_or_none(const pqxx::field& field) {
    if (field.is_null()) return std::nullopt;
    return store::from_text_array(field.c_str());
}

std::vector<AssignmentId> ids_of(const pqxx::result& rows) {
    std::vector<AssignmentId> ids;
    for (const auto& row : rows) ids.push_back({row[0].as<std::int64_t>()});
    return ids;
}

LoadedDestination read_destination(const pqxx::row& row) {
    const auto number = [&row](const char* column) { return row[column].as<std::int64_t>(); };
    const auto length = [&](const char* column) { return std::chrono::milliseconds(number(column)); };
    LoadedDestination loaded;
    auto& settings = loaded.settings;
    settings.id = {number("id")};
    settings.label = row["label"].as<std::string>();
    settings.transport = row["transport"].as<std::string>();
    settings.host = text_or_empty(row["host"]);
    if (!row["port"].is_null()) settings.port = row["port"].as<int>();
    if (!row["database_number"].is_null()) settings.database_number = row["database_number"].as<int>();
    settings.folder = text_or_empty(row["folder"]);
    settings.url_scheme = text_or_empty(row["url_scheme"]);
    settings.url_path = text_or_empty(row["url_path"]);
    settings.name_template = row["name_template"].as<std::string>();
    settings.events = array_or_none(row["events"]);
    settings.feed_types = array_or_none(row["feed_types"]);
    settings.on_retire = row["on_retire"].as<std::string>() == "delete" ? OnRetire::kDelete : OnRetire::kKeep;
    settings.render = number("render");
    settings.limits = {length("connect_ms"), length("bytes_ms"), length("reply_ms"), number("bytes_per_second_min")};
    settings.pace = {row["fast_retries_max"].as<int>(), length("first_retry_ms"), length("slow_retry_ms")};
    settings.alert_failures = row["alert_failures"].as<int>();
    settings.alert_behind = length("alert_behind_ms");
    loaded.tries.failures = row["failures"].as<int>();
    if (!row["left_ms"].is_null()) loaded.tries.left = length("left_ms");
    loaded.tries.lasts = row["refusal_lasts"].as<bool>();
    return loaded;
}

}  // namespace

bool DestinationSettings::wants(const core::FeedKey& key) const {
    const auto lists = [](const std::optional<std::vector<std::string>>& names, const std::string& name) {
        return !names || std::find(names->begin(), names->end(), name) != names->end();
    };
    return lists(events, key.event()) && lists(feed_types, key.feed_type());
}

std::string DestinationSettings::target() const {
    // What has no URL and no database number is named as it was before there were any: proofs hold these texts.
    const auto url = url_scheme.empty() && url_path.empty() ? "" : "|" + url_scheme + "|" + url_path;
    const auto database = database_number == 0 ? "" : "|" + std::to_string(database_number);
    return transport + "|" + host + "|" + (port ? std::to_string(*port) : "") + "|" + folder + url + database;
}

std::string lease_name(const std::string& worker) { return std::string(kLeasePrefix) + worker; }

DestinationsSeen see_destinations(store::Session& session) {
    DestinationsSeen seen;
    // One snapshot for both: an owner whose lease is not there yet would look dead.
    session.read_snapshot([&](pqxx::transaction_base& tx) {
        const auto leases = tx.exec("SELECT name, holder, beat, " + micros_sql("clock_timestamp()") +
                                    " FROM (SELECT 1) AS one LEFT JOIN lease ON name LIKE 'deliver:%'");
        seen.now = from_micros(leases[0][3].as<std::int64_t>());
        for (const auto& row : leases) {
            if (row[0].is_null()) continue;
            seen.leases.push_back({row[0].as<std::string>().substr(kLeasePrefix.size()), row[1].as<std::string>(),
                                   row[2].as<std::int64_t>()});
        }
        for (const auto& row : tx.exec("SELECT a.id, a.txid, a.is_on AND c.is_on, o.worker, o.fence, "
                                       "c.code || '/' || a.name, a.transport = 'cache' FROM delivery_assignment a "
                                       "JOIN delivery_client c ON c.id = a.client_id "
                                       "LEFT JOIN delivery_owner o ON o.assignment_id = a.id ORDER BY a.id")) {
            seen.rows.push_back({{row[0].as<std::int64_t>()},
                                 row[1].as<std::string>(),
                                 row[2].as<bool>(),
                                 text_or_empty(row[3]),
                                 row[4].is_null() ? 0 : row[4].as<std::int64_t>(),
                                 row[5].as<std::string>(),
                                 row[6].as<bool>()});
        }
    });
    return seen;
}

std::vector<LoadedDestination> load_destinations(store::Session& session, const std::vector<AssignmentId>& ids) {
    std::vector<LoadedDestination> loaded;
    // One snapshot: a secret and the settings that it belongs to change together.
    session.read_snapshot([&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec_params(
            "SELECT a.*, c.code || '/' || a.name AS label, "
            "(extract(epoch FROM a.next_try - clock_timestamp()) * 1000)::bigint AS left_ms "
            "FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id WHERE a.id = ANY ($1::bigint[])",
            id_array(ids));
        loaded.clear();
        for (const auto& row : rows) loaded.push_back(read_destination(row));
        for (auto& credential : stored_credentials(tx, ids)) {
            const auto theirs = std::find_if(loaded.begin(), loaded.end(), [&](const LoadedDestination& destination) {
                return destination.settings.id == credential.assignment;
            });
            if (theirs != loaded.end()) theirs->settings.credentials.push_back(std::move(credential));
        }
    });
    return loaded;
}

DestinationSettings read_destination_settings(store::Session& session, AssignmentId id) {
    auto loaded = load_destinations(session, {id});
    if (loaded.empty()) throw core::InvalidInput("there is no destination " + std::to_string(id.value));
    return std::move(loaded.front().settings);
}

std::vector<AssignmentId> claim_free(store::Session& session, const std::vector<AssignmentId>& ids,
                                     const WorkerIdentity& us) {
    std::vector<AssignmentId> ours;
    session.write([&](pqxx::transaction_base& tx) {
        ours = ids_of(tx.exec_params(
            "INSERT INTO delivery_owner (assignment_id, worker, fence) "
            "SELECT a.id, $2, $3 FROM delivery_assignment a WHERE a.id = ANY ($1::bigint[]) "
            "AND EXISTS (SELECT 1 FROM lease WHERE name = $4 AND holder = $5 AND fence = $3) ORDER BY a.id "
            "ON CONFLICT DO NOTHING RETURNING assignment_id",
            id_array(ids), store::checked(us.worker), us.fence, lease_name(us.worker), us.process));
    });
    return ours;
}

std::vector<AssignmentId> take_over(store::Session& session, const std::vector<AssignmentId>& ids,
                                    const std::string& from, std::int64_t from_fence, const WorkerIdentity& us) {
    std::vector<AssignmentId> ours;
    session.write([&](pqxx::transaction_base& tx) {
        ours = ids_of(tx.exec_params(
            "UPDATE delivery_owner SET worker = $4, fence = $5, since = clock_timestamp() "
            "WHERE assignment_id = ANY ($1::bigint[]) AND worker = $2 AND fence = $3 "
            "AND EXISTS (SELECT 1 FROM lease WHERE name = $6 AND holder = $7 AND fence = $5) RETURNING assignment_id",
            id_array(ids), store::checked(from), from_fence, store::checked(us.worker), us.fence, lease_name(us.worker),
            us.process));
    });
    return ours;
}

}  // namespace ftlfeed::deliver

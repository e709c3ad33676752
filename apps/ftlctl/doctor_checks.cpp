#include <ftlctl/doctor_checks.hpp>

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <ftlfeed/cache/cache_client.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/epoch.hpp>
#include <ftlfeed/store/migrator.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>

namespace ftlctl {

namespace {

constexpr double kSkewSecondsMax = 1.0;
constexpr double kLeaseSecondsMax = 30.0;

Finding ok(std::string check, std::string what) { return {std::move(check), true, std::move(what), ""}; }

Finding problem(std::string check, std::string what, std::string remedy) {
    return {std::move(check), false, std::move(what), std::move(remedy)};
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Finding check_time(pqxx::transaction_base& tx) {
    const auto before = seconds_now();
    const auto server = tx.exec1("SELECT extract(epoch FROM clock_timestamp())::float8")[0].as<double>();
    const auto after = seconds_now();
    // The answer was given somewhere between the two: only what lies outside is skew.
    const auto skew = server < before ? before - server : server > after ? server - after : 0.0;
    const auto what = std::to_string(std::lround(skew * 1000)) + " ms between Postgres and this machine";
    if (skew <= kSkewSecondsMax) return ok("time", what);
    return problem("time", what,
                   "let chrony or systemd-timesyncd keep both clocks; ages of files are wrong by this much");
}

Finding check_durability(pqxx::transaction_base& tx) {
    const auto row = tx.exec1(
        "SELECT current_setting('fsync'), current_setting('full_page_writes'), "
        "current_setting('synchronous_commit'), current_setting('server_version')");
    const auto version = "Postgres " + row[3].as<std::string>();
    if (row[0].as<std::string>() != "on" || row[1].as<std::string>() != "on" || row[2].as<std::string>() == "off") {
        return problem("durability", version + " may lose what it confirmed",
                       "set fsync = on, full_page_writes = on and synchronous_commit = on");
    }
    return ok("durability", version + " keeps what it confirms");
}

Finding check_epoch(Call& call) {
    const auto cluster = ftlfeed::store::identify_cluster(call.session());
    Finding finding;
    call.session().read([&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec("SELECT system_identifier, timeline, epoch FROM cluster_epoch");
        if (rows.empty()) {
            finding = ok("epoch", "none yet; the first binary that connects makes it");
        } else if (rows[0][0].as<std::int64_t>() != cluster.system_identifier ||
                   rows[0][1].as<std::int32_t>() != cluster.timeline) {
            finding =
                problem("epoch", "epoch " + rows[0][2].as<std::string>() + " is that of another cluster or timeline",
                        "start ftl-deliver: it moves the epoch on before anything is sent");
        } else {
            finding = ok("epoch", rows[0][2].as<std::string>() + " belongs to this cluster");
        }
    });
    return finding;
}

std::vector<Finding> check_outbox(Call& call) {
    std::vector<Finding> findings;
    const auto status = ftlfeed::outbox::status(call.session());
    bool has_build = false;
    for (const auto& consumer : status.consumers) {
        has_build = has_build || consumer.consumer == "build";
        const auto check = "cursor " + consumer.consumer;
        if (consumer.is_foreign) {
            findings.push_back(problem(check, "belongs to another cluster", "ftlctl outbox rebase --yes"));
        } else {
            findings.push_back(ok(check, std::to_string(consumer.rows_behind) + " rows behind"));
        }
    }
    if (!has_build) {
        findings.push_back(
            problem("cursor build", "is not registered: no file would ever be built", "ftlctl outbox register build"));
    }
    if (status.old_transactions.empty()) findings.push_back(ok("old transactions", "none"));
    for (const auto& transaction : status.old_transactions) {
        findings.push_back(
            problem("old transactions", transaction, "end it: pg_terminate_backend(pid), or ROLLBACK PREPARED 'name'"));
    }
    return findings;
}

std::vector<Finding> check_leases(pqxx::transaction_base& tx) {
    std::vector<Finding> findings;
    const auto rows = tx.exec(
        "SELECT name, holder, extract(epoch FROM clock_timestamp() - renewed_at)::float8 FROM lease ORDER BY name");
    for (const auto& row : rows) {
        const auto age = row[2].as<double>();
        const auto holder = row[1].as<std::string>();
        const auto when = std::to_string(std::lround(age)) + " s ago";
        // One that was given back has no holder.
        const auto what = holder.empty() ? "nobody's, given back " + when : holder + ", renewed " + when;
        const auto check = "lease " + row[0].as<std::string>();
        if (!holder.empty() && age <= kLeaseSecondsMax) {
            findings.push_back(ok(check, what));
        } else {
            findings.push_back(problem(check, what, "its program does not run, or cannot reach Postgres: start it"));
        }
    }
    if (rows.empty()) findings.push_back(problem("leases", "none", "start ftl-ingest and ftl-deliver"));
    return findings;
}

Finding check_events(pqxx::transaction_base& tx) {
    const auto count = tx.exec1("SELECT count(*) FROM event")[0].as<std::int64_t>();
    if (count > 0) return ok("events", std::to_string(count));
    return problem("events", "none: there is nothing to read", "ftlctl event add CODE --season ID");
}

// As the user who runs this: run doctor as the user of ftl-deliver.
Finding check_folder(const std::string& destination, const std::string& folder) {
    const auto check = "folder " + destination;
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) {
        return problem(check, folder + " is no folder", "mkdir -p " + folder);
    }
    if (::access(folder.c_str(), W_OK | X_OK) != 0) {
        return problem(check, folder + " cannot be written by this user", "chown or chmod it for ftl-deliver's user");
    }
    return ok(check, folder + " can be written");
}

std::vector<Finding> check_destinations(pqxx::transaction_base& tx) {
    std::vector<Finding> findings;
    const auto rows = tx.exec(
        "SELECT c.code || '/' || a.name, a.transport, coalesce(a.folder, ''), a.failures, coalesce(a.last_error, '') "
        "FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id WHERE a.is_on AND c.is_on ORDER BY 1");
    for (const auto& row : rows) {
        const auto name = row[0].as<std::string>();
        if (row[1].as<std::string>() == "directory") findings.push_back(check_folder(name, row[2].as<std::string>()));
        if (row[3].as<std::int64_t>() > 0) {
            findings.push_back(problem("destination " + name, row[4].as<std::string>(),
                                       "mend it, then: ftlctl destination on " + name.substr(0, name.find('/')) + " " +
                                           name.substr(name.find('/') + 1)));
        }
    }
    return findings;
}

Finding check_builds(pqxx::transaction_base& tx) {
    const auto row = tx.exec1(
        "SELECT count(*), coalesce(min(doc_key || ': ' || coalesce(last_error, '')), '') FROM feed_dirty WHERE "
        "failures > 2");
    if (row[0].as<std::int64_t>() == 0) return ok("builds", "no file fails again and again");
    return problem("builds", row[0].as<std::string>() + " files fail, among them " + row[1].as<std::string>(),
                   "mend the feed's definition, then: ftlctl feed rebuild KEY");
}

Finding check_alerts(pqxx::transaction_base& tx) {
    const auto count = tx.exec1("SELECT count(*) FROM alert WHERE cleared_at IS NULL AND severity = 'critical'")[0];
    if (count.as<std::int64_t>() == 0) return ok("alerts", "no critical one is open");
    return problem("alerts", count.as<std::string>() + " critical ones are open", "ftlctl alert list");
}

Finding check_deliver_enabled(const Call& call) {
    if (call.settings().is_deliver_enabled()) return ok("deliver.enabled", "on");
    return problem("deliver.enabled", "off as far as this command was told: nothing leaves the installation",
                   "set deliver.enabled for ftl-deliver; tell doctor by --config, FTL_DELIVER_ENABLED or "
                   "--deliver.enabled true");
}

Finding check_master_key(const Call& call) {
    const auto& path = call.settings().master_key_file();
    if (path.empty()) return ok("master key", "not given; needed once a destination has a credential");
    try {
        return ok("master key", "key " + ftlfeed::core::read_master_key(path).id);
    } catch (const std::exception& error) {
        return problem("master key", error.what(), "make one: openssl rand -hex 32 > " + path);
    }
}

/// Does our own Redis answer, and take what it is given? Nothing that anybody sees is written.
Finding check_cache(const Call& call) {
    const auto settings = call.settings().feeds.cache_connection();
    if (!settings) return ok("cache", "cache.uri is not given: no Redis of ours");
    try {
        ftlfeed::cache::CacheClient(*settings).try_write();
        return ok("cache", "Redis " + settings->place() + " takes entries");
    } catch (const ftlfeed::core::Failure& failure) {
        return problem("cache", failure.what(), "is Redis up, and are cache.uri and cache.password_file right?");
    }
}

void append(std::vector<Finding>& to, std::vector<Finding> findings) {
    for (auto& finding : findings) to.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> check_server(Call& call) {
    std::vector<Finding> findings{ok("connection", "a primary that answers")};
    call.session().without_transaction([&](pqxx::transaction_base& tx) {
        findings.push_back(check_durability(tx));
        findings.push_back(check_time(tx));
    });
    return findings;
}

Finding check_migrations(Call& call) {
    const auto status = ftlfeed::store::Migrator(call.session()).status();
    const auto at = "version " + std::to_string(status.current);
    if (status.is_dirty) {
        return problem("migrations", at + " broke off half-way", "look at the database, then set schema_migrations");
    }
    if (!status.pending.empty()) {
        return problem("migrations", at + ", " + std::to_string(status.pending.size()) + " pending",
                       "ftlctl migrate up");
    }
    return ok("migrations", at + " is the newest");
}

std::vector<Finding> check_installation(Call& call) {
    std::vector<Finding> findings{check_epoch(call)};
    append(findings, check_outbox(call));
    call.session().read([&](pqxx::transaction_base& tx) {
        findings.push_back(check_events(tx));
        append(findings, check_leases(tx));
        append(findings, check_destinations(tx));
        findings.push_back(check_builds(tx));
        findings.push_back(check_alerts(tx));
    });
    findings.push_back(check_deliver_enabled(call));
    findings.push_back(check_master_key(call));
    findings.push_back(check_cache(call));
    return findings;
}

}  // namespace ftlctl

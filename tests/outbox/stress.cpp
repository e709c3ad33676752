#include "stress.hpp"

#include <fmt/format.h>

#include <ftlfeed/core/clock.hpp>
#include <pqxx/connection>
#include <pqxx/nontransaction>
#include <pqxx/result>
#include <pqxx/transaction>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/rng.hpp"
#include "support/wait.hpp"

namespace ftl::test::outbox {

namespace {

using ftlfeed::core::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kWhileAway{50};

void pause_up_to(Rng& rng, milliseconds limit, const std::stop_token& stop) {
    Clock::real().sleep_for(milliseconds(rng.between(0, limit.count())), stop);
}

/// One writer: transaction after transaction of a random kind, on one connection until it breaks.
class RandomWriter {
public:
    RandomWriter(std::string uri, std::uint64_t seed, milliseconds slow_max)
        : uri_(std::move(uri)), rng_(seed), slow_max_(slow_max) {}

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            try {
                pqxx::connection connection(uri_);
                const pqxx::quiet_errorhandler silence(connection);
                while (!stop.stop_requested()) write_once(connection, stop);
            } catch (const std::exception&) {
                // Postgres was stopped under it. What it had not committed is not in the outbox, and not expected.
                Clock::real().sleep_for(kWhileAway, stop);
            }
        }
    }

private:
    void touch(pqxx::work& tx) { tx.exec_params("SELECT ftl_touch('test', $1)", std::to_string(++count_)); }

    void write_once(pqxx::connection& connection, const std::stop_token& stop) {
        const auto kind = rng_.between(0, 99);
        if (kind >= 90 && kind < 97) return prepare(connection, stop);
        pqxx::work tx(connection);
        tx.exec(std::string("SET LOCAL synchronous_commit = ") + (rng_.chance(0.5) ? "on" : "off"));
        for (auto left = rng_.between(1, 4); left > 0; --left) touch(tx);
        if (kind >= 55 && kind < 70) pause_up_to(rng_, slow_max_, stop);
        if (kind >= 97) pause_up_to(rng_, slow_max_ * 4, stop);
        if (kind >= 80 && kind < 90) savepoints(tx);
        touch(tx);
        if (kind >= 70 && kind < 80) {
            tx.abort();
        } else {
            tx.commit();
        }
        pause_up_to(rng_, milliseconds(10), stop);
    }

    void savepoints(pqxx::work& tx) {
        const auto levels = rng_.chance(0.2) ? 80 : rng_.between(2, 5);
        for (std::int64_t level = 0; level < levels; ++level) {
            const auto name = fmt::format("s{}", level);
            tx.exec("SAVEPOINT " + name);
            touch(tx);
            if (rng_.chance(0.4)) tx.exec("ROLLBACK TO " + name);
        }
    }

    void prepare(pqxx::connection& connection, const std::stop_token& stop) {
        const auto gid = fmt::format("stress_{}_{}", rng_.seed(), ++count_);
        {
            pqxx::work tx(connection);
            tx.exec("SET LOCAL ftl.notify = off");
            touch(tx);
            tx.exec("PREPARE TRANSACTION '" + gid + "'");
            tx.abort();
        }
        pause_up_to(rng_, slow_max_, stop);
        pqxx::nontransaction session(connection);
        session.exec((rng_.chance(0.7) ? "COMMIT PREPARED '" : "ROLLBACK PREPARED '") + gid + "'");
    }

    std::string uri_;
    Rng rng_;
    milliseconds slow_max_;
    std::int64_t count_ = 0;
};

/// Holds a transaction with an xid open in another database, half of the time.
void write_elsewhere(const std::string& uri, milliseconds length, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        try {
            Writer writer(uri);
            writer.run("SELECT pg_current_xact_id()");
            Clock::real().sleep_for(length, stop);
            writer.commit();
        } catch (const std::exception&) {
            Clock::real().sleep_for(kWhileAway, stop);
        }
    }
}

Process start_reader(const std::string& uri, Method method) {
    const auto name = name_of(method);
    return Process({(binary_dir() / "tests/outbox_reader").string(), uri, name, name, "20"});
}

/// How many rows a method has delivered; 0 while Postgres is away.
std::int64_t delivered_rows(const std::string& uri, Method method) {
    try {
        return std::stoll(run_sql(uri, "SELECT count(*) FROM sink WHERE consumer = '" + name_of(method) + "'"));
    } catch (const std::exception&) {
        return 0;
    }
}

/// The reader processes, and who is killed next.
class Readers {
public:
    Readers(std::string uri, const std::vector<Method>& methods) : uri_(std::move(uri)) {
        for (const auto method : methods) {
            for (int twin = 0; twin < 2; ++twin) readers_.push_back({method, start_reader(uri_, method), 0});
        }
    }

    /// Kills one of them at a random moment, but not before it or its twin has come to deliver something: on a busy
    /// machine all of them would be killed while they start.
    void kill_one(Rng& rng) {
        auto& reader =
            readers_[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(readers_.size()) - 1))];
        (void)wait_until([&] { return delivered_rows(uri_, reader.method) > reader.delivered_before; },
                         std::chrono::seconds(2));
        pause_up_to(rng, milliseconds(20), std::stop_token());
        reader.process.kill();
        reader.delivered_before = delivered_rows(uri_, reader.method);
        reader.process = start_reader(uri_, reader.method);
    }

private:
    struct One {
        Method method;
        Process process;
        std::int64_t delivered_before;
    };
    std::string uri_;
    std::vector<One> readers_;
};

void commit_what_is_prepared(const std::string& uri) {
    pqxx::connection connection(uri);
    pqxx::nontransaction session(connection);
    for (const auto& row : session.exec("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()")) {
        session.exec("COMMIT PREPARED " + session.quote(row[0].c_str()));
    }
}

/// However the dice fell and however far behind the readers were, one transaction is late for all of them.
void commit_one_late(const std::string& uri, const std::vector<Method>& methods) {
    Writer late(uri);
    late.touch("late");
    commit_each(uri, {"on time"});
    for (const auto method : methods) {
        if (method == Method::kXminHorizon) continue;  // Waits for the late one.
        const auto has_come = [&] {
            return run_sql(uri, "SELECT count(*) FROM sink WHERE record_id = 'on time' AND consumer = '" +
                                    name_of(method) + "'") == "1";
        };
        if (!wait_until(has_come, std::chrono::seconds(30))) {
            throw std::runtime_error(name_of(method) + " does not come to the newest row");
        }
    }
    late.commit();
}

Verdict finish_reading(const std::string& uri, Method method) {
    ReaderOptions options;
    options.uri = uri;
    options.consumer = name_of(method);
    drain(*make_reader(method, options));
    return judge(uri, options.consumer);
}

}  // namespace

StressResult run_stress(Cluster& cluster, const std::string& uri, const StressSettings& settings) {
    make_sink(uri);
    for (const auto method : settings.methods) {
        ReaderOptions options;
        options.uri = uri;
        options.consumer = name_of(method);
        (void)make_reader(method, options);  // Registers it, before anything is written.
    }
    Rng rng(settings.seed);
    StressResult result;
    {
        Readers readers(uri, settings.methods);
        std::vector<std::jthread> writers;
        for (int i = 0; i < settings.writers; ++i) {
            writers.emplace_back([uri, seed = rng.engine()(), slow = settings.slow_max](const std::stop_token& stop) {
                RandomWriter(uri, seed, slow).run(stop);
            });
        }
        writers.emplace_back([other = cluster.uri(), slow = settings.slow_max](const std::stop_token& stop) {
            write_elsewhere(other, slow * 10, stop);
        });
        const auto begin = Clock::real().steady_now();
        const auto stop_every = settings.length / (settings.immediate_stops + 1);
        // A busy machine gets more time for as much.
        const auto is_over = [&] {
            const auto length = Clock::real().steady_now() - begin;
            return length > settings.length * 5 || (length > settings.length && result.kills >= settings.kills_min);
        };
        while (!is_over()) {
            pause_up_to(rng, milliseconds(60), std::stop_token());
            readers.kill_one(rng);
            ++result.kills;
            if (result.stops < settings.immediate_stops &&
                Clock::real().steady_now() > begin + stop_every * (result.stops + 1)) {
                cluster.stop_immediately();
                cluster.start();
                ++result.stops;
            }
        }
        for (auto& writer : writers) writer.request_stop();
        writers.clear();
        commit_what_is_prepared(uri);
        commit_one_late(uri, settings.methods);
    }
    for (const auto method : settings.methods) result.verdicts[method] = finish_reading(uri, method);
    return result;
}

}  // namespace ftl::test::outbox

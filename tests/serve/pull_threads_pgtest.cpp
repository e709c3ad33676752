// The server's loops, the thread that refreshes the keys, the readers of Postgres and the backroom, all at once.

#include <atomic>
#include <pqxx/transaction>
#include <thread>

#include <ftlfeed/serve/key_ring.hpp>

#include "ftl-serve/pull_loop.hpp"
#include "serve/redis_keeper.hpp"
#include "support/session.hpp"
#include "world.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using namespace std::chrono_literals;

namespace {

constexpr int kFiles = 6;

std::string file_key(int i) { return "wc/timeline/" + std::to_string(i % kFiles); }

app::ServeSettings settings_for(const RedisServer& redis) {
    app::ServeSettings settings;
    settings.threads = 3;
    settings.cache = cache::ConnectionSettings::parse(redis.uri());
    // A machine that runs tsan is slow, and nobody here asks how fast this is.
    settings.check_timeout = settings.fetch_timeout = settings.postgres_wait = 5000ms;
    return settings;
}

/// As run_serve() has them, in this process.
class Loops {
public:
    Loops(const Database& db, const RedisServer& redis)
        : settings_(settings_for(redis)),
          keeper_(settings_.cache),
          reader_(
              {4, 1000, settings_.postgres_wait},
              {[&db] { return store::Session(settings_of(db)); },
               [this](const auto& key, const auto& document) { keeper_.keep(key, *document); }, core::Clock::real()}),
          session_(connect(db)) {
        keys_.refresh(session_);
        const app::PullShared shared{settings_,
                                     keys_,
                                     reader_,
                                     backroom_,
                                     [this](const auto& key, const auto& document) { keeper_.keep(key, *document); },
                                     core::Clock::real()};
        app::ListenAddress address{"127.0.0.1", 0};
        for (int i = 0; i < settings_.threads; ++i) {
            loops_.push_back(std::make_unique<app::PullLoop>(shared, address));
            address.port = loops_.front()->port();
        }
        for (auto& loop : loops_) {
            threads_.emplace_back([&loop](const std::stop_token& stop) { loop->run(stop); });
        }
        threads_.emplace_back([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) keys_.refresh(session_);
        });
    }

    [[nodiscard]] std::uint16_t port() const { return loops_.front()->port(); }

private:
    app::ServeSettings settings_;
    serve::KeyRing keys_{60s, core::Clock::real()};
    serve::RedisKeeper keeper_;
    serve::Backroom backroom_{1000};
    std::vector<std::unique_ptr<app::PullLoop>> loops_;
    serve::DocumentReader reader_;  // Ends before the loops: its threads hand results to them.
    store::Session session_;
    std::vector<std::jthread> threads_;  // Last: they use all the others.
};

/// `KEY VERSION`, in a body that is large enough to be sent in pieces.
std::string body_of(int file, int version) {
    return file_key(file) + " " + std::to_string(version) + std::string(30'000, ' ');
}

/// The version in a body of that file; -1 when it is none.
int version_in(const std::string& body, int file) {
    const auto key = file_key(file) + " ";
    return body.starts_with(key) ? std::stoi(body.substr(key.size(), 10)) : -1;
}

/// Pulls all files in turns on one connection, plain and packed; counts answers that are wrong or go back.
void pull_all(std::uint16_t port, int rounds, bool is_packed, std::atomic<int>& wrong) {
    try {
        auto socket = TcpSocket::connect(port);
        std::vector<int> newest(kFiles, 0);
        for (int i = 0; i < rounds; ++i) {
            const auto answer =
                pull(socket, "/feeds/" + file_key(i), kKeyField + (is_packed ? "Accept-Encoding: gzip\r\n" : ""));
            const auto body = is_packed && answer.status == 200 ? core::gunzip(answer.body, 100'000) : answer.body;
            const auto version = version_in(body, i);
            auto& last = newest[static_cast<std::size_t>(i % kFiles)];
            if (answer.status != 200 || version < last) ++wrong;
            last = version;
        }
    } catch (const std::exception&) {
        ++wrong;
    }
}

}  // namespace

TEST_CASE(
    "serve.threads: loops that share keys and Postgres and Redis answer each client with its file and never an older "
    "one") {
    const Database db;
    const RedisServer redis;
    add_client(db.uri());
    for (int i = 0; i < kFiles; ++i) {
        const auto key = file_key(i);
        // By its three parts: publish() knows files without a filter.
        publish(db.uri(), "wc/timeline", body_of(i, 0), i + 1);
        db.exec("UPDATE feed_document SET doc_key = '" + key + "', filter = '" + std::to_string(i) +
                "' WHERE doc_key = 'wc/timeline'");
    }
    std::atomic<int> wrong{0};
    {
        const Loops loops(db, redis);
        std::vector<std::jthread> clients;
        for (int i = 0; i < 6; ++i) {
            clients.emplace_back([&, i] { pull_all(loops.port(), 120, i % 2 == 1, wrong); });
        }
        for (int version = 1; version <= 5; ++version) {
            for (int i = 0; i < kFiles; ++i) put(redis, file_key(i), document(body_of(i, version), 100 + version));
        }
    }
    CHECK(wrong == 0);
    // What was first in Postgres alone is in Redis, and so is what came later.
    CHECK(redis.cli({"HGET", "feed:d:" + file_key(0), "v"}) == core::Version{1000, 105, 1}.text());
}

TEST_CASE("serve.threads: readers of the ring see whole snapshots while others are put in place") {
    serve::KeyRing ring(60s, core::Clock::real());
    const auto path = *serve::parse_feed_path("/feeds/wc/calendar");
    // In each snapshot one key of two holds: never both, never none.
    const auto snapshot = [](const std::string& key) {
        serve::KeySnapshot made;
        made.client_of_key[serve::key_digest(key)] = 1;
        made.entitlements[1] = {{true, true, {}, {}}};
        made.events = {"wc"};
        made.feed_types = {"calendar"};
        made.read_at = core::Clock::real().steady_now();
        return made;
    };
    ring.replace(snapshot("k0"));
    const auto k0 = serve::key_digest("k0");
    const auto k1 = serve::key_digest("k1");
    std::atomic<int> torn{0};
    std::atomic<int> saw_both{0};
    {
        std::jthread writer([&](const std::stop_token& stop) {
            for (int i = 1; !stop.stop_requested(); ++i) ring.replace(snapshot("k" + std::to_string(i % 2)));
        });
        std::vector<std::jthread> readers;
        for (int i = 0; i < 4; ++i) {
            readers.emplace_back([&] {
                serve::KeyView view(ring);
                const auto begin = core::Clock::real().steady_now();
                int refused = 0;
                int allowed = 0;
                for (auto now = begin; (refused < 1000 || allowed < 1000) && now - begin < 10s;
                     now = core::Clock::real().steady_now()) {
                    const bool is_allowed = view.judge(k0, path, now) == serve::Verdict::kAllowed;
                    ++(is_allowed ? allowed : refused);
                    // A snapshot that is kept holds what it held.
                    const auto kept = ring.snapshot();
                    if (kept->holds(k0) == kept->holds(k1)) ++torn;
                }
                if (refused > 0 && allowed > 0) ++saw_both;
            });
        }
    }
    CHECK(torn == 0);
    CHECK(saw_both == 4);
}

TEST_CASE("serve.threads: at most four files are read from Postgres at once and each once for all who ask") {
    const Database db;
    for (int i = 0; i < 12; ++i) publish(db.uri(), "wc/f" + std::to_string(i), "file " + std::to_string(i), i + 1);
    std::atomic<int> kept{0};
    std::atomic<int> answered{0};
    serve::DocumentReader reader({}, {[&db] { return store::Session(settings_of(db)); },
                                      [&](const auto&, const auto&) { ++kept; }, core::Clock::real()});
    const auto waiting = [&] {
        return db.value(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = "
            "'Lock' AND query LIKE '%feed_document%'");
    };
    {
        auto lock = db.connect();
        pqxx::work tx(lock);
        tx.exec("LOCK TABLE feed_document IN ACCESS EXCLUSIVE MODE");
        std::vector<std::jthread> askers;
        for (int asker = 0; asker < 3; ++asker) {
            askers.emplace_back([&] {
                for (int i = 0; i < 12; ++i) {
                    reader.read("wc/f" + std::to_string(i), [&, i](const serve::DocumentReader::Result& result) {
                        const auto* document = std::get_if<serve::DocumentPtr>(&result);
                        if (document == nullptr || !*document) return;
                        if (core::gunzip((*document)->body_gz, 100) == "file " + std::to_string(i)) ++answered;
                    });
                }
            });
        }
        REQUIRE(wait_until([&] { return waiting() == "4"; }));
        askers.clear();
        CHECK(waiting() == "4");
    }
    CHECK(wait_until([&] { return answered == 36; }));
    CHECK(wait_until([&] { return kept == 12; }));
}

// The pull cache on a loop of the test's own, with a real Redis behind a relay that holds answers back.

#include "serve/pull_cache.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>

#include "proxy.hpp"
#include "serve/redis_source.hpp"
#include "support/session.hpp"
#include "world.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using namespace ftlfeed::serve;
using namespace std::chrono_literals;

namespace {

/// A relay in front of Redis whose answers take `delay`.
class Relay {
public:
    Relay(const RedisServer& redis, const std::string& script) : proxy_(settings(redis, script)) {
        thread_ = std::jthread([this] { proxy_.run(); });
    }
    ~Relay() { proxy_.stop(); }
    [[nodiscard]] std::string uri() const { return "redis://127.0.0.1:" + std::to_string(proxy_.port()); }

private:
    static sim::ProxySettings settings(const RedisServer& redis, const std::string& script) {
        sim::ProxySettings made;
        made.to_host = "127.0.0.1";
        made.to_port = redis.port();
        made.script = sim::ProxyScript::parse(script);
        return made;
    }
    sim::Proxy proxy_;
    std::jthread thread_;
};

/// What a hit got.
struct Hit {
    std::optional<PullAnswer> answer;

    PullCache::Handler handler() {
        return [this](const PullAnswer& got) { answer = got; };
    }
    [[nodiscard]] std::string body() const {
        return answer && answer->copy ? core::gunzip(answer->copy->document->body_gz, 1'000'000) : "";
    }
};

/// A cache whose loop runs when the test says so.
struct Bench {
    Database db;
    RedisServer redis;
    Relay relay;
    boost::asio::io_context loop{1};
    RedisSource source;
    Backroom backroom{10};
    DocumentReader reader;
    PullCache cache;

    explicit Bench(const std::string& script = "*: pass", PullSettings settings = {})
        : relay(redis, script),
          source(loop, cache::ConnectionSettings::parse(relay.uri()), {5s, 5s}),
          reader({}, {[this] { return store::Session(settings_of(db)); }, [](const auto&, const auto&) {},
                      core::Clock::real()}),
          cache(settings, {source, reader, backroom, [](const auto&, const auto&) {},
                           [this](std::function<void()> work) { boost::asio::post(loop, std::move(work)); },
                           core::Clock::real()}) {
        // Until Redis is connected a question is answered at once, by a failure.
        REQUIRE(run_until([&] {
            std::optional<DocumentSource::VersionResult> result;
            source.version("warm/up", [&](DocumentSource::VersionResult got) { result = std::move(got); });
            run_until([&] { return result.has_value(); });
            return result && !std::holds_alternative<core::Failure>(*result);
        }));
    }
    ~Bench() { source.close(); }

    bool run_until(const std::function<bool()>& condition) {
        const auto end = std::chrono::steady_clock::now() + 10s;
        while (!condition()) {
            if (std::chrono::steady_clock::now() > end) return false;
            loop.restart();
            loop.run_one_for(2ms);
        }
        return true;
    }
    [[nodiscard]] int questions() const { return calls(redis, "hget"); }
};

}  // namespace

TEST_CASE("serve.pull_cache: hits of one moment share one question and one body") {
    Bench bench;
    put(bench.redis, "wc/calendar", document("one", 5));
    const auto before = bench.questions();
    std::vector<Hit> hits(100);
    for (auto& hit : hits) bench.cache.get("wc/calendar", hit.handler());
    REQUIRE(bench.run_until([&] { return hits.back().answer.has_value(); }));
    for (const auto& hit : hits) CHECK(hit.body() == "one");
    CHECK(bench.questions() == before + 1);
    CHECK(calls(bench.redis, "hgetall") == 1);
}

TEST_CASE("serve.pull_cache: a hit does not join a question that is written already whose answer may be older") {
    Bench bench("*: down delay=400");
    put(bench.redis, "wc/calendar", document("one", 5));
    Hit warm;
    bench.cache.get("wc/calendar", warm.handler());
    REQUIRE(bench.run_until([&] { return warm.answer.has_value(); }));

    const auto before = bench.questions();
    Hit early;
    bench.cache.get("wc/calendar", early.handler());
    // Redis has answered "version 5", and the answer is on its way.
    REQUIRE(bench.run_until([&] { return bench.questions() == before + 1; }));
    put(bench.redis, "wc/calendar", document("two", 6));
    REQUIRE_FALSE(early.answer.has_value());
    Hit late;
    bench.cache.get("wc/calendar", late.handler());
    REQUIRE(bench.run_until([&] { return early.answer && late.answer; }));
    CHECK(early.body() == "one");
    CHECK(late.body() == "two");
}

TEST_CASE("serve.pull_cache: an answer that was overtaken by a newer copy is no reason to push anything back") {
    Bench bench("*: down delay=200");
    put(bench.redis, "wc/calendar", document("one", 5));
    Hit warm;
    bench.cache.get("wc/calendar", warm.handler());
    REQUIRE(bench.run_until([&] { return warm.answer.has_value(); }));
    for (int seq = 6; seq < 12; ++seq) {
        Hit early;
        bench.cache.get("wc/calendar", early.handler());
        const auto before = bench.questions();
        REQUIRE(bench.run_until([&] { return bench.questions() > before; }));
        put(bench.redis, "wc/calendar", document("version " + std::to_string(seq), seq));
        Hit late;
        bench.cache.get("wc/calendar", late.handler());
        REQUIRE(bench.run_until([&] { return early.answer && late.answer; }));
        CHECK(late.body() == "version " + std::to_string(seq));
    }
}

TEST_CASE("serve.pull_cache: the least used copies go first and memory stays within its bound") {
    PullSettings settings;
    settings.bytes_max = 200'000;
    Bench bench("*: pass", settings);
    for (int i = 0; i < 30; ++i) {
        std::string body(20'000, '\0');
        std::uint32_t random = static_cast<std::uint32_t>(i) + 1;
        for (auto& byte : body) byte = static_cast<char>((random = random * 1'664'525 + 1'013'904'223) >> 24U);
        const auto key = "wc/timeline/" + std::to_string(i);
        put(bench.redis, key, document(body, i + 1));
        for (const auto& asked : {key, std::string("wc/timeline/0")}) {
            Hit hit;
            bench.cache.get(asked, hit.handler());
            REQUIRE(bench.run_until([&] { return hit.answer.has_value(); }));
            CHECK(hit.answer->kind == PullAnswer::Kind::kFile);
        }
        CHECK(bench.cache.bytes() <= settings.bytes_max + 30'000);
    }
    CHECK(bench.cache.size() < 12);
    // The one that was asked for all the time was fetched once.
    CHECK(calls(bench.redis, "hgetall") == 30);
}

TEST_CASE("serve.pull_cache: a body is unpacked once for all who cannot take it packed") {
    Bench bench;
    put(bench.redis, "wc/calendar", document("one", 5));
    Hit hit;
    bench.cache.get("wc/calendar", hit.handler());
    REQUIRE(bench.run_until([&] { return hit.answer.has_value(); }));
    int there = 0;
    for (int i = 0; i < 10; ++i) {
        bench.cache.with_plain("wc/calendar", hit.answer->copy, [&](bool is_there) { there += is_there ? 1 : 0; });
    }
    REQUIRE(bench.run_until([&] { return there == 10; }));
    CHECK(*hit.answer->copy->plain_body == "one");
}

TEST_CASE("serve.pull_cache: packed bytes that are none are said to be none") {
    Bench bench;
    auto broken = document("one", 5);
    broken.body_gz = "no gzip";
    put(bench.redis, "wc/calendar", broken);
    Hit hit;
    bench.cache.get("wc/calendar", hit.handler());
    REQUIRE(bench.run_until([&] { return hit.answer.has_value(); }));
    std::optional<bool> is_there;
    bench.cache.with_plain("wc/calendar", hit.answer->copy, [&](bool got) { is_there = got; });
    REQUIRE(bench.run_until([&] { return is_there.has_value(); }));
    CHECK_FALSE(*is_there);
}

#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/serve/key_ring.hpp>
#include <ftlfeed/store/value.hpp>

#include "support/pg.hpp"
#include "support/session.hpp"

using namespace ftlfeed;
using namespace ftlfeed::serve;
using namespace std::chrono_literals;
using ftl::test::connect;
using ftl::test::Database;

namespace {

/// A database with client `acme`, which has key `k1` and may pull everything of event `wc`.
struct Ring {
    Database db;
    core::ManualClock clock;
    KeyRing ring{60s, clock};
    store::Session session = connect(db);
    KeyView view{ring};

    Ring() {
        db.exec("INSERT INTO event (code, name, provider, provider_season_id) VALUES ('wc', 'Cup', 'sim', 1)");
        db.exec("INSERT INTO delivery_client (code, name) VALUES ('acme', 'Acme'), ('other', 'Other')");
        add_key("acme", "k1");
        entitle("acme", "'{wc}'", "NULL");
        ring.refresh(session);
    }
    void add_key(const std::string& client, const std::string& key, const std::string& expires = "NULL") const {
        db.exec("INSERT INTO client_key (client_id, key_hash, created_by, expires_at) SELECT id, '" +
                store::bytea(core::sha256(key)) + "', 'test', " + expires + " FROM delivery_client WHERE code = '" +
                client + "'");
    }
    void entitle(const std::string& client, const std::string& events, const std::string& feed_types) const {
        db.exec("INSERT INTO client_entitlement (client_id, events, feed_types, created_by) SELECT id, " + events +
                ", " + feed_types + ", 'test' FROM delivery_client WHERE code = '" + client + "'");
    }
    Verdict ask(const std::string& key, const std::string& path) {
        const auto parsed = parse_feed_path(path);
        REQUIRE(parsed);
        return view.judge(key_digest(key), *parsed, clock.steady_now());
    }
    Verdict ask_again(const std::string& key, const std::string& path) {
        ring.refresh(session);
        return ask(key, path);
    }
};

}  // namespace

TEST_CASE("serve.key_ring: a key opens what its client is entitled to and that is there") {
    Ring ring;
    CHECK(ring.ask("k1", "/feeds/wc/calendar") == Verdict::kAllowed);
    CHECK(ring.ask("k1", "/feeds/wc/timeline/17") == Verdict::kAllowed);
    CHECK(ring.ask("k2", "/feeds/wc/calendar") == Verdict::kNoKey);
    CHECK(ring.ask("", "/feeds/wc/calendar") == Verdict::kNoKey);
    CHECK(ring.ask("k1", "/feeds/other/calendar") == Verdict::kNoFile);
    CHECK(ring.ask("k1", "/feeds/wc/nonsense") == Verdict::kNoFile);
}

TEST_CASE("serve.key_ring: another client's key opens only what that client may pull") {
    Ring ring;
    ring.add_key("other", "k2");
    CHECK(ring.ask_again("k2", "/feeds/wc/calendar") == Verdict::kNoFile);
    ring.entitle("other", "NULL", "'{standings}'");
    CHECK(ring.ask_again("k2", "/feeds/wc/calendar") == Verdict::kNoFile);
    CHECK(ring.ask("k2", "/feeds/wc/standings") == Verdict::kAllowed);
    ring.entitle("other", "'{wc,ec}'", "'{calendar}'");
    CHECK(ring.ask_again("k2", "/feeds/wc/calendar") == Verdict::kAllowed);
    // An event that nobody reads yet.
    CHECK(ring.ask("k2", "/feeds/ec/calendar") == Verdict::kNoFile);
}

TEST_CASE("serve.key_ring: revoked and expired keys and those of clients that are off are unknown") {
    Ring ring;
    ring.add_key("acme", "k2", "clock_timestamp() + interval '1 hour'");
    ring.add_key("acme", "k3", "clock_timestamp() - interval '1 s'");
    CHECK(ring.ask_again("k2", "/feeds/wc/calendar") == Verdict::kAllowed);
    CHECK(ring.ask("k3", "/feeds/wc/calendar") == Verdict::kNoKey);
    ring.db.exec("UPDATE client_key SET revoked_at = now(), revoked_by = 'test', reason = 'lost' WHERE key_hash = '" +
                 store::bytea(core::sha256("k1")) + "'");
    CHECK(ring.ask_again("k1", "/feeds/wc/calendar") == Verdict::kNoKey);
    CHECK(ring.ask("k2", "/feeds/wc/calendar") == Verdict::kAllowed);
    ring.db.exec("UPDATE delivery_client SET is_on = false, off_reason = 'x', off_by = 'x', off_at = now()");
    CHECK(ring.ask_again("k2", "/feeds/wc/calendar") == Verdict::kNoKey);
}

TEST_CASE("serve.key_ring: a feed that was switched off is no file any more") {
    Ring ring;
    ring.db.exec("UPDATE feed_definition SET is_on = false WHERE feed_type = 'calendar'");
    CHECK(ring.ask_again("k1", "/feeds/wc/calendar") == Verdict::kNoFile);
    CHECK(ring.ask("k1", "/feeds/wc/standings") == Verdict::kAllowed);
}

TEST_CASE("serve.key_ring: after the grace it fails closed and opens again with the next read") {
    Ring ring;
    ring.clock.advance(60s);
    CHECK(ring.ask("k1", "/feeds/wc/calendar") == Verdict::kAllowed);
    ring.clock.advance(1ms);
    CHECK(ring.ask("k1", "/feeds/wc/calendar") == Verdict::kUnknowable);
    CHECK(ring.ask("k2", "/feeds/wc/calendar") == Verdict::kUnknowable);
    CHECK(ring.view.judge_key(key_digest("k1"), ring.clock.steady_now()) == Verdict::kUnknowable);
    CHECK(ring.ask_again("k1", "/feeds/wc/calendar") == Verdict::kAllowed);
}

TEST_CASE("serve.key_ring: before the first read it knows nothing and lets nobody in") {
    core::ManualClock clock;
    const KeyRing ring(60s, clock);
    KeyView view(ring);
    CHECK(view.judge(key_digest("k1"), *parse_feed_path("/feeds/wc/calendar"), clock.steady_now()) ==
          Verdict::kUnknowable);
}

TEST_CASE("serve.key_ring: of two snapshots the one that was read later stands whoever comes last") {
    core::ManualClock clock;
    KeyRing ring(60s, clock);
    KeyView view(ring);
    KeySnapshot old;
    old.client_of_key.emplace(key_digest("k1"), 1);
    old.read_at = clock.steady_now();
    clock.advance(1s);
    KeySnapshot young;
    young.read_at = clock.steady_now();
    ring.replace(young);
    ring.replace(old);
    CHECK(view.judge_key(key_digest("k1"), clock.steady_now()) == Verdict::kNoKey);
}

TEST_CASE("serve.key_ring: a failed read leaves the snapshot and its age as they were") {
    Ring ring;
    ring.clock.advance(59s);
    ring.db.exec("SELECT pg_terminate_backend(" + std::to_string(ring.session.backend_pid()) + ")");
    CHECK_THROWS_AS(ring.ring.refresh(ring.session), core::Failure);
    CHECK(ring.ask("k1", "/feeds/wc/calendar") == Verdict::kAllowed);
    ring.clock.advance(2s);
    CHECK(ring.ask("k1", "/feeds/wc/calendar") == Verdict::kUnknowable);
}

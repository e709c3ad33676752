#include "cache/cache_failure.hpp"

#include <doctest/doctest.h>

#include <string>

using ftlfeed::cache::cache_failure;
using Kind = ftlfeed::core::Failure::Kind;

TEST_CASE("cache.cache_failure: each error of Redis has its meaning and an unknown one may be retried") {
    struct Row {
        const char* error;
        const char* code;
        Kind kind;
        bool is_lost;
    };
    for (const auto& [error, code, kind, is_lost] : {
             Row{"NOSCRIPT No matching script. Please use EVAL.", "NOSCRIPT", Kind::kBusy, false},
             Row{"LOADING Redis is loading the dataset in memory", "LOADING", Kind::kBusy, false},
             Row{"BUSY Redis is busy running a script.", "BUSY", Kind::kBusy, false},
             Row{"BUSYGROUP Consumer Group name already exists", "BUSYGROUP", Kind::kUnavailable, false},
             Row{"BUSYKEY Target key name already exists.", "BUSYKEY", Kind::kUnavailable, false},
             Row{"TRYAGAIN Multiple keys request during rehashing of slot", "TRYAGAIN", Kind::kBusy, false},
             Row{"OOM command not allowed when used memory > 'maxmemory'.", "OOM", Kind::kUnavailable, false},
             Row{"MISCONF Redis is configured to save RDB snapshots", "MISCONF", Kind::kUnavailable, false},
             Row{"NOREPLICAS Not enough good replicas to write.", "NOREPLICAS", Kind::kUnavailable, false},
             Row{"MASTERDOWN Link with MASTER is down", "MASTERDOWN", Kind::kUnavailable, true},
             Row{"READONLY You can't write against a read only replica.", "READONLY", Kind::kUnavailable, true},
             Row{"UNBLOCKED force unblock from blocking operation", "UNBLOCKED", Kind::kUnavailable, true},
             Row{"CLUSTERDOWN The cluster is down", "CLUSTERDOWN", Kind::kUnavailable, false},
             Row{"MOVED 3999 127.0.0.1:6381", "MOVED", Kind::kPermanent, false},
             Row{"ASK 3999 127.0.0.1:6381", "ASK", Kind::kPermanent, false},
             Row{"CROSSSLOT Keys in request don't hash to the same slot", "CROSSSLOT", Kind::kPermanent, false},
             Row{"NOAUTH Authentication required.", "NOAUTH", Kind::kPermanent, false},
             Row{"WRONGPASS invalid username-password pair or user is disabled.", "WRONGPASS", Kind::kPermanent, false},
             Row{"NOPERM this user has no permissions to run the 'get' command", "NOPERM", Kind::kPermanent, false},
             Row{"DENIED Redis is running in protected mode", "DENIED", Kind::kPermanent, false},
             Row{"WRONGTYPE Operation against a key holding the wrong kind of value", "WRONGTYPE", Kind::kPermanent,
                 false},
             Row{"NOPROTO unsupported protocol version", "NOPROTO", Kind::kPermanent, false},
             Row{"EXECABORT Transaction discarded because of previous errors.", "EXECABORT", Kind::kPermanent, false},
             Row{"ERR AUTH <password> called without any password configured", "ERR", Kind::kPermanent, false},
             Row{"ERR Client sent AUTH, but no password is set", "ERR", Kind::kPermanent, false},
             Row{"ERR invalid password", "ERR", Kind::kPermanent, false},
             Row{"ERR DB index is out of range", "ERR", Kind::kPermanent, false},
             Row{"ERR invalid DB index", "ERR", Kind::kPermanent, false},
             Row{"ERR unknown command 'X'", "ERR", Kind::kPermanent, false},
             Row{"ERR syntax error", "ERR", Kind::kPermanent, false},
             Row{"ERR wrong number of arguments for 'get' command", "ERR", Kind::kPermanent, false},
             Row{"ERR max number of clients reached", "ERR", Kind::kUnavailable, true},
             Row{"ERR something that nobody here has heard of", "ERR", Kind::kUnavailable, false},
             Row{"SURPRISE", "SURPRISE", Kind::kUnavailable, false},
             Row{"", "", Kind::kUnavailable, false},
         }) {
        CAPTURE(error);
        const auto failure = cache_failure(error);
        CHECK(failure.kind() == kind);
        CHECK(failure.connection_lost() == is_lost);
        CHECK(failure.native_code() == code);
    }
}

TEST_CASE("cache.cache_failure: Redis's own words are told and what a person can do") {
    for (const auto& [error, remedy] :
         {std::pair{"OOM command not allowed when used memory > 'maxmemory'.", "maxmemory"},
          {"MISCONF Redis is configured to save RDB snapshots", "disk"},
          {"READONLY You can't write against a read only replica.", "name the master"},
          {"MASTERDOWN Link with MASTER is down", "name the master"},
          {"LOADING Redis is loading the dataset in memory", "wait"},
          {"BUSY Redis is busy running a script.", "SCRIPT KILL"},
          {"NOREPLICAS Not enough good replicas to write.", "min-replicas-to-write"},
          {"NOAUTH Authentication required.", "password"},
          {"NOPERM this user has no permissions to run the 'get' command", "ACL LIST"},
          {"MOVED 3999 127.0.0.1:6381", "Redis Cluster"},
          {"ERR DB index is out of range", "databases"},
          {"ERR max number of clients reached", "maxclients"},
          {"ERR unknown command 'EVALSHA'", "renamed"}}) {
        CAPTURE(error);
        const std::string told = cache_failure(error).what();
        CHECK(told.starts_with('"' + std::string(error)));
        CHECK(told.find(remedy, told.find(" (")) != std::string::npos);
    }
}

TEST_CASE("cache.cache_failure: an error inside a script counts as what it is with Redis 6 too") {
    const auto seven = cache_failure("OOM command not allowed. script: 1a2b, on @user_script:3.");
    CHECK(seven.native_code() == "OOM");
    const auto six = cache_failure(
        "ERR Error running script (call to f_1a2b): @user_script:3: -READONLY You can't write against a read only "
        "replica.");
    CHECK(six.native_code() == "READONLY");
    CHECK(six.connection_lost());
    const auto plain = cache_failure("ERR Error running script (call to f_1a2b): @user_script:3: script: 3: nil value");
    CHECK(plain.native_code() == "ERR");
}

TEST_CASE("cache.cache_failure: a long error is cut and what is no text is made one") {
    const auto failure = cache_failure("ERR \xFF\n" + std::string(5000, 'x'));
    CHECK(std::string(failure.what()).size() < 500);
    CHECK(std::string(failure.what()).find('\n') == std::string::npos);
}

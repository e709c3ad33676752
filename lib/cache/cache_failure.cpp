#include "cache/cache_failure.hpp"

#include <array>
#include <string>

#include <ftlfeed/core/text.hpp>

namespace ftlfeed::cache {

using core::Failure;

namespace {

constexpr std::size_t kShownBytesMax = 300;

enum class Meaning { kUnavailable, kElsewhere, kBusy, kPermanent };

struct Rule {
    std::string_view prefix;  ///< Of the error's text; the longest that fits decides.
    Meaning meaning;
    /// What a person can do; empty where Redis's own words say it, or nobody can do anything.
    const char* remedy = "";
};

constexpr const char* kIsReplica = "this is a replica: name the master";
constexpr const char* kIsCluster = "this is a Redis Cluster; one server that holds all keys is needed";
constexpr const char* kNeedsPassword = "give the password that it wants";

constexpr std::array kRules{
    Rule{"NOSCRIPT", Meaning::kBusy},  // restarted or flushed: the script has to be sent again
    Rule{"LOADING", Meaning::kBusy, "it reads its file at the start: wait for the end of it"},
    Rule{"BUSY ", Meaning::kBusy, "somebody's script runs for too long: SCRIPT KILL ends it"},
    Rule{"TRYAGAIN", Meaning::kBusy},  // a cluster's slot is on its way
    Rule{"OOM", Meaning::kUnavailable, "it is full: raise its maxmemory, or take away what is not ours"},
    Rule{"MISCONF", Meaning::kUnavailable, "it cannot save its file: look at its disk and its log"},
    Rule{"NOREPLICAS", Meaning::kUnavailable, "its min-replicas-to-write asks for replicas that it has lost"},
    Rule{"MASTERDOWN", Meaning::kElsewhere, kIsReplica},
    Rule{"READONLY", Meaning::kElsewhere, kIsReplica},   // the name may lead to the new master by now
    Rule{"UNBLOCKED", Meaning::kElsewhere, kIsReplica},  // it became one meanwhile
    Rule{"CLUSTERDOWN", Meaning::kUnavailable, kIsCluster},
    Rule{"MOVED", Meaning::kPermanent, kIsCluster},
    Rule{"ASK ", Meaning::kPermanent, kIsCluster},
    Rule{"CROSSSLOT", Meaning::kPermanent},  // a script on several keys: none of ours
    Rule{"NOAUTH", Meaning::kPermanent, kNeedsPassword},
    Rule{"WRONGPASS", Meaning::kPermanent, kNeedsPassword},
    Rule{"NOPERM", Meaning::kPermanent, "its user may not do this: look at ACL LIST"},
    Rule{"DENIED", Meaning::kPermanent},  // protected mode
    Rule{"WRONGTYPE", Meaning::kPermanent},
    Rule{"NOPROTO", Meaning::kPermanent},
    Rule{"EXECABORT", Meaning::kPermanent},
    Rule{"ERR AUTH", Meaning::kPermanent},
    Rule{"ERR Client sent AUTH", Meaning::kPermanent},
    Rule{"ERR invalid password", Meaning::kPermanent},
    Rule{"ERR DB index", Meaning::kPermanent, "it has fewer databases: name another one, or raise its `databases`"},
    Rule{"ERR invalid DB index", Meaning::kPermanent},
    Rule{"ERR unknown command", Meaning::kPermanent, "it is too old, or the command was renamed or forbidden there"},
    Rule{"ERR syntax error", Meaning::kPermanent},
    Rule{"ERR wrong number of arguments", Meaning::kPermanent},
    // It closes the connection after it.
    Rule{"ERR max number of clients", Meaning::kElsewhere, "raise its maxclients, or end clients that it has"},
};

Rule rule_of(std::string_view error) {
    Rule best{"", Meaning::kUnavailable};
    for (const auto& rule : kRules) {
        if (error.starts_with(rule.prefix) && rule.prefix.size() > best.prefix.size()) best = rule;
    }
    return best;
}

/// Redis before 7 wraps what went wrong inside a script: `ERR Error running script (…): @user_script:1: -OOM …`.
std::string_view unwrapped(std::string_view error) {
    constexpr std::string_view kWrap = "ERR Error running script";
    const auto inner = error.starts_with(kWrap) ? error.find(": -") : std::string_view::npos;
    return inner == std::string_view::npos ? error : error.substr(inner + 3);
}

}  // namespace

Failure cache_failure(std::string_view error) {
    error = unwrapped(error);
    const auto rule = rule_of(error);
    const auto remedy = *rule.remedy == '\0' ? std::string() : " (" + std::string(rule.remedy) + ")";
    const auto message = core::json_quoted(core::shorten(error, kShownBytesMax)) + remedy;
    const auto code = core::shorten(error.substr(0, error.find(' ')), 40);
    switch (rule.meaning) {
        case Meaning::kElsewhere:
            return Failure::unavailable(message).with_native_code(code).with_connection_lost();
        case Meaning::kBusy:
            return Failure::busy(message).with_native_code(code);
        case Meaning::kPermanent:
            return Failure::permanent(message).with_native_code(code);
        case Meaning::kUnavailable:
            break;
    }
    return Failure::unavailable(message).with_native_code(code);
}

}  // namespace ftlfeed::cache

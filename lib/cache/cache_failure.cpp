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
};

constexpr std::array kRules{
    Rule{"NOSCRIPT", Meaning::kBusy},           // restarted or flushed: the script has to be sent again
    Rule{"LOADING", Meaning::kBusy},            // it reads its file at the start
    Rule{"BUSY ", Meaning::kBusy},              // somebody's script runs for too long
    Rule{"TRYAGAIN", Meaning::kBusy},           // a cluster's slot is on its way
    Rule{"OOM", Meaning::kUnavailable},         // full: maxmemory and nothing that may be evicted
    Rule{"MISCONF", Meaning::kUnavailable},     // it cannot save its file and takes no writes
    Rule{"NOREPLICAS", Meaning::kUnavailable},  // min-replicas-to-write
    Rule{"MASTERDOWN", Meaning::kElsewhere},    // a replica that has lost its master
    Rule{"READONLY", Meaning::kElsewhere},      // a replica: the name may lead to the new master by now
    Rule{"UNBLOCKED", Meaning::kElsewhere},     // it became a replica meanwhile
    Rule{"CLUSTERDOWN", Meaning::kUnavailable},
    Rule{"MOVED", Meaning::kPermanent},      // a Redis Cluster, which is not supported
    Rule{"ASK ", Meaning::kPermanent},       // likewise
    Rule{"CROSSSLOT", Meaning::kPermanent},  // a script on several keys: none of ours
    Rule{"NOAUTH", Meaning::kPermanent},
    Rule{"WRONGPASS", Meaning::kPermanent},
    Rule{"NOPERM", Meaning::kPermanent},
    Rule{"DENIED", Meaning::kPermanent},  // protected mode
    Rule{"WRONGTYPE", Meaning::kPermanent},
    Rule{"NOPROTO", Meaning::kPermanent},
    Rule{"EXECABORT", Meaning::kPermanent},
    Rule{"ERR AUTH", Meaning::kPermanent},
    Rule{"ERR Client sent AUTH", Meaning::kPermanent},
    Rule{"ERR invalid password", Meaning::kPermanent},
    Rule{"ERR DB index", Meaning::kPermanent},
    Rule{"ERR invalid DB index", Meaning::kPermanent},
    Rule{"ERR unknown command", Meaning::kPermanent},
    Rule{"ERR syntax error", Meaning::kPermanent},
    Rule{"ERR wrong number of arguments", Meaning::kPermanent},
    Rule{"ERR max number of clients", Meaning::kElsewhere},  // it closes the connection after it
};

Meaning meaning_of(std::string_view error) {
    const Rule* best = nullptr;
    for (const auto& rule : kRules) {
        if (error.starts_with(rule.prefix) && (best == nullptr || rule.prefix.size() > best->prefix.size()))
            best = &rule;
    }
    return best == nullptr ? Meaning::kUnavailable : best->meaning;
}

/// Redis before 7 wraps what went wrong inside a script: `ERR Error running script (…): @user_script:1: -OOM …`.
std::string_view unwrapped(std::string_view error) {
    constexpr std::string_view kWrap = "ERR Error running script";
    const auto inner = error.starts_with(kWrap) ? error.find(": -") : std::string_view::npos;
    return inner == std::string_view::npos ? error : error.substr(inner + 3);
}

std::string remedy_of(std::string_view error) {
    const bool is_cluster = error.starts_with("MOVED") || error.starts_with("ASK ") || error.starts_with("CLUSTERDOWN");
    return is_cluster ? " (this is a Redis Cluster; one server that holds all keys is needed)" : "";
}

}  // namespace

Failure cache_failure(std::string_view error) {
    error = unwrapped(error);
    const auto message = "Redis: " + core::json_quoted(core::shorten(error, kShownBytesMax)) + remedy_of(error);
    const auto code = core::shorten(error.substr(0, error.find(' ')), 40);
    switch (meaning_of(error)) {
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

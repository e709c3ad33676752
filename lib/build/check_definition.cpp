#include <ftlfeed/build/check_definition.hpp>

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <pqxx/transaction_base>

#include <ftlfeed/build/content_hash.hpp>
#include <ftlfeed/build/sql_resolver.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/feed_key.hpp>

#include "build/definition_session.hpp"

namespace ftlfeed::build {

namespace {

/// Data may change between the two builds of a pair; only a definition that never gives the same twice is at fault.
constexpr int kPairsMax = 3;

/// Other plans read the rows in another order: an array without ORDER BY shows itself.
constexpr const char* kOtherPlans =
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL "
    "enable_hashagg = off;"
    "SET LOCAL enable_material = off; SET LOCAL jit = off";

void check_json(const Resolved& resolved) {
    if (resolved.content_type.find("json") == std::string::npos) return;
    rapidjson::Document document;
    document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(resolved.body.data(),
                                                                                           resolved.body.size());
    if (!document.HasParseError()) return;
    throw core::InvalidInput(
        "the body is no JSON: " + std::string(rapidjson::GetParseError_En(document.GetParseError())) + " at byte " +
        std::to_string(document.GetErrorOffset()));
}

Resolved build_once(store::Session& session, const ResolverRegistry& resolvers, const FeedDefinition& definition,
                    const core::FeedKey& key, bool use_other_plans) {
    Resolved resolved;
    session.read_snapshot([&](pqxx::transaction_base& tx) {
        if (use_other_plans) tx.exec(kOtherPlans);
        pin_settings(tx, resolvers.limits());
        resolved = resolvers.find(definition.resolver).resolve(tx, key, definition);
    });
    return resolved;
}

/// Two builds that agree, or the refusal.
Resolved build_twice(store::Session& session, const ResolverRegistry& resolvers, const FeedDefinition& definition,
                     const core::FeedKey& key) {
    for (int pair = 0; pair < kPairsMax; ++pair) {
        auto first = build_once(session, resolvers, definition, key, false);
        check_json(first);
        const auto second = build_once(session, resolvers, definition, key, true);
        if (content_hash(first.body, definition.volatile_pointers) ==
            content_hash(second.body, definition.volatile_pointers)) {
            return first;
        }
    }
    throw core::InvalidInput(key.doc_key() +
                             " differs from one build to the next although its data does not: give every array a total"
                             " ORDER BY, and leave now(), random() and row numbers out, or name them in"
                             " volatile_pointers");
}

}  // namespace

DefinitionReport check_definition(store::Session& session, const ResolverRegistry& resolvers,
                                  const FeedDefinition& definition, const std::string& event) {
    if (!core::FeedKey::is_valid_part(definition.feed_type)) {
        throw core::InvalidInput("feed type '" + definition.feed_type + "': use a-z, 0-9, _ and -");
    }
    try {
        DefinitionReport report;
        session.read_snapshot([&](pqxx::transaction_base& tx) {
            pin_settings(tx, resolvers.limits());
            report.filters = enumerate_filters(tx, event, definition, resolvers.limits());
        });
        if (report.filters.empty()) return report;
        report.filter = report.filters.front();
        report.sample = build_twice(session, resolvers, definition, {event, definition.feed_type, report.filter});
        return report;
    } catch (const core::Failure& failure) {
        if (failure.may_retry()) throw;
        throw core::InvalidInput("definition of " + definition.feed_type + ": " + failure.what());
    }
}

}  // namespace ftlfeed::build

#include "build/file_build.hpp"

#include <algorithm>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <utility>

#include <ftlfeed/build/content_hash.hpp>
#include <ftlfeed/core/crash_point.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/store/value.hpp>

#include "build/definition_row.hpp"
#include "build/definition_session.hpp"
#include "store/planned.hpp"

namespace ftlfeed::build {

using core::Failure;

namespace {

/// $1 = doc_key, $2 = feed_type. A document's row is written under the file's lock, so this snapshot, taken under it, has
/// the newest.
const std::string kFileState = std::string(R"(
SELECT pg_current_snapshot()::text, EXISTS (SELECT FROM feed_key WHERE doc_key = $1), d.doc_key IS NOT NULL,
       d.retired_at IS NOT NULL, d.content_hash, d.content_type,
       ARRAY(SELECT record_kind || ':' || record_id FROM feed_dependency WHERE doc_key = $1), f.feed_type IS NOT NULL, )") +
                               kDefinitionColumns + R"(
  FROM (SELECT) one LEFT JOIN feed_document d ON d.doc_key = $1 LEFT JOIN feed_definition f ON f.feed_type = $2)";

/// Both who wrote it and who listens hear of the version: they are told at the commit. $1 = doc_key.
const std::string kReturningVersion = "\nRETURNING epoch, seq, pg_notify('ftl_document', '')," + holds_lock_sql();

/// $1 = doc_key, $2 = kinds, $3 = ids. Only what differs is written.
constexpr const char* kReplaceDependencies = R"(
WITH wanted AS (
    SELECT kind, id FROM unnest($2::text[], $3::text[]) AS w (kind, id)
), gone AS (
    DELETE FROM feed_dependency d WHERE d.doc_key = $1
       AND NOT EXISTS (SELECT FROM wanted w WHERE w.kind = d.record_kind AND w.id = d.record_id)
)
INSERT INTO feed_dependency (record_kind, record_id, doc_key)
SELECT kind, id, $1 FROM wanted ORDER BY kind, id ON CONFLICT DO NOTHING)";

/// $1 = doc_key, $2 = event, $3 = feed_type, $4 = filter, $5 = body (gzip), $6 = plain bytes, $7 = content_type,
/// $8 = content_hash, $9 = body_hash, $10 = newest touch that the claim knew, $11 = the cursor's snapshot at the claim (or
/// NULL), $12 = the build's.
/// - A build may run ahead of the reader: touches that it has seen and the reader has not marked yet led to the change as
///   well. Two arms: `txid >= xmin` alone reads as far back as the oldest open transaction.
/// - The epoch's row is locked: whoever moves it waits for us and then stamps this row too, or we wait and read the new
///   one.
/// - changed_at and last_modified never go back: a touch that committed late has an older stamp.
const std::string kWriteDocument = std::string(R"(
WITH newest AS MATERIALIZED (
    SELECT greatest($10::timestamptz, max(created_at)) AS touch FROM (
        SELECT o.created_at
          FROM outbox o JOIN feed_dependency d ON d.record_kind = o.record_kind AND d.record_id = o.record_id
         WHERE d.doc_key = $1 AND o.txid >= pg_snapshot_xmax($11::pg_snapshot)
           AND pg_visible_in_snapshot(o.txid, $12::pg_snapshot)
        UNION ALL
        SELECT o.created_at
          FROM outbox o JOIN feed_dependency d ON d.record_kind = o.record_kind AND d.record_id = o.record_id
         WHERE d.doc_key = $1 AND o.txid = ANY (ARRAY(SELECT pg_snapshot_xip($11::pg_snapshot)))
           AND pg_visible_in_snapshot(o.txid, $12::pg_snapshot)) o
), now_epoch AS MATERIALIZED (
    SELECT epoch FROM cluster_epoch FOR SHARE
), stamped AS (
    SELECT e.epoch, greatest(d.changed_at, n.touch) AS changed_at,
           greatest(date_trunc('second', greatest(d.changed_at, n.touch) + interval '999999 us'),
                    d.last_modified + interval '1 s') AS last_modified
      FROM newest n CROSS JOIN now_epoch e LEFT JOIN feed_document d ON d.doc_key = $1
), document AS (
    INSERT INTO feed_document AS d (doc_key, event, feed_type, filter, body_gz, body_bytes, content_type, content_hash,
                                    body_hash, changed_at, last_modified, epoch, seq)
    SELECT $1, $2, $3, $4, $5::bytea, $6::bigint, $7, $8::bytea, $9::bytea, changed_at, last_modified, epoch,
           nextval('version_seq')
      FROM stamped
    ON CONFLICT (doc_key) DO UPDATE
       SET body_gz = excluded.body_gz, body_bytes = excluded.body_bytes, content_type = excluded.content_type,
           content_hash = excluded.content_hash, body_hash = excluded.body_hash, changed_at = excluded.changed_at,
           last_modified = excluded.last_modified, epoch = excluded.epoch, seq = excluded.seq,
           txid = pg_current_xact_id(), retired_at = NULL, built_at = clock_timestamp(), audited_at = clock_timestamp()
    RETURNING d.*
)
INSERT INTO feed_version (doc_key, epoch, seq, content_hash, body_hash, body_gz, body_bytes, changed_at)
SELECT doc_key, epoch, seq, content_hash, body_hash, $5::bytea, body_bytes, changed_at FROM document)") +
                                   kReturningVersion;

/// $1 = doc_key, $2 = newest touch. The last version keeps the last body: who keeps the file has nothing to send.
const std::string kRetire = std::string(R"(
WITH now_epoch AS MATERIALIZED (
    SELECT epoch FROM cluster_epoch FOR SHARE
), document AS (
    UPDATE feed_document d
       SET changed_at = greatest(d.changed_at, $2::timestamptz),
           last_modified = greatest(date_trunc('second', greatest(d.changed_at, $2::timestamptz) + interval '999999 us'),
                                    d.last_modified + interval '1 s'),
           epoch = e.epoch, seq = nextval('version_seq'), txid = pg_current_xact_id(), retired_at = clock_timestamp(),
           built_at = clock_timestamp()
      FROM now_epoch e WHERE d.doc_key = $1
    RETURNING d.*
)
INSERT INTO feed_version (doc_key, epoch, seq, content_hash, body_hash, body_gz, body_bytes, changed_at, is_retired)
SELECT doc_key, epoch, seq, content_hash, body_hash, body_gz, body_bytes, changed_at, true FROM document)") +
                            kReturningVersion;

void replace_dependencies(pqxx::transaction_base& tx, const std::string& doc_key,
                          const std::vector<std::string>& dependencies) {
    std::vector<std::string> kinds;
    std::vector<std::string> ids;
    for (const auto& dependency : dependencies) {
        const auto colon = dependency.find(':');
        kinds.push_back(dependency.substr(0, colon));
        ids.push_back(dependency.substr(colon + 1));
    }
    store::exec_planned(tx, kReplaceDependencies, doc_key, store::text_array(kinds), store::text_array(ids));
}

/// Of a statement that ends with kReturningVersion.
core::Version version_of(const pqxx::result& rows) {
    if (rows.empty()) throw Failure::permanent("cluster_epoch is empty");
    check_lock(rows[0][3].as<bool>());
    return {rows[0][0].as<std::int64_t>(), rows[0][1].as<std::int64_t>(), 0};
}

/// One write transaction of a build: READ COMMITTED, and durable, unlike the claim and the end.
class FileWriter {
public:
    FileWriter(store::Session& session, const Claim& claim, const BuildObserver& observer)
        : session_(session), claim_(claim), observer_(observer) {}

    void write(const store::Session::Work& work) {
        session_.write([&](pqxx::transaction_base& tx) {
            work(tx);
            if (observer_) observer_(BuildStep::kWritten, claim_.doc_key);
        });
        core::durable_step("build.written");
        if (observer_) observer_(BuildStep::kCommitted, claim_.doc_key);
    }

private:
    store::Session& session_;
    const Claim& claim_;
    const BuildObserver& observer_;
};

BuildOutcome retire_file(FileWriter& writer, const Claim& claim, const FileState& state) {
    BuildOutcome outcome{BuildResult::kRetired, claim.doc_key, {}, ""};
    // Never built, or retired already: nobody has it, so nobody needs to hear that it is gone.
    if (!state.is_built || state.is_retired) return outcome;
    writer.write([&](pqxx::transaction_base& tx) {
        replace_dependencies(tx, claim.doc_key, {});
        outcome.version = version_of(store::exec_planned(tx, kRetire, claim.doc_key, claim.last_touch));
    });
    return outcome;
}

BuildOutcome write_version(FileWriter& writer, const Claim& claim, const core::FeedKey& key, const FileState& state,
                           const FileContent& content) {
    BuildOutcome outcome{BuildResult::kChanged, claim.doc_key, {}, ""};
    // Outside the transaction: packing a large body takes longer than all of its statements.
    const auto packed = store::bytea(core::gzip(content.resolved.body));
    const auto body_hash = store::bytea(core::sha256(content.resolved.body));
    writer.write([&](pqxx::transaction_base& tx) {
        if (state.dependencies != content.dependencies) {
            replace_dependencies(tx, claim.doc_key, content.dependencies);
        }
        outcome.version = version_of(store::exec_planned(
            tx, kWriteDocument, claim.doc_key, key.event(), key.feed_type(), key.filter(), packed,
            content.resolved.body.size(), store::checked(content.resolved.content_type), store::bytea(content.hash),
            body_hash, claim.last_touch, claim.marked_upto, state.snapshot));
    });
    return outcome;
}

}  // namespace

std::string raw_bytes(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

FileState load_file_state(pqxx::transaction_base& tx, const core::FeedKey& key) {
    const auto row = store::exec_planned(tx, kFileState, key.doc_key(), key.feed_type())[0];
    FileState state;
    state.snapshot = row[0].as<std::string>();
    state.is_listed = row[1].as<bool>();
    state.is_built = row[2].as<bool>();
    state.is_retired = row[3].as<bool>();
    if (state.is_built) {
        state.content_hash = store::from_bytea(row[4].as<std::string>());
        state.content_type = row[5].as<std::string>();
    }
    state.dependencies = store::from_text_array(row[6].as<std::string>());
    std::sort(state.dependencies.begin(), state.dependencies.end());
    if (row[7].as<bool>()) state.definition = definition_of(row, 8, key.feed_type());
    return state;
}

FileContent resolve_file(pqxx::transaction_base& tx, const core::FeedKey& key, const FeedDefinition& definition,
                         const ResolverRegistry& resolvers) {
    pin_settings(tx, resolvers.limits());
    FileContent content{resolvers.find(definition.resolver).resolve(tx, key, definition), {}, {}};
    content.hash = content_hash(content.resolved.body, definition.volatile_pointers);
    auto& dependencies = content.dependencies;
    for (const auto& record : content.resolved.dependencies) dependencies.push_back(record.kind + ':' + record.id);
    // An edit of the definition is a touch like any other.
    dependencies.push_back("definition:" + definition.feed_type);
    std::sort(dependencies.begin(), dependencies.end());
    dependencies.erase(std::unique(dependencies.begin(), dependencies.end()), dependencies.end());
    return content;
}

BuildOutcome build_file(store::Session& session, const Claim& claim, const core::FeedKey& key,
                        const ResolverRegistry& resolvers, const BuildObserver& observer, std::string& snapshot) {
    FileState state;
    FileContent content;
    session.read_snapshot([&](pqxx::transaction_base& tx) {
        state = load_file_state(tx, key);
        if (observer) observer(BuildStep::kSnapshot, claim.doc_key);
        if (state.is_wanted()) content = resolve_file(tx, key, *state.definition, resolvers);
    });
    snapshot = state.snapshot;
    if (observer) observer(BuildStep::kResolved, claim.doc_key);

    FileWriter writer(session, claim, observer);
    if (!state.is_wanted()) return retire_file(writer, claim, state);
    const bool is_same = state.is_built && !state.is_retired && state.content_hash == raw_bytes(content.hash) &&
                         state.content_type == content.resolved.content_type;
    if (!is_same) return write_version(writer, claim, key, state, content);
    // The query may have read other records than last time and shown the same: their touches must find the file.
    if (state.dependencies != content.dependencies) {
        writer.write([&](pqxx::transaction_base& tx) {
            replace_dependencies(tx, claim.doc_key, content.dependencies);
            check_lock(tx, claim.doc_key);
        });
    }
    return {BuildResult::kUnchanged, claim.doc_key, {}, ""};
}

}  // namespace ftlfeed::build

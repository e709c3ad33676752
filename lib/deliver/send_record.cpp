#include "deliver/send_record.hpp"

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/crash_point.hpp>
#include <ftlfeed/core/text.hpp>

#include "deliver/body_table.hpp"
#include "deliver/sql.hpp"
#include "store/planned.hpp"

namespace ftlfeed::deliver {
namespace {

constexpr std::size_t kErrorBytesMax = 1000;

struct FileFacts {
    DocumentFacts document;
    ProvenFacts proven;
    core::SystemTime now;
};

std::string file_subject(const DestinationSettings& settings, const core::FeedKey& key) {
    return settings.label + " " + key.doc_key();
}

enum class Found { kNotOurs, kGone, kMustSettle, kFacts };

/// The owner's row is locked (shared) until the commit: a worker that takes over waits for it, and sees this `sending`.
Found read_facts(pqxx::transaction_base& tx, const DestinationSettings& settings, const WorkerIdentity& us,
                 const core::FeedKey& key, FileFacts& facts) {
    const auto rows = store::exec_planned(
        tx,
        "SELECT d.epoch, d.seq, d.body_hash, " + micros_sql("d.changed_at") +
            ", d.retired_at IS NOT NULL, coalesce(s.sent_epoch, 0), coalesce(s.sent_seq, 0), "
            "coalesce(s.sent_render, 0), s.sent_hash, s.sent_target, s.sent_path, s.sending_seq IS NOT NULL, " +
            micros_sql("clock_timestamp()") +
            " FROM delivery_owner o LEFT JOIN feed_document d ON d.doc_key = $2 "
            "LEFT JOIN delivery_state s ON s.assignment_id = o.assignment_id AND s.doc_key = $2 "
            "WHERE o.assignment_id = $1 AND o.worker = $3 AND o.fence = $4 FOR SHARE OF o",
        settings.id.value, key.doc_key(), us.worker, us.fence);
    if (rows.empty()) return Found::kNotOurs;
    const auto row = rows[0];
    if (row[0].is_null()) return Found::kGone;
    if (row[11].as<bool>()) return Found::kMustSettle;
    facts.document = {{row[0].as<std::int64_t>(), row[1].as<std::int64_t>(), settings.render},
                      bytes_or_empty(row[2]),
                      from_micros(row[3].as<std::int64_t>()),
                      row[4].as<bool>()};
    facts.proven = {{row[5].as<std::int64_t>(), row[6].as<std::int64_t>(), row[7].as<std::int64_t>()},
                    bytes_or_empty(row[8]),
                    {text_or_empty(row[9]), text_or_empty(row[10])}};
    facts.now = from_micros(row[12].as<std::int64_t>());
    return Found::kFacts;
}

/// Moves the sent version on without a send. The proof of what the receiver holds stays as it is.
void settle_without_send(pqxx::transaction_base& tx, const DestinationSettings& settings, const WorkerIdentity& us,
                         const core::FeedKey& key, const FileFacts& facts, SendStep step,
                         core::SystemTime waiting_since) {
    const auto& version = facts.document.version;
    store::exec_planned(
        tx,
        "INSERT INTO delivery_state AS s (assignment_id, doc_key, owed_epoch, owed_seq, owed_render, "
        "sent_epoch, sent_seq, sent_render) VALUES ($1, $2, $3, $4, $5, $3, $4, $5) "
        "ON CONFLICT (assignment_id, doc_key) DO UPDATE SET owed_epoch = $3, owed_seq = $4, owed_render = $5, "
        "sent_epoch = $3, sent_seq = $4, sent_render = $5, waiting_since = NULL, failures = 0, next_try = NULL, "
        "last_error = NULL, refusal_lasts = false "
        "WHERE (s.sent_epoch, s.sent_seq, s.sent_render) <= ($3, $4, $5)",
        settings.id.value, key.doc_key(), version.epoch, version.seq, version.render);
    if (step == SendStep::kMoveOn) return;
    store::exec_planned(
        tx,
        "INSERT INTO delivery_attempt (assignment_id, doc_key, epoch, seq, render, outcome, worker, started_at, path, "
        "age_ms, staleness_ms) SELECT $1::bigint, $2::text, $3::bigint, $4::bigint, $5::bigint, $6::text, $7::text, "
        "clock_timestamp(), (SELECT sent_path FROM delivery_state WHERE assignment_id = $1 AND doc_key = $2), "
        "(now_us - $8::bigint) / 1000, (now_us - $9::bigint) / 1000 FROM (SELECT " +
            micros_sql("clock_timestamp()") + " AS now_us) AS clock ON CONFLICT DO NOTHING",
        settings.id.value, key.doc_key(), version.epoch, version.seq, version.render,
        step == SendStep::kEqual ? "delivered_equal" : "kept", us.worker, to_micros(facts.document.changed_at),
        to_micros(waiting_since));
}

/// The number of the next proof of version ($3, $4, $5). A version that was proven is sent again only after the
/// receiver was found to hold something else (owe_again): that is an occasion of its own.
constexpr auto kNextOccasion =
    "(SELECT coalesce(max(a.occasion) + 1, 0) FROM delivery_attempt a WHERE a.assignment_id = $1 AND a.doc_key = $2 "
    "AND (a.epoch, a.seq, a.render) = ($3, $4, $5) "
    "AND a.outcome IN ('delivered', 'delivered_equal', 'deleted', 'kept'))";

void write_sending(pqxx::transaction_base& tx, const DestinationSettings& settings, const WorkerIdentity& us,
                   Sending& sending) {
    const auto& version = sending.version;
    const auto rows = store::exec_planned(
        tx,
        "INSERT INTO delivery_state AS s (assignment_id, doc_key, owed_epoch, owed_seq, owed_render, waiting_since, "
        "sending_epoch, sending_seq, sending_render, sending_since, sending_by, sending_target, sending_path) "
        "VALUES ($1, $2, $3, $4, $5, to_timestamp($6::bigint / 1000000.0), $3, $4, $5, clock_timestamp(), $7, $8, $9) "
        "ON CONFLICT (assignment_id, doc_key) DO UPDATE SET owed_epoch = $3, owed_seq = $4, owed_render = $5, "
        "waiting_since = least(s.waiting_since, excluded.waiting_since), sending_epoch = $3, sending_seq = $4, "
        "sending_render = $5, sending_since = excluded.sending_since, sending_by = $7, sending_target = $8, "
        "sending_path = $9 RETURNING " +
            std::string(kNextOccasion),
        settings.id.value, sending.key.doc_key(), version.epoch, version.seq, version.render,
        to_micros(sending.waiting_since), us.process, store::checked(sending.place.target),
        store::checked(sending.place.path));
    sending.occasion = rows[0][0].as<std::int64_t>();
}

/// Clears `sending` where it is still this version's.
constexpr auto kClearSending =
    "UPDATE delivery_state SET sending_epoch = NULL, sending_seq = NULL, sending_render = NULL, sending_since = NULL, "
    "sending_by = NULL, sending_target = NULL, sending_path = NULL WHERE assignment_id = $1 AND doc_key = $2 "
    "AND (sending_epoch, sending_seq, sending_render) = ($3, $4, $5)";

void clear_sending(pqxx::transaction_base& tx, AssignmentId assignment, const core::FeedKey& key,
                   const core::Version& version) {
    store::exec_planned(tx, kClearSending, assignment.value, key.doc_key(), version.epoch, version.seq, version.render);
}

void clear_failures(pqxx::transaction_base& tx, const DestinationSettings& settings, const core::FeedKey& key) {
    store::exec_planned(tx,
                        "UPDATE delivery_assignment SET failures = 0, next_try = NULL, last_error = NULL, "
                        "refusal_lasts = false WHERE id = $1",
                        settings.id.value);
    alert::clear(tx, kFailingAlert, settings.label);
    alert::clear(tx, kFileRefusedAlert, file_subject(settings, key));
}

void write_failed_attempt(pqxx::transaction_base& tx, const DestinationSettings& settings, const WorkerIdentity& us,
                          const core::FeedKey& key, const FailedTry& failed, const std::string& error) {
    const auto& sending = failed.sending;
    store::exec_planned(tx,
                        "INSERT INTO delivery_attempt (assignment_id, doc_key, epoch, seq, render, outcome, worker, "
                        "started_at, path, error) VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce(to_timestamp($8::bigint "
                        "/ 1000000.0), clock_timestamp()), $9, $10)",
                        settings.id.value, key.doc_key(), failed.version.epoch, failed.version.seq,
                        failed.version.render,
                        failed.in_doubt                           ? "in_doubt"
                        : failed.scope == FailedTry::Scope::kFile ? "refused"
                                                                  : "failed",
                        us.worker, sending ? std::optional(to_micros(sending->started_at)) : std::nullopt,
                        sending ? std::optional(sending->place.path) : std::nullopt, error);
}

}  // namespace

Begun begin_send(store::Session& session, BodyCache& bodies, const DestinationSettings& settings,
                 const WorkerIdentity& us, const Wanted& wanted) {
    const auto& key = wanted.key;
    const Place place{settings.target(), wanted.path};
    Begun begun;
    session.write([&](pqxx::transaction_base& tx) {
        FileFacts facts;
        const auto found = read_facts(tx, settings, us, key, facts);
        if (found != Found::kFacts) {
            begun.kind = found == Found::kGone         ? Begun::Kind::kGone
                         : found == Found::kMustSettle ? Begun::Kind::kMustSettle
                                                       : Begun::Kind::kNotOurs;
            return;
        }
        begun.version = facts.document.version;
        const auto step = next_step(facts.document, facts.proven, place, settings.on_retire, facts.now);
        if (step == SendStep::kNothing) {
            begun.kind = Begun::Kind::kSettled;
            begun.version = facts.proven.sent;
            return;
        }
        if (step != SendStep::kSend && step != SendStep::kDelete) {
            settle_without_send(tx, settings, us, key, facts, step, wanted.waiting_since);
            if (wanted.had_failures) alert::clear(tx, kFileRefusedAlert, file_subject(settings, key));
            begun.kind = Begun::Kind::kSettled;
            return;
        }
        Sending sending{
            key, facts.document.version, facts.document.changed_at, wanted.waiting_since, facts.now, place, nullptr, 0};
        if (step == SendStep::kDelete) sending.place = facts.proven.place;
        if (step == SendStep::kSend) {
            try {
                sending.body = load_body(tx, bodies, key, sending.version);
            } catch (const core::Failure& damaged) {  // Postgres's own troubles are not of this type in here.
                begun.kind = Begun::Kind::kUnreadable;
                begun.reason = damaged.what();
                return;
            }
        }
        write_sending(tx, settings, us, sending);
        begun.kind = step == SendStep::kSend ? Begun::Kind::kSend : Begun::Kind::kRemove;
        begun.sending = std::move(sending);
    });
    if (begun.sending) core::durable_step("deliver.sending");
    return begun;
}

bool may_publish(store::Session& session, AssignmentId assignment, const WorkerIdentity& us, const Sending& sending) {
    bool is_ours = false;
    const auto& version = sending.version;
    session.without_transaction([&](pqxx::transaction_base& tx) {
        is_ours =
            !store::exec_planned(tx,
                                 "SELECT 1 FROM delivery_owner o JOIN delivery_state s USING (assignment_id) "
                                 "WHERE o.assignment_id = $1 AND o.worker = $2 AND o.fence = $3 AND s.doc_key = $4 "
                                 "AND s.sending_by = $5 "
                                 "AND (s.sending_epoch, s.sending_seq, s.sending_render) = ($6, $7, $8) "
                                 "AND (s.sent_epoch, s.sent_seq, s.sent_render) < ($6, $7, $8)",
                                 assignment.value, us.worker, us.fence, sending.key.doc_key(), us.process,
                                 version.epoch, version.seq, version.render)
                 .empty();
    });
    return is_ours;
}

void prove(store::Session& session, const DestinationSettings& settings, const WorkerIdentity& us,
           const Sending& sending, const Proof& proof) {
    const bool is_delivery = proof.kind == ProofKind::kDelivered;
    const auto& version = sending.version;
    const auto bytes =
        is_delivery ? std::optional(static_cast<std::int64_t>(sending.body->bytes.size())) : std::nullopt;
    const auto hash = is_delivery ? std::optional(store::bytea(sending.body->sha256)) : std::nullopt;
    session.write([&](pqxx::transaction_base& tx) {
        // `before` locks the row, so that two proofs of one file come one after the other. Ages are bigint: a
        // destination may be down for longer than 24 days.
        store::exec_planned(
            tx,
            "WITH clock AS (SELECT " + micros_sql("clock_timestamp()") +
                " AS now_us), before AS (SELECT sent_epoch, sent_seq, sent_render FROM delivery_state "
                "WHERE assignment_id = $1 AND doc_key = $2 FOR UPDATE), "
                "moved AS (UPDATE delivery_state s SET sent_epoch = $3, sent_seq = $4, sent_render = $5, "
                "sent_hash = $6::bytea, sent_bytes = $7::bigint, sent_target = $8, sent_path = $9, receipt = $10, "
                "guarantee = $11, proven_at = clock_timestamp(), age_ms = (clock.now_us - $12) / 1000, "
                "staleness_ms = (clock.now_us - $13) / 1000, waiting_since = NULL, failures = 0, next_try = NULL, "
                "last_error = NULL, refusal_lasts = false "
                "FROM clock, before WHERE s.assignment_id = $1 AND s.doc_key = $2 "
                "AND (before.sent_epoch, before.sent_seq, before.sent_render) <= ($3, $4, $5) "
                "RETURNING s.age_ms, s.staleness_ms) "
                "INSERT INTO delivery_attempt (assignment_id, doc_key, epoch, seq, render, occasion, outcome, worker, "
                "started_at, path, bytes, body_hash, receipt, guarantee, age_ms, staleness_ms) "
                "SELECT $1, $2, $3, $4, $5, " +
                kNextOccasion +
                ", $14, $15, "
                "to_timestamp($16::bigint / 1000000.0), $9, $7::bigint, $6::bytea, $10, $11, moved.age_ms, "
                "moved.staleness_ms FROM moved, before "
                "WHERE (before.sent_epoch, before.sent_seq, before.sent_render) < ($3, $4, $5) ON CONFLICT DO NOTHING",
            settings.id.value, sending.key.doc_key(), version.epoch, version.seq, version.render, hash, bytes,
            store::checked(sending.place.target), store::checked(sending.place.path),
            store::checked(core::shorten(proof.stored.receipt, kErrorBytesMax)),
            std::string(name_of(proof.stored.guarantee)), to_micros(sending.changed_at),
            to_micros(sending.waiting_since), is_delivery ? "delivered" : "deleted", us.worker,
            to_micros(sending.started_at));
        clear_sending(tx, settings.id, sending.key, version);
        if (proof.had_failures) clear_failures(tx, settings, sending.key);
    });
    core::durable_step("deliver.proven");
}

void record_failure(store::Session& session, const DestinationSettings& settings, const WorkerIdentity& us,
                    const core::FeedKey& key, const FailedTry& failed) {
    const auto& sending = failed.sending;
    const bool is_file = failed.scope == FailedTry::Scope::kFile;
    const auto error = store::checked(core::shorten(failed.error, kErrorBytesMax));
    session.write([&](pqxx::transaction_base& tx) {
        if (sending && !failed.in_doubt) clear_sending(tx, settings.id, key, sending->version);
        if (is_file) {
            store::exec_planned(
                tx,
                "INSERT INTO delivery_state (assignment_id, doc_key, failures, next_try, last_error, "
                "refusal_lasts) VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond', $5, $6) "
                "ON CONFLICT (assignment_id, doc_key) DO UPDATE SET failures = excluded.failures, "
                "next_try = excluded.next_try, last_error = excluded.last_error, "
                "refusal_lasts = excluded.refusal_lasts",
                settings.id.value, key.doc_key(), failed.failures, failed.next_try_in.count(), error, failed.lasts);
        } else {
            store::exec_planned(tx,
                                "UPDATE delivery_assignment SET failures = $2, "
                                "next_try = clock_timestamp() + $3 * interval '1 millisecond', last_error = $4, "
                                "refusal_lasts = $5 WHERE id = $1",
                                settings.id.value, failed.failures, failed.next_try_in.count(), error, failed.lasts);
        }
        write_failed_attempt(tx, settings, us, key, failed, error);
        if (failed.lasts || is_file || failed.failures >= settings.alert_failures) {
            alert::raise(tx, {is_file ? kFileRefusedAlert : kFailingAlert,
                              is_file ? file_subject(settings, key) : settings.label, alert::Severity::kCritical,
                              core::shorten(error, kErrorBytesMax)});
        }
    });
}

void switch_off(store::Session& session, const DestinationSettings& settings, const WorkerIdentity& us,
                const Sending& sending, const SwitchedOff& off) {
    const auto reason = store::checked(core::shorten(off.reason, kErrorBytesMax));
    session.write([&](pqxx::transaction_base& tx) {
        clear_sending(tx, settings.id, sending.key, sending.version);
        FailedTry failed;
        failed.version = sending.version;
        failed.sending = sending;
        write_failed_attempt(tx, settings, us, sending.key, failed, reason);
        tx.exec_params(
            "UPDATE delivery_assignment SET is_on = false, off_reason = $2, off_by = 'receiver', "
            "off_at = clock_timestamp(), failures = $3, next_try = NULL, last_error = $2 WHERE id = $1 AND is_on",
            settings.id.value, reason, off.failures);
        alert::raise(tx, {kSwitchedOffAlert, settings.label, alert::Severity::kCritical,
                          reason + "; it is switched off until somebody switches it on again"});
    });
}

void withdraw_sending(store::Session& session, AssignmentId assignment, const Sending& sending) {
    session.write([&](pqxx::transaction_base& tx) { clear_sending(tx, assignment, sending.key, sending.version); });
}

std::optional<Sending> unfinished_send(store::Session& session, BodyCache& bodies, const DestinationSettings& settings,
                                       const core::FeedKey& key) {
    std::optional<Sending> found;
    session.read([&](pqxx::transaction_base& tx) {
        const auto rows = store::exec_planned(
            tx,
            "SELECT sending_epoch, sending_seq, sending_render, " + micros_sql("sending_since") +
                ", sending_target, sending_path, coalesce(" + micros_sql("waiting_since") + ", 0) " +
                "FROM delivery_state WHERE assignment_id = $1 AND doc_key = $2 AND sending_seq IS NOT NULL",
            settings.id.value, key.doc_key());
        if (rows.empty()) return;
        const auto row = rows[0];
        Sending sending{key, {}, {}, {}, {}, {}, nullptr, 0};
        sending.version = {row[0].as<std::int64_t>(), row[1].as<std::int64_t>(), row[2].as<std::int64_t>()};
        sending.started_at = from_micros(row[3].as<std::int64_t>());
        sending.place = {text_or_empty(row[4]), text_or_empty(row[5])};
        sending.waiting_since = from_micros(row[6].as<std::int64_t>());
        if (sending.place.target == settings.target()) fill_body(tx, bodies, sending);
        found = std::move(sending);
    });
    return found;
}

std::optional<Sending> proven_file(store::Session& session, BodyCache& bodies, const DestinationSettings& settings,
                                   const core::FeedKey& key) {
    std::optional<Sending> found;
    session.read([&](pqxx::transaction_base& tx) {
        const auto rows =
            store::exec_planned(tx,
                                "SELECT sent_epoch, sent_seq, sent_render, sent_path, sent_hash FROM delivery_state "
                                "WHERE assignment_id = $1 AND doc_key = $2 AND sending_seq IS NULL AND sent_seq > 0 "
                                "AND sent_hash IS NOT NULL AND sent_target = $3",
                                settings.id.value, key.doc_key(), settings.target());
        if (rows.empty()) return;
        const auto row = rows[0];
        Sending sending{key, {}, {}, {}, {}, {}, nullptr, 0};
        sending.version = {row[0].as<std::int64_t>(), row[1].as<std::int64_t>(), row[2].as<std::int64_t>()};
        sending.place = {settings.target(), text_or_empty(row[3])};
        fill_body(tx, bodies, sending);
        // After a delivered-equal or a move of the epoch the version is newer than the bytes that were sent.
        if (sending.body && sending.body->sha256 == bytes_or_empty(row[4])) found = std::move(sending);
    });
    return found;
}

void owe_again(store::Session& session, AssignmentId assignment, const core::FeedKey& key,
               const core::Version& proven) {
    session.write([&](pqxx::transaction_base& tx) {
        store::exec_planned(
            tx,
            "UPDATE delivery_state SET sent_epoch = 0, sent_seq = 0, sent_render = 0, sent_hash = NULL "
            "WHERE assignment_id = $1 AND doc_key = $2 AND (sent_epoch, sent_seq, sent_render) = ($3, $4, $5)",
            assignment.value, key.doc_key(), proven.epoch, proven.seq, proven.render);
    });
}

}  // namespace ftlfeed::deliver

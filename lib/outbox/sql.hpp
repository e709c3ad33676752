#pragma once

namespace ftlfeed::outbox::sql {

/// A snapshot in which the transaction that takes it does not count as finished (R16). Postgres leaves the asking
/// transaction's own xid out of the list of those in progress; once a later one has ended, the own one lies below xmax
/// and passes for visible: rows that the reader's transaction adds to the outbox would never be read.
/// To be used where the transaction has an xid already (after FOR UPDATE or any write).
inline constexpr const char* kOwnOpenSnapshot = R"(
SELECT CASE WHEN s.own >= pg_snapshot_xmax(s.now) THEN s.now::text
            ELSE pg_snapshot_xmin(s.now)::text || ':' || pg_snapshot_xmax(s.now)::text || ':' ||
                 (SELECT string_agg(x.xid::text, ',' ORDER BY x.xid)
                    FROM (SELECT pg_snapshot_xip(s.now) AS xid UNION SELECT s.own) x)
       END
  FROM (SELECT pg_current_snapshot() AS now, pg_current_xact_id() AS own) s)";

/// One page: $1 = the last completed snapshot S0, $2 = the window's snapshot S1, ($3, $4) = the place in the window
/// (0, 0 at its start), $5 = rows at most.
/// - The cast column has a name of its own: ORDER BY txid must not mean its text (99999 > 100000 there, R2).
/// - Arm A starts at ONE row comparison; `txid >= x AND (txid, id) > (…)` would scan from the beginning (R3).
/// - Each arm has its own ORDER BY and LIMIT, or a backlog would be sorted as a whole for every page.
inline constexpr const char* kPage = R"(
SELECT id, txid::text AS txid_text, record_kind, record_id, event,
       (extract(epoch FROM created_at) * 1000000)::bigint AS created_us
  FROM (
    (SELECT id, txid, record_kind, record_id, event, created_at FROM outbox       -- A: began after S0
      WHERE (txid, id) > (greatest(pg_snapshot_xmax($1::pg_snapshot), $3::xid8),
                          CASE WHEN $3::xid8 >= pg_snapshot_xmax($1::pg_snapshot) THEN $4::bigint ELSE 0 END)
        AND txid < pg_snapshot_xmax($2::pg_snapshot)
        AND pg_visible_in_snapshot(txid, $2::pg_snapshot)
      ORDER BY txid, id LIMIT $5::bigint)
    UNION ALL
    (SELECT id, txid, record_kind, record_id, event, created_at FROM outbox       -- B: was in progress at S0
      WHERE txid = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot)))
        AND pg_visible_in_snapshot(txid, $2::pg_snapshot)
        AND (txid, id) > ($3::xid8, $4::bigint)
      ORDER BY txid, id LIMIT $5::bigint)
  ) page
 ORDER BY txid, id LIMIT $5::bigint)";

/// Whether there is anything to do, without the row lock: that alone would take an xid and write WAL (R5). $1 =
/// consumer, $2 = idle_move_interval in ms, $3 = idle_move_xids. The rows that this statement sees are visible in its
/// own snapshot, so "not visible in S0" is all that is left to ask. The subqueries keep their ORDER BY, so that no
/// planner takes a sequential scan for the quick way to a first row; EXISTS would drop it.
inline constexpr const char* kProbe = R"(
SELECT c.upto IS NOT NULL
       OR (SELECT o.id FROM outbox o WHERE o.txid >= pg_snapshot_xmax(c.snap) ORDER BY o.txid, o.id LIMIT 1) IS NOT NULL
       OR (SELECT min(late.id) FROM pg_snapshot_xip(c.snap) AS x(xid)
           CROSS JOIN LATERAL (SELECT o.id FROM outbox o WHERE o.txid = x.xid ORDER BY o.txid, o.id LIMIT 1) late)
          IS NOT NULL
       OR abs(extract(epoch FROM clock_timestamp() - c.moved_at)) * 1000 >= $2::bigint
       OR pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_snapshot_xmax(c.snap)::text::bigint >= $3::bigint
  FROM outbox_cursor c WHERE c.consumer = $1)";

/// Takes the cursor. The new snapshot must come from a LATER statement: after a wait for the lock the row is new, but
/// this statement's snapshot is old, and the cursor would go back (R1).
/// The limits of the transaction (R10), $4 in ms, come along: they are set when the rows are joined, before one is locked.
inline constexpr const char* kLockCursor = R"(
SELECT c.snap::text, coalesce(c.upto::text, ''), coalesce(c.after_txid::text, '0'), coalesce(c.after_id, 0),
       abs(extract(epoch FROM clock_timestamp() - c.moved_at)) * 1000 >= $2::bigint
       OR pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_snapshot_xmax(c.snap)::text::bigint >= $3::bigint
  FROM (SELECT set_config('statement_timeout', $4, true), set_config('lock_timeout', $4, true),
               set_config('idle_in_transaction_session_timeout', $4, true),
               set_config('client_connection_check_interval', '1000', true), set_config('synchronous_commit', $5, true)
        OFFSET 0) limits, outbox_cursor c WHERE c.consumer = $1 FOR UPDATE OF c)";

inline constexpr const char* kCloseWindow = R"(
UPDATE outbox_cursor SET snap = $2::pg_snapshot, upto = NULL, after_txid = NULL, after_id = NULL,
                         moved_at = clock_timestamp()
 WHERE consumer = $1)";

inline constexpr const char* kKeepWindow = R"(
UPDATE outbox_cursor SET upto = $2::pg_snapshot, after_txid = $3::xid8, after_id = $4::bigint,
                         moved_at = clock_timestamp()
 WHERE consumer = $1)";

/// Is cursor `c` of another cluster? The identifier tells a restored dump; a snapshot from the future tells a cluster
/// whose xids were set back.
inline constexpr const char* kIsForeign =
    "(c.system_identifier <> s.system_identifier"
    " OR pg_snapshot_xmax(coalesce(c.upto, c.snap)) > pg_snapshot_xmax(pg_current_snapshot()))";

}  // namespace ftlfeed::outbox::sql

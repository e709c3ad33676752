#include <ftlfeed/outbox/reader.hpp>

#include <optional>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <utility>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/epoch.hpp>
#include <ftlfeed/store/value.hpp>

#include "outbox/sql.hpp"
#include "store/planned.hpp"

namespace ftlfeed::outbox {

namespace {

core::Failure no_cursor(const std::string& consumer) {
    return core::Failure::permanent("outbox: no consumer \"" + consumer +
                                    "\" is registered; run `ftlctl outbox register " + consumer + "`");
}

/// What the locked cursor says. Snapshots and xids stay text: they are 64 bits and are compared by Postgres alone (R2).
struct Cursor {
    std::string snap;
    std::string upto;  ///< Empty: no window is open.
    std::string after_txid;
    std::int64_t after_id = 0;
    bool idle_move_is_due = false;
};

struct Page {
    std::vector<OutboxRow> rows;
    std::string last_txid;
    bool is_full = false;
};

/// One page's transaction: the steps of docs/outbox.md, in their order.
class PageRead {
public:
    PageRead(pqxx::transaction_base& tx, const std::string& consumer, const Reader::Options& options)
        : tx_(tx), consumer_(consumer), options_(options) {}

    std::size_t run(const Reader::Apply& apply) {
        const auto cursor = lock_cursor();
        if (!cursor.upto.empty()) {
            const auto page = fetch(cursor, cursor.upto);
            if (!page.rows.empty()) return finish(page, cursor.upto, apply);
            // The window ended with its last full page. What was committed since its snapshot lies in the next one.
            close_window(cursor.upto);
        }
        Cursor next = cursor;
        if (!cursor.upto.empty()) next = Cursor{.snap = cursor.upto, .upto = {}, .after_txid = "0"};
        const auto now = take_snapshot();
        const auto page = fetch(next, now);
        if (!page.rows.empty()) return finish(page, now, apply);
        // Not to move over an empty window is exact too, and costs no write (R5).
        if (cursor.idle_move_is_due) close_window(now);
        return 0;
    }

private:
    /// R10: with its limits, so that nobody waits for a reader that was stopped or cut off with the lock in its hand.
    Cursor lock_cursor() {
        const auto limit = std::to_string(options_.hold_limit.count());
        const auto rows = store::exec_planned(tx_, sql::kLockCursor, consumer_, options_.idle_move_interval.count(),
                                              options_.idle_move_xids, limit, options_.waits_for_disk ? "on" : "off");
        if (rows.empty()) throw no_cursor(consumer_);
        const auto row = rows[0];
        return {row[0].c_str(), row[1].c_str(), row[2].c_str(), row[3].as<std::int64_t>(), row[4].as<bool>()};
    }

    std::string take_snapshot() { return store::exec_planned(tx_, sql::kOwnOpenSnapshot)[0][0].c_str(); }

    Page fetch(const Cursor& from, const std::string& upto) {
        const auto result = store::exec_planned(tx_, sql::kPage, from.snap, upto, from.after_txid, from.after_id,
                                                options_.page_rows_max);
        Page page;
        page.rows.reserve(result.size());
        for (const auto& row : result) {
            const std::chrono::microseconds created_at(row[5].as<std::int64_t>());
            page.rows.push_back({row[0].as<std::int64_t>(),
                                 {row[2].c_str(), row[3].c_str(), row[4].as<std::string>("")},
                                 core::SystemTime(created_at)});
        }
        if (!page.rows.empty()) page.last_txid = result[result.size() - 1][1].c_str();
        page.is_full = page.rows.size() == options_.page_rows_max;
        return page;
    }

    std::size_t finish(const Page& page, const std::string& upto, const Reader::Apply& apply) {
        apply(tx_, page.rows);
        if (page.is_full) {
            store::exec_planned(tx_, sql::kKeepWindow, consumer_, upto, page.last_txid, page.rows.back().id);
        } else {
            close_window(upto);
        }
        return page.rows.size();
    }

    void close_window(const std::string& snapshot) { store::exec_planned(tx_, sql::kCloseWindow, consumer_, snapshot); }

    pqxx::transaction_base& tx_;
    const std::string& consumer_;
    const Reader::Options& options_;
};

/// R7. A restored dump carries a cursor whose snapshot holds another cluster's xids: it would swallow every new row.
void check_cursor(store::Session& session, const std::string& consumer) {
    static const std::string kQuery = std::string("SELECT pg_is_in_recovery(), c.consumer IS NULL, ") +
                                      sql::kIsForeign +
                                      " FROM pg_control_system() s LEFT JOIN outbox_cursor c ON c.consumer = $1";
    session.without_transaction([&](pqxx::transaction_base& tx) {
        const auto row = tx.exec_params(kQuery, consumer)[0];
        if (row[0].as<bool>()) {
            throw core::Failure::permanent(
                "outbox: this server is a standby; its snapshots have no list of open transactions and would lose "
                "rows. "
                "Connect to the primary");
        }
        if (row[1].as<bool>()) throw no_cursor(consumer);
        if (row[2].as<bool>()) {
            throw core::Failure::permanent("outbox: the cursor of \"" + consumer +
                                           "\" belongs to another cluster (a restored copy?); it is read again after "
                                           "`ftlctl outbox rebase`");
        }
    });
}

}  // namespace

Reader::Reader(store::Session& session, std::string consumer, Options options)
    : session_(session), consumer_(store::checked(consumer)), options_(options) {
    FTL_ASSERT(options_.page_rows_max > 0);
    FTL_ASSERT(options_.hold_limit.count() > 0);
    check_cursor(session_, consumer_);
    (void)store::check_epoch(session_);
}

Reader::Reader(store::Session& session, std::string consumer) : Reader(session, std::move(consumer), Options()) {}

bool Reader::has_work() {
    bool found = false;
    session_.without_transaction([&](pqxx::transaction_base& tx) {
        const auto rows = store::exec_planned(tx, sql::kProbe, consumer_, options_.idle_move_interval.count(),
                                              options_.idle_move_xids);
        if (rows.empty()) throw no_cursor(consumer_);
        found = rows[0][0].as<bool>();
    });
    return found;
}

std::size_t Reader::read_page(const Apply& apply, bool was_notified) {
    if (!was_notified && !has_work()) return 0;
    std::size_t rows = 0;
    session_.write([&](pqxx::transaction_base& tx) { rows = PageRead(tx, consumer_, options_).run(apply); });
    return rows;
}

}  // namespace ftlfeed::outbox

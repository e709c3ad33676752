#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ftlfeed/build/feed_builder.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/session.hpp>

#include "support/pg.hpp"
#include "support/process.hpp"

namespace ftl::test {

/// A database with one event `wc`, a table `rec (id, grp, v)` that definitions can read, and the consumer `build`
/// registered. The feeds that come with the product are taken out unless they are asked for.
class World {
public:
    enum class Feeds { kNone, kProduct };
    explicit World(Feeds feeds = Feeds::kNone);

    [[nodiscard]] const std::string& uri() const { return database_.uri(); }
    [[nodiscard]] const Database& database() const { return database_; }
    [[nodiscard]] ftlfeed::store::ConnectionSettings connection() const;
    [[nodiscard]] ftlfeed::store::Session session() const { return ftlfeed::store::Session(connection()); }
    pqxx::result exec(const std::string& sql) const { return database_.exec(sql); }
    [[nodiscard]] std::string value(const std::string& sql) const { return database_.value(sql); }

    /// The file `wc/live`: the records of group `g` as `{"r1":1}`, with each of them as a dependency. Not debounced.
    void define_live() const;
    /// define_live(), and its first version built.
    void build_live() const;
    /// A definition whose files are not debounced. `keys_sql` empty: one file.
    void define(const std::string& feed_type, const std::string& body_sql, const std::string& keys_sql = "") const;
    /// Sets a record and touches it, in one transaction.
    void set(const std::string& id, const std::string& group, int value) const;
    /// set(), and its touch is read: the files that depend on the record are dirty.
    void set_and_read(const std::string& id, const std::string& group, int value) const;
    /// A record joins the file `wc/live`, which learns of it by a touch of `r1` that is read: it has not been touched
    /// itself, and no dependency names it.
    void join_live(const std::string& id, int value) const;
    void touch(const std::string& kind, const std::string& id) const;

    /// What the reader does: marks until it has caught up. Returns the rows read.
    std::size_t read_outbox() const;
    /// Reads and builds until nothing is due. Returns the outcomes in order.
    std::vector<ftlfeed::build::BuildOutcome> settle() const;
    /// One build by a builder of its own. A file that fails waits for at least five minutes, twice as long each time.
    ftlfeed::build::BuildOutcome build(ftlfeed::build::BuildObserver observer = nullptr) const;
    /// Lets all waits (debounce, back-off) be over.
    void make_due() const;

    /// The plain body of a file's newest version; "" when there is none.
    [[nodiscard]] std::string body(const std::string& doc_key) const;
    [[nodiscard]] int versions(const std::string& doc_key) const;
    /// What is in feed_dirty, sorted.
    [[nodiscard]] std::vector<std::string> dirty() const;

    [[nodiscard]] std::shared_ptr<ftlfeed::build::ResolverRegistry> resolvers() const { return resolvers_; }

private:
    Database database_;
    std::shared_ptr<ftlfeed::build::ResolverRegistry> resolvers_;
};

/// Fixtures, teams, players and events as capture stores them, in the event `wc` of a World.
class Tournament {
public:
    explicit Tournament(const World& world) : world_(world) {}

    struct Game {
        std::string home;
        std::string away;
        std::string state = "NS";
        std::string group = "Group A";
        std::string round = "Matchday 1";
        std::string kickoff = "2026-06-11T19:00:00Z";
        int home_score = -1;  ///< -1 = none
        int away_score = -1;
        int home_shootout = -1;
        int away_shootout = -1;
    };
    /// Stores it and touches the fixture, as capture does.
    void play(int id, const Game& game) const;

    struct Happening {
        int fixture = 0;
        int id = 0;
        int type_id = 14;
        std::string type = "goal";
        std::string side = "home";
        std::string player{};
        std::string minute = "NULL";
        std::string extra_minute = "NULL";
        std::string assist{};
        std::string player_team{};  ///< Whose player it is; empty: that of the side.
    };
    void happen(const Happening& happening) const;

private:
    const World& world_;
};

/// An observer that does `work` once, when the build of any file comes to `step`.
[[nodiscard]] ftlfeed::build::BuildObserver at(ftlfeed::build::BuildStep step, std::function<void()> work);

/// One build by a process of its own that is killed at `step` (build_child.cpp has the numbers), and the wait until its
/// backend has noticed and given its locks back.
constexpr int kNever = -1;
constexpr int kAfterTheMark = -2;
ProcessEnd build_in_child(const World& world, int step);
ProcessEnd build_in_child(const World& world, ftlfeed::build::BuildStep step);

/// Advisory locks that any session of the database holds.
[[nodiscard]] int advisory_locks(const World& world);

/// True in the list.
[[nodiscard]] bool contains(const std::vector<std::string>& list, const std::string& text);

}  // namespace ftl::test

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ftlfeed/capture/bump_ledger.hpp>
#include <ftlfeed/store/fwd.hpp>

namespace ftlfeed::capture {

/// A team or a player as we know it.
struct DirectoryRow {
    std::int64_t id = 0;
    std::int64_t instrument_id = 0;
};
using DirectoryRows = std::map<std::int64_t, DirectoryRow>;  ///< By the provider's id.

struct PlayerEntry {
    std::string name;
    std::int64_t team_id = 0;  ///< Our own; 0 = not known.
};

/// Teams and players, each with its instrument and a total of 0, made when first seen, in the caller's transaction.
/// Rows are made in the order of their ids, so that two transactions cannot wait for each other in a circle.
class Directory {
public:
    Directory(pqxx::transaction_base& tx, std::string provider) : tx_(tx), provider_(std::move(provider)) {}

    /// A newer answer's spelling replaces a team's (`may_rename`).
    DirectoryRows teams(const std::map<std::int64_t, std::string>& names, bool may_rename);
    /// The spelling of a player differs from answer to answer (initial and surname, then both names): the longer one
    /// stays, or files would change with every poll (B47).
    DirectoryRows players(const std::map<std::int64_t, PlayerEntry>& players, bool may_rename);

    /// Marks every fixture as changed that shows a team or player whose name was changed here.
    void touch_renamed();

private:
    struct Found;
    struct Table;
    using FoundRows = std::map<std::int64_t, Found>;
    FoundRows find(const Table& table, const std::vector<std::int64_t>& ids);
    void make_instruments(const Table& table, const std::vector<std::int64_t>& ids);

    pqxx::transaction_base& tx_;
    std::string provider_;
    std::vector<std::int64_t> renamed_teams_;
    std::vector<std::int64_t> renamed_players_;
};

}  // namespace ftlfeed::capture

#pragma once

#include <rapidjson/document.h>

#include <variant>

#include <ftlfeed/capture/snapshot.hpp>

#include "capture/json_text.hpp"

namespace ftlfeed::capture {

/// Reads one fixture of an answer. `is_utc`: its date-times without a zone are UTC. Pure; throws nothing.
[[nodiscard]] std::variant<FixtureSnapshot, RejectedFixture> read_fixture(const rapidjson::Value& value,
                                                                          const FixtureBytes& bytes, bool is_utc);

/// Reads its event list: rows that cannot be read are rejected alone; of two rows with one id equal ones count once, and
/// different ones are both rejected (B53). Sorts by id. Pure; throws nothing.
void read_events(const rapidjson::Value& list, const std::vector<std::string_view>& bytes, FixtureSnapshot& fixture);

}  // namespace ftlfeed::capture

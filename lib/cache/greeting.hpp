#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/cache/connection_settings.hpp>
#include <ftlfeed/core/failure.hpp>

#include "cache/command.hpp"
#include "cache/reply.hpp"

namespace ftlfeed::cache {

/// What is said at the beginning of a connection, and what the answers mean. Pure. Answers come in the order of the
/// commands.
class Greeting {
public:
    explicit Greeting(const ConnectionSettings& settings);

    /// To be sent in one go: AUTH and SELECT where they are needed, CLIENT SETNAME, INFO. Call it once.
    [[nodiscard]] std::vector<Command> take_commands();
    /// The next answer. Returns why the connection is of no use, if it is of none.
    [[nodiscard]] std::optional<core::Failure> take(const ReplyResult& result);
    /// Once all answers are in: the server's run id; empty when it may not be read.
    [[nodiscard]] const std::optional<std::string>& run_id() const { return run_id_; }

private:
    enum class Step { kAuth, kSelect, kName, kInfo };

    std::optional<core::Failure> take_info(const Reply& info);

    std::vector<Step> steps_;
    std::vector<Command> commands_;
    std::size_t answered_ = 0;
    std::optional<std::string> run_id_;
};

}  // namespace ftlfeed::cache

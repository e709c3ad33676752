#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ftlfeed/cache/cache_client.hpp>

#include "cache/command.hpp"
#include "cache/reply.hpp"

namespace ftlfeed::cache {

/// A Connection on a loop and a thread of its own, for callers that wait. Threads: thread-safe; no call may run when it is
/// destroyed.
class BlockingConnection {
public:
    explicit BlockingConnection(const ConnectionSettings& settings);
    ~BlockingConnection();
    BlockingConnection(const BlockingConnection&) = delete;
    BlockingConnection& operator=(const BlockingConnection&) = delete;

    /// Commands that were sent and whose answers nobody has waited for yet. Dropping it is no harm.
    struct Sent;
    /// Sends all in one go. Returns at once, but that the first caller of all waits for the first attempt to connect.
    std::shared_ptr<Sent> begin(std::vector<Command> commands);
    /// Waits for all answers, request_timeout at most. Results in the order of the commands. Call it once.
    static std::vector<ReplyResult> finish(Sent& sent);
    /// Both.
    std::vector<ReplyResult> exchange(std::vector<Command> commands);
    /// One command; throws the failure that came instead of its answer.
    Reply ask(Command command);

    [[nodiscard]] CacheClient::Server server() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Throws one that is in doubt before all others, since it says more; those that `is_no_failure` are passed over.
void throw_first_failure(const std::vector<ReplyResult>& results,
                         const std::function<bool(const ReplyResult&)>& is_no_failure);
/// The answer; throws the failure that came instead.
[[nodiscard]] Reply reply_in(ReplyResult result);

}  // namespace ftlfeed::cache

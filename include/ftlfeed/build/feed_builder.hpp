#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/build/resolver.hpp>
#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/version.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::build {

struct Claim;

struct BuildSettings {
    std::chrono::milliseconds retry_first{1000};  ///< After a file's first failure; doubles with each further one.
    std::chrono::milliseconds retry_max{60'000};
    int alert_failures = 3;  ///< Failures of a file in a row before somebody is told.
};

/// Where a build stands when the observer is called. Tests hold a build there, or kill it.
enum class BuildStep {
    kClaimed,   ///< The claim is committed, the snapshot is not taken yet.
    kSnapshot,  ///< The snapshot is taken, the resolver has not run.
    kResolved,  ///< The snapshot's transaction is over.
    kWritten,   ///< Everything is written, nothing is committed.
    kCommitted  ///< The new version is there, the dirty mark as well.
};
using BuildObserver = std::function<void(BuildStep step, const std::string& doc_key)>;

enum class BuildResult {
    kNothingDue,
    kChanged,     ///< A new version was committed.
    kUnchanged,   ///< Same content: no body, no seq.
    kRetired,     ///< The last version was committed; or there was nothing to retire.
    kEnumerated,  ///< The files of one type and event were listed anew.
    kFailed       ///< Recorded at the file, with back-off.
};

struct BuildOutcome {
    BuildResult result = BuildResult::kNothingDue;
    std::string doc_key;
    core::Version version{};  ///< Of kChanged and kRetired; render is 0.
    std::string error;        ///< Of kFailed.
};

/// How long a file waits after its `failures`-th failure in a row (from 1). Half of it is jitter. Pure.
[[nodiscard]] std::chrono::milliseconds build_retry_delay(int failures, const BuildSettings& settings, double jitter);

/// Builds dirty files, one at a time; any number of builders may run in any number of processes. docs/build.md tells the
/// steps and why each stands where it does.
/// Leaves no advisory lock in the session. Make a new FeedBuilder with each new session: the
/// constructor compares the cluster with its epoch. Threads: confined.
class FeedBuilder {
public:
    FeedBuilder(store::Session& session, std::shared_ptr<const ResolverRegistry> resolvers, BuildSettings settings = {},
                BuildObserver observer = nullptr);

    /// Claims the file that has been waiting longest of those that are due, and builds it. A failure of the file is an
    /// outcome and recorded. Throws core::Failure when the connection is lost; the file stays dirty and the next claim
    /// builds it.
    BuildOutcome build_next();

    /// Due files that others are building at this moment; known after build_next() gave kNothingDue.
    [[nodiscard]] std::size_t busy_files() const { return busy_.size(); }
    /// How long until the next file is due; none when nothing is dirty. Zero also when due files are being built.
    [[nodiscard]] std::optional<std::chrono::milliseconds> next_due_in();

private:
    BuildOutcome run(const Claim& claim);
    BuildOutcome record_failure(const Claim& claim, const std::string& error);

    store::Session& session_;
    std::shared_ptr<const ResolverRegistry> resolvers_;
    BuildSettings settings_;
    BuildObserver observer_;
    std::string identity_;
    core::Jitter jitter_;
    std::vector<std::string> busy_;
};

}  // namespace ftlfeed::build

#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <ftlfeed/build/resolver.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::build {

enum class AuditResult {
    kNothingDue,
    kProven,        ///< The content is what was stored, or a touch that explains the difference is on its way.
    kMissingTouch,  ///< It changed and nobody said so: alert "build.missing_touch"; the file is marked.
    kSkipped        ///< Somebody builds the file, or it cannot be built: the next round looks again.
};
struct AuditOutcome {
    AuditResult result = AuditResult::kNothingDue;
    std::string doc_key;
};

/// Rebuilds files that nobody has touched, and compares: the proof that no touch was forgotten and no dependency was
/// left out. Writes no version. Threads: confined. Cost: that of a build without its write.
class Auditor {
public:
    Auditor(store::Session& session, std::shared_ptr<const ResolverRegistry> resolvers);

    /// Looks at the file whose last proof is oldest, if it is older than `interval`. Throws core::Failure when the
    /// connection is lost.
    AuditOutcome audit_next(std::chrono::milliseconds interval);

private:
    store::Session& session_;
    std::shared_ptr<const ResolverRegistry> resolvers_;
};

}  // namespace ftlfeed::build

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace ftl::test::outbox {

/// How to read an outbox. All but the first are known to be wrong: they stay here so that the tests which the right one
/// passes are seen to fail (R15).
enum class Method {
    kSnapshot,          ///< ftlfeed::outbox::Reader.
    kIdGreater,         ///< `id > last`: skips whoever commits after a higher id.
    kXminHorizon,       ///< `txid < xmin`: waits for every open transaction of the cluster.
    kTextOrder,         ///< The right query, but ordered by the xid's text.
    kOneStatementLock,  ///< Takes the cursor's lock and the new snapshot in one statement.
    kOwnFinished,       ///< The right query, but its own transaction passes for finished in the stored snapshot.
};
[[nodiscard]] Method method_named(const std::string& name);
[[nodiscard]] std::string name_of(Method method);

struct ReaderOptions {
    std::string uri;
    std::string consumer;
    std::size_t page_rows_max = 100;
    /// Called in the reader's transaction after it delivered a page, before it commits.
    std::function<void()> before_commit;
    /// SQL that the reader's transaction runs after it delivered a page.
    std::string and_then_sql;
};

/// Reads a page at a time into the sink.
class AnyReader {
public:
    virtual ~AnyReader() = default;
    /// Returns the rows read; 0 = nothing to be had now.
    virtual std::size_t read_page() = 0;
};

/// Registers the consumer when it is new, and connects.
[[nodiscard]] std::unique_ptr<AnyReader> make_reader(Method method, const ReaderOptions& options);

/// The right reader, as the consumer `snapshot`.
[[nodiscard]] std::unique_ptr<AnyReader> snapshot_reader(const std::string& uri, std::size_t page_rows_max = 100);

/// Reads until nothing is left.
std::size_t drain(AnyReader& reader);

}  // namespace ftl::test::outbox

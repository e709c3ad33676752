#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/session.hpp>

#include "serve/copy.hpp"

namespace ftlfeed::serve {

/// Reads files from Postgres for all loops of a server: one read at a time for each file, whoever asks, and a few files at
/// once, so that an empty cache does not become a crowd at the database. What was read is given to `keep` (which writes it
/// to Redis) before the next one who asks makes another read.
/// Threads: thread-safe; it has one thread for each session.
class DocumentReader {
public:
    /// Null when there is no such file.
    using Result = std::variant<DocumentPtr, core::Failure>;
    using Handler = std::function<void(const Result&)>;

    struct Settings {
        std::size_t sessions = 4;
        std::size_t files_max = 1000;  ///< That wait for a session; more are refused.
        std::chrono::milliseconds wait_max{
            2000};  ///< A file that waited longer is not read: nobody waits for it any more.
    };
    struct Parts {
        std::function<store::Session()> connect;
        std::function<void(const std::string& doc_key, const DocumentPtr& document)> keep;
        core::Clock& clock;
    };

    DocumentReader(const Settings& settings, Parts parts);
    /// Waits for the reads under way. Those that wait get no answer.
    ~DocumentReader();
    DocumentReader(const DocumentReader&) = delete;
    DocumentReader& operator=(const DocumentReader&) = delete;

    /// Calls `handler` once, on one of the reader's threads or inside this call. It must not throw.
    void read(const std::string& doc_key, Handler handler);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// One file's newest version; null when there is none.
[[nodiscard]] DocumentPtr read_document(store::Session& session, const std::string& doc_key);

}  // namespace ftlfeed::serve

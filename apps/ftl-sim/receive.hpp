#pragma once

#include <memory>
#include <string>

namespace ftlfeed::sim {

struct ReceiveSettings {
    std::string folder;  ///< Watched with all folders in it, those made later too. Must exist.
    std::string log;     ///< Appended to, one JSON object a line.
};

/// Watches a folder and logs every file that a rename brings there, with its hash. Names with a leading dot are
/// temporary and not looked at.
/// Threads: run() in one; stop() from any, and from a signal handler too.
class Receiver {
public:
    /// Throws std::runtime_error when the folder cannot be watched or the log cannot be written.
    explicit Receiver(const ReceiveSettings& settings);
    ~Receiver();
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;

    /// Blocks until stop(), then logs what the kernel has queued until then. Throws std::runtime_error.
    void run();
    void stop();

private:
    class Watcher;
    std::unique_ptr<Watcher> watcher_;
};

}  // namespace ftlfeed::sim

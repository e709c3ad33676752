#include "command.hpp"

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <utility>

namespace ftlfeed::sim {

SignalWatch::SignalWatch(std::initializer_list<int> signals, std::function<void(int)> on_signal)
    : on_signal_(std::move(on_signal)) {
    sigemptyset(&set_);
    for (const int signal : signals) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    thread_ = std::jthread([this](const std::stop_token& stop) {
        // A bounded wait: the destructor must be able to end this thread without a signal.
        constexpr timespec kLook{0, 50'000'000};
        while (!stop.stop_requested()) {
            const int signal = sigtimedwait(&set_, nullptr, &kLook);
            if (signal > 0) on_signal_(signal);
        }
    });
}

SignalWatch::~SignalWatch() {
    thread_.request_stop();
    thread_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void write_file_whole(const std::string& path, const std::string& content) {
    const auto slash = path.rfind('/') + 1;  // Without a slash: npos + 1 is 0.
    const auto beside = path.substr(0, slash) + "." + path.substr(slash) + "." + std::to_string(getpid());
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file << content;
    file.close();
    if (!file || std::rename(beside.c_str(), path.c_str()) != 0) {
        std::remove(beside.c_str());
        throw std::runtime_error("cannot write " + path);
    }
}

}  // namespace ftlfeed::sim

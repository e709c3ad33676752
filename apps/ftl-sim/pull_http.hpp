#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ftlfeed::sim {

/// An answer that came whole.
struct PulledAnswer {
    int status = 0;
    std::map<std::string, std::string> fields;  ///< Names in lower case.
    std::string body;                           ///< As it came over the wire.

    [[nodiscard]] std::string field(const std::string& name) const;
};

/// One connection that stays open, for GETs one after the other; plain sockets, so that nothing here is clever.
/// Threads: confined to one.
class PullHttp {
public:
    /// `base` is `http://HOST:PORT`, with or without a path that every target gets in front. Throws UsageError.
    explicit PullHttp(const std::string& base);
    ~PullHttp() { close(); }
    PullHttp(const PullHttp&) = delete;
    PullHttp& operator=(const PullHttp&) = delete;

    /// `fields` are whole lines. Connects when it is not connected. Throws std::runtime_error when no whole answer comes in
    /// 10 s; the connection is closed then.
    PulledAnswer get(const std::string& target, const std::string& fields);

private:
    void connect();
    void close();
    void send(const std::string& bytes) const;
    /// Reads until `input_` holds so many bytes.
    void receive(std::size_t bytes);
    PulledAnswer read_answer();

    std::string host_;
    std::string port_;
    std::string path_;
    int socket_ = -1;
    std::string input_;
};

}  // namespace ftlfeed::sim

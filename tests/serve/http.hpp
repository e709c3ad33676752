#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "sim/tcp.hpp"

namespace ftl::test {

/// An answer as it came over the wire; status 0 when the connection ended instead.
struct Pulled {
    int status = 0;
    std::string head;
    std::string body;

    /// A field's value; empty when it is not there.
    [[nodiscard]] std::string field(const std::string& name) const {
        const auto at = head.find("\r\n" + name + ": ");
        if (at == std::string::npos) return {};
        const auto begin = at + name.size() + 4;
        return head.substr(begin, head.find("\r\n", begin) - begin);
    }
    /// Without what differs from answer to answer.
    [[nodiscard]] std::string without_date() const {
        const auto at = head.find("\r\nDate: ");
        return at == std::string::npos ? head + body
                                       : head.substr(0, at) + head.substr(head.find("\r\n", at + 2)) + body;
    }
};

/// Reads one answer. `has_body` is false for answers to HEAD.
inline Pulled read_answer(TcpSocket& socket, bool has_body = true) {
    Pulled answer;
    while (!answer.head.ends_with("\r\n\r\n")) {
        const auto byte = socket.receive(1);
        if (byte.empty()) return {};
        answer.head += byte;
    }
    answer.status = std::stoi(answer.head.substr(9, 3));
    const auto length = answer.field("Content-Length");
    if (has_body && !length.empty()) answer.body = socket.receive_exactly(std::stoul(length));
    return answer;
}

/// A GET on a connection that stays open. `fields` are whole lines.
inline Pulled pull(TcpSocket& socket, const std::string& target, const std::string& fields = "",
                   const std::string& method = "GET") {
    socket.send(method + " " + target + " HTTP/1.1\r\nHost: test\r\n" + fields + "\r\n");
    return read_answer(socket, method != "HEAD");
}

}  // namespace ftl::test

#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "world.hpp"

namespace ftl::test {

/// A request that two readers may end at different bytes. What one of them takes for its body holds a second request.
struct Smuggled {
    std::string name;
    std::string bytes;
    int status = 400;  ///< What ftl-serve says when it gets it as it is.
};

/// The request inside: nobody may be given this file by one of the requests below.
inline const std::string kHiddenFile = "/feeds/wc/standings";
inline const std::string kHidden = "GET " + kHiddenFile + " HTTP/1.1\r\nHost: a\r\n" + kKeyField + "\r\n";
inline const std::string kOpenFile = "/feeds/wc/calendar";

/// A request for the open file with these further lines and this body.
inline std::string asking(const std::string& lines, const std::string& body, const std::string& method = "GET") {
    return method + " " + kOpenFile + " HTTP/1.1\r\nHost: a\r\n" + kKeyField + lines + "\r\n" + body;
}

inline std::string length_line(const std::string& body) {
    return "Content-Length: " + std::to_string(body.size()) + "\r\n";
}

/// By the length the hidden request is part of the body, by the chunks it follows it.
inline const std::string kAfterLastChunk = "0\r\n\r\n" + kHidden;
/// By the chunks it is part of the body, by a length of 4 it follows it.
inline const std::string kInChunk = fmt::format("{:02x}\r\n{}\r\n0\r\n\r\n", kHidden.size(), kHidden);

/// Lines that some take for `Transfer-Encoding: chunked` and some do not.
inline std::vector<std::string> chunked_spellings() {
    return {"Transfer-Encoding: chunked\r\n",
            "Transfer-Encoding:chunked\r\n",
            "Transfer-Encoding:\tchunked\r\n",
            "Transfer-Encoding: chunked \r\n",
            "Transfer-Encoding : chunked\r\n",
            "Transfer-Encoding\t: chunked\r\n",
            "TRANSFER-ENCODING: CHUNKED\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding: chunkedx\r\n",
            "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: chunked, identity\r\n",
            "Transfer-Encoding: identity, chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: \"chunked\"\r\n",
            "Transfer-Encoding: chunked;a=b\r\n",
            "Transfer-Encoding: ,chunked\r\n",
            "Transfer-Encoding:\r\n",
            "Transfer-Encoding:\r\n chunked\r\n",
            "Transfer-Encoding:\r\n\tchunked\r\n",
            " Transfer-Encoding: chunked\r\n",
            "X: y\r\n Transfer-Encoding: chunked\r\n",
            "X: y\r\n\tTransfer-Encoding: chunked\r\n",
            "X: y\nTransfer-Encoding: chunked\r\n",
            "X: y\n\rTransfer-Encoding: chunked\r\n",
            "X: y\rTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\n",
            "Transfer-Encoding: \x0b"
            "chunked\r\n",
            "Transfer-Encoding: chunked\x01\r\n",
            std::string("Transfer-Encoding: chunked\0\r\n", 29),
            std::string("Transfer-Encoding\0: chunked\r\n", 29),
            "Transfer-Encoding: chunked\x85\r\n",
            "Transfer_Encoding: chunked\r\n",
            "Transfer-Encod\xc4\xb1ng: chunked\r\n",
            ": y\r\nTransfer-Encoding: chunked\r\n",
            "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n",
            "TE: trailers\r\nTransfer-Encoding: chunked\r\n"};
}

/// Lines that give a length of the hidden request's bytes, or none, as one reads them.
inline std::vector<std::string> length_spellings() {
    const auto length = std::to_string(kHidden.size());
    return {"Content-Length: " + length + "\r\n",
            "Content-Length: 0\r\nContent-Length: " + length + "\r\n",
            "Content-Length: " + length + "\r\nContent-Length: 0\r\n",
            "Content-Length: " + length + "\r\nContent-Length: " + length + "\r\n",
            "Content-Length: 0, " + length + "\r\n",
            "Content-Length: " + length + ", 0\r\n",
            "Content-Length: +" + length + "\r\n",
            "Content-Length: -" + length + "\r\n",
            "Content-Length: 0" + length + "\r\n",
            "Content-Length: 0x" + length + "\r\n",
            "Content-Length: " + length + ".0\r\n",
            "Content-Length: " + length + " 0\r\n",
            "Content-Length: 0 " + length + "\r\n",
            "Content-Length: " + length + "\r\n 0\r\n",
            "Content-Length: 0\r\n " + length + "\r\n",
            "Content-Length:\r\n " + length + "\r\n",
            "Content-Length: \"" + length + "\"\r\n",
            "Content-Length: 18446744073709551616\r\n",
            "Content-Length: 1844674407370955" + std::to_string(1616 + kHidden.size()) + "\r\n",
            "Content-Length : " + length + "\r\n",
            "Content-Length\t: " + length + "\r\n",
            " Content-Length: " + length + "\r\n",
            "X: y\nContent-Length: " + length + "\r\n",
            "X: y\rContent-Length: " + length + "\r\n",
            "Content-Length: " + length + "\n",
            "Connection: Content-Length\r\nContent-Length: " + length + "\r\n",
            "Expect: 100-continue\r\nContent-Length: " + length + "\r\n",
            "Expect: 100-continue\r\nExpect: x\r\nContent-Length: " + length + "\r\n"};
}

inline void add_framed(std::vector<Smuggled>& corpus) {
    for (const auto& line : chunked_spellings()) {
        corpus.push_back({"length and " + line, asking(length_line(kAfterLastChunk) + line, kAfterLastChunk)});
        corpus.push_back({line + " and length", asking(line + "Content-Length: 4\r\n", kInChunk)});
        // With an underscore it is a name that means nothing: a POST like any other.
        const int status = line.starts_with("Transfer_") ? 405 : 400;
        corpus.push_back(
            {"POST and " + line, asking(length_line(kAfterLastChunk) + line, kAfterLastChunk, "POST"), status});
    }
    for (const auto& line : length_spellings()) corpus.push_back({line, asking(line, kHidden)});
    for (const auto& body :
         {"0\r\nContent-Length: 5\r\n\r\n" + kHidden, "0\r\nHost: b\r\n\r\n" + kHidden, "0;a=\n\r\n\r\n" + kHidden,
          "0\n\n" + kHidden, "0\r\r\n\r\n" + kHidden, "-0\r\n\r\n" + kHidden, "0x0\r\n\r\n" + kHidden,
          "10000000000000000\r\n" + kHidden, "\r\n0\r\n\r\n" + kHidden, "5;\nxxxxx\r\n0\r\n\r\n" + kHidden, kInChunk}) {
        corpus.push_back({"chunks " + body.substr(0, 12), asking("Transfer-Encoding: chunked\r\n", body)});
    }
    corpus.push_back({"POST", asking(length_line(kHidden), kHidden, "POST"), 405});
    corpus.push_back({"HEAD", asking(length_line(kHidden), kHidden, "HEAD")});
}

inline void add_heads(std::vector<Smuggled>& corpus) {
    const auto rest = "Host: a\r\n" + kKeyField + "\r\n" + kHidden;
    for (const auto& line :
         {std::string("GET http://b" + kOpenFile + " HTTP/1.1\r\n"), "GET http://a" + kOpenFile + " HTTP/1.1\r\n",
          "GET //b" + kOpenFile + " HTTP/1.1\r\nHost: b\r\n", "GET " + kOpenFile + " HTTP/1.1\r\nHost: b\r\n",
          "GET " + kOpenFile + " HTTP/1.1\n", "GET " + kOpenFile + " HTTP/1.1\r", "GET " + kOpenFile + "  HTTP/1.1\r\n",
          "GET\t" + kOpenFile + " HTTP/1.1\r\n", "GET " + kOpenFile + " HTTP/1.1 \r\n",
          "GET " + kOpenFile + " HTTP/1.1\r\n X: y\r\n", "GET " + kOpenFile + " HTTP/1.1\r\nX\r\n",
          "GET " + kOpenFile + " HTTP/1.1\r\nHost : a\r\n", "GET " + kOpenFile + " HTTP/1.1\r\nX: y\n\n",
          "GET " + kOpenFile + " HTTP/1.1\r\nX: y\r\r\n"}) {
        corpus.push_back({line, line + rest});
    }
    corpus.push_back({"HTTP/1.2", "GET " + kOpenFile + " HTTP/1.2\r\n" + rest, 505});
    corpus.push_back({"HTTP/0.9", "GET " + kOpenFile + "\r\n" + rest});
    corpus.push_back({"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + kHidden, 505});
}

/// The spellings that are known, and some more.
inline std::vector<Smuggled> smuggling_corpus() {
    std::vector<Smuggled> corpus;
    add_framed(corpus);
    add_heads(corpus);
    return corpus;
}

}  // namespace ftl::test

// A real HTTPS server, with good and with bad certificates.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include <ftlfeed/net/http_post.hpp>

#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using namespace ftl::test;
using core::Failure;

namespace {

/// Roots and certificates, made anew for each test.
class Authority {
public:
    Authority() {
        openssl({"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path("ca.key"), "-out", path("ca.pem"),
                 "-subj", "/CN=Test CA", "-days", "30"});
    }
    /// A certificate for `name`, valid from now for so many days (negative: it has ended).
    void issue(const std::string& file, const std::string& name, const std::string& days = "30") const {
        write_file(folder_ / (file + ".ext"), "subjectAltName=" + name + "\n");
        openssl({"req", "-newkey", "rsa:2048", "-nodes", "-keyout", path(file + ".key"), "-out", path(file + ".csr"),
                 "-subj", "/CN=x"});
        openssl({"x509", "-req", "-in", path(file + ".csr"), "-CA", path("ca.pem"), "-CAkey", path("ca.key"),
                 "-CAcreateserial", "-out", path(file + ".pem"), "-days", days, "-extfile", path(file + ".ext")});
    }
    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

private:
    static void openssl(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "openssl");
        const auto done = run_command(arguments);
        REQUIRE_MESSAGE(done.exit_code == 0, done.errors);
    }
    TempFolder folder_;
};

class TlsServer {
public:
    TlsServer(const Authority& authority, const std::string& certificate, const std::string& key,
              const std::string& newest = "")
        : process_(command(authority, certificate, key, newest)) {
        REQUIRE(wait_until([&] { return std::filesystem::exists(folder_ / "port"); }));
    }
    [[nodiscard]] std::string url(const std::string& host = "localhost") const {
        return "https://" + host + ":" + read_file(folder_ / "port") + "/";
    }
    /// The bodies that it was given, a line each.
    [[nodiscard]] std::string received() const {
        return std::filesystem::exists(folder_ / "log") ? read_file(folder_ / "log") : "";
    }

private:
    std::vector<std::string> command(const Authority& authority, const std::string& certificate, const std::string& key,
                                     const std::string& newest) const {
        std::vector<std::string> words{"/usr/bin/python3",          (source_dir() / "tests/net/tls_server.py").string(),
                                       authority.path(certificate), authority.path(key),
                                       (folder_ / "port").string(), (folder_ / "log").string()};
        if (!newest.empty()) words.push_back(newest);
        return words;
    }
    TempFolder folder_;
    Process process_;
};

/// What a POST there ends in: "204", or the failure's kind and text.
std::string outcome(const TlsServer& server, const std::string& ca_file, const std::string& host = "localhost") {
    net::PostLimits limits;
    limits.ca_file = ca_file;
    net::HttpPoster poster(limits);
    const net::PostHooks hooks{[](const std::string&) { return true; }, [] { return core::Deadline::never(); },
                               [] { return true; }};
    try {
        return std::to_string(poster.post({server.url(host), "the receiver", {}, "secret body"}, hooks)->status);
    } catch (const Failure& failure) {
        return std::string(failure.may_retry() ? "may retry " : "lasts ") + (failure.in_doubt() ? "in doubt " : "") +
               failure.what();
    }
}

}  // namespace

TEST_CASE("net.http_post: a receiver with a certificate of a known root gets the body") {
    const Authority authority;
    authority.issue("good", "DNS:localhost");
    const TlsServer server(authority, "good.pem", "good.key");
    CHECK(outcome(server, authority.path("ca.pem")) == "204");
    CHECK(server.received() == "secret body\n");
}

TEST_CASE("net.http_post: an expired or foreign or self-signed certificate gets no byte of the body") {
    const Authority authority;
    authority.issue("expired", "DNS:localhost", "-1");
    authority.issue("wrong", "DNS:other.example");
    authority.issue("good", "DNS:localhost");
    const auto ca = authority.path("ca.pem");
    for (const auto* name : {"expired", "wrong"}) {
        CAPTURE(name);
        const TlsServer server(authority, std::string(name) + ".pem", std::string(name) + ".key");
        CHECK(outcome(server, ca).starts_with("lasts POST the receiver"));
        CHECK(server.received().empty());
    }
    // By the system's roots our test CA is nobody, and neither is a server that signed for itself.
    const TlsServer unknown(authority, "good.pem", "good.key");
    CHECK(outcome(unknown, "").starts_with("lasts "));
    CHECK(outcome(unknown, ca, "127.0.0.1").starts_with("lasts "));
    const TlsServer itself(authority, "ca.pem", "ca.key");
    CHECK(outcome(itself, "").starts_with("lasts "));
    CHECK(unknown.received().empty());
    CHECK(itself.received().empty());
}

TEST_CASE("net.http_post: a server that only speaks an old TLS gets no byte of the body") {
    const Authority authority;
    authority.issue("good", "DNS:localhost");
    const TlsServer server(authority, "good.pem", "good.key", "TLSv1_1");
    const auto said = outcome(server, authority.path("ca.pem"));
    CHECK(said.starts_with("may retry "));
    CHECK(said.find("in doubt") == std::string::npos);
    CHECK(server.received().empty());
}

#include <doctest/doctest.h>

#include <string>

#include <ftlfeed/cache/cache_client.hpp>

#include "support/process.hpp"
#include "support/redis.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using cache::CacheClient;
using cache::Key;

namespace {

/// A certificate that signs itself, for one name.
class Certificate {
public:
    explicit Certificate(const std::string& subject) {
        const auto made =
            run_command({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test",
                         "-addext", "subjectAltName=" + subject, "-keyout", key(), "-out", certificate()});
        if (made.exit_code != 0) throw std::runtime_error(made.errors);
    }

    [[nodiscard]] std::string key() const { return (folder_ / "key.pem").string(); }
    [[nodiscard]] std::string certificate() const { return (folder_ / "certificate.pem").string(); }
    [[nodiscard]] std::vector<std::string> server_options() const {
        return {"--tls-cert-file", certificate(), "--tls-key-file", key(), "--tls-auth-clients", "no"};
    }

private:
    TempFolder folder_;
};

cache::ConnectionSettings to(const RedisServer& redis) {
    auto settings = cache::ConnectionSettings::parse("rediss://127.0.0.1:" + std::to_string(redis.port()));
    settings.backoff_max = std::chrono::milliseconds(100);
    return settings;
}

}  // namespace

TEST_CASE("cache.tls: with a certificate that is trusted and names the host entries are put and read") {
    const Certificate certificate("IP:127.0.0.1");
    RedisServer redis(certificate.server_options());
    auto settings = to(redis);
    settings.ca_file = certificate.certificate();
    CacheClient client(settings);
    const cache::Fields fields{{"gz", std::string(300'000, 'x')}};
    CHECK(client.put_if_newer(Key("a"), {1, 1, 0}, fields) == cache::PutOutcome(cache::Stored{}));
    CHECK(client.fetch(Key("a"))->fields == fields);
}

TEST_CASE("cache.tls: a certificate that nobody here trusts is refused before anything is said") {
    const Certificate certificate("IP:127.0.0.1");
    RedisServer redis(certificate.server_options());
    auto settings = to(redis);
    settings.password = core::Secret("must-not-leave");
    CacheClient client(settings);
    CHECK_THROWS_AS(client.ping(), core::Failure);
    CHECK(client.server().trouble.find("certificate verify failed") != std::string::npos);
}

TEST_CASE("cache.tls: a certificate that names another host is refused") {
    const Certificate certificate("DNS:elsewhere.example");
    RedisServer redis(certificate.server_options());
    auto settings = to(redis);
    settings.ca_file = certificate.certificate();
    CacheClient client(settings);
    CHECK_THROWS_AS(client.ping(), core::Failure);
    CHECK(client.server().trouble.find("certificate verify failed") != std::string::npos);
}

TEST_CASE("cache.tls: a file of certificates that cannot be read is named and tried again") {
    const Certificate certificate("IP:127.0.0.1");
    RedisServer redis(certificate.server_options());
    auto settings = to(redis);
    const TempFolder folder;
    settings.ca_file = (folder / "later.pem").string();
    CacheClient client(settings);
    CHECK_THROWS_AS(client.ping(), core::Failure);
    CHECK(client.server().trouble.find("later.pem") != std::string::npos);
    std::filesystem::copy_file(certificate.certificate(), settings.ca_file);
    CHECK(wait_until([&] { return client.server().is_connected; }));
}

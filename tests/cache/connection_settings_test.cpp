#include <doctest/doctest.h>

#include <string>

#include <ftlfeed/cache/connection_settings.hpp>
#include <ftlfeed/core/failure.hpp>

#include "support/temp_folder.hpp"

using ftlfeed::cache::ConnectionSettings;
using ftlfeed::core::InvalidInput;

TEST_CASE("cache.connection_settings: each part of a URI is read and what lacks has its default") {
    const auto whole = ConnectionSettings::parse("rediss://feed:p%40ss%2F@cache.example:7000/12");
    CHECK(whole.host == "cache.example");
    CHECK(whole.port == 7000);
    CHECK(whole.database == 12);
    CHECK(whole.user == "feed");
    CHECK(whole.password.reveal() == "p@ss/");
    CHECK(whole.is_tls);
    CHECK(whole.place() == "cache.example:7000");

    const auto bare = ConnectionSettings::parse("redis://localhost");
    CHECK(bare.host == "localhost");
    CHECK(bare.port == 6379);
    CHECK(bare.database == 0);
    CHECK(bare.user.empty());
    CHECK(bare.password.is_empty());
    CHECK_FALSE(bare.is_tls);
    CHECK(ConnectionSettings::parse("redis://localhost/").database == 0);
}

TEST_CASE("cache.connection_settings: a password alone belongs to the default user and may hold an at sign") {
    const auto settings = ConnectionSettings::parse("redis://:p@ss@127.0.0.1:6380/1");
    CHECK(settings.user.empty());
    CHECK(settings.password.reveal() == "p@ss");
    CHECK(settings.place() == "127.0.0.1:6380");
}

TEST_CASE("cache.connection_settings: an IPv6 address stands in brackets") {
    const auto settings = ConnectionSettings::parse("redis://[::1]:6380/1");
    CHECK(settings.host == "::1");
    CHECK(settings.port == 6380);
    CHECK(settings.place() == "[::1]:6380");
    CHECK(ConnectionSettings::parse("redis://[::1]").port == 6379);
}

TEST_CASE("cache.connection_settings: a password file beats the URI's password") {
    const ftl::test::TempFolder folder;
    ftl::test::write_file(folder / "secret", "from-the-file\n");
    const auto settings = ConnectionSettings::parse("redis://:other@h", (folder / "secret").string());
    CHECK(settings.password.reveal() == "from-the-file");
}

TEST_CASE("cache.connection_settings: what cannot be read is refused and the password is not repeated") {
    for (const std::string uri : {
             "",
             "hunter2",
             "http://:hunter2@h",
             "redis:/hunter2",
             "redis://",
             "redis://:hunter2@",
             "redis://hunter2@h",
             "redis://:hunter2@h:0",
             "redis://:hunter2@h:65536",
             "redis://:hunter2@h:x",
             "redis://:hunter2@h:",
             "redis://:hunter2@h/x",
             "redis://:hunter2@h/-1",
             "redis://:hunter2@h/1/2",
             "redis://:hunter2%4@h",
             "redis://:hunter2%zz@h",
             "redis://:hunter2@[::1",
             "redis://:hunter2@[::1]x",
             "redis://:hunter2@a b",
             "redis://:hunter2@h?x=1",
         }) {
        CAPTURE(uri);
        try {
            static_cast<void>(ConnectionSettings::parse(uri));
            FAIL("was taken");
        } catch (const InvalidInput& error) {
            CHECK(std::string(error.what()).find("hunter2") == std::string::npos);
            CHECK(std::string(error.what()).find("redis://[[USER]:PASSWORD@]HOST") != std::string::npos);
        }
    }
}

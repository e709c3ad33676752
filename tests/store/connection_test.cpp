#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>

#include "store/connection.hpp"

using namespace ftlfeed;
using namespace ftlfeed::store;

namespace {
ConnectionSettings settings_with(const std::string& uri) {
    ConnectionSettings settings;
    settings.uri = uri;
    return settings;
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("store.connection: the limits and names go to the server with the first packet") {
    auto settings = settings_with("postgresql://me@db.example:5433/feed?options=-c%20search_path%3Da");
    settings.application = "ftl-test/it's \\ odd";
    const auto text = connection_text(settings).text;
    CHECK(contains(text, "host='db.example' "));
    CHECK(contains(text,
                   "options='-c search_path=a -c statement_timeout=30000 -c lock_timeout=10000 "
                   "-c idle_in_transaction_session_timeout=10000 -c TimeZone=UTC"));
    CHECK(contains(text, "application_name='ftl-test/it\\'s \\\\ odd' "));
    CHECK(contains(text, "keepalives='1' "));
    CHECK(contains(text, "tcp_user_timeout='15000' "));
    CHECK(contains(text, "connect_timeout='5' "));
}

TEST_CASE("store.connection: a keyword string is as good as a URI and a password of its own wins") {
    auto settings = settings_with("host=127.0.0.1 dbname=feed password=old");
    CHECK(has_password(settings.uri));
    CHECK_FALSE(has_password("host=127.0.0.1 dbname=feed"));
    CHECK(connection_text(settings).password == "old");
    settings.password = core::Secret("n'ew");
    CHECK(connection_text(settings).password == "n'ew");
    CHECK(contains(connection_text(settings).text, "password='n\\'ew' "));
}

TEST_CASE("store.connection: a URI that cannot be read is not repeated for it may hold a password") {
    for (const char* bad :
         {"postgresql://me:hunter2@[::1/x", "postgres//me:hunter2@host/x", "hunter2", "host='hunter2"}) {
        CAPTURE(bad);
        try {
            static_cast<void>(connection_text(settings_with(bad)));
            FAIL("it was taken");
        } catch (const core::InvalidInput& error) {
            CHECK_FALSE(contains(error.what(), "hunter2"));
        }
    }
}

TEST_CASE("store.connection: part of a second counts as a whole one and less than two as two") {
    auto settings = settings_with("host=a");
    settings.connect_timeout = std::chrono::milliseconds(100);
    CHECK(contains(connection_text(settings).text, "connect_timeout='2' "));
    settings.connect_timeout = std::chrono::milliseconds(2001);
    CHECK(contains(connection_text(settings).text, "connect_timeout='3' "));
}

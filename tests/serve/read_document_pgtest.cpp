#include <ftlfeed/store/session.hpp>

#include "serve/document_reader.hpp"
#include "support/session.hpp"
#include "world.hpp"

using namespace ftl::test;
namespace serve = ftlfeed::serve;

TEST_CASE("serve.read_document: a file from Postgres has the version that Redis will hold") {
    const Database db;
    add_client(db.uri());
    publish(db.uri(), "wc/calendar", "body", 7);
    ftlfeed::store::Session session(settings_of(db));
    CHECK(serve::read_document(session, "wc/calendar")->version == ftlfeed::core::Version{1000, 7, 1});
    // The built-in destination that writes Redis has been changed once: its render is another one.
    db.exec(
        "INSERT INTO delivery_assignment (client_id, name, transport, render) "
        "SELECT id, 'cache', 'cache', 4 FROM delivery_client");
    CHECK(serve::read_document(session, "wc/calendar")->version == ftlfeed::core::Version{1000, 7, 4});
    CHECK_FALSE(serve::read_document(session, "wc/nothing"));
}

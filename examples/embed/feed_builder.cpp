// Builds feed files from a resolver written in C++: a version for each content that is new, none for the same again.
// docs/embed/feed_builder.md
#include <ftlfeed/build/feed_builder.hpp>
#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/store/migrator.hpp>

#include <iostream>
#include <pqxx/pqxx>

namespace build = ftlfeed::build;

namespace {

/// `EVENT/greeting`: what it reads is the event's row, so a touch of `event:CODE` builds it again.
class Greeting final : public build::Resolver {
public:
    [[nodiscard]] build::Resolved resolve(pqxx::transaction_base& tx, const ftlfeed::core::FeedKey& key,
                                          const build::FeedDefinition& /*definition*/) const override {
        const auto name = tx.exec_params("SELECT name FROM public.event WHERE code = $1", key.event())[0][0];
        return {"{\"hello\": \"" + name.as<std::string>() + "\"}", "application/json", {{"event", key.event(), ""}}};
    }
};

void build_all(build::FeedBuilder& builder) {
    for (auto built = builder.build_next(); built.result != build::BuildResult::kNothingDue;
         built = builder.build_next()) {
        if (built.doc_key != "hello/greeting") continue;
        std::cout << built.doc_key
                  << (built.result == build::BuildResult::kChanged ? ": new version\n" : ": unchanged\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: feed_builder POSTGRES_URI\n";
        return 2;
    }
    ftlfeed::store::ConnectionSettings connection;
    connection.uri = argv[1];
    ftlfeed::store::Session session(connection);
    ftlfeed::store::Migrator(session).up();
    session.write([](pqxx::transaction_base& tx) {
        tx.exec("INSERT INTO event (code, name, provider, provider_season_id) VALUES ('hello', 'World', 'mine', 9)");
        tx.exec(
            "INSERT INTO feed_definition (feed_type, resolver, quiet_ms, quiet_ms_max) VALUES ('greeting', 'greeting', "
            "0, 0)");
    });

    const auto resolvers = std::make_shared<build::ResolverRegistry>();
    resolvers->add("greeting", std::make_unique<Greeting>());
    build::FeedBuilder builder(session, resolvers);
    for (const char* name : {"World", "World", "Moon"}) {
        session.write([&](pqxx::transaction_base& tx) {
            tx.exec_params("UPDATE event SET name = $1 WHERE code = 'hello'", name);
            build::mark_event(tx, "hello", "example");  // In a service outbox::touch() and a MarkLoop do this.
        });
        build_all(builder);
    }
}

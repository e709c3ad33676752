// A way out of your own: a Transport that ftlfeed does not know, driven by its sender with queue, pace and proof.
// docs/embed/own_transport.md
#include <ftlfeed/build/feed_builder.hpp>
#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/deliver/dispatcher.hpp>
#include <ftlfeed/store/migrator.hpp>

#include <future>
#include <iostream>
#include <pqxx/pqxx>
#include <thread>

using namespace ftlfeed;

namespace {

/// Shows files on a board that is busy when it is first asked.
class Board final : public deliver::Transport {
public:
    explicit Board(std::promise<void>& shown) : shown_(shown) {}

    [[nodiscard]] deliver::SendOutcome put(const deliver::Outgoing& file, deliver::SendGuard& guard) override {
        if (tries_++ == 0) throw core::Failure::busy("the board is busy");  // Tried again, by the destination's pace.
        if (!guard.may_publish()) return deliver::Withheld{};               // Another worker owns it now.
        std::cout << file.key.doc_key() << " at try " << tries_ << ": " << file.content.body << '\n';
        shown_.set_value();
        return deliver::Stored{"line 1", deliver::Guarantee::kAcknowledged};
    }
    [[nodiscard]] deliver::SendOutcome remove(const deliver::Outgoing&, deliver::SendGuard&) override { return {}; }
    [[nodiscard]] deliver::Look look(const deliver::Outgoing&, deliver::SendGuard&) override {
        return deliver::Look::kCannot;  // What is in doubt is sent again.
    }

private:
    std::promise<void>& shown_;
    int tries_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return std::cerr << "usage: own_transport POSTGRES_URI\n", 2;
    store::ConnectionSettings connection;
    connection.uri = argv[1];
    store::Session session(connection);
    store::Migrator(session).up();
    session.write([](pqxx::transaction_base& tx) {
        tx.exec("INSERT INTO event (code, name, provider, provider_season_id) VALUES ('own', 'Own', 'mine', 10)");
        tx.exec("UPDATE feed_definition SET quiet_ms = 0, quiet_ms_max = 0");  // Built at once.
        tx.exec("INSERT INTO delivery_client (code, name) VALUES ('stadium', 'Stadium')");
        tx.exec(
            "INSERT INTO delivery_assignment (client_id, name, transport, events, feed_types, first_retry_ms) "
            "SELECT id, 'north', 'board', '{own}', '{calendar}', 20 FROM delivery_client WHERE code = 'stadium'");
        build::mark_event(tx, "own", "example");
    });
    build::FeedBuilder builder(session, std::make_shared<build::ResolverRegistry>());
    while (builder.build_next().result != build::BuildResult::kNothingDue) continue;

    deliver::DeliverSettings settings;
    settings.is_enabled = true;
    std::promise<void> shown;
    const auto transports = [&](const auto& /*destination*/) { return std::make_unique<Board>(shown); };
    deliver::Dispatcher dispatcher(settings, connection, transports, core::Clock::real());
    std::jthread worker([&](const std::stop_token& stop) { dispatcher.run(stop); });
    shown.get_future().wait();
    worker.request_stop();
    worker.join();  // Drains: the proof is written before it returns.
    session.read([](pqxx::transaction_base& tx) {
        const auto row = tx.exec1("SELECT receipt, sent_bytes FROM delivery_state");
        std::cout << "proven: " << row[0].c_str() << ", " << row[1].c_str() << " bytes\n";
    });
}

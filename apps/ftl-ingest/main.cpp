#include "common/program.hpp"
#include "common/supervisor.hpp"
#include "ftl-ingest/ingest_settings.hpp"

namespace {

constexpr const char* kIntro = R"(ftl-ingest reads match events from the provider and keeps every one exactly once.

It polls the fixtures that are in play, stores what changed (events, corrections, price bumps) in Postgres, each fixture
in one transaction, and marks what feed files have to be built anew. A second ftl-ingest stands by and takes over.

  ftlctl event add wc2026 --season 26618              says which of the provider's seasons is an event of ours
  ftl-ingest --postgres.uri postgresql://… --provider.token_file /etc/ftlfeed/token
  ftl-ingest --config ftl.toml --check                tries the settings, Postgres and the provider

It works when /readyz answers 200 and `ftlctl status` shows fixtures.)";

}  // namespace

int main(int argc, char** argv) {
    using namespace ftlfeed;
    app::Program program("ftl-ingest", kIntro);
    app::IngestSettings settings;
    settings.bind(program.settings());
    program.on_settings([&] { settings.validate(); });
    program.add_check("provider", [&](app::Runtime&) {
        // An id that nobody has: it asks for the token and the plan, and moves nothing.
        static_cast<void>(capture::SportmonksClient(settings.provider()).fixture(0));
    });

    return program.run(argc, argv, [&](app::Runtime& runtime) {
        capture::SportmonksClient provider(settings.provider(), runtime.clock());
        store::LeaseKeeper lease([&] { return runtime.connect("lease"); }, settings.lease(provider.name()),
                                 runtime.clock());
        capture::Poller poller(
            provider, capture::Ingest(provider.name(), settings.storing()), [&] { return lease.state(); },
            settings.polling(), runtime.clock());

        app::Supervisor workers(runtime);
        workers.add("lease", [&](app::Worker& worker) { lease.run(worker.stop()); });
        auto& readiness = runtime.readiness();
        readiness.set_waiting("provider", "not yet polled");
        workers.add("poller", [&](app::Worker& worker) {
            // The poller logs what fails; here it only becomes visible in /readyz.
            poller.run([&] { return runtime.connect("poller"); },
                       [&](const capture::PollerStatus& status) {
                           status.failures == 0 ? readiness.set_ready("provider")
                                                : readiness.set_waiting("provider", status.last_failure);
                       },
                       worker.stop());
        });
        workers.run();
    });
}

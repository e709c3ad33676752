#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/cache/cache_client.hpp>
#include <ftlfeed/deliver/cache_keeper.hpp>

#include "common/program.hpp"
#include "ftl-deliver/service.hpp"

namespace {

constexpr const char* kIntro =
    R"(ftl-deliver builds feed files from what changed and sends them to every destination that wants them.

It reads the outbox, builds the files that depend on what was touched, and sends each new version with proof. Nothing
leaves the house before deliver.enabled is set. Several processes share the work: give each its own deliver.worker.

  ftlctl client add acme
  ftlctl destination add acme main --transport directory --folder /srv/acme
  ftl-deliver --postgres.uri postgresql://… --deliver.enabled true
  ftl-deliver --config ftl.toml --check                tries the settings, Postgres and our own Redis

It works when /readyz answers 200 and `ftlctl status` shows destinations that are owed nothing.)";

}  // namespace

int main(int argc, char** argv) {
    using namespace ftlfeed;
    app::Program program("ftl-deliver", kIntro);
    app::FeedSettings settings;
    settings.bind(program.settings());
    program.on_settings([&] { settings.validate(); });
    program.add_check("cache", [&](app::Runtime&) {
        if (const auto connection = settings.cache_connection()) cache::CacheClient(*connection).try_write();
    });

    return program.run(argc, argv, [&](app::Runtime& runtime) {
        const bool is_there = runtime.wait_for("outbox-cursor", [&] {
            auto session = runtime.connect("setup");
            static_cast<void>(build::register_marker(session));
            if (settings.cache_connection()) deliver::register_cache(session);
        });
        if (is_there) app::run_feeds(runtime, settings);
    });
}

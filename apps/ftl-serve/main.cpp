#include "common/program.hpp"
#include "ftl-serve/service.hpp"

namespace {

constexpr const char* kIntro =
    R"(ftl-serve answers clients that pull: GET /feeds/EVENT/FEED_TYPE[/FILTER] with a secret key.

Each hit is checked against the version in Redis; what Redis lacks is read from Postgres. Without Redis it serves the
copies that it has, with their age. TLS belongs to the proxy in front of it.

  ftlctl client entitle acme
  ftlctl key issue acme
  ftl-serve --postgres.uri postgresql://… --cache.uri redis://127.0.0.1:6379/0
  curl -H "Authorization: Bearer KEY" http://127.0.0.1:8080/feeds/wc2026/standings
  ftl-serve --config ftl.toml --check                  tries the settings, Postgres and Redis

It works when /readyz answers 200.)";

}  // namespace

int main(int argc, char** argv) {
    using namespace ftlfeed;
    app::Program program("ftl-serve", kIntro);
    app::ServeSettings settings;
    settings.bind(program.settings());
    program.on_settings([&] { settings.complete(); });
    program.add_check("redis", [&](app::Runtime&) { app::check_cache(settings); });
    return program.run(argc, argv, [&](app::Runtime& runtime) { app::run_serve(runtime, settings); });
}

// Reads the options of `ftl-sim receive` and runs it.
#include <fmt/core.h>

#include <fstream>

#include "command.hpp"
#include "options.hpp"
#include "receive.hpp"
#include "webhook_server.hpp"

namespace ftlfeed::sim {
namespace {

/// The lines of a file.
Texts lines_of(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw UsageError("cannot read the secrets in " + path);
    Texts lines;
    for (std::string line; std::getline(file, line);) {
        if (!line.empty()) lines.push_back(line);
    }
    if (lines.empty()) throw UsageError("no secret stands in " + path);
    return lines;
}

int receive_webhooks(const cxxopts::ParseResult& options) {
    const auto script = options["script"].as<std::string>();
    WebhookReceiverSettings settings;
    settings.log = needed(options, "log");
    settings.store = options["store"].as<std::string>();
    if (options.count("secret-file") > 0) settings.secrets = lines_of(options["secret-file"].as<std::string>());
    settings.script = WebhookScript::parse(script_text(script));
    WebhookServer server(settings, "127.0.0.1", options["http"].as<std::uint16_t>());
    const SignalWatch watch({SIGTERM, SIGINT, SIGHUP}, [&](int signal) {
        if (signal != SIGHUP) return server.stop();
        try {
            server.set_script(WebhookScript::parse(script_text(script)));
        } catch (const UsageError& error) {
            fmt::print(stderr, "ftl-sim: {}; the old script stays\n", error.what());
        }
    });
    announce_port(options, server.port(), "webhook receiver");
    server.run();
    return 0;
}

int receive_files(const cxxopts::ParseResult& options) {
    const auto ready = options["ready-file"].as<std::string>();
    Receiver receiver({needed(options, "folder"), needed(options, "log")});
    const SignalWatch watch({SIGTERM, SIGINT}, [&receiver](int) { receiver.stop(); });
    if (!ready.empty()) write_file_whole(ready, "ready\n");
    receiver.run();
    return 0;
}

}  // namespace

int run_receive(const std::vector<std::string>& arguments) {
    cxxopts::Options options("ftl-sim receive",
                             "Watches a client's folder, or is a client's webhook, and logs what comes.\n");
    auto add = options.add_options();
    add("log", "Log to append to, a JSON object a line", cxxopts::value<std::string>(), "FILE");
    add("folder", "Folder to watch, with all that are or come below it", cxxopts::value<std::string>(), "DIR");
    add("ready-file", "Written once the folder is watched", cxxopts::value<std::string>()->default_value(""), "FILE");
    add("http", "Be a webhook on this port of 127.0.0.1; 0 takes a free one", cxxopts::value<std::uint16_t>(), "PORT");
    add("port-file", "Write the port there once it is open", cxxopts::value<std::string>(), "FILE");
    add("store", "Folder for the webhook's last body of each file", cxxopts::value<std::string>()->default_value(""),
        "DIR");
    add("secret-file", "Secrets that sign, one whsec_ a line; without it nothing is checked",
        cxxopts::value<std::string>(), "FILE");
    add("script", "How the webhook misbehaves, or @FILE", cxxopts::value<std::string>()->default_value(""), "SCRIPT");
    const auto parsed = parse(options, arguments, R"(
A line: {"time":"2026-06-11T19:00:00.123Z","path":"cup/calendar.json","bytes":512,"sha256":"..."}
Names with a leading dot are temporary and not logged. SIGTERM: what is queued is still logged, then it ends.
Of a webhook's request also webhook_id, ftl_version, status, event and signed; written and synced before the answer.

A script is rules, parted by ';' or lines: REQUESTS: WORDS. The first rule that fits a request holds.
  REQUESTS     3, 2-5, 4- or *; they count from 1
  status=N     answer with it               retry-after=TEXT, location=URL, html, body=BYTES, headers=BYTES
  delay=MS     before the answer            drip=MS  between its bytes
  hang-before  never read the body          hang-after  read it, never answer
  close, reset end the connection, or reset it, after the body was read; cut  the answer ends in its middle
  ok           nothing at all
SIGHUP reads @FILE again, and requests count from 1 again.

Examples:
  ftl-sim receive --folder out --log receivers/directory.jsonl --ready-file receivers/ready
  ftl-sim receive --http 8088 --store bodies --secret-file secret --log receivers/webhook.jsonl --script '1: reset'
)");
    if (!parsed) return 0;
    const bool has_http = parsed->count("http") > 0;
    const bool has_folder = parsed->count("folder") > 0;
    if (has_http && has_folder) throw UsageError("--folder and --http are two receivers: start two");
    if (!has_http && !has_folder)
        throw UsageError("--folder DIR is needed to watch a folder, or --http PORT to be a webhook");
    return has_http ? receive_webhooks(*parsed) : receive_files(*parsed);
}

}  // namespace ftlfeed::sim

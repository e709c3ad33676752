#include <pqxx/result>
#include <pqxx/transaction_base>
#include <stdexcept>
#include <string>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

#include "common/alert_log.hpp"
#include "common/program.hpp"
#include "common/supervisor.hpp"

using namespace ftlfeed;

namespace {

/// Reads `SELECT 1` every 20 ms; `mode` says how it misbehaves.
void work(app::Worker& worker, const std::string& mode) {
    auto session = worker.runtime().connect("worker");
    do {
        session.read([](pqxx::transaction_base& tx) { tx.exec("SELECT 1"); });
        worker.ready();
        if (mode == "die") throw std::runtime_error("the worker was told to die");
        if (mode == "refuse") throw core::Failure::permanent("the worker met what cannot be retried");
        if (mode == "end") return;
    } while (worker.sleep_for(std::chrono::milliseconds(20)));
    // A token that nobody stops: this worker does not drain.
    if (mode == "hang") worker.runtime().clock().sleep_for(std::chrono::hours(1), std::stop_token());
    core::log_info("test.drained");
}

}  // namespace

int main(int argc, char** argv) {
    app::Program program("ftl_test_service", "A service for tests.\n\nIt does nothing of use.");
    std::string mode = "work";
    bool is_loud = false;
    std::vector<std::string> words;
    program.settings().bind("trial.mode", mode, "work, die, refuse, end or hang");
    program.settings().bind("trial.loud", is_loud, "A flag");
    program.settings().bind("trial.words", words, "A list");
    program.on_settings([&] {
        if (mode == "nonsense") throw core::InvalidInput("trial.mode may not be nonsense");
    });
    program.add_check("mode", [&](app::Runtime&) {
        if (mode == "die") throw core::Failure::unavailable("a worker that dies");
    });
    return program.run(argc, argv, [&](app::Runtime& runtime) {
        runtime.on_reload([] { core::log_info("test.reloaded"); });
        app::Supervisor workers(runtime);
        workers.add_retrying("worker", [&](app::Worker& worker) { work(worker, mode); });
        if (mode != "end") app::add_alert_log(workers);
        workers.run();
    });
}

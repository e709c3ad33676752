#include "bare_loop.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace ftl::bench {

namespace {

void require(bool is_good, const std::string& what) {
    if (!is_good) throw std::system_error(errno, std::generic_category(), what);
}

void write_durably(const std::string& folder, const std::string& body) {
    const auto temporary = folder + "/.bare.tmp";
    const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    require(file >= 0, temporary);
    require(write(file, body.data(), body.size()) == static_cast<ssize_t>(body.size()), "write");
    require(fsync(file) == 0, "fsync");
    close(file);
    require(rename(temporary.c_str(), (folder + "/bare.json").c_str()) == 0, "rename");
    const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(directory >= 0 && fsync(directory) == 0, "fsync of the folder");
    close(directory);
}

}  // namespace

BareLoop::BareLoop(const std::string& uri, std::string folder) : postgres_(uri), folder_(std::move(folder)) {
    postgres_.run("SET client_min_messages = warning");
    postgres_.run(
        "CREATE TABLE IF NOT EXISTS bench_bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT "
        "NULL)");
    // Before the thread starts: a change that is committed from now on is heard.
    postgres_.run("LISTEN bench_bare");
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

const char* BareLoop::write_statement() {
    return "WITH new AS (INSERT INTO bench_bare (body) VALUES ($1) RETURNING id) "
           "SELECT pg_notify('bench_bare', '') FROM new";
}

void BareLoop::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        if (!postgres_.wait_for_notify(std::chrono::milliseconds(100))) continue;
        write_durably(folder_, postgres_.run("SELECT body FROM bench_bare ORDER BY id DESC LIMIT 1"));
    }
}

}  // namespace ftl::bench

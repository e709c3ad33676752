#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <ftlfeed/core/log.hpp>

#include "support/temp_folder.hpp"

using namespace ftlfeed::core;

namespace {

/// What `work` writes to standard error.
template <typename Work>
std::string written_by(const Work& work) {
    const ftl::test::TempFolder folder;
    ftl::test::write_file(folder / "log", "");
    const int saved = dup(STDERR_FILENO);
    std::FILE* file = std::fopen((folder / "log").c_str(), "a");
    REQUIRE(file != nullptr);
    dup2(fileno(file), STDERR_FILENO);
    work();
    dup2(saved, STDERR_FILENO);
    close(saved);
    std::fclose(file);
    return ftl::test::read_file(folder / "log");
}

std::string after_time(const std::string& line) { return line.substr(line.find(' ') + 1); }

}  // namespace

TEST_CASE("core.log: nothing is printed before it is configured") {
    CHECK(written_by([] { log_error("store.lost", {{"a", 1}}); }).empty());
}

TEST_CASE("core.log: one event is one line of text") {
    const auto text = written_by([] {
        configure_log({LogLevel::kInfo, LogSettings::Form::kText, "ftl-test"});
        log_info("store.connected", {{"host", "127.0.0.1"}, {"tries", 3}, {"reason", "two words"}, {"share", 0.5}});
    });
    CHECK(after_time(text) ==
          "info    store.connected program=ftl-test host=127.0.0.1 tries=3 reason=\"two words\" share=0.5\n");
}

TEST_CASE("core.log: one event is one JSON object and numbers stay numbers") {
    const auto text = written_by([] {
        configure_log({LogLevel::kInfo, LogSettings::Form::kJson, ""});
        log_warning("a.b", {{"n", 3}, {"t", "3"}, {"nan", std::stod("nan")}});
    });
    CHECK(text.starts_with("{\"time\":\""));
    CHECK(text.ends_with("\"level\":\"warning\",\"event\":\"a.b\",\"n\":3,\"t\":\"3\",\"nan\":\"nan\"}\n"));
}

TEST_CASE("core.log: a foreign text cannot start a line of its own") {
    for (const auto form : {LogSettings::Form::kText, LogSettings::Form::kJson}) {
        const auto text = written_by([&] {
            configure_log({LogLevel::kInfo, form, "p"});
            log_info("a.b", {{"name", "x\n2026 error forged\r\x1B[31m\xC2\x9B"}});
        });
        CHECK(std::count(text.begin(), text.end(), '\n') == 1);
        CHECK(text.find('\r') == std::string::npos);
        CHECK(text.find('\x1B') == std::string::npos);
        CHECK(text.find("\xC2\x9B") == std::string::npos);
    }
}

TEST_CASE("core.log: what lies below the level is not written and the level can change") {
    const auto text = written_by([] {
        configure_log({LogLevel::kWarning, LogSettings::Form::kText, ""});
        log_info("a.hidden");
        configure_log({LogLevel::kDebug, LogSettings::Form::kText, ""});
        log_debug("a.shown");
    });
    CHECK(text.find("hidden") == std::string::npos);
    CHECK(text.find("shown") != std::string::npos);
}

#include <doctest/doctest.h>

#include <set>

#include <ftlctl/arguments.hpp>
#include <ftlctl/command.hpp>

#include <support/temp_folder.hpp>

#include "run_ftlctl.hpp"

using ftl::test::run_ftlctl;
using ftlctl::parse_arguments;
using ftlctl::UsageError;

namespace {

ftlctl::Command sample() { return {{"sample"}, {"ONE", "[TWO]"}, "", "", {{"size", "N", ""}, {"deep", "", ""}}, {}}; }

}  // namespace

TEST_CASE("ftlctl.arguments: options may stand anywhere among the operands") {
    for (const auto& words : std::vector<std::vector<std::string>>{{"--size", "3", "a", "--deep", "b"},
                                                                   {"a", "b", "--deep", "--size=3"},
                                                                   {"a", "--size", "3", "b", "--deep"}}) {
        const auto arguments = parse_arguments(sample(), words);
        CHECK(arguments.operands == std::vector<std::string>{"a", "b"});
        CHECK(arguments.find("size") == "3");
        CHECK(arguments.has("deep"));
    }
}

TEST_CASE("ftlctl.arguments: a negative number is an operand") {
    const auto arguments = parse_arguments(sample(), {"a", "-5000"});
    CHECK(arguments.operands.back() == "-5000");
}

TEST_CASE("ftlctl.arguments: an unknown option or a missing value or operand is told with the usage") {
    for (const auto& words : std::vector<std::vector<std::string>>{{"a", "--wide"},
                                                                   {"a", "--size"},
                                                                   {},
                                                                   {"a", "b", "c"},
                                                                   {"a", "--deep=1"},
                                                                   {"a", "-x"},
                                                                   {"a", "--deep", "--deep"}}) {
        CHECK_THROWS_WITH_AS(parse_arguments(sample(), words), doctest::Contains("usage: ftlctl sample ONE"),
                             UsageError);
    }
}

TEST_CASE("ftlctl.arguments: a number is whole or refused") {
    CHECK(ftlctl::parse_number("N", "-12") == -12);
    for (const auto* text : {"", "1.5", "1x", "x", " 1", "99999999999999999999"}) {
        CHECK_THROWS_AS(ftlctl::parse_number("N", text), UsageError);
    }
}

TEST_CASE("ftlctl.arguments: a list of names holds at least one and each may stand in a path") {
    CHECK(ftlctl::parse_names("--events", "wc,,euro-2028,") == std::vector<std::string>{"wc", "euro-2028"});
    for (const auto* text : {"", ",", "wc,Euro", "a b", "../x"}) {
        CHECK_THROWS_WITH_AS(ftlctl::parse_names("--events", text), doctest::Contains("--events"), UsageError);
    }
}

TEST_CASE("ftlctl.program: every command has a summary and teaches with an example") {
    std::set<std::string> seen;
    for (const auto& command : ftlctl::all_commands()) {
        const auto words = ftlctl::joined_words(command);
        INFO(words);
        CHECK(seen.insert(words).second);
        CHECK_FALSE(command.summary.empty());
        CHECK(command.teaching.find("  ftlctl " + command.words.front()) != std::string::npos);
        auto args = command.words;
        args.push_back("--help");
        const auto help = run_ftlctl("", args);
        CHECK(help.exit_code == 0);
        CHECK(help.says("usage: ftlctl " + words));
        CHECK(help.says("--json"));
    }
    CHECK(seen.size() >= 25);
}

TEST_CASE("ftlctl.program: the overview names each command and a wrong one is answered with the near ones") {
    const auto overview = run_ftlctl("", {"--help"});
    CHECK(overview.exit_code == 0);
    for (const auto& command : ftlctl::all_commands()) CHECK(overview.says(ftlctl::joined_words(command)));
    const auto half = run_ftlctl("", {"event", "rule"});
    CHECK(half.exit_code == 2);
    CHECK(half.complains("ftlctl event rule set CODE TYPE ROLE MICRO"));
    CHECK(run_ftlctl("", {"frobnicate"}).exit_code == 2);
    CHECK(run_ftlctl("", {}).exit_code == 2);
}

TEST_CASE("ftlctl.program: an unknown setting is refused with the nearest known one") {
    const auto answer = run_ftlctl("", {"status", "--postgres.url", "x"});
    CHECK(answer.exit_code == 2);
    CHECK(answer.complains("postgres.uri"));
}

TEST_CASE("ftlctl.program: the configuration of a service may be given as it is") {
    const ftl::test::TempFolder folder;
    const auto file = (folder / "ftl-deliver.toml").string();
    ftl::test::write_file(file,
                          "[postgres]\nuri = \"postgresql://nobody@127.0.0.1:1/none\"\n[log]\nlevel = \"debug\"\n"
                          "[deliver]\nenabled = true\nworker = \"two\"\n[build]\nbuilders = 4\n");
    const auto answer = run_ftlctl("", {"status", "--config", file});
    CHECK(answer.exit_code == 1);
    CHECK(answer.complains("connect"));
    ftl::test::write_file(file,
                          "[postgres]\nuri = \"postgresql://nobody@127.0.0.1:1/none\"\n[cache]\nuri = "
                          "\"redis://127.0.0.1:1/0\"\n[serve]\naddress = \"0.0.0.0:8080\"\nthreads = 2\n");
    CHECK(run_ftlctl("", {"status", "--config", file}).complains("connect"));
}

TEST_CASE("ftlctl.program: without a database it says how to name one") {
    const auto answer = run_ftlctl("", {"status"});
    CHECK(answer.exit_code == 2);
    CHECK(answer.complains("FTL_POSTGRES_URI"));
}

TEST_CASE("ftlctl.program: a database that is not there ends the call at once with 1") {
    const auto answer = run_ftlctl("postgresql://nobody@127.0.0.1:1/none", {"status"});
    CHECK(answer.exit_code == 1);
    CHECK(answer.complains("ftlctl: "));
}

TEST_CASE("ftlctl.program: a password in the URI of a flag or variable is refused and not shown") {
    const auto answer = run_ftlctl("postgresql://nobody:geheim@127.0.0.1:1/none", {"status"});
    CHECK(answer.exit_code == 2);
    CHECK(answer.complains("postgres.password_file"));
    CHECK_FALSE(answer.complains("geheim"));
}

#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/settings.hpp>

#include "support/temp_folder.hpp"

using namespace ftlfeed::core;
using std::chrono::milliseconds;

namespace {

struct Fixture {
    std::string uri = "default";
    bool enabled = false;
    std::int64_t workers = 4;
    double share = 0.5;
    milliseconds interval{1000};
    std::vector<std::string> hosts;
    Settings settings;
    ftl::test::TempFolder folder;

    Fixture() {
        settings.bind("postgres.uri", uri, "where");
        settings.bind("deliver.enabled", enabled, "send?");
        settings.bind("deliver.workers", workers, "how many", 1, 64);
        settings.bind("deliver.share", share, "how much", 0, 1);
        settings.bind("ingest.poll_interval_ms", interval, "how often", milliseconds(0), milliseconds(60000));
        settings.bind("deliver.hosts", hosts, "to whom");
    }

    std::string file(const std::string& content) {
        ftl::test::write_file(folder / "config.toml", content);
        return folder / "config.toml";
    }

    /// The message of the InvalidInput that load() throws.
    std::string refusal(const std::vector<std::string>& args,
                        const std::map<std::string, std::string>& environment = {}) {
        try {
            settings.load(args, environment);
        } catch (const InvalidInput& error) {
            return error.what();
        }
        return "";
    }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE_FIXTURE(Fixture, "core.settings: a flag beats a variable beats the file beats the default") {
    const auto path =
        file("[postgres]\nuri = 'file'\n[deliver]\nworkers = 5\nshare = 0.25\n[ingest]\npoll_interval_ms = 7\n");
    settings.load({"--config", path, "--postgres.uri", "flag"},
                  {{"FTL_POSTGRES_URI", "variable"}, {"FTL_DELIVER_WORKERS", "6"}});
    CHECK(uri == "flag");
    CHECK(workers == 6);
    CHECK(share == 0.25);
    CHECK(interval == milliseconds(7));
    CHECK_FALSE(enabled);
}

TEST_CASE_FIXTURE(Fixture, "core.settings: flags come with a space or an equals sign and the rest is handed back") {
    const auto rest =
        settings.load({"--check", "--deliver.workers=9", "word", "--deliver.enabled", "--postgres.uri", "a=b"}, {});
    CHECK(rest == std::vector<std::string>{"--check", "word"});
    CHECK(workers == 9);
    CHECK(enabled);
    CHECK(uri == "a=b");
    settings.load({"--deliver.enabled", "false"}, {});
    CHECK_FALSE(enabled);
    CHECK(settings.load({"--", "--deliver.workers", "x"}, {}) == std::vector<std::string>{"--deliver.workers", "x"});
}

TEST_CASE_FIXTURE(Fixture, "core.settings: an unknown key names the nearest known one wherever it stands") {
    CHECK(contains(refusal({"--deliver.worker", "3"}), "nearest is deliver.workers"));
    CHECK(contains(refusal({"--config", file("[ingest]\npoll_interval = 3\n")}), "config.toml:2"));
    CHECK(contains(refusal({"--config", file("[ingest]\npoll_interval = 3\n")}), "nearest is ingest.poll_interval_ms"));
    CHECK(contains(refusal({}, {{"FTL_DELIVER_WORKER", "3"}}), "nearest is FTL_DELIVER_WORKERS"));
    CHECK(contains(refusal({}, {{"FTL_POSTGRE_URI", "x"}}), "nearest is FTL_POSTGRES_URI"));
}

TEST_CASE_FIXTURE(Fixture, "core.settings: variables of other programs are none of our business") {
    settings.load({}, {{"FTL_TEST_PG", "x"}, {"FTL_CRASH_AT", "3"}, {"PATH", "/bin"}, {"POSTGRES_URI", "y"}});
    CHECK(uri == "default");
}

TEST_CASE_FIXTURE(Fixture, "core.settings: a value out of range or of another kind says where it stands") {
    CHECK(contains(refusal({"--deliver.workers", "0"}), "flag --deliver.workers"));
    CHECK(contains(refusal({"--deliver.workers", "65"}), "1 to 64"));
    for (const char* bad : {"", " 4", "4 ", "4x", "0x4", "1e1", "99999999999999999999"}) {
        CAPTURE(bad);
        CHECK(refusal({"--deliver.workers", bad}) != "");
    }
    CHECK(contains(refusal({"--deliver.share", "nan"}), "out of range"));
    CHECK(contains(refusal({"--ingest.poll_interval_ms", "60001"}), "0 to 60000"));
    CHECK(contains(refusal({"--deliver.enabled=yes"}), "neither true nor false"));
    CHECK(contains(refusal({"--config", file("[deliver]\n\nworkers = 'many'\n")}), "config.toml:3"));
    CHECK(contains(refusal({}, {{"FTL_DELIVER_WORKERS", "many"}}), "variable FTL_DELIVER_WORKERS"));
    CHECK(contains(refusal({"--postgres.uri"}), "wants a value"));
    CHECK(workers == 4);
}

TEST_CASE_FIXTURE(Fixture, "core.settings: both ends of a range are in it") {
    settings.load({"--deliver.workers", "1", "--ingest.poll_interval_ms", "0"}, {});
    CHECK(workers == 1);
    CHECK(interval == milliseconds(0));
    settings.load({"--deliver.workers", "64", "--ingest.poll_interval_ms", "60000"}, {});
    CHECK(workers == 64);
    CHECK(interval == milliseconds(60000));
}

TEST_CASE_FIXTURE(Fixture, "core.settings: a list is an array in the file and has commas elsewhere") {
    settings.load({"--config", file("[deliver]\nhosts = ['a', 'b,c']\n")}, {});
    CHECK(hosts == std::vector<std::string>{"a", "b,c"});
    settings.load({}, {{"FTL_DELIVER_HOSTS", "x,y"}});
    CHECK(hosts == std::vector<std::string>{"x", "y"});
    settings.load({"--deliver.hosts="}, {});
    CHECK(hosts.empty());
    CHECK(contains(refusal({"--config", file("[deliver]\nhosts = 'a'\n")}), "must be an array"));
    CHECK(contains(refusal({"--config", file("[deliver]\nworkers = ['1']\n")}), "not an array"));
    CHECK(contains(refusal({"--config", file("[deliver]\nhosts = [1]\n")}), "array of strings"));
}

TEST_CASE_FIXTURE(Fixture, "core.settings: a file that is no TOML or not there says so") {
    CHECK(contains(refusal({"--config", file("[deliver\nworkers = 1\n")}), "config.toml:1"));
    CHECK(contains(refusal({"--config", folder / "nothing"}), "cannot read the configuration file"));
    CHECK(contains(refusal({"--config"}), "wants a value"));
}

TEST_CASE_FIXTURE(Fixture, "core.settings: what is described is every key with its default") {
    const auto all = settings.describe();
    REQUIRE(all.size() == 6);
    CHECK(all[0].key == "postgres.uri");
    CHECK(all[0].default_text == "default");
    CHECK(all[1].default_text == "false");
    CHECK(all[4].default_text == "1000");
    CHECK(all[5].takes_list);
}

#include <ftlfeed/deliver/directory_transport.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>

#include "deliver/directory_failure.hpp"
#include "support/temp_folder.hpp"

using namespace ftlfeed;
using namespace ftlfeed::deliver;
using namespace std::chrono_literals;
using ftl::test::read_file;
using ftl::test::TempFolder;
using ftl::test::write_file;
namespace fs = std::filesystem;

namespace {

struct TestGuard final : SendGuard {
    core::Deadline until = core::Deadline::never();
    std::function<bool()> check = [] { return true; };

    [[nodiscard]] core::Deadline deadline() const override { return until; }
    [[nodiscard]] bool may_publish() override { return check(); }
};

constexpr core::Version kVersion{1000, 7, 1};

const core::FeedKey kKey("wc", "calendar");

SendOutcome put(Transport& transport, const std::string& path, const std::string& body, SendGuard& guard,
                core::Version version = kVersion) {
    const auto hash = core::sha256(body);
    const std::string sha256(hash.begin(), hash.end());
    return transport.put({{12}, kKey, version, 0, {}, RemotePath(path), {body, sha256, {}, {}, {}}}, guard);
}
SendOutcome remove(Transport& transport, const std::string& path, SendGuard& guard) {
    return transport.remove({{12}, kKey, kVersion, 0, {}, RemotePath(path), {}}, guard);
}
SendOutcome put(Transport& transport, const std::string& path, const std::string& body) {
    TestGuard guard;
    return put(transport, path, body, guard);
}
Look look(Transport& transport, const std::string& path, const std::string& body, core::Version version = kVersion) {
    TestGuard guard;
    return transport.look({{12}, kKey, version, 0, {}, RemotePath(path), {body, {}, {}, {}, {}}}, guard);
}

std::size_t entries(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
}

DirectoryTransport transport_to(const TempFolder& folder) {
    return {folder.path().string(), {12}, core::Clock::real()};
}

}  // namespace

TEST_CASE("deliver.directory: a file and the folders above it are made and replaced in one step") {
    const TempFolder folder;
    auto transport = transport_to(folder);
    const auto first = put(transport, "wc/timeline/7.json", "one");
    REQUIRE(std::holds_alternative<Stored>(first));
    CHECK(std::get<Stored>(first).guarantee == Guarantee::kAtomicReplace);
    CHECK(std::get<Stored>(first).receipt.find("bytes=3") != std::string::npos);
    CHECK(read_file(folder / "wc/timeline/7.json") == "one");
    // A reader that has the old file open goes on reading the old bytes.
    const int reader = ::open((folder / "wc/timeline/7.json").c_str(), O_RDONLY);
    REQUIRE(std::holds_alternative<Stored>(put(transport, "wc/timeline/7.json", "second")));
    char buffer[8] = {};
    CHECK(::read(reader, buffer, sizeof buffer) == 3);
    ::close(reader);
    CHECK(read_file(folder / "wc/timeline/7.json") == "second");
    CHECK(entries(folder / "wc/timeline") == 1);
}

TEST_CASE("deliver.directory: before the check to publish nothing is visible but our temporary name") {
    const TempFolder folder;
    auto transport = transport_to(folder);
    REQUIRE(std::holds_alternative<Stored>(put(transport, "a.json", "old")));
    TestGuard guard;
    std::string temporary;
    guard.check = [&] {
        CHECK(read_file(folder / "a.json") == "old");
        for (const auto& entry : fs::directory_iterator(folder.path())) {
            if (entry.path().filename() != "a.json") temporary = entry.path().filename();
        }
        CHECK(read_file(folder / temporary) == "new");
        return true;
    };
    REQUIRE(std::holds_alternative<Stored>(put(transport, "a.json", "new", guard)));
    CHECK(temporary == ".a.json.d12-1000-7-1.tmp");  // It carries destination and version.
    CHECK(read_file(folder / "a.json") == "new");
}

TEST_CASE("deliver.directory: a withheld send leaves the old file and nothing else") {
    const TempFolder folder;
    auto transport = transport_to(folder);
    REQUIRE(std::holds_alternative<Stored>(put(transport, "a.json", "old")));
    TestGuard guard;
    guard.check = [] { return false; };
    CHECK(std::holds_alternative<Withheld>(put(transport, "a.json", "new", guard)));
    CHECK(read_file(folder / "a.json") == "old");
    CHECK(entries(folder.path()) == 1);
}

TEST_CASE("deliver.directory: a send whose time is over leaves no half file") {
    const TempFolder folder;
    auto transport = transport_to(folder);
    TestGuard guard;
    guard.until = core::Deadline(core::Clock::real().steady_now() - 1ms);
    CHECK_THROWS_AS(static_cast<void>(put(transport, "a.json", "new", guard)), core::Failure);
    CHECK(entries(folder.path()) == 0);
}

TEST_CASE("deliver.directory: no symbolic link leads outside the folder") {
    const TempFolder folder;
    const TempFolder outside;
    write_file(outside / "a.json", "theirs");
    fs::create_directory_symlink(outside.path(), folder / "wc");
    fs::create_symlink(outside / "a.json", folder / "b.json");
    auto transport = transport_to(folder);
    const auto refused = put(transport, "wc/a.json", "ours");
    REQUIRE(std::holds_alternative<Refused>(refused));
    // The link itself is replaced, not what it points at.
    CHECK(std::holds_alternative<Stored>(put(transport, "b.json", "ours")));
    CHECK(read_file(outside / "a.json") == "theirs");
    CHECK(entries(outside.path()) == 1);
    CHECK(fs::is_regular_file(fs::symlink_status(folder / "b.json")));
    TestGuard guard;
    CHECK(std::holds_alternative<Refused>(remove(transport, "wc/a.json", guard)));
    CHECK(read_file(outside / "a.json") == "theirs");
}

TEST_CASE("deliver.directory: what stands in a file's way is that file's trouble") {
    const TempFolder folder;
    fs::create_directories(folder / "calendar.json/x");
    write_file(folder / "wc", "a file where a folder must be");
    auto transport = transport_to(folder);
    CHECK(std::holds_alternative<Refused>(put(transport, "calendar.json", "x")));
    CHECK(std::holds_alternative<Refused>(put(transport, "wc/a.json", "x")));
    CHECK(std::holds_alternative<Stored>(put(transport, "other.json", "x")));
    CHECK(entries(folder.path()) == 3);
}

TEST_CASE("deliver.directory: a missing folder is the destination's trouble and is never made") {
    const TempFolder folder;
    DirectoryTransport transport((folder / "not-mounted").string(), {12}, core::Clock::real());
    try {
        static_cast<void>(put(transport, "a.json", "x"));
        FAIL("it was stored");
    } catch (const core::Failure& failure) {
        CHECK(failure.may_retry());
        CHECK(failure.native_code() == "ENOENT");
    }
    CHECK_FALSE(fs::exists(folder / "not-mounted"));
    CHECK_THROWS_AS(static_cast<void>(look(transport, "a.json", "x")), core::Failure);
    CHECK_THROWS_AS(DirectoryTransport("relative", {1}, core::Clock::real()), core::InvalidInput);
}

TEST_CASE("deliver.directory: leftovers of a killed sender of ours are removed and nobody else's") {
    const TempFolder folder;
    write_file(folder / ".a.json.d12-1000-6-1.tmp", "half");
    write_file(folder / ".b.json.d12-1000-5-1.tmp", "half");
    write_file(folder / ".a.json.d13-1000-6-1.tmp", "of another destination");
    write_file(folder / ".a.json.tmp", "theirs");
    auto transport = transport_to(folder);
    REQUIRE(std::holds_alternative<Stored>(put(transport, "a.json", "whole")));
    CHECK(entries(folder.path()) == 3);
    CHECK(fs::exists(folder / ".a.json.d13-1000-6-1.tmp"));
    CHECK(fs::exists(folder / ".a.json.tmp"));
}

TEST_CASE("deliver.directory: C19 published means temporary name gone and size and bytes equal") {
    const TempFolder folder;
    auto transport = transport_to(folder);
    CHECK(look(transport, "a.json", "812") == Look::kNotThere);
    write_file(folder / "a.json", "813");
    CHECK(look(transport, "a.json", "812") == Look::kNotThere);  // Equal size, another content.
    CHECK(look(transport, "a.json", "8122") == Look::kNotThere);
    CHECK(look(transport, "a.json", "813") == Look::kThere);
    // The temporary name of this version is still there: its rename never happened, whatever lies at the final name.
    write_file(folder / ".a.json.d12-1000-7-1.tmp", "813");
    CHECK(look(transport, "a.json", "813") == Look::kNotThere);
    CHECK_FALSE(fs::exists(folder / ".a.json.d12-1000-7-1.tmp"));
    CHECK(look(transport, "no/such/folder.json", "813") == Look::kNotThere);
}

TEST_CASE("deliver.directory: removing is done when the file is gone whoever removed it") {
    const TempFolder folder;
    auto transport = transport_to(folder);
    REQUIRE(std::holds_alternative<Stored>(put(transport, "wc/a.json", "x")));
    TestGuard guard;
    CHECK(std::holds_alternative<Stored>(remove(transport, "wc/a.json", guard)));
    CHECK(std::holds_alternative<Stored>(remove(transport, "wc/a.json", guard)));
    CHECK(std::holds_alternative<Stored>(remove(transport, "never/a.json", guard)));
    CHECK(entries(folder / "wc") == 0);
    guard.check = [] { return false; };
    REQUIRE(std::holds_alternative<Stored>(put(transport, "wc/b.json", "x")));
    CHECK(std::holds_alternative<Withheld>(remove(transport, "wc/b.json", guard)));
    CHECK(fs::exists(folder / "wc/b.json"));
}

TEST_CASE("deliver.directory: the scope of each errno") {
    struct Row {
        int error;
        DirectoryStep step;
        bool at_root;
        const char* scope;  // file, file lasts, destination, destination lasts
    };
    const Row table[] = {
        {ENOSPC, DirectoryStep::kFile, false, "destination"},
        {EDQUOT, DirectoryStep::kFile, false, "destination"},
        {EIO, DirectoryStep::kFile, false, "destination"},
        {EMFILE, DirectoryStep::kFile, false, "destination"},
        {ESTALE, DirectoryStep::kFile, false, "destination"},
        {ENOENT, DirectoryStep::kFolder, true, "destination"},
        {ENOENT, DirectoryStep::kFile, false, "destination"},
        {EROFS, DirectoryStep::kFile, false, "destination lasts"},
        {EACCES, DirectoryStep::kFolder, true, "destination lasts"},
        {EACCES, DirectoryStep::kFile, true, "destination lasts"},
        {EACCES, DirectoryStep::kSubfolder, true, "destination lasts"},
        {EACCES, DirectoryStep::kSubfolder, false, "file"},
        {EACCES, DirectoryStep::kFile, false, "file"},
        {EPERM, DirectoryStep::kFile, true, "destination lasts"},
        {ENOTDIR, DirectoryStep::kFolder, true, "destination lasts"},
        {ENOTDIR, DirectoryStep::kSubfolder, false, "file"},
        {ELOOP, DirectoryStep::kSubfolder, false, "file"},
        {EISDIR, DirectoryStep::kFile, false, "file"},
        {EFBIG, DirectoryStep::kFile, false, "file"},
        {ENAMETOOLONG, DirectoryStep::kFile, false, "file lasts"},
        {EINVAL, DirectoryStep::kFile, false, "file lasts"},
        {9999, DirectoryStep::kFile, false, "destination"},
    };
    for (const auto& row : table) {
        CAPTURE(row.error);
        std::string scope;
        try {
            const auto refused = directory_refusal(row.error, row.step, row.at_root, "write a.json");
            scope = refused.lasts ? "file lasts" : "file";
            CHECK(refused.reason.find("write a.json") != std::string::npos);
        } catch (const core::Failure& failure) {
            scope = failure.may_retry() ? "destination" : "destination lasts";
            CHECK_FALSE(failure.native_code().empty());
        }
        CHECK(scope == row.scope);
    }
}

namespace {

/// Runs `work` on a thread that has a mount namespace of its own, with a tmpfs mounted at `point`. False when this
/// process may not mount (no root): the kernel's answer then comes from the table of errnos above alone.
bool with_mount(const fs::path& point, const char* options, unsigned long flags, const std::function<void()>& work) {
    bool is_mounted = false;
    std::thread([&] {
        if (::unshare(CLONE_FS | CLONE_NEWNS) != 0) return;
        if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
        if (::mount("tmpfs", point.c_str(), "tmpfs", flags, options) != 0) return;
        is_mounted = true;
        work();
    }).join();
    return is_mounted;
}

}  // namespace

TEST_CASE("deliver.directory: a full disk keeps the old file whole and names ENOSPC and recovers") {
    const TempFolder folder;
    bool was_run = false;
    const bool is_mounted = with_mount(folder.path(), "size=64k", 0, [&] {
        auto transport = transport_to(folder);
        CHECK(std::holds_alternative<Stored>(put(transport, "a.json", "old")));
        try {
            static_cast<void>(put(transport, "a.json", std::string(200'000, 'x')));
            FAIL_CHECK("a full disk took 200 kB");
        } catch (const core::Failure& failure) {
            CHECK(failure.native_code() == "ENOSPC");
            CHECK(failure.may_retry());
            CHECK_FALSE(failure.in_doubt());
        }
        CHECK(read_file(folder / "a.json") == "old");
        CHECK(entries(folder.path()) == 1);
        CHECK(std::holds_alternative<Stored>(put(transport, "a.json", std::string(20'000, 'y'))));
        was_run = true;
    });
    if (!is_mounted) MESSAGE("no right to mount: the disk was not filled here");
    CHECK(was_run == is_mounted);
}

TEST_CASE("deliver.directory: a read-only folder is a lasting refusal of the destination") {
    const TempFolder folder;
    bool was_run = false;
    const bool is_mounted = with_mount(folder.path(), "size=64k", MS_RDONLY, [&] {
        auto transport = transport_to(folder);
        for (const char* path : {"a.json", "wc/a.json"}) {
            try {
                static_cast<void>(put(transport, path, "x"));
                FAIL_CHECK("a read-only folder took a file");
            } catch (const core::Failure& failure) {
                CHECK(failure.native_code() == "EROFS");
                CHECK_FALSE(failure.may_retry());
            }
        }
        was_run = true;
    });
    if (!is_mounted) MESSAGE("no right to mount: nothing was made read-only here");
    CHECK(was_run == is_mounted);
}

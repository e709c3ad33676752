#include <doctest/doctest.h>

#include <cstdlib>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/secret.hpp>
#include <utility>

#include "support/temp_folder.hpp"

using namespace ftlfeed::core;

namespace {
const Bytes kKey(32, 7);
}

TEST_CASE("core.secret: a sealed text opens with its key and place") {
    const auto sealed = seal(Secret("s3cret"), kKey, "42");
    CHECK(unseal(sealed, kKey, "42").reveal() == "s3cret");
    CHECK(unseal(seal(Secret(""), kKey, "42"), kKey, "42").is_empty());
}

TEST_CASE("core.secret: a sealed text opens nowhere else") {
    const auto sealed = seal(Secret("s3cret"), kKey, "42");
    CHECK_THROWS_AS(static_cast<void>(unseal(sealed, kKey, "43")), Failure);
    CHECK_THROWS_AS(static_cast<void>(unseal(sealed, Bytes(32, 8), "42")), Failure);
    CHECK_THROWS_AS(static_cast<void>(unseal(sealed, Bytes(16, 7), "42")), Failure);
    for (std::size_t i = 0; i < sealed.ciphertext.size(); ++i) {
        auto changed = sealed;
        changed.ciphertext[i] ^= 1U;
        CHECK_THROWS_AS(static_cast<void>(unseal(changed, kKey, "42")), Failure);
    }
    auto shorter = sealed;
    shorter.ciphertext.resize(15);
    CHECK_THROWS_AS(static_cast<void>(unseal(shorter, kKey, "42")), Failure);
}

TEST_CASE("core.secret: two seals of one text differ") {
    const auto a = seal(Secret("s3cret"), kKey, "42");
    const auto b = seal(Secret("s3cret"), kKey, "42");
    CHECK(a.nonce != b.nonce);
    CHECK(a.ciphertext != b.ciphertext);
}

TEST_CASE("core.secret: a moved secret leaves nothing behind") {
    Secret from("short");
    const Secret to(std::move(from));
    CHECK(to.reveal() == "short");
    CHECK(from.is_empty());  // NOLINT(bugprone-use-after-move): that is the promise.
    // A text this short lies inside the object itself; its bytes must be gone too.
    CHECK(std::string_view(from.reveal().data(), 5) == std::string_view("\0\0\0\0\0", 5));
}

TEST_CASE("core.secret: a file's one trailing newline is dropped") {
    const ftl::test::TempFolder folder;
    ftl::test::write_file(folder / "one", "pass word\n");
    ftl::test::write_file(folder / "two", "pass\n\n");
    ftl::test::write_file(folder / "none", "");
    CHECK(read_secret(folder / "one").reveal() == "pass word");
    CHECK(read_secret(folder / "two").reveal() == "pass\n");
    CHECK(read_secret(folder / "none").is_empty());
}

TEST_CASE("core.secret: a file that cannot be read is named and its content is not") {
    const ftl::test::TempFolder folder;
    const std::string path = folder / "nothing";
    CHECK_THROWS_WITH_AS(static_cast<void>(read_secret(path)), ("cannot read the secret in " + path).c_str(),
                         InvalidInput);
    CHECK_THROWS_AS(static_cast<void>(read_secret(folder.path())), InvalidInput);
    ftl::test::write_file(folder / "huge", std::string(70'000, 'x'));
    CHECK_THROWS_AS(static_cast<void>(read_secret(folder / "huge")), InvalidInput);
}

TEST_CASE("core.secret: a systemd credential is found by its name alone") {
    const ftl::test::TempFolder folder;
    ftl::test::write_file(folder / "pg", "pw\n");
    setenv("CREDENTIALS_DIRECTORY", folder.path().c_str(), 1);
    CHECK(read_secret("credential:pg").reveal() == "pw");
    CHECK_THROWS_AS(static_cast<void>(read_secret("credential:../pg")), InvalidInput);
    CHECK_THROWS_AS(static_cast<void>(read_secret("credential:")), InvalidInput);
    unsetenv("CREDENTIALS_DIRECTORY");
    CHECK_THROWS_AS(static_cast<void>(read_secret("credential:pg")), InvalidInput);
}

TEST_CASE("core.secret: a master key is 64 hex digits and has an id of its own") {
    const ftl::test::TempFolder folder;
    ftl::test::write_file(folder / "key", std::string(62, '0') + "Ff\n");
    const auto key = read_master_key(folder / "key");
    CHECK(key.key.size() == 32);
    CHECK(key.key.back() == 0xFF);
    CHECK(key.id.size() == 8);
    for (const std::string& bad :
         {std::string(63, '0'), std::string(65, '0'), std::string(63, '0') + "g", std::string()}) {
        ftl::test::write_file(folder / "bad", bad);
        CHECK_THROWS_AS(static_cast<void>(read_master_key(folder / "bad")), InvalidInput);
    }
}

#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>

#include "support/rng.hpp"

using namespace ftlfeed::core;

namespace {
constexpr std::size_t kMany = 1U << 20U;
}

TEST_CASE("core.hash: SHA-256 gives the digests of FIPS 180-4") {
    CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256_hex(std::string(1'000'000, 'a')) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("core.hash: gzip gives the text back and equal bytes for equal text") {
    FTL_RNG(rng);
    for (int i = 0; i < 50; ++i) {
        std::string text(static_cast<std::size_t>(rng.between(0, 5000)), '\0');
        for (char& c : text) c = static_cast<char>(rng.between(0, i % 2 == 0 ? 255 : 3));
        const auto packed = gzip(text);
        CHECK(gunzip(packed, kMany) == text);
        CHECK(gzip(text) == packed);
    }
}

TEST_CASE("core.hash: the gzip header holds neither a time nor a system") {
    const auto packed = gzip("feed");
    REQUIRE(packed.size() > 10);
    CHECK(packed.substr(0, 4) == std::string("\x1F\x8B\x08\x00", 4));
    CHECK(packed.substr(4, 4) == std::string(4, '\0'));
    CHECK(packed[9] == '\xFF');
}

TEST_CASE("B49: a gzip stream that ends anywhere too early is refused") {
    const auto packed = gzip(std::string(500, 'x') + "events" + std::string(500, 'y'));
    for (std::size_t size = 0; size < packed.size(); ++size) {
        CAPTURE(size);
        CHECK_THROWS_AS(static_cast<void>(gunzip(std::string_view(packed).substr(0, size), kMany)), Failure);
    }
}

TEST_CASE("core.hash: a gzip stream with a wrong byte or a tail is refused") {
    auto packed = gzip("events and more events");
    CHECK_THROWS_AS(static_cast<void>(gunzip(packed + 'x', kMany)), Failure);
    packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);  // In the checksum.
    CHECK_THROWS_AS(static_cast<void>(gunzip(packed, kMany)), Failure);
}

TEST_CASE("core.hash: a gzip bomb unpacks to the limit and not a byte more") {
    const std::string text(100'000, '\0');
    const auto packed = gzip(text);
    CHECK(gunzip(packed, text.size()) == text);
    CHECK_THROWS_AS(static_cast<void>(gunzip(packed, text.size() - 1)), Failure);
    // Its trailer lies: it says 10 bytes.
    auto lying = packed;
    lying.replace(lying.size() - 4, 4, std::string("\x0A\0\0\0", 4));
    CHECK_THROWS_AS(static_cast<void>(gunzip(lying, kMany)), Failure);
}

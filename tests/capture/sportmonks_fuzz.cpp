#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include <ftlfeed/core/failure.hpp>

#include "capture/json_text.hpp"
#include "capture/sportmonks_parse.hpp"
#include "support/paths.hpp"
#include "support/rng.hpp"
#include "support/temp_folder.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;

namespace {

std::vector<std::string> golden_bodies() {
    std::vector<std::string> bodies;
    for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "tests" / "sim" / "golden")) {
        bodies.push_back(read_file(entry.path()));
    }
    return bodies;
}

/// Damages a body as a broken line or a broken program would, and in the ways that JSON is sensitive to.
void damage(std::string& body, Rng& rng) {
    static const std::vector<std::string> kPieces{"\"",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "null",
                                                  "-1",
                                                  "1e99",
                                                  "\\u0000",
                                                  "\\ud800",
                                                  "\\udc00",
                                                  "0.5",
                                                  "true",
                                                  "\"\"",
                                                  "\xff",
                                                  "99999999999999999999",
                                                  "\"id\":\"x\"",
                                                  "\"events\":[],"};
    if (body.empty()) return;
    const auto at = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(body.size()) - 1));
    const auto length = static_cast<std::size_t>(rng.between(1, 40));
    switch (rng.between(0, 4)) {
        case 0:
            body.erase(at, length);
            break;
        case 1:
            body[at] = static_cast<char>(rng.between(0, 255));
            break;
        case 2:
            body.insert(
                at, kPieces[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(kPieces.size()) - 1))]);
            break;
        case 3:
            body.insert(at, body.substr(at, length));
            break;
        default:
            body.resize(at);
            break;
    }
}

}  // namespace

TEST_CASE("capture.fuzz: a damaged answer is read or refused and rejected rows keep their bytes") {
    FTL_RNG(rng);
    const auto bodies = golden_bodies();
    REQUIRE(bodies.size() > 60);
    int read = 0;
    int refused = 0;
    for (int round = 0; round < rounds(5'000, 1'000'000); ++round) {
        auto body = bodies[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(bodies.size()) - 1))];
        for (auto times = rng.between(1, 3); times > 0; --times) damage(body, rng);
        static_cast<void>(slice_answer(body));
        try {
            const auto answer = parse_answer(body);
            ++read;
            for (const auto& fixture : answer.fixtures) {
                std::int64_t last_id = INT64_MIN;
                for (const auto& event : fixture.events) {
                    CHECK((event.id > last_id || last_id == INT64_MIN));
                    last_id = event.id;
                    CHECK(body.find(event.raw) != std::string::npos);
                }
                for (const auto& rejected : fixture.rejected) CHECK(body.find(rejected.raw) != std::string::npos);
                static_cast<void>(digest(fixture));
            }
        } catch (const ftlfeed::core::Failure& failure) {
            ++refused;
            CHECK(failure.may_retry());
        }
    }
    CHECK(read > 0);
    CHECK(refused > 0);
}

#include <doctest/doctest.h>

#include <string>

#include <ftlfeed/cache/document.hpp>
#include <ftlfeed/core/hash.hpp>

using namespace ftlfeed;
using cache::Coding;
using cache::Document;
using core::Version;

namespace {

const Version kVersion{7, 42, 3};

Document a_document() {
    const std::string body = "{\"goals\":2}";
    const core::SystemTime changed_at{std::chrono::microseconds(1'780'000'000'123'456)};
    return {kVersion, core::gzip(body), "application/json", changed_at, body.size(), core::sha256_hex(body), false};
}

}  // namespace

TEST_CASE("cache.document: the ETag is strong and tells versions and codings apart") {
    CHECK(cache::etag(kVersion, Coding::kPlain) == "\"7-42-3\"");
    CHECK(cache::etag(kVersion, Coding::kGzip) == "\"7-42-3-gzip\"");
    CHECK(cache::etag({7, 42, 4}, Coding::kPlain) != cache::etag(kVersion, Coding::kPlain));
}

TEST_CASE("cache.document: what its fields say is read back as it was") {
    const auto document = a_document();
    const auto fields = document.fields();
    CHECK(fields.at("etag") == "\"7-42-3\"");
    CHECK(fields.at("type") == "application/json");
    CHECK(fields.at("at") == "1780000000123456");
    CHECK(fields.at("bytes") == "11");
    CHECK(fields.at("sha").size() == 64);
    CHECK(core::gunzip(fields.at("gz"), 100) == "{\"goals\":2}");
    CHECK_FALSE(fields.contains("v"));
    CHECK_FALSE(fields.contains("gone"));
    CHECK(Document::from(kVersion, fields) == document);
}

TEST_CASE("cache.document: a retired one says that it is gone and has no body") {
    auto document = a_document();
    document.is_retired = true;
    document.body_gz.clear();
    const auto fields = document.fields();
    CHECK(fields.at("gone") == "1");
    CHECK_FALSE(fields.contains("gz"));
    CHECK(Document::from(kVersion, fields) == document);
}

TEST_CASE("cache.document: a stamp of modification is read back and one that lacks is not known") {
    auto document = a_document();
    CHECK_FALSE(document.fields().contains("lm"));
    document.last_modified = core::SystemTime(std::chrono::seconds(1'780'000'001));
    auto fields = document.fields();
    CHECK(fields.at("lm") == "1780000001");
    CHECK(Document::from(kVersion, fields) == document);
    fields["lm"] = "soon";
    CHECK_FALSE(Document::from(kVersion, fields));
}

TEST_CASE("cache.document: fields that lack or make no sense are no document") {
    const auto whole = a_document().fields();
    for (const std::string name : {"gz", "type", "at", "bytes", "sha"}) {
        CAPTURE(name);
        auto fields = whole;
        fields.erase(name);
        CHECK_FALSE(Document::from(kVersion, fields));
    }
    for (const auto& [name, value] :
         cache::Fields{{"at", "yesterday"}, {"bytes", "-1"}, {"sha", "ABC"}, {"gz", ""}, {"type", ""}, {"gone", "1"}}) {
        CAPTURE(name);
        auto fields = whole;
        fields[name] = value;
        CHECK_FALSE(Document::from(kVersion, fields));
    }
    CHECK_FALSE(Document::from(kVersion, {}));
}

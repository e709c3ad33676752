// Keeps a price in Redis that never goes back. docs/embed/cache_client.md explains it line by line.
//   cache_client redis://127.0.0.1:6379
#include <cstdio>
#include <string>
#include <variant>

#include <ftlfeed/cache/cache_client.hpp>

namespace cache = ftlfeed::cache;
using ftlfeed::core::Version;

namespace {

void put(cache::CacheClient& client, const cache::Key& key, const Version& version, const std::string& price) {
    const auto outcome = client.put_if_newer(key, version, {{"price", price}});
    if (const auto* refused = std::get_if<cache::Refused>(&outcome)) {
        std::printf("%s is not put: %s is held\n", version.text().c_str(), refused->held.text().c_str());
    } else {
        std::printf("%s is stored\n", version.text().c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: cache_client REDIS_URI\n");
        return 2;
    }
    try {
        cache::CacheClient client(cache::ConnectionSettings::parse(argv[1]));
        const cache::Key key("example:price");
        put(client, key, {1, 1, 0}, "100");
        put(client, key, {1, 3, 0}, "103");
        put(client, key, {1, 2, 0}, "102");  // Late: somebody else was faster with the next one.
        if (const auto entry = client.fetch(key)) std::printf("price %s\n", entry->fields.at("price").c_str());
        return 0;
    } catch (const ftlfeed::core::InvalidInput& error) {
        std::fprintf(stderr, "cache_client: %s\n", error.what());
        return 2;
    } catch (const ftlfeed::core::Failure& failure) {
        // All that the client throws may be done again; in_doubt() says that it may have been done already.
        std::fprintf(stderr, "cache_client: %s%s\n", failure.what(), failure.may_retry() ? " (try again)" : "");
        return 1;
    }
}

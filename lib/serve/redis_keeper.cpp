#include "serve/redis_keeper.hpp"

#include <exception>
#include <variant>

#include <ftlfeed/core/log.hpp>

namespace ftlfeed::serve {

void RedisKeeper::keep(const std::string& doc_key, const cache::Document& document) noexcept {
    try {
        const auto key = cache::Key::document(core::FeedKey::parse(doc_key));
        const auto outcome = client_.put_if_newer(key, document.version, document.fields());
        if (std::holds_alternative<cache::Stored>(outcome)) kept_.increment();
        listener_("");
    } catch (const std::exception& error) {
        failures_.increment();
        core::log_debug("serve.keep", {{"file", doc_key}, {"error", error.what()}});
        listener_(error.what());
    }
}

}  // namespace ftlfeed::serve

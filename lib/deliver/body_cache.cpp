#include "deliver/body_cache.hpp"

namespace ftlfeed::deliver {

BodyPtr BodyCache::get(const std::string& doc_key, const core::Version& version, const std::function<BodyPtr()>& load) {
    const Key key{doc_key, version};
    auto body = state_.with([&](State& state) -> BodyPtr {
        const auto found = state.by_key.find(key);
        if (found == state.by_key.end()) return nullptr;
        state.by_use.splice(state.by_use.begin(), state.by_use, found->second);
        return found->second->second;
    });
    if (body) return body;
    body = load();
    if (!body || body->size() > bytes_max_) return body;
    state_.with([&](State& state) {
        if (state.by_key.contains(key)) return;
        state.by_use.emplace_front(key, body);
        state.by_key.emplace(key, state.by_use.begin());
        state.bytes += body->size();
        while (state.bytes > bytes_max_) {
            state.bytes -= state.by_use.back().second->size();
            state.by_key.erase(state.by_use.back().first);
            state.by_use.pop_back();
        }
    });
    return body;
}

std::size_t BodyCache::bytes() const {
    return state_.with([](const State& state) { return state.bytes; });
}

}  // namespace ftlfeed::deliver

#include "common/readiness.hpp"

#include <algorithm>

#include <ftlfeed/core/text.hpp>

namespace ftlfeed::app {

void Readiness::set_ready(const std::string& name) {
    states_.with([&](auto& states) { states[name] = {true, ""}; });
}

void Readiness::set_waiting(const std::string& name, const std::string& reason) {
    states_.with([&](auto& states) { states[name] = {false, reason}; });
}

bool Readiness::is_ready() const {
    return states_.with([](const auto& states) {
        return !states.empty() &&
               std::all_of(states.begin(), states.end(), [](const auto& it) { return it.second.is_ready; });
    });
}

std::string Readiness::json() const {
    return states_.with([](const auto& states) {
        bool all = !states.empty();
        std::string checks;
        for (const auto& [name, state] : states) {
            all = all && state.is_ready;
            if (!checks.empty()) checks += ',';
            checks += "{\"name\":" + core::json_quoted(name) + ",\"ready\":" + (state.is_ready ? "true" : "false");
            checks += ",\"reason\":" + (state.is_ready ? "null" : core::json_quoted(state.reason)) + '}';
        }
        return std::string("{\"ready\":") + (all ? "true" : "false") + ",\"checks\":[" + checks + "]}\n";
    });
}

}  // namespace ftlfeed::app

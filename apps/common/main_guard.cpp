#include "common/main_guard.hpp"

#include <cstdio>
#include <exception>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::app {

namespace {

void say(const std::string& program, const char* what) noexcept {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), what);
}

}  // namespace

int main_guard(const std::string& program, const std::function<int()>& body) noexcept {
    try {
        return body();
    } catch (const core::InvalidInput& error) {
        say(program, error.what());
        return kExitUsage;
    } catch (const core::Failure& failure) {
        say(program, failure.what());
        return kExitFailure;
    } catch (const std::exception& error) {
        say(program, error.what());
        return kExitFailure;
    } catch (...) {
        say(program, "unknown exception");
        return kExitFailure;
    }
}

}  // namespace ftlfeed::app

#include <doctest/doctest.h>

#include <ftlfeed/core/guarded.hpp>
#include <thread>
#include <vector>

TEST_CASE("core.guarded: four threads that add find all they added") {
    ftlfeed::core::Guarded<int> total;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int j = 0; j < 10'000; ++j) total.with([](int& value) { ++value; });
            });
        }
    }
    CHECK(total.with([](int& value) { return value; }) == 40'000);
}

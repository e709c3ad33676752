#include <iostream>
#include <string>
#include <vector>

#include <ftlfeed/core/settings.hpp>

#include <ftlctl/program.hpp>

int main(int argc, char** argv) {
    const std::vector<std::string> args(argv + 1, argv + argc);
    return ftlctl::run_program(args, ftlfeed::core::process_environment(), std::cin, std::cout, std::cerr);
}

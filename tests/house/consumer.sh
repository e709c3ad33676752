#!/usr/bin/env bash
# Installs this build to a folder of its own, and builds and runs a program with what lies there: by CMake's
# find_package and by pkg-config.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$FTL_BINARY_DIR" --prefix "$folder/prefix" >"$folder/log" 2>&1 || {
    cat "$folder/log"
    exit 1
}
test -x "$folder/prefix/bin/ftlctl"

mkdir "$folder/consumer"
cat >"$folder/consumer/main.cpp" <<'CPP'
#include <cstdio>
#include <ftlfeed/core/version.hpp>
#include <ftlfeed/store/migrator.hpp>

int main() {
    std::printf("%zu migrations\n", ftlfeed::store::migrations().size());
    return ftlfeed::store::migrations().empty() ? 1 : 0;
}
CPP
cat >"$folder/consumer/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(ftlfeed 0.1 REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE ftlfeed::ftlfeed)
CMAKE

# A sanitized library needs the sanitizer's runtime in the program that links it.
flags=$(sed -n 's/^FTL_SANITIZE:STRING=address+undefined$/-fsanitize=address,undefined/p; s/^FTL_SANITIZE:STRING=thread$/-fsanitize=thread/p' \
    "$FTL_BINARY_DIR/CMakeCache.txt")

# Ninja is what the set-up installs: a bare machine has no make.
cmake -G Ninja -S "$folder/consumer" -B "$folder/by-cmake" -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_CXX_FLAGS="$flags"
cmake --build "$folder/by-cmake"
"$folder/by-cmake/consumer"

export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$folder/prefix" -name ftlfeed.pc)")
read -ra words <<<"$flags $(pkg-config --cflags ftlfeed)"
read -ra libraries <<<"$(pkg-config --libs ftlfeed)"
g++ -std=c++20 "${words[@]}" "$folder/consumer/main.cpp" -o "$folder/by-pkg-config" "${libraries[@]}"
"$folder/by-pkg-config"

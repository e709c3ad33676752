#!/usr/bin/env bash
# Builds the programs of examples/embed against an installed prefix, runs each on real servers, and compares what it prints
# with what its page in docs/embed shows.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
database=ftl_examples_$$
trap 'rm -rf "$folder"; psql -qX "$FTL_TEST_PG" -c "DROP DATABASE IF EXISTS $database"' EXIT

cmake --install "$FTL_BINARY_DIR" --prefix "$folder/prefix" >"$folder/log" 2>&1 || {
    cat "$folder/log"
    exit 1
}
# A sanitized library needs the sanitizer's runtime in the program that links it.
flags=$(sed -n 's/^FTL_SANITIZE:STRING=address+undefined$/-fsanitize=address,undefined/p; s/^FTL_SANITIZE:STRING=thread$/-fsanitize=thread/p' \
    "$FTL_BINARY_DIR/CMakeCache.txt")
cmake -G Ninja -S "$root/examples/embed" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" \
    -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror $flags"
cmake --build "$folder/build"

psql -qX "$FTL_TEST_PG" -c "CREATE DATABASE $database"
uri=${FTL_TEST_PG/\/postgres/\/$database}
failed=0
for source in "$root"/examples/embed/*.cpp; do
    name=$(basename "$source" .cpp)
    case $name in
        destination_queue) place=() ;;
        cache_client)
            # A database that no other test uses, without what an earlier run has left.
            redis-cli -u "redis://$FTL_TEST_REDIS/9" FLUSHDB >/dev/null
            place=("redis://$FTL_TEST_REDIS/9")
            ;;
        *) place=("$uri") ;;
    esac
    "$folder/build/$name" "${place[@]}" >"$folder/$name.out"
    awk '/^```text$/ { shown = 1; next } /^```$/ { shown = 0 } shown' "$root/docs/embed/$name.md" >"$folder/$name.page"
    test -s "$folder/$name.page" || {
        echo "docs/embed/$name.md shows no output"
        failed=1
    }
    diff -u "$folder/$name.page" "$folder/$name.out" || failed=1
done
exit "$failed"

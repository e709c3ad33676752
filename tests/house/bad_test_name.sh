#!/usr/bin/env bash
# The script that labels the tests is run over a listing as doctest would print it.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

labels_of() {
    printf '#!/bin/sh\ncat <<LIST\n<doctest>\n  <TestCase name="%s" testsuite="%s" filename="x/%s.cpp" line="3"/>\n</doctest>\nLIST\n' \
        "$@" >"$folder/listing"
    chmod +x "$folder/listing"
    rm -f "$folder/labels.cmake"
    cmake -D EXECUTABLE="$folder/listing" -D ROOM=core -D NEED=unit -D OUTPUT="$folder/labels.cmake" \
        -P "$FTL_SOURCE_DIR/cmake/ftl_test_labels.cmake" >/dev/null 2>&1
}

expect() {
    grep -qF "$1" "$folder/labels.cmake" || {
        echo "expected: $1"
        cat "$folder/labels.cmake"
        exit 1
    }
}

labels_of 'core.x: a &amp; b &lt; c' 'crash soak' x_threads_test
expect '[==[core.x: a & b < c]==]'
expect 'LABELS "core;unit;threads;crash;soak"'
labels_of 'B21: plain' '' x_test
expect 'LABELS "core;unit")'

for name in 'a; b' 'a [b' 'a] b' 'a, b' 'a &quot;b&quot;'; do
    if labels_of "$name" '' x_test; then
        echo "this name was taken: $name"
        exit 1
    fi
done

#!/usr/bin/env bash
# doctest calls a run of nothing a success; our main does not.
set -euo pipefail
test_program=$1

"$test_program" --list-test-cases >/dev/null
"$test_program" --test-case='house: a condition*' >/dev/null
result=0
"$test_program" --test-case='no test is called this' >/dev/null 2>&1 || result=$?
if ((result != 3)); then
    echo "a run of no test case ended with $result"
    exit 1
fi

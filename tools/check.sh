#!/usr/bin/env bash
# Judges the sources by clang-format-16 and clang-tidy-16. Where these are not installed it says so and exits 0.
set -euo pipefail

readonly kUsage='usage: tools/check.sh format         every source file; prints what is not as it should be
       tools/check.sh tidy BUILD      every .cpp of lib/, apps/ and bench/, by the compile commands in BUILD
       tools/check.sh tidy BUILD FILE...'

cd "$(dirname "$0")/.."

has() {
    command -v "$1" >/dev/null && return
    echo "check.sh: skipped: $1 is not installed here"
    return 1
}

sources() {
    find include lib apps tests bench -name '*.cpp' -o -name '*.hpp' | sort
}

format() {
    has clang-format-16 || return 0
    sources | xargs -r clang-format-16 --dry-run -Werror --ferror-limit=5
    echo "check.sh: the format of $(sources | wc -l) files is right"
}

# The slowest first, so that no core is left alone with one at the end.
tidy_order() {
    local heavy
    heavy=$(grep -lE '<boost/(beast|asio)' "$@" || true)
    echo "$heavy"
    printf '%s\n' "$@" | grep -vxF "${heavy:-none}" || true
}

tidy() {
    local build=$1
    shift
    has clang-tidy-16 || return 0
    local files=("$@")
    if ((${#files[@]} == 0)); then mapfile -t files < <(find lib apps bench -name '*.cpp' | sort); fi
    tidy_order "${files[@]}" | grep . | xargs -r -P "$(nproc)" -n 1 \
        bash -c 'out=$(clang-tidy-16 --quiet --extra-arg=-Wno-unknown-warning-option -p "$1" "$2" 2>/dev/null) || { echo "$out"; echo "check.sh: tidy: $2" >&2; exit 1; }' \
        tidy "$build"
    echo "check.sh: ${#files[@]} files are tidy"
}

case ${1:-} in
    format) format ;;
    tidy)
        if (($# < 2)); then
            echo "$kUsage" >&2
            exit 2
        fi
        shift
        tidy "$@"
        ;;
    --help) echo "$kUsage" ;;
    *)
        echo "$kUsage" >&2
        exit 2
        ;;
esac

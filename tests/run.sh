#!/usr/bin/env bash
# Sets up, builds, starts private servers, and runs the tests once by ctest. README.md and CONTRIBUTING.md show its use.
set -euo pipefail

readonly kUsage='usage: tests/run.sh [--full] [--preset dev|asan|tsan] [ctest arguments]...

  tests/run.sh                    everything but the long forms
  tests/run.sh -L capture         one room; labels: rooms, and unit pg redis net fuzz crash packaging soak threads
  tests/run.sh -R "B21"           by name
  tests/run.sh --full             the long forms too (soak, more seeds), and a release build

Exits 0 when all tests passed. What ctest prints goes to standard output, all else to standard error.
FTL_TEST_SERVERS=DIR uses servers that tools/servers.sh has started there. FTL_JOBS=N sets how many tests run at once.'

cd "$(dirname "$0")/.."

preset=dev
full=no
# ctest leaves out what matches *all* of several -LE, so they are joined to one.
left_out=()
arguments=()
while (($#)); do
    case $1 in
        --help)
            echo "$kUsage"
            exit 0
            ;;
        --full) full=yes ;;
        --preset)
            if (($# < 2)); then
                echo "$kUsage" >&2
                exit 2
            fi
            preset=$2
            shift
            ;;
        -LE | --label-exclude)
            left_out+=("(${2:?"$1 needs a label"})")
            shift
            ;;
        *) arguments+=("$1") ;;
    esac
    shift
done

# g++ 12's tsan does not start where the kernel spreads addresses wider than it knows; the build runs its programs too.
if [[ $preset == tsan && -z ${FTL_FIXED_ADDRESSES:-} ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
    if [[ $full == yes ]]; then arguments+=(--full); fi
    FTL_FIXED_ADDRESSES=1 exec setarch "$(uname -m)" -R tests/run.sh --preset tsan "${arguments[@]}" \
        ${left_out[@]:+-LE "$(IFS='|' && echo "${left_out[*]}")"}
fi

servers=''

# Whatever ends this run, its servers end too.
stop_servers() {
    [[ -n $servers ]] || return 0
    tools/servers.sh stop "$servers/run" || true
    rm -rf "$servers"
}
trap stop_servers EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Runs a step, tells how long it took, and shows the end of its output only when it fails.
step() {
    local name=$1 log begin
    shift
    begin=$SECONDS
    log=build/$preset.log
    if ! "$@" >"$log" 2>&1; then
        tail -n 80 "$log" >&2
        echo "tests/run.sh: $name failed" >&2
        exit 1
    fi
    printf 'tests/run.sh: %-9s %4d s\n' "$name" $((SECONDS - begin)) >&2
}

# Joined by &&, here and below: inside what `step` tests, the shell heeds no `set -e`.
build() {
    cmake --preset "$preset" && cmake --build --preset "$preset"
}

# Optimised, g++ looks further and warns of more.
build_release() {
    cmake --preset release && cmake --build --preset release
}

start_servers() {
    # One database for each test, thrown away with the server: none is worth a vacuum, nor a drop.
    tools/servers.sh start "$servers/run" && source "$servers/run/servers.env" &&
        psql -qX "$FTL_PG_URI" -c "ALTER SYSTEM SET autovacuum_naptime = '1h'" -c 'SELECT pg_reload_conf()'
}

mkdir -p build
step set-up tools/setup.sh run test
# What another clone or preset has compiled alike is taken from there.
if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi
step build build
if [[ $full == yes && $preset == dev ]]; then step release build_release; fi
if [[ -n ${FTL_TEST_SERVERS:-} ]]; then
    source "$FTL_TEST_SERVERS/servers.env"
else
    servers=$(mktemp -d "${TMPDIR:-/tmp}/ftl-servers.XXXXXX")
    # mktemp keeps others out, but the servers' user must get through.
    chmod 755 "$servers"
    step servers start_servers
    source "$servers/run/servers.env"
    export FTL_TEST_SERVERS=$servers/run FTL_TEST_PG_DISPOSABLE=1
fi
export FTL_TEST_PG=$FTL_PG_URI FTL_TEST_REDIS=$FTL_REDIS_HOST:$FTL_REDIS_PORT PG_BIN

if [[ $full == yes ]]; then
    export FTL_FULL=1
else
    left_out+=('(^soak$)')
fi
if ((${#left_out[@]})); then
    arguments+=(-LE "$(IFS='|' && echo "${left_out[*]}")")
fi

begin=$SECONDS
result=0
# Halting errors of the sanitizers are failures; one test at a time for each core, and one more that waits for a disk.
ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
    LSAN_OPTIONS=suppressions=$PWD/tests/support/lsan.supp:print_suppressions=0 \
    ctest --test-dir "build/$preset" --no-tests=error --output-on-failure -j "${FTL_JOBS:-$(($(nproc) + 1))}" \
    "${arguments[@]}" || result=$?
printf 'tests/run.sh: %-9s %4d s\n' tests $((SECONDS - begin)) >&2
exit "$result"

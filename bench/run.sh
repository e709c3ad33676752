#!/usr/bin/env bash
# Measures one thing, beside its peers: bench/run.sh NAME. README.md in this folder says how a bench is made.
set -euo pipefail

readonly kUsage='usage: bench/run.sh NAME [--rounds N]      N is 5 at least

Writes bench/results/NAME.json: the median of each figure, with rounds and commit. Exits 3 when other processes used
more than 15 % of a core meanwhile: then the figures say little.'

cd "$(dirname "$0")/.."

name=${1:-}
case $name in
    --help)
        echo "$kUsage"
        exit 0
        ;;
    '' | -* | */*)
        echo "$kUsage" >&2
        exit 2
        ;;
esac
if [[ ! -x bench/$name/run ]]; then
    echo "bench/run.sh: there is no bench '$name'; there are: $(cd bench && ls -d */ | grep -v results | tr -d / | xargs)" >&2
    exit 2
fi
shift

servers=''
finish() {
    [[ -n $servers ]] || return 0
    tools/servers.sh stop "$servers/run" || true
    rm -rf "$servers"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

tools/setup.sh run bench
mkdir -p build bench/results
# Joined by &&: the shell heeds no `set -e` inside what it tests itself.
build() {
    cmake --preset release && cmake --build --preset release || return
    if [[ -e bench/$name/CMakeLists.txt ]]; then cmake --build build/release --target "bench_$name"; fi
}
build >build/bench.log 2>&1 || {
    cat build/bench.log >&2
    exit 1
}

servers=$(mktemp -d "${TMPDIR:-/tmp}/ftl-bench.XXXXXX")
chmod 755 "$servers"
tools/servers.sh start "$servers/run"
set -a
source "$servers/run/servers.env"
set +a

python=/usr/bin/python3
[[ -x $python ]] || python=python3
FTL_BIN=$PWD/build/release/bin FTL_BENCH_FOLDER=$servers "$python" -B bench/harness.py "$name" "$@" \
    --also "$(head -1 "$PGDATA/postmaster.pid")" --also "$(cat "$servers/run/redis/redis.pid")"

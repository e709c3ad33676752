#!/usr/bin/env bash
# Plays a whole tournament: a provider that behaves like the real one, capture, build, delivery into a client's folder,
# and a checker that recounts everything. Everything runs on this machine, in a folder of its own.
set -euo pipefail

readonly kUsage='usage: examples/quickstart.sh [--data FILE] [--speed N|max] [--once] [--dir DIR] [--keep]

  --data FILE  the tournament, in openfootball'"'"'s JSON (default: a made-up one with 32 teams)
  --speed N    N times real time, or max: as fast as everything goes (default: max with --once, else 60)
  --once       play everything, check it, end; without it a live picture is shown until Ctrl-C
  --dir DIR    keep the summary, the client'"'"'s folder and the logs there (default: a temporary folder, removed)
  --keep       keep the database files too

With --once it ends with 0 when the recount agrees. FTL_BIN=FOLDER takes the programs from there: nothing is installed
or built then.'

readonly kEvent=cup
readonly kSeason=1
readonly kToken=quickstart-token
readonly kStartSeconds=30
readonly kStopSeconds=30

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly helpers=$root/examples/quickstart

data='' speed='' once=no dir='' keep=no is_temporary=no
declare -A pids=()
started=$(date +%s%N)

fail() {
    echo "quickstart: $*" >&2
    exit 1
}

usage_error() {
    echo "quickstart: $*" >&2
    echo "$kUsage" >&2
    exit 2
}

say() { echo "quickstart: $*" >&2; }

# Tells how long the step took that ends now.
step_done() {
    local now seconds
    now=$(date +%s%N)
    seconds=$(awk -v ns=$((now - started)) 'BEGIN { printf "%.1f", ns / 1e9 }')
    say "$1: $seconds s"
    started=$now
}

read_arguments() {
    while (($#)); do
        case $1 in
            --data) data=${2:?--data needs a file}; shift ;;
            --speed) speed=${2:?--speed needs a number or max}; shift ;;
            --dir) dir=${2:?--dir needs a folder}; shift ;;
            --once) once=yes ;;
            --keep) keep=yes ;;
            --help | -h) echo "$kUsage"; exit 0 ;;
            *) usage_error "'$1' is not an option" ;;
        esac
        shift
    done
    [[ -n $speed ]] || { [[ $once == yes ]] && speed=max || speed=60; }
    [[ $speed == max || $speed =~ ^[0-9]+(\.[0-9]+)?$ && ! $speed =~ ^0+(\.0+)?$ ]] ||
        usage_error "--speed is '$speed'; it has to be max or a number above 0"
    # Relative paths are the caller's.
    if [[ -n $data ]]; then
        [[ -r $data ]] || fail "cannot read $data"
        data=$(readlink -f "$data")
    fi
}

make_dir() {
    if [[ -z $dir ]]; then
        dir=$(mktemp -d /tmp/ftl-quickstart.XXXXXX)
        is_temporary=yes
        # The servers run as another user when we are root.
        chmod 755 "$dir"
    else
        mkdir -p "$dir" || fail "cannot make $dir"
        dir=$(readlink -f "$dir")
    fi
    exec 8>"$dir/.lock"
    flock -n 8 || fail "another quickstart runs in $dir"
    # What an earlier run left here. Nothing else in DIR is ours.
    if [[ -d $dir/servers ]]; then "$root/tools/servers.sh" stop "$dir/servers"; fi
    rm -rf "$dir/receivers" "$dir/logs" "$dir/servers" "$dir/run"
    rm -f "$dir/summary.json"
    mkdir -p "$dir"/receivers/{directory,webhook,pull,pull-gzip} "$dir/logs" "$dir/run"
}

build() {
    if [[ -n ${FTL_BIN:-} ]]; then
        bin=$(readlink -f "$FTL_BIN")
        return
    fi
    "$root/tools/setup.sh" run || exit
    step_done 'set-up'
    # The folder of preset dev: the tests build on what is here, and this on what the tests have built.
    local build=$root/build/dev
    mkdir -p "$build"
    exec 9>"$build/.quickstart.lock"
    flock 9
    # As tests/run.sh has it, or each would compile what the other has.
    if command -v ccache >/dev/null; then
        export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
    fi
    if [[ ! -e $build/build.ninja ]]; then
        local -a options=()
        # The tests need a package that the quickstart does not; tests/run.sh switches them on.
        [[ -e /usr/include/doctest/doctest.h ]] || options=(-DFTL_TESTS=OFF)
        (cd "$root" && cmake --preset dev "${options[@]}") >"$dir/logs/build.log" 2>&1 ||
            { tail -30 "$dir/logs/build.log" >&2; fail 'configuring failed'; }
    fi
    cmake --build "$build" --target ftl-sim ftl-ingest ftl-deliver ftl-serve ftlctl >>"$dir/logs/build.log" 2>&1 ||
        { tail -30 "$dir/logs/build.log" >&2; fail 'the build failed'; }
    exec 9>&-
    bin=$build/bin
    step_done 'build'
}

start_servers() {
    "$root/tools/servers.sh" start "$dir/servers"
    # shellcheck disable=SC1091
    source "$dir/servers/servers.env"
    "$PG_BIN/psql" -XqAt "$FTL_PG_URI" -c 'CREATE DATABASE ftl' >/dev/null
    uri=${FTL_PG_URI%/*}/ftl
    export FTL_POSTGRES_URI=$uri
    step_done 'servers'
}

set_up_installation() {
    local ctl=$bin/ftlctl type
    (umask 077 && od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >"$dir/run/master.key" && echo >>"$dir/run/master.key")
    (umask 077 && echo "$kToken" >"$dir/run/token")
    {
        "$ctl" migrate up
        "$ctl" event add "$kEvent" --season "$kSeason" --name 'Quickstart'
        for type in goal penalty; do "$ctl" event rule set "$kEvent" "$type" scorer 50000; done
        "$ctl" event rule set "$kEvent" own_goal own_goal -20000
        for type in goal penalty own_goal; do
            "$ctl" event rule set "$kEvent" "$type" team 20000
            "$ctl" event rule set "$kEvent" "$type" opponent -10000
        done
        "$ctl" client add demo --name 'Demo client'
        "$ctl" destination add demo directory --transport directory --folder "$dir/receivers/directory"
        "$ctl" destination add demo redis --transport redis --host "$FTL_REDIS_HOST" --port "$FTL_REDIS_PORT" \
            --database-number 1 --key-prefix demo:
        "$ctl" client entitle demo
        "$ctl" destination add demo webhook --transport webhook --on-retire delete \
            --url "http://127.0.0.1:$(cat "$dir/run/webhook.port")/feeds" --secret-file - \
            --deliver.master_key_file "$dir/run/master.key" <"$dir/run/webhook.secret"
    } >"$dir/logs/ftlctl.log" 2>&1 || { cat "$dir/logs/ftlctl.log" >&2; fail 'ftlctl failed'; }
    (umask 077 && "$ctl" key issue demo --json | sed 's/.*"key":"\([^"]*\)".*/\1/' >"$dir/run/pull.key")
    if [[ -z $data ]]; then
        data=$dir/run/tournament.json
        "$bin/ftl-sim" generate --seed 1 --out "$data"
    fi
    step_done 'tables, event, client'
}

# Starts a program in the background; its output goes to a log. Ctrl-C is for us alone: we end the others in order.
launch() {
    local name=$1
    shift
    setsid "$@" >>"$dir/logs/$name.log" 2>&1 8>&- &
    pids[$name]=$!
}

wait_for_file() {
    local name=$1 file=$2 tick
    for ((tick = 0; tick < kStartSeconds * 50; tick++)); do
        [[ -s $file ]] && return
        [[ -d /proc/${pids[$name]} ]] || break
        sleep 0.02
    done
    tail -5 "$dir/logs/$name.log" >&2
    fail "$name does not start; its log is above"
}

# Before the installation is set up: the webhook's port is part of its URL.
start_receivers() {
    launch ftl-sim-receive "$bin/ftl-sim" receive --folder "$dir/receivers/directory" \
        --log "$dir/receivers/directory.jsonl" --ready-file "$dir/run/receive.ready"
    wait_for_file ftl-sim-receive "$dir/run/receive.ready"
    (umask 077 && echo "whsec_$(head -c 32 /dev/urandom | base64)" >"$dir/run/webhook.secret")
    launch ftl-sim-webhook "$bin/ftl-sim" receive --http 0 --port-file "$dir/run/webhook.port" \
        --secret-file "$dir/run/webhook.secret" --store "$dir/receivers/webhook" --log "$dir/receivers/webhook.jsonl"
    wait_for_file ftl-sim-webhook "$dir/run/webhook.port"
}

poll_interval_ms() {
    if [[ $speed == max ]]; then
        echo 0
    else
        awk -v speed="$speed" 'BEGIN { ms = 10000 / speed; printf "%d", ms < 100 ? 100 : ms }'
    fi
}

# A client that asks for every file again and again; watch.py tells it which files there are.
launch_pulling() {
    local name=$1
    shift
    : >>"$dir/run/files"
    launch "ftl-sim-$name" "$bin/ftl-sim" pull --url "http://127.0.0.1:$(cat "$dir/run/serve.port")" \
        --key-file "$dir/run/pull.key" --files "@$dir/run/files" --interval 200 --log "$dir/receivers/$name.jsonl" \
        --folder "$dir/receivers/$name" "$@"
}

start_programs() {
    launch ftl-sim-provider "$bin/ftl-sim" provider --data "$data" --speed "$speed" --season "$kSeason" \
        --token "$kToken" --port-file "$dir/run/provider.port"
    wait_for_file ftl-sim-provider "$dir/run/provider.port"
    provider=http://127.0.0.1:$(cat "$dir/run/provider.port")
    local cache=redis://$FTL_REDIS_HOST:$FTL_REDIS_PORT/0
    launch ftl-deliver "$bin/ftl-deliver" --deliver.enabled true --deliver.master_key_file "$dir/run/master.key" \
        --deliver.allowed_hosts 127.0.0.1 --cache.uri "$cache" --build.audit_interval_ms 1000 --build.audit_pause_ms 20
    launch ftl-serve "$bin/ftl-serve" --serve.address 127.0.0.1:0 --serve.port_file "$dir/run/serve.port" --cache.uri "$cache"
    wait_for_file ftl-serve "$dir/run/serve.port"
    launch_pulling pull
    launch_pulling pull-gzip --gzip
    launch ftl-ingest "$bin/ftl-ingest" --provider.url "$provider" --provider.token_file "$dir/run/token" \
        --ingest.poll_interval_ms "$(poll_interval_ms)"
    step_done 'programs'
}

# Gone, or a zombie that nobody has waited for. Not `$(</proc/…)`: where the file vanishes at that moment bash ends at once.
has_ended() {
    local state
    { read -r state <"/proc/$1/stat"; } 2>/dev/null || return 0
    [[ $state == *') Z '* ]]
}

# SIGTERM: a program finishes what it has begun and ends with 0.
end_program() {
    local name=$1 pid=${pids[$1]:-} tick
    [[ -n $pid ]] || return 0
    unset "pids[$name]"
    kill -TERM "$pid" 2>/dev/null || true
    for ((tick = 0; tick < kStopSeconds * 20; tick++)); do
        has_ended "$pid" && break
        sleep 0.05
    done
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null
}

watch_arguments() {
    local name
    watching=(--postgres "$uri" --provider "$provider" --pull-list "$dir/run/files"
        --pulled "$dir/receivers/pull" --pulled "$dir/receivers/pull-gzip")
    for name in "${!pids[@]}"; do watching+=(--process "$name=${pids[$name]}"); done
}

play() {
    local name
    watch_arguments
    if [[ $once == no ]]; then
        /usr/bin/python3 "$helpers/watch.py" picture "${watching[@]}"
        return
    fi
    /usr/bin/python3 "$helpers/watch.py" until-end "${watching[@]}" || fail "it did not come to its end; logs: $dir/logs"
    step_done 'play'
    end_program ftl-ingest || fail "ftl-ingest did not end cleanly; log: $dir/logs/ftl-ingest.log"
    end_program ftl-deliver || fail "ftl-deliver did not end cleanly; log: $dir/logs/ftl-deliver.log"
    for name in ftl-sim-pull ftl-sim-pull-gzip ftl-serve; do
        end_program "$name" || fail "$name did not end cleanly; log: $dir/logs/$name.log"
    done
    end_program ftl-sim-provider || true
    for name in ftl-sim-receive ftl-sim-webhook; do
        end_program "$name" || fail "$name did not end cleanly; log: $dir/logs/$name.log"
    done
    step_done 'stop'
    /usr/bin/python3 "$root/tests/checker/check.py" --data "$data" --dir "$dir" --postgres "$uri" \
        --redis "$FTL_REDIS_HOST:$FTL_REDIS_PORT" "$FTL_REDIS_HOST:$FTL_REDIS_PORT/1" --out "$dir/summary.json" || fail "the recount differs; what the client has: $dir/receivers"
    step_done 'check'
}

clean_up() {
    local code=$? name
    trap '' INT TERM
    trap - EXIT
    set +e
    for name in ftl-ingest ftl-deliver ftl-sim-pull ftl-sim-pull-gzip ftl-serve ftl-sim-provider ftl-sim-receive \
        ftl-sim-webhook; do
        end_program "$name"
    done
    [[ -n $dir ]] || exit "$code"
    if [[ $keep == yes || $code -ne 0 && $code -ne 130 && $code -ne 143 ]]; then
        [[ -d $dir/servers ]] && "$root/tools/servers.sh" stop "$dir/servers" --keep
        say "database files and logs stay in $dir"
    else
        [[ -d $dir/servers ]] && "$root/tools/servers.sh" stop "$dir/servers"
        rm -rf "$dir/run" "$dir/servers"
        rm -f "$dir/.lock"
        [[ $is_temporary == yes ]] && rm -rf "$dir"
    fi
    exit "$code"
}

main() {
    read_arguments "$@"
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    make_dir
    build
    start_servers
    start_receivers
    set_up_installation
    start_programs
    play
    if [[ $once == yes ]]; then
        cat "$dir/summary.json"
        [[ $is_temporary == yes ]] || say "summary, client's folder and logs: $dir"
    fi
}

main "$@"

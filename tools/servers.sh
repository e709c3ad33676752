#!/usr/bin/env bash
# Private servers for tests, benches and the quickstart: a Postgres (fsync on) and a Redis on free ports, all below DIR.
set -euo pipefail

readonly kUsage='usage: tools/servers.sh start DIR                    start both, write DIR/servers.env
       tools/servers.sh stop DIR [--keep]            end both; remove what they wrote unless --keep
       tools/servers.sh restart-postgres DIR [MODE]  stop Postgres by MODE (fast or immediate), start it again
       tools/servers.sh stop-postgres DIR [MODE]     stop Postgres alone by MODE
       tools/servers.sh start-postgres DIR           start it again on its port
       tools/servers.sh restart-redis DIR            kill Redis, start it again on its port, empty

DIR/servers.env can be sourced: FTL_PG_URI FTL_PG_PORT FTL_REDIS_HOST FTL_REDIS_PORT PGDATA PG_BIN.
The servers take no password and listen on 127.0.0.1 only. Run as root, they run as nobody.'

readonly kStartAttemptsMax=8
readonly kStopSeconds=30

fail() {
    echo "servers.sh: $*" >&2
    exit 1
}

# Where initdb and postgres are. Never from PATH: Debian keeps them out of it.
pg_bin() {
    local folder
    if folder=$(pg_config --bindir 2>/dev/null) && [[ -x $folder/initdb ]]; then
        echo "$folder"
        return
    fi
    for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV); do
        [[ -x $folder/initdb ]] || continue
        echo "$folder"
        return
    done
    fail "no Postgres server is installed (tools/setup.sh run installs it)"
}

# Postgres refuses to run as root.
as_server_user() {
    if [[ $EUID -eq 0 ]]; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all env HOME=/nonexistent "$@"
    else
        "$@"
    fi
}

check_passable() {
    local folder=$1 closed=''
    while [[ $folder != / ]]; do
        folder=$(dirname "$folder")
        as_server_user test -x "$folder" || closed=$folder
    done
    [[ -z $closed ]] ||
        fail "$closed cannot be passed by the servers' user (nobody): choose a DIR below another folder, such as /tmp"
}

# A port that nobody listens on, below the range from which the kernel takes the ports of outgoing connections: a client
# that keeps knocking at a stopped server's port inside that range would at last be connected to itself.
free_port() {
    local low=20000 high=32767 range_low port
    read -r range_low _ </proc/sys/net/ipv4/ip_local_port_range
    if ((range_low - 1 < high)); then high=$((range_low - 1)); fi
    if ((high - low < 1000)); then low=5000; fi
    while true; do
        port=$((low + (RANDOM * 32768 + RANDOM) % (high - low)))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# The process id in a pid file, when that process is alive and works in the folder that is ours.
live_pid() {
    local file=$1 folder=$2 pid
    [[ -r $file ]] || return 1
    read -r pid <"$file" || [[ -n $pid ]] || return 1
    [[ $pid =~ ^[0-9]+$ && -d /proc/$pid ]] || return 1
    [[ $(readlink "/proc/$pid/cwd" 2>/dev/null) == "$(readlink -f "$folder")" ]] || return 1
    echo "$pid"
}

wait_gone() {
    local pid=$1 tick
    for ((tick = 0; tick < kStopSeconds * 50; tick++)); do
        [[ -d /proc/$pid ]] || return 0
        # A zombie whose parent does not wait for it is gone as well.
        grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null && return 0
        sleep 0.02
    done
    return 1
}

# Ends a process by signal, and by SIGKILL if that does not help.
end_process() {
    local pid=$1 signal=$2
    kill -"$signal" "$pid" 2>/dev/null || return 0
    wait_gone "$pid" && return 0
    kill -KILL "$pid" 2>/dev/null || true
    wait_gone "$pid" || fail "process $pid does not end"
}

start_postgres_on() {
    local dir=$1 port=$2
    local socket_folder=$dir/run
    # A socket's path has 107 bytes at most; without one there is still TCP.
    if ((${#socket_folder} > 90)); then socket_folder=''; fi
    (cd "$dir" && as_server_user "$(pg_bin)/pg_ctl" start --silent --wait --timeout=30 -D "$dir/postgres" -l "$dir/postgres.log" \
        -o "-c port=$port -c unix_socket_directories='$socket_folder'") >>"$dir/start.log" 2>&1
}

start_redis_on() {
    local dir=$1 port=$2
    (cd "$dir/redis" && as_server_user redis-server --port "$port" --bind 127.0.0.1 --protected-mode yes --dir "$dir/redis" \
        --save '' --appendonly no --daemonize yes --pidfile "$dir/redis/redis.pid" \
        --logfile "$dir/redis.log") >>"$dir/start.log" 2>&1 || return 1
    local tick
    for ((tick = 0; tick < 500; tick++)); do
        live_pid "$dir/redis/redis.pid" "$dir/redis" >/dev/null &&
            [[ $(redis-cli -h 127.0.0.1 -p "$port" config get dir 2>/dev/null | tail -1) == "$dir/redis" ]] && return 0
        # It writes this line and ends when another was faster to take the port.
        grep -q 'Address already in use' "$dir/redis.log" 2>/dev/null && return 1
        sleep 0.01
    done
    return 1
}

init_postgres() {
    local dir=$1
    as_server_user "$(pg_bin)/initdb" -D "$dir/postgres" -U ftl --auth=trust --encoding=UTF8 --locale=C.UTF-8 \
        --no-sync --no-instructions >"$dir/initdb.log" 2>&1 || {
        cat "$dir/initdb.log" >&2
        fail "initdb failed"
    }
    cat >>"$dir/postgres/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
max_connections = 200
max_prepared_transactions = 20
fsync = on
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] %d %a '
max_wal_size = 4GB
CONF
}

make_folders() {
    local dir=$1
    mkdir -p "$dir"
    check_passable "$dir/postgres"
    mkdir -p "$dir/redis" "$dir/run"
    # initdb wants to make or to own its folder, and the servers write their logs beside it.
    if [[ $EUID -eq 0 ]]; then
        mkdir -p "$dir/postgres"
        touch "$dir/postgres.log" "$dir/redis.log"
        chown nobody:nogroup "$dir/postgres" "$dir/redis" "$dir/run" "$dir/postgres.log" "$dir/redis.log"
    fi
}

# Starts one of the servers on a free port; another process may take the port first, so it tries again.
start_on_free_port() {
    local function=$1 dir=$2 port attempt
    for ((attempt = 0; attempt < kStartAttemptsMax; attempt++)); do
        port=$(free_port)
        if "$function" "$dir" "$port"; then
            echo "$port"
            return
        fi
        : >"$dir/redis.log"
    done
    cat "$dir/start.log" "$dir/postgres.log" >&2 || true
    fail "$function: no start in $kStartAttemptsMax attempts"
}

start() {
    local dir=$1 bin pg_port redis_port redis_job
    command -v redis-server >/dev/null || fail "no redis-server is installed (tools/setup.sh run installs it)"
    bin=$(pg_bin)
    mkdir -p "$dir"
    dir=$(readlink -f "$dir")
    if live_pid "$dir/postgres/postmaster.pid" "$dir/postgres" >/dev/null; then fail "servers are running in $dir"; fi
    # Whatever fails from here on, no half of the pair stays behind.
    trap 'stop "'"$dir"'" yes' EXIT
    make_folders "$dir"
    : >"$dir/start.log"
    start_on_free_port start_redis_on "$dir" >"$dir/run/redis.port" &
    redis_job=$!
    [[ -e $dir/postgres/PG_VERSION ]] || init_postgres "$dir"
    pg_port=$(start_on_free_port start_postgres_on "$dir")
    wait "$redis_job" || fail "Redis did not start"
    redis_port=$(cat "$dir/run/redis.port")
    cat >"$dir/servers.env" <<ENV
FTL_PG_URI=postgresql://ftl@127.0.0.1:$pg_port/postgres
FTL_PG_PORT=$pg_port
FTL_REDIS_HOST=127.0.0.1
FTL_REDIS_PORT=$redis_port
PGDATA=$dir/postgres
PG_BIN=$bin
ENV
    trap - EXIT
}

stop_postgres() {
    local dir=$1 mode=$2 pid signal
    case $mode in
        fast) signal=INT ;;
        immediate) signal=QUIT ;;
        *) fail "mode is '$mode'; it may be fast or immediate" ;;
    esac
    pid=$(live_pid "$dir/postgres/postmaster.pid" "$dir/postgres") || return 0
    end_process "$pid" "$signal"
}

start_postgres_again() {
    local dir=$1 port attempt
    port=$(sed -n 's/^FTL_PG_PORT=//p' "$dir/servers.env")
    for ((attempt = 0; attempt < kStartAttemptsMax; attempt++)); do
        start_postgres_on "$dir" "$port" && return 0
        sleep 0.1
    done
    cat "$dir/start.log" >&2
    fail "Postgres does not start again on port $port"
}

restart_redis() {
    local dir=$1 pid port
    port=$(sed -n 's/^FTL_REDIS_PORT=//p' "$dir/servers.env")
    if pid=$(live_pid "$dir/redis/redis.pid" "$dir/redis"); then end_process "$pid" KILL; fi
    : >"$dir/redis.log"
    start_redis_on "$dir" "$port" || fail "Redis does not start again on port $port"
}

stop() {
    local dir=$1 keep=$2 pid
    if pid=$(live_pid "$dir/redis/redis.pid" "$dir/redis"); then end_process "$pid" TERM; fi
    stop_postgres "$dir" fast
    rm -f "$dir/servers.env"
    [[ $keep == yes ]] && return
    rm -rf "$dir/postgres" "$dir/redis" "$dir/run" "$dir/postgres.log" "$dir/redis.log" "$dir/start.log" "$dir/initdb.log"
    rmdir "$dir" 2>/dev/null || true  # Not empty: the rest is not ours.
}

main() {
    if [[ ${1:-} == --help ]]; then
        echo "$kUsage"
        exit 0
    fi
    if (($# < 2 || $# > 3)) || [[ $2 == -* ]]; then
        echo "$kUsage" >&2
        exit 2
    fi
    local verb=$1 dir=$2 option=${3:-}
    if [[ $verb != start ]]; then
        [[ -d $dir ]] || { [[ $verb == stop ]] && exit 0 || fail "no folder $dir"; }
        dir=$(readlink -f "$dir")
    fi
    case $verb/$option in
        start/) start "$dir" ;;
        stop/) stop "$dir" no ;;
        stop/--keep) stop "$dir" yes ;;
        stop-postgres/*) stop_postgres "$dir" "${option:-fast}" ;;
        start-postgres/) start_postgres_again "$dir" ;;
        restart-postgres/*)
            stop_postgres "$dir" "${option:-fast}"
            start_postgres_again "$dir"
            ;;
        restart-redis/) restart_redis "$dir" ;;
        *)
            echo "$kUsage" >&2
            exit 2
            ;;
    esac
}

main "$@"

#!/usr/bin/env bash
# tools/servers.sh against real servers: two pairs at once, a fault, a folder that cannot be passed, and the end.
set -euo pipefail

servers=$FTL_SOURCE_DIR/tools/servers.sh
folder=$(mktemp -d)
chmod 755 "$folder"
finish() {
    "$servers" stop "$folder/one" || true
    "$servers" stop "$folder/two" || true
    rm -rf "$folder"
}
trap finish EXIT

fail() {
    echo "$*"
    exit 1
}

value() {
    (source "$folder/$1/servers.env" && "$PG_BIN/psql" -XqAt "$FTL_PG_URI" -c "$2")
}

"$servers" start "$folder/one" &
"$servers" start "$folder/two" &
wait -n && wait -n || fail 'one of two did not start'

[[ $(value one 'SHOW fsync') == on ]] || fail 'fsync is not on'
[[ $(value one 'SHOW data_directory') == "$folder/one/postgres" ]] || fail 'one is not what answers on its port'
[[ $(value two 'SHOW data_directory') == "$folder/two/postgres" ]] || fail 'two is not what answers on its port'
[[ $(value one 'SHOW listen_addresses') == 127.0.0.1 ]] || fail 'it listens to others'
for name in one two; do
    (source "$folder/$name/servers.env" && redis-cli -h "$FTL_REDIS_HOST" -p "$FTL_REDIS_PORT" set who "$name") >/dev/null
done
[[ $(source "$folder/one/servers.env" && redis-cli -h "$FTL_REDIS_HOST" -p "$FTL_REDIS_PORT" get who) == one ]] ||
    fail 'two pairs share a Redis'

# What was committed survives an immediate stop, on the same port.
value one 'CREATE TABLE kept AS SELECT 7 AS x'
port=$(value one 'SHOW port')
"$servers" restart-postgres "$folder/one" immediate
[[ $(value one 'SELECT x FROM kept') == 7 && $(value one 'SHOW port') == "$port" ]] || fail 'not the same after an immediate stop'
grep -q 'was not properly shut down' "$folder/one/postgres.log" || fail 'the stop was not immediate'

"$servers" start "$folder/one" 2>"$folder/errors" && fail 'started over running servers'
grep -q 'are running' "$folder/errors" || fail "unclear: $(cat "$folder/errors")"

pids=("$(head -1 "$folder/one/postgres/postmaster.pid")" "$(cat "$folder/one/redis/redis.pid")")
"$servers" stop "$folder/two"
value one 'SELECT 1' >/dev/null || fail 'the end of two ended one'
"$servers" stop "$folder/one"
for pid in "${pids[@]}"; do
    ! grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$pid/status" 2>/dev/null || fail "process $pid is left"
done
[[ ! -e $folder/one && ! -e $folder/two ]] || fail "left: $(find "$folder/one" "$folder/two")"
"$servers" stop "$folder/one"

if [[ $EUID -eq 0 ]]; then
    mkdir -m 700 "$folder/closed"
    "$servers" start "$folder/closed/x" 2>"$folder/errors" && fail 'started below a folder that nobody may pass'
    grep -q "$folder/closed cannot be passed" "$folder/errors" || fail "unclear: $(cat "$folder/errors")"
fi

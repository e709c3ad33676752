#!/usr/bin/env bash
# The program of docs/embed/cache_client.md does what the page says: example.sh PROGRAM
set -euo pipefail

host=${FTL_TEST_REDIS%:*} port=${FTL_TEST_REDIS##*:}
redis-cli -h "$host" -p "$port" -n 9 del example:price >/dev/null
diff <("$1" "redis://$host:$port/9") - <<'OUTPUT'
0000000001:00000000000000000001:0000000000 is stored
0000000001:00000000000000000003:0000000000 is stored
0000000001:00000000000000000002:0000000000 is not put: 0000000001:00000000000000000003:0000000000 is held
price 103
OUTPUT

result=0
"$1" http://nowhere 2>/dev/null || result=$?
[[ $result == 2 ]]
result=0
"$1" redis://127.0.0.1:1 2>/dev/null || result=$?
[[ $result == 1 ]]

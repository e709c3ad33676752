#!/usr/bin/env bash
# As a user without root on a machine where one package is missing, as a dpkg-query of ours says.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cp "$FTL_SOURCE_DIR/tools/setup.sh" "$folder/setup.sh"
printf '#!/bin/sh\nfor package; do :; done\n[ "$package" = doctest-dev ] && [ -e "%s/lacks" ] && exit 1\necho -n installed\n' \
    "$folder" >"$folder/dpkg-query"
chmod +x "$folder/dpkg-query"

as_user() {
    if [[ $EUID -eq 0 ]]; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups env PATH="$folder:$PATH" "$@"
    else
        PATH="$folder:$PATH" "$@"
    fi
}

fail() {
    echo "$*"
    exit 1
}

as_user "$folder/setup.sh" run test 2>/dev/null || fail 'all is installed, and it failed'

touch "$folder/lacks"
result=0
output=$(as_user "$folder/setup.sh" run test 2>"$folder/errors") || result=$?
((result == 2)) || fail "ended with $result"
[[ $output == "sudo $folder/setup.sh run test" ]] || fail "printed: $output"
grep -q 'missing: doctest-dev$' "$folder/errors" || fail "said: $(cat "$folder/errors")"

result=0
as_user "$folder/setup.sh" tset >/dev/null 2>&1 || result=$?
((result == 2)) || fail "an unknown group ended with $result"

#!/usr/bin/env bash
# Installs from Debian what a group of tasks needs and this machine lacks, and nothing else.
#
# No service runs or is enabled afterwards that was not before, and no installed package is removed.
set -euo pipefail

readonly kUsage='usage: tools/setup.sh [run|test|check|bench|browser]...   (default: run)

  run      build and run: compiler, libraries, Postgres, Redis, and what the checker needs
  test     the test framework, a compiler cache, git, servers that tests stand behind
  check    clang-format-16 and clang-tidy-16 (left out, with a line, where Debian has no 16)
  bench    what bench/run.sh measures with
  browser  Chromium for the tests of web pages'

readonly kPolicyFile=/usr/sbin/policy-rc.d
readonly kPolicyKept=/usr/sbin/policy-rc.d.before-ftlfeed

say() { echo "setup.sh: $*" >&2; }

is_installed() {
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

is_known() {
    [[ -n $(apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \(.*\)$/\1/p' | grep -v '(none)') ]]
}

# Debian 12 has Boost 1.81 beside its default 1.74; Debian 13's default is newer than that.
boost_package() {
    local release
    release=$(. /etc/os-release && echo "${VERSION_ID:-0}")
    if [[ ${release%%.*} == 12 ]]; then echo libboost1.81-dev; else echo libboost-dev; fi
}

# Node.js as it may have come from elsewhere, with an npm of its own that Debian's would conflict with.
node_packages() {
    command -v node >/dev/null && command -v npm >/dev/null || echo nodejs npm
}

packages_of() {
    case $1 in
        run)
            # The linker comes with binutils, setpriv with util-linux; both are part of any Debian.
            echo ca-certificates cmake g++ libcurl4-openssl-dev libcxxopts-dev libdeflate-dev libfmt-dev libhiredis-dev \
                libpqxx-dev libspdlog-dev libssl-dev libtomlplusplus-dev ninja-build pkg-config postgresql prometheus-cpp-dev \
                python3 python3-psycopg2 python3-redis rapidjson-dev redis-server "$(boost_package)"
            ;;
        test) echo ccache doctest-dev git nginx $(node_packages) ;;
        check) echo clang-format-16 clang-tidy-16 ;;
        bench) echo git libpq-dev nginx python3-httptools python3-starlette python3-uvicorn python3-uvloop wrk ;;
        browser) echo chromium chromium-driver ;;
        *)
            echo "setup.sh: no group is called '$1'" >&2
            echo "$kUsage" >&2
            exit 2
            ;;
    esac
}

missing_of() {
    local group package packages
    for group in "$@"; do
        packages=$(packages_of "$group") || exit 2
        for package in $packages; do
            is_installed "$package" || echo "$package"
        done
    done | sort -u
}

# Every service that is started at boot, as the links that make it so.
enabled_services() {
    find /etc/systemd/system -type l \( -path '*.wants/*' -o -path '/etc/systemd/system/*.service' \) 2>/dev/null
    find /etc/rc2.d /etc/rc3.d /etc/rc4.d /etc/rc5.d -name 'S*' 2>/dev/null
}

# Undoes what the installation enabled: maintainer scripts do that whatever policy-rc.d says.
disable_new_services() {
    local before=$1 link name
    enabled_services | sort | comm -13 <(sort <<<"$before") - | while read -r link; do
        say "not at boot: $link"
        if [[ $link == /etc/rc?.d/S* ]]; then
            name=$(basename "$link")
            update-rc.d "${name#S[0-9][0-9]}" disable >&2
        else
            # To disable a unit is to take this link away; update-rc.d may have done so already.
            rm -f "$link"
        fi
    done
}

# For the length of this call nothing may start a service.
forbid_starts() {
    # A kept file is that of a run that was killed: then the one in its place is ours.
    if [[ ( -e $kPolicyFile || -L $kPolicyFile ) && ! -e $kPolicyKept ]]; then mv "$kPolicyFile" "$kPolicyKept"; fi
    trap allow_starts EXIT
    trap 'exit 130' INT TERM HUP
    printf '#!/bin/sh\nexit 101\n' >"$kPolicyFile"
    chmod 755 "$kPolicyFile"
}

allow_starts() {
    rm -f "$kPolicyFile"
    if [[ -e $kPolicyKept || -L $kPolicyKept ]]; then mv "$kPolicyKept" "$kPolicyFile"; fi
}

# apt-get with patience: another apt may hold the lock, and a mirror may stumble.
apt_get() {
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >&2
}

install_packages() {
    local before
    before=$(enabled_services)
    forbid_starts
    apt_get install --no-install-recommends --no-remove "$@" || {
        apt_get update
        apt_get install --no-install-recommends --no-remove "$@"
    }
    disable_new_services "$before"
}

# Where Debian has no clang 16 the checks are skipped (.ci/run says so too).
drop_unknown_clang() {
    local package
    for package in "$@"; do
        if [[ $package == clang-*-16 ]] && ! is_known "$package"; then
            say "$package is not known here: format and tidy are skipped"
        else
            echo "$package"
        fi
    done
}

main() {
    local groups=("$@") listed missing
    if [[ ${1:-} == --help ]]; then
        echo "$kUsage"
        exit 0
    fi
    ((${#groups[@]})) || groups=(run)
    listed=$(missing_of "${groups[@]}") || exit 2
    mapfile -t missing <<<"$listed"
    if [[ -z $listed ]]; then
        say "nothing is missing for: ${groups[*]}"
        exit 0
    fi
    if [[ $EUID -ne 0 ]]; then
        say "missing: ${missing[*]}"
        say "run this once, then come back:"
        echo "sudo $0 ${groups[*]}"
        exit 2
    fi
    # Package lists that were never fetched know no package at all.
    if ! is_known cmake; then apt_get update; fi
    mapfile -t missing < <(drop_unknown_clang "${missing[@]}")
    if [[ -n ${missing[*]} ]]; then install_packages "${missing[@]}"; fi
    say "ready for: ${groups[*]}"
}

main "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/need.sh PACKAGE...: make sure these Debian packages are installed on
# this machine. As root with apt-get they are installed; otherwise the command
# to type is printed and the status is 3.
set -euo pipefail

installed() {
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
		-o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# The package lists may be absent or old on a fresh machine: one update, then
# one more try.
install() {
	apt install -y --no-install-recommends "$@" && return 0
	apt update && apt install -y --no-install-recommends "$@"
}

missing=()
for package in "$@"; do
	installed "$package" || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
	printf 'missing here: %s\nas root: apt-get install %s\n' \
		"${missing[*]}" "${missing[*]}" >&2
	exit 3
fi

printf '  .. installing %s\n' "${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! install "${missing[@]}" >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	printf 'cannot install: %s\n' "${missing[*]}" >&2
	exit 3
fi

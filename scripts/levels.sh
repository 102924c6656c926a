#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/levels.sh LEVEL...: run these levels of tests one after the other and
# print the sum of their closing lines last. LEVEL is a target of the Makefile.
#
# A level goes on whatever happened to the one before it. A level that ends
# without its closing line, or with an error although nothing failed, is broken
# and counts as one failure.
#
# CHECK_MINUTES=N: all levels together get N minutes; one that is still running
# then is stopped and counts as broken, and so do those after it.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

logs=$BUILD/check
closing='^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$'
passed=0 failed=0 skipped=0 summary=()

# add_up LEVEL STATUS SECONDS: take the last closing line of the level's log.
add_up() {
	local level=$1 status=$2 took=$3 line p=0 f=0 s=0

	line=$(tail -n 40 "$logs/$level.log" | grep -E "$closing" | tail -n 1) || line=
	if [ -n "$line" ]; then
		# shellcheck disable=SC2034
		IFS=' ,' read -r p _ f _ s _ <<<"$line"
	fi
	if [ -z "$line" ]; then
		line="broken: no closing line (status $status)"
		f=1
	elif [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		line="broken: status $status after \"$line\""
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	summary+=("$(printf '%-12s %5d s  %s' "$level" "$took" "$line")")
}

# Seconds left of CHECK_MINUTES; timeout takes 0 for no limit.
seconds_left() {
	local left

	[ -n "${CHECK_MINUTES:-}" ] || { echo 0; return; }
	left=$((CHECK_MINUTES * 60 - SECONDS))
	echo $((left > 1 ? left : 1))
}

run_level() {
	local level=$1 t0=$SECONDS status=0

	printf '\n==== %s (%s)\n' "$level" "$(date +%H:%M:%S)"
	timeout -k 10 "$(seconds_left)" \
		"${MAKE:-make}" --no-print-directory -C "$TOP" "$level" </dev/null 2>&1 |
		tee "$logs/$level.log" || status=${PIPESTATUS[0]}
	add_up "$level" "$status" $((SECONDS - t0))
}

[ $# -gt 0 ] || die "usage: scripts/levels.sh LEVEL..."
mkdir -p "$logs"
for level in "$@"; do
	run_level "$level"
done

printf '\n==== all levels, %d s\n' "$SECONDS"
printf '%s\n' "${summary[@]}"
close_level "$passed" "$failed" "$skipped"

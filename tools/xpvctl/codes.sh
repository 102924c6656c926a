#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# tools/xpvctl/codes.sh: the codes of "explain" and "check" are the same set in
# the program, its manual page and docs/operations.md, and each has a test.
set -euo pipefail
cd "$(dirname "$0")/../.."

status=0

codes() {
	grep -ohE "$1" "${@:2}" | grep -oE '[EC]-[A-Z-]+[A-Z]' | sort -u
}

# same NAME FILE...: what the other place has must be what the program has.
same() {
	local name=$1 difference

	difference=$(diff <(printf '%s\n' "$program") <(codes "$2" "${@:3}") | grep '^[<>]' || true)
	[[ -z $difference ]] && return
	printf '%s: codes differ from the program (<: lacks, >: too many)\n%s\n' "$name" \
		"$difference"
	status=1
}

program=$(codes '"[EC]-[A-Z-]+[A-Z]"' tools/xpvctl/*.c)
same 'manual page' '^\.It Cm [EC]-[A-Z-]+[A-Z]$' tools/xpvctl/xpvctl.8
# shellcheck disable=SC2016  # the ticks of the document
same 'docs/operations.md' '^\| `[EC]-[A-Z-]+[A-Z]` ' docs/operations.md

while read -r reason; do
	grep -q "\b$reason\b" test/tools/test_*.c && continue
	echo "$reason: no test expects it"
	status=1
done < <(grep -ohE '\[REASON_[A-Z_]+\]' tools/xpvctl/reasons.c | tr -d '[]')

exit $status

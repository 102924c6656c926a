# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What the scripts share: where the tree is, how progress looks, how a level of
# tests closes. To be sourced; it changes nothing by itself.

# shellcheck disable=SC2034
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build

# say TEXT...: a line of progress, never part of a result.
say() {
	printf '  .. %s\n' "$*"
}

# die TEXT...: stop, the reason last on stderr.
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 2
}

# close_level PASSED FAILED SKIPPED: the closing line every level ends with;
# the status says whether anything failed.
close_level() {
	printf '%d passed, %d failed, %d skipped\n' "$1" "$2" "$3"
	[ "$2" -eq 0 ]
}

# heartbeat LOG WORD: until killed, one line of progress every 20 seconds for
# a command that writes its own output to LOG. It takes its sleep with it: one
# left behind would keep the locks of the script open.
heartbeat() {
	local t0=$SECONDS nap=

	trap 'kill "$nap" 2>/dev/null; exit 0' TERM
	while true; do
		sleep 20 &
		nap=$!
		wait "$nap"
		say "$2: $((SECONDS - t0)) s, $(wc -l <"$1") lines of output"
	done
}

# logged LOG WORD CMD...: run CMD with its output in LOG, with a heartbeat.
# The caller decides what to show of LOG.
logged() {
	local log=$1 word=$2 beat rc=0

	shift 2
	mkdir -p "$(dirname "$log")"
	: >"$log"
	heartbeat "$log" "$word" &
	beat=$!
	"$@" >"$log" 2>&1 </dev/null || rc=$?
	kill "$beat" 2>/dev/null || true
	wait "$beat" 2>/dev/null || true
	return "$rc"
}

# copy_sources DIR: what a module build needs, files older than the copy are
# left alone so that make sees only what changed.
copy_sources() {
	mkdir -p "$1"
	cp -pru "$TOP/Kbuild" "$TOP/drivers" "$TOP/include" "$1/"
}

# in_root KERNEL CMD...: run in the root folder of that kernel; the tree is at
# /src there, and /src is the working directory.
in_root() {
	"$TOP/scripts/root.sh" run "$@"
}

# root_needs KERNEL COMMAND:PACKAGE...: install into that root folder the
# packages whose command is missing there.
root_needs() {
	local kernel=$1 root pair missing=()

	shift
	root=$("$TOP/scripts/root.sh" "$kernel")
	for pair in "$@"; do
		[ -e "$root/usr/bin/${pair%%:*}" ] || missing+=("${pair##*:}")
	done
	[ "${#missing[@]}" -eq 0 ] && return 0
	say "installing in the $kernel root: ${missing[*]}"
	in_root "$kernel" sh -c "apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
		apt-get -qq install -y --no-install-recommends ${missing[*]}" \
		>"$BUILD/root-needs-$kernel.log" 2>&1 ||
		die "cannot install ${missing[*]}; see build/root-needs-$kernel.log"
}

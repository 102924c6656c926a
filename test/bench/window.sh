# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2317
#
# A window of the machine's time in which every instruction is counted, by
# processor and address: dom0 is processor 0, the guest 1.  Sourced after
# machine.sh, by what tells where a row's work goes.
#
# window_init			once, before bench_up
# window_pair FRONT BACK ROW...	a guest on these drivers, pinned, and its symbols
# window_take ROW MS FILE...	run the row, count for MS of it

# The machine of the rig with the plugin in it.
window_init() {
	"$top/scripts/need.sh" gcc libc6-dev >&2
	mkdir -p "$bench_work"
	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC \
		-o "$bench_work/insns.so" "$bench/insns.c"
	eval "plain_$(declare -f machine_run)"
	machine_run() {
		plain_machine_run -plugin "$bench_work/insns.so,out=$bench_work/dump" "$@"
	}
}

# ADDRESS NAME, sorted; one list a domain, Xen's in both.
window_symbols() {
	local w=$bench_work
	dom0 -t 300 'cat /proc/xen/xensyms' | awk '{ print $1, "xen:" $3 }' >"$w/xen" || true
	dom0 -t 300 'cat /proc/kallsyms' | awk '{ print $1, "linux:" $3 $4 }' >"$w/linux"
	guest -t 600 bench "grep '\[' /proc/kallsyms" |
		awk '{ print $1, "linux:" $3 $4 }' >"$w/modules"
	sort -u "$w/xen" "$w/linux" >"$w/sym.0"
	{ grep -v '\[' "$w/linux"; cat "$w/xen" "$w/modules"; } | sort -u >"$w/sym.1"
}

window_pair() {
	bench_guest "$@"
	dom0 'xl vcpu-pin Domain-0 all 0; xl vcpu-pin bench all 1'
	window_symbols
}

# The command of a row, going on for long enough.
window_load() {
	row_cmd "$1" "$dom0_addr" /dev/xvda "${2:-}" |
		sed 's/-t 1\b/-t 3/; s/-l 1\b/-l 3/; s/runtime=500ms/runtime=3s/'
}

# window_take ROW MS [FILE...]: counting begins 1.3 s after the row was started.
# Prints what the program "window" says of FILEs in the guest; the counters are
# in $bench_work/dump then: PROCESSOR ADDRESS INSTRUCTIONS RUNS.
window_take() {
	local row=$1 ms=$2 i
	shift 2
	rm -f "$bench_work/dump"
	guest -t 600 bench "($(window_load "$row" "${window_rate:-}")) >/dev/null 2>&1 &
		sleep 1.3; window $ms $*; wait" || die "$row gave no result"
	for ((i = 0; i < 100; i++)); do
		[[ ! -f $bench_work/dump ]] || return 0
		sleep 0.1
	done
	die "$row: the plugin has written nothing"
}

# Blocks and names merged by address; both are sorted. Prints INSTRUCTIONS CALLS
# NAME, where a call is a run of the block at the function's first address.
window_functions() {
	{
		awk '{ print $1, 0, $2 }' "$bench_work/sym.$1"
		awk -v cpu="$1" '$1 == cpu { print $2, 1, $3, $4 }' "$bench_work/dump"
	} | LC_ALL=C sort -k1,1 -k2,2n | awk '
		$2 == 0 { name = $3; at = $1; next }
		$1 < "8000000000000000" { n["user"] += $3; next }
		{ n[name] += $3; if ($1 == at) calls[name] += $4 }
		END { for (i in n) print n[i], calls[i] + 0, i }' | sort -rn
}

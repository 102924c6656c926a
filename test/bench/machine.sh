# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# The machine of the benchmark and its guest, for everything that measures
# there.  Sourced after the libraries of the rig and rows.sh.

# bench_up FOLDER [OPTION...]: a machine in instruction time with the servers of
# the rows in its dom0; OPTIONs are for payload.sh. The caller calls bench_down.
bench_up() {
	bench_work=$1
	shift
	mkdir -p "$bench_work"
	machine_prepare
	"$rig/payload.sh" --to "$bench_work/payload.img" "$@" >&2
	machine_slot
	machine_start "$build/m/$$" "$bench_work/payload.img" || die 'the machine did not start'
	dom0 'blockdev --flushbufs /dev/vdb && mount -r /dev/vdb /payload' ||
		die 'dom0 cannot read the payload'
	bench_setup || die 'the set-up in dom0 failed'
}

bench_down() {
	machine_stop
	rm -rf "$bench_work"
}

# bench_guest FRONT BACK ROW...: back ends and a guest "bench" with the devices
# of these rows, and a second one, "peer", if a row needs it. They read the TSC
# themselves, see docs/testing.md.
bench_guest() {
	local tsc='config=tsc_mode = "native"'
	local -a disk=()
	[[ ${*:3} != *blk_* && ${*:3} != *readahead_* ]] ||
		disk=('disk=phy:/dev/nullb0,xvda,w')
	backend "$2"
	guest_start bench front="$1" vif=bridge=xenbr0 "${disk[@]}" "$tsc" >&2
	[[ ${*:3} == *_guest_to_guest* ]] || return 0
	guest_start peer front="$1" vif=bridge=xenbr0 "$tsc" >&2
	guest peer 'iperf3 -s -D'
}

bench_guest_end() {
	guest_destroy bench
	[[ " ${guest_names[*]} " != *' peer '* ]] || guest_destroy peer
}

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
# of these rows. It reads the TSC itself, see docs/testing.md.
bench_guest() {
	local -a disk=()
	[[ ${*:3} != *blk_* ]] || disk=('disk=phy:/dev/nullb0,xvda,w')
	backend "$2"
	guest_start bench front="$1" vif=bridge=xenbr0 "${disk[@]}" \
		config='tsc_mode = "native"' >&2
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs one case in a machine of its own; called by test/rig/run.
#
# usage: run-case.sh FILE VARIANT OUT PAYLOAD
#
# Leaves in OUT: result (outcome and reason), log, and what Xen, dom0 and the
# guests said.

# Functions shared with the libraries set and read variables of both.
# shellcheck disable=SC2034,SC2154
set -uo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=machine.sh
. "$rig/lib/machine.sh"
# shellcheck source=guest.sh
. "$rig/lib/guest.sh"
# shellcheck source=case.sh
. "$rig/lib/case.sh"
# shellcheck source=scan.sh
. "$rig/lib/scan.sh"
# shellcheck source=netcheck.sh
. "$rig/lib/netcheck.sh"
# shellcheck source=blkcheck.sh
. "$rig/lib/blkcheck.sh"
# shellcheck source=lifecheck.sh
. "$rig/lib/lifecheck.sh"

file=$1 variant=$2 out=$3 payload=$4
case_pid=0

DESCRIPTION='' NEEDS='' QUICK=0 TIMEOUT=300 VARIANTS='' LOG_ALLOW='' LEAKS=1 THREADS=''
# shellcheck source=/dev/null
. "$file"
for word in ${variant//,/ }; do
	declare "${word%%=*}=${word#*=}"
done
# A variant may ask for a dom0 with another kernel.
RIG_DOM0=${dom0:-$RIG_DOM0}

machine_setup() {
	machine_slot
	# Sockets want short paths, QEMU's options want no commas in them.
	machine_start "$build/m/$$" "$payload" &&
		dom0 "echo 'rig: $(basename "$file") begins' >/dev/kmsg
			blockdev --flushbufs /dev/vdb && mount -r /dev/vdb /payload"
}

# The body of the case, in a process of its own so that any failure ends it.
# A command that fails without "check" is an error of the case.
run_test() (
	case_pid=$BASHPID
	trap 'exit $(cat "$out/verdict" 2>/dev/null || echo $RC_ERROR)' USR1
	set -eE
	trap 'rc=$?; [[ $rc -ge 40 && $rc -le 43 ]] || error "exit $rc of line $LINENO: $BASH_COMMAND"' ERR
	test
	end_of_test
)

# What every case ends with: no guest left, nothing leaked.
end_of_test() {
	local name
	for name in "${guest_names[@]}"; do
		guest_destroy "$name"
	done
	[[ $LEAKS == 0 || ! -f $out/leak.before ]] || leak_check
}

# Waits for the body; over its time, a case has failed.
wait_test() {
	local pid=$1 limit until
	limit=$((TIMEOUT * $(patience)))
	until=$((SECONDS + limit))
	while kill -0 "$pid" 2>/dev/null; do
		if ((SECONDS > until)); then
			echo "over its time limit of $limit s" >"$out/reason"
			kill -TERM -- "-$pid" 2>/dev/null
			wait "$pid" 2>/dev/null
			return $RC_FAIL
		fi
		if ! machine_alive; then
			echo "the machine stopped" >"$out/reason"
			kill -TERM -- "-$pid" 2>/dev/null
			wait "$pid" 2>/dev/null
			return $RC_CRASH
		fi
		sleep 0.2
	done
	wait "$pid"
}

main() {
	local rc outcome start pid found
	rm -rf "$out"
	mkdir -p "$out"
	exec >"$out/log" 2>&1
	echo "$DESCRIPTION${variant:+ ($variant)}"
	start=$SECONDS
	if ! machine_setup; then
		echo "the machine did not start from the saved state" >"$out/reason"
		rc=$RC_ERROR
	else
		start=$SECONDS
		set -m
		run_test &
		pid=$!
		set +m
		rc=0
		wait_test "$pid" || rc=$?
		collect_logs
	fi
	machine_stop
	cp "$machine/xen.log" "$out/" 2>/dev/null
	rm -rf "$machine"
	found=$(scan_logs)
	if [[ -n $found && $rc != "$RC_SKIP" ]]; then
		printf 'found in a log: %s%s\n' "$found" \
			"$([[ -s $out/reason ]] && echo " (after: $(cat "$out/reason"))")" >"$out/reason.new"
		mv "$out/reason.new" "$out/reason"
		rc=$RC_CRASH
	fi
	case $rc in
	"$RC_PASS") outcome=pass ;;
	"$RC_SKIP") outcome=skip ;;
	"$RC_FAIL") outcome=fail ;;
	"$RC_CRASH") outcome=crash ;;
	*) outcome=error ;;
	esac
	printf '%s\t%s\t%s\n' "$outcome" "$((SECONDS - start))" \
		"$(head -n 1 "$out/reason" 2>/dev/null)" >"$out/result"
}

# The runner's word to stop must not wait for the body to end.
trap 'machine_stop' EXIT
trap 'exit 1' TERM INT
main
exit

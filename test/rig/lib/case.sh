# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2016
#
# What a case says: verdicts, disks, and the count of what may leak.  Sourced
# after guest.sh.  $out is the folder of the case's logs.

# Exit statuses of the process that runs test(), one for each outcome.
RC_PASS=0 RC_SKIP=40 RC_FAIL=41 RC_ERROR=42 RC_CRASH=43

# What the devices say of themselves, for whoever has to find out why.
state_dump() {
	local name devices=/sys/bus/xen/devices
	local numbers="find DIR/*/xpv DIR/*/statistics -type f 2>/dev/null | xargs -r grep -s . | grep -v ':0\$'"
	{
		echo '=== dom0'
		dom0 -t 15 "xenstore-ls -f /local/domain | grep -E '/(vif|vbd)/'
			${numbers//DIR/${devices/xen/xen-backend}}"
		for name in "${guest_names[@]}"; do
			echo "=== $name"
			guest -t 15 "$name" "grep -s . /sys/block/xvd*/inflight
				${numbers//DIR/$devices}"
		done
	} >"$out/state" 2>&1 || true
}

verdict() {
	local rc=$1
	shift
	echo "$*" >"$out/reason"
	echo "$rc" >"$out/verdict"
	echo "--- $*"
	[[ $rc != "$RC_FAIL" ]] || state_dump
	# Also ends the case from within $(...), where exit leaves only that.
	[[ $BASHPID == "$case_pid" ]] || kill -USR1 "$case_pid" 2>/dev/null || true
	exit "$rc"
}
skip() { verdict $RC_SKIP "$*"; }
fail() { verdict $RC_FAIL "$*"; }
error() { verdict $RC_ERROR "$*"; }
crash() { verdict $RC_CRASH "$*"; }

log_text() { printf '=== %s\n%s\n' "$1" "$2"; }

# check DESCRIPTION CMD...: the case goes on only if CMD succeeds.  125 is
# the agent's word for a guest or dom0 that is no longer there.
check() {
	local what=$1 rc=0 start=$SECONDS
	shift
	"$@" || rc=$?
	case $rc in
	0) echo "ok   $what ($((SECONDS - start)) s)" ;;
	125) crash "$what: no answer any more from: $*" ;;
	*) fail "$what: exit $rc of: $*" ;;
	esac
}

# refuses DESCRIPTION CMD...: CMD must fail.
refuses() {
	local what=$1 rc=0
	shift
	"$@" || rc=$?
	case $rc in
	0) fail "$what: was not refused: $*" ;;
	125) crash "$what: no answer any more from: $*" ;;
	esac
	echo "ok   $what"
}

# For use with check; the command "test" is not to be had, the case is it.
same() {
	[[ $1 == "$2" ]] || { printf '     %s\n     %s\n' "$1" "$2"; return 1; }
}

# Disks in dom0.  Each prints the path of a new block device.
#
# disk_loop SIZE [SECTOR]	a file on tmpfs; discards work, they free memory
# disk_null SIZE [SECTOR]	null_blk that keeps what is written, discards too
disk_loop() {
	dom0 "f=\$(mktemp /dev/shm/disk.XXXXXX); truncate -s $1 \$f; losetup -f --show -b ${2:-512} \$f"
}
# A state saved with dom0 up has null_blk unloaded, and the disks are made by
# configfs, one for each call, so their sizes may differ.
disk_null() {
	dom0 "modprobe null_blk nr_devices=0 || exit 1
		mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
		cd /sys/kernel/config/nullb; n=0; while [ -d nullb\$n ]; do n=\$((n + 1)); done
		mkdir nullb\$n && cd nullb\$n || exit 1
		s=\$(numfmt --from=iec $1); echo \$((s / 1048576)) >size
		echo ${2:-512} >blocksize; echo 1 >memory_backed; echo 1 >discard
		echo 0 >irqmode; echo 2 >submit_queues; echo 1 >power || exit 1
		echo /dev/nullb\$(cat index)"
}

# What a device may leave behind in dom0.  One line for each thing, so that
# the difference names the culprit.
leak_list() {
	dom0 leak-list
}

leak_snapshot() {
	leak_list >"$out/leak.before" || error "the count of resources failed"
}

# leak_same FILE: the list is again what FILE says.  Back ends give things
# back a little after the toolstack is done, hence a few tries.
leak_same() {
	local tries
	for tries in 1 2 3 4 5 6 7 8 9 10; do
		leak_list >"$out/leak.after" || return 125
		if diff "$1" "$out/leak.after" >"$out/leak.diff"; then
			return 0
		fi
		sleep 1
	done
	echo "     leaked: $(grep '^[<>]' "$out/leak.diff" | head -n 8 | tr '\n' ';')"
	return 1
}

leak_check() {
	check 'nothing leaked' leak_same "$out/leak.before"
}

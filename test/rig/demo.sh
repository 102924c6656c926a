#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make demo": our front and back ends carry network and disk traffic between
# dom0 and a guest made by plain "xl create", under real Xen in an emulated
# machine.  Every step is checked; the first that fails ends the demo with
# exit status 1.
#
# usage: test/rig/demo.sh      GUEST=pv|pvh|hvm (default pv)
#        DEMO_DRIVERS=stock    the same with the kernel's own drivers

# Functions shared with the libraries set and read variables of both.
# shellcheck disable=SC2034,SC2154
set -uo pipefail
# shellcheck source=lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
for lib in machine guest case; do
	# shellcheck source=/dev/null
	. "$rig/lib/$lib.sh"
done

GUEST=${GUEST:-pv}
drivers=${DEMO_DRIVERS:-ours}
case $GUEST in pv | pvh | hvm) ;; *) die "GUEST is pv, pvh or hvm, not '$GUEST'" ;; esac
# On one thread the emulated SVM now and then delivers an interrupt twice.
[[ $GUEST == pv ]] || export RIG_THREADS=multi
case $drivers in ours | stock) ;; *) die "DEMO_DRIVERS is ours or stock" ;; esac

out=$build/demo
machine=$build/m/demo.$$
case_pid=$BASHPID
began=$SECONDS

verdict() {
	shift
	echo
	echo "demo: FAILED after $((SECONDS - began)) s: $*"
	[[ ! -S $machine/dom0 ]] || {
		dom0 'dmesg | tail -n 30' | sed 's/^/  dom0: /'
		dom0 'cat /var/log/xen/console/guest-demo.log' | tr -d '\r' |
			grep -v -e '~rig' -e '^$' | tail -n 30 | sed 's/^/  guest: /'
	}
	exit 1
}

step=0
step() {
	step=$((step + 1))
	printf '\n[%d] %s  (%d s)\n' $step "$1" $((SECONDS - began))
}

# show dom0|guest CMD: prints the command as typed there, and what it says.
show() {
	local where=$1 rc=0
	shift
	echo "  $where# $*"
	case $where in
	dom0) dom0 -t 120 "$*" 2>&1 | sed 's/^/  | /' || rc=$? ;;
	guest) guest -t 120 demo "$*" 2>&1 | sed 's/^/  | /' || rc=$? ;;
	esac
	[[ $rc == 0 ]] || fail "'$*' in $where ended with $rc"
}

is() {
	local what=$1
	shift
	"$@" || fail "it is not so: $what"
	echo "  ok: $what"
}

prepare() {
	local args=()
	step "Preparing Xen, dom0 and a guest (the first time a few minutes)"
	[[ $drivers == ours ]] || args=(--stock)
	export RIG_STATES=$machine/states
	machine_prepare || exit 1
	rm -rf "$out"
	mkdir -p "$out" "$machine"
	"$rig/payload.sh" --to "$machine/payload.img" "${args[@]}" || exit 1
	trap 'machine_stop; rm -rf "$machine"' EXIT
	machine_slot
	machine_start "$machine" "$machine/payload.img" || fail 'the machine did not start'
	dom0 'blockdev --flushbufs /dev/vdb && mount -r /dev/vdb /payload' || fail 'no payload'
	show dom0 'xl info | grep -E "^(release|xen_version|machine)"'
}

back_ends() {
	step "Back ends in dom0: $drivers"
	backend "$drivers"
	show dom0 'lsmod | grep -E "^(xpv|xen_(net|blk)back)"'
	[[ $drivers == stock ]] || is 'xpv_netback and xpv_blkback are loaded, the stock ones are not' \
		dom0 'lsmod | grep -q ^xpv_netback && lsmod | grep -q ^xpv_blkback && ! lsmod | grep -qE "^xen_(net|blk)back"'
	disk=$(disk_loop 64M)
	leak_snapshot
}

make_guest() {
	local config g_kernel g_ip
	step "A $GUEST guest by plain \"xl create\""
	guest_config demo type="$GUEST" front="$drivers" vif='bridge=xenbr0' disk="phy:$disk,xvda,w"
	printf '  | %s\n' "${config//$'\n'/$'\n  | '}"
	guest_names=(demo)
	guest_ip[demo]=$g_ip
	ip=10.99.0.$g_ip
	dom0 -t 600 -i 'guest-up demo 500' <<<"$config" || fail 'the guest did not start'
	show dom0 'xl list'
}

front_ends() {
	step "Front ends in the guest: $drivers"
	show guest 'lsmod | grep -E "^(xpv|xen_(net|blk)front)"'
	[[ $drivers == stock ]] || is 'xpv_netfront and xpv_blkfront are loaded, the stock ones are not' \
		guest demo 'lsmod | grep -q ^xpv_netfront && lsmod | grep -q ^xpv_blkfront && ! lsmod | grep -qE "^xen_(net|blk)front"'
	show guest 'ip addr show eth0 | grep -E "eth0|inet"; grep xvda /proc/partitions'
}


# Throughput of an emulated machine means nothing, so only amounts are shown.
network() {
	local line
	step "Network: ping and iperf3 both ways"
	show dom0 "ping -c 3 -i 0.3 $ip | tail -n 3"
	show guest 'ping -c 2 fd99::1 | tail -n 3'
	dom0 'iperf3 -s -D'
	for line in 'guest to dom0:' 'dom0 to guest:-R'; do
		echo "  guest# iperf3 -c 10.99.0.1 -n 20M ${line#*:}"
		guest -t 120 demo "iperf3 -c 10.99.0.1 -n 20M -f m ${line#*:}" >"$out/iperf" ||
			fail "iperf3 ${line%:*}"
		awk -v way="${line%:*}" '/receiver/ { print "  | moved", $5, $6, way }' "$out/iperf"
	done
}

disk() {
	step "Disk: dd both ways"
	show guest 'dd if=/dev/urandom of=/tmp/a bs=1M count=16 2>/dev/null'
	show guest 'dd if=/tmp/a of=/dev/xvda bs=1M oflag=direct conv=fsync 2>&1 | grep records'
	show guest 'dd if=/dev/xvda of=/tmp/b bs=1M count=16 iflag=direct 2>&1 | grep records'
	is 'read back as written' guest demo 'cmp /tmp/a /tmp/b'
	is 'dom0 finds the same on the device' same "$(guest demo 'sha256sum </tmp/a')" \
		"$(dom0 "blockdev --flushbufs $disk; head -c 16M $disk | sha256sum")"
	step "A file system: write a file, unmount, read it again"
	show guest 'mkfs.ext4 -q /dev/xvda && mount /dev/xvda /mnt && cp /tmp/a /mnt/file && sha256sum /mnt/file'
	show guest 'umount /mnt && blockdev --flushbufs /dev/xvda && mount /dev/xvda /mnt && sha256sum /mnt/file'
	is 'the file is the same' guest demo 'cmp /tmp/a /mnt/file && umount /mnt'
}

tool() {
	step "xpvctl in dom0"
	if dom0 'command -v xpvctl >/dev/null'; then
		show dom0 'xpvctl list'
	elif [[ $drivers == stock ]]; then
		echo '  (not built)'
	else
		fail 'there is no xpvctl'
	fi
}

end() {
	step "The guest is destroyed"
	show dom0 'xl destroy demo'
	is 'no zombie' domain_gone demo
	show dom0 'xl list'
	is 'grants, event channels, threads, netdevs and block devices as before' leak_same "$out/leak.before"
	is 'no report of a kernel' dom0 '! dmesg | grep -E "BUG:|WARNING:|Call Trace|g\\.e\\. "'
}

prepare
back_ends
make_guest
front_ends
network
disk
tool
end
echo
echo "demo: done, $drivers drivers carried it all, $((SECONDS - began)) s"

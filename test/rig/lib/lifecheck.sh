# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2016
#
# Bodies of the cases about the life of a device: attach, detach, destroy.
# Sourced by run-case.sh.

# Traffic both ways that only ends with its device, or when traffic_net_end
# ends it: a connection whose device is gone hangs for minutes, and would come
# to life again on the next one.
traffic_net() {
	guest "$1" "touch /tmp/traffic
		(while [ -e /tmp/traffic ]; do socat -u /dev/zero TCP:$2:7000; sleep 0.2; done) >/dev/null 2>&1 &
		(while [ -e /tmp/traffic ]; do socat -u TCP:$2:7001 /dev/null; sleep 0.2; done) >/dev/null 2>&1 &"
}
traffic_net_end() {
	guest "$1" 'rm -f /tmp/traffic; killall -9 socat 2>/dev/null; true'
}

# Mixed reads and writes.
traffic_blk() {
	guest "$1" "fio --name=t --filename=/dev/$2 --direct=1 --ioengine=libaio --rw=randrw \
		--bsrange=4k-256k --iodepth=16 --time_based --runtime=3600 >/dev/null 2>&1 &"
}

# The network device under test is the guest's second, on a bridge of its own.
# dom0 takes and gives bytes without end; a connection whose guest has died is
# dropped after a while.
life_bridge() {
	dom0 'ip link add xenbr1 type bridge forward_delay 0 && ip addr add 10.98.0.1/24 dev xenbr1 &&
		ip link set xenbr1 up && traffic-serve'
}

# attach_net NAME: prints nothing, leaves eth1 with an address and traffic.
attach_net() {
	dom0 -t 90 "xl network-attach $1 bridge=xenbr1" &&
		guest "$1" 'i=0; until [ -e /sys/class/net/eth1 ]; do i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.1; done
			ip addr add 10.98.0.2/24 dev eth1 && ip link set eth1 up'
}

# Detached devices must be gone on both sides, and soon.
detach_net() {
	dom0 -t 90 "xl network-detach $1 1" &&
		guest "$1" 'i=0; while [ -e /sys/class/net/eth1 ]; do i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.1; done'
}
attach_blk() {
	dom0 -t 90 "xl block-attach $1 phy:$2,xvdb,w" &&
		guest "$1" 'i=0; until [ -b /dev/xvdb ]; do i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.1; done'
}

# A disk in use refuses an orderly detach, so its users are ended while their
# requests are still in flight.
detach_blk() {
	guest "$1" 'killall -9 fio; i=0; while pidof fio >/dev/null; do i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.1; done'
	dom0 -t 90 "xl block-detach $1 xvdb" &&
		guest "$1" 'i=0; while [ -b /dev/xvdb ]; do i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.1; done'
}

life_attach() {
	local i disk start
	disk=$(disk_loop 32M)
	backend "$back"
	life_bridge
	guest_start g1 front="$front" vif='bridge=xenbr0'
	leak_list >"$out/leak.alive"
	for ((i = 1; i <= $1; i++)); do
		start=$SECONDS
		attach_net g1 || fail "loop $i: network-attach"
		attach_blk g1 "$disk" || fail "loop $i: block-attach"
		traffic_net g1 10.98.0.1
		traffic_blk g1 xvdb
		guest g1 'sleep 0.5; ping -q -c 1 -W 5 10.98.0.1 >/dev/null' || fail "loop $i: no traffic"
		detach_net g1 || fail "loop $i: network-detach"
		traffic_net_end g1
		detach_blk g1 || fail "loop $i: block-detach"
		echo "ok   loop $i ($((SECONDS - start)) s)"
	done
	check 'the guest still has its first network' guest g1 ping -q -c 2 10.99.0.1
	check 'nothing left of the devices while the guest lives' leak_same "$out/leak.alive"
}

life_destroy() {
	local i disk
	disk=$(disk_loop 32M)
	backend "$back"
	life_bridge
	leak_snapshot
	for ((i = 1; i <= $1; i++)); do
		guest_start g1 front="$front" vif='bridge=xenbr0' ip=11 disk="phy:$disk,xvda,w"
		traffic_net g1 10.99.0.1
		traffic_blk g1 xvda
		guest g1 'sleep 1' || fail "loop $i: the guest does not answer under traffic"
		guest_destroy g1
		echo "ok   destroyed $i times"
	done
	leak_check
}

# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2016
#
# Bodies of the network cases, the same for every pair of front and back end.
# Traffic runs between a guest and dom0 unless said otherwise; what was sent
# is compared byte by byte (tools/stream.c), since no checksum is verified on
# the way.  Sourced by run-case.sh.

net_port=5000

dom0_ip() { [[ $1 == 6 ]] && echo fd99::1 || echo 10.99.0.1; }
guest_addr() { [[ $2 == 6 ]] && echo "fd99::${guest_ip[$1]}" || echo "10.99.0.${guest_ip[$1]}"; }

# The listener of a transfer runs in the background and leaves its verdict.
listen_start="(stream listen PORT >/tmp/s.PORT 2>&1; echo rc \$? >>/tmp/s.PORT) >/dev/null 2>&1 &"
listen_wait="i=0; until grep -q ^rc /tmp/s.PORT; do i=\$((i + 1)); [ \$i -lt 100 ] || break; sleep 0.2; done
	cat /tmp/s.PORT >&2; grep -qx 'rc 0' /tmp/s.PORT"

# net_tcp_out NAME 4|6 BYTES: guest to dom0
net_tcp_out() {
	local port=$((++net_port))
	dom0 "${listen_start//PORT/$port}" &&
		guest -t 120 "$1" "stream send $(dom0_ip "$2") $port $3" &&
		dom0 "${listen_wait//PORT/$port}"
}

# net_tcp_in NAME 4|6 BYTES: dom0 to guest
net_tcp_in() {
	local port=$((++net_port))
	guest "$1" "${listen_start//PORT/$port}" &&
		dom0 -t 120 "stream send $(guest_addr "$1" "$2") $port $3" &&
		guest "$1" "${listen_wait//PORT/$port}"
}

# net_udp_out NAME 4|6 COUNT MAXSIZE: nothing damaged or doubled, and at this
# pace hardly anything lost.
net_udp_out() {
	local port=$((++net_port))
	dom0 "stream ulisten $port 20 >/tmp/u.$port 2>&1 &" &&
		guest -t 90 "$1" "stream usend $(dom0_ip "$2") $port $3 $4 200" &&
		dom0 "sleep 1; cat /tmp/u.$port" | udp_verdict "$3"
}

net_udp_in() {
	local port=$((++net_port))
	guest "$1" "stream ulisten $port 20 >/tmp/u.$port 2>&1 &" &&
		dom0 -t 90 "stream usend $(guest_addr "$1" "$2") $port $3 $4 200" &&
		guest "$1" "sleep 1; cat /tmp/u.$port" | udp_verdict "$3"
}

udp_verdict() {
	local line
	read -r line
	echo "     $line"
	[[ $line =~ ^sent\ ([0-9]+)\ good\ ([0-9]+)\ damaged\ 0\ twice\ 0\  ]] &&
		((BASH_REMATCH[1] == $1 && BASH_REMATCH[2] >= $1 * 95 / 100))
}

vif_of() { dom0 "echo vif\$(cat /run/rig/$1/id).${2:-0}"; }

# net_frames VIF: bytes and packets so far, from the back end's view.
net_frames() {
	dom0 "cd /sys/class/net/$1/statistics && echo \$(cat rx_bytes rx_packets tx_bytes tx_packets)"
}

# net_gso NAME 4|6: a bulk transfer each way must travel in frames larger than
# the MTU, or segmentation offload is not in use.
net_gso() {
	local vif before after mtu=1500
	vif=$(vif_of "$1")
	before=$(net_frames "$vif")
	net_tcp_out "$1" "$2" 4000000 || return 1
	net_tcp_in "$1" "$2" 4000000 || return 1
	after=$(net_frames "$vif")
	awk -v b="$before" -v a="$after" -v mtu=$mtu 'BEGIN {
		split(b, x); split(a, y)
		out = (y[1] - x[1]) / (y[2] - x[2] + 1)
		in_ = (y[3] - x[3]) / (y[4] - x[4] + 1)
		printf "     bytes a frame: guest to dom0 %d, dom0 to guest %d\n", out, in_
	}'
	# Acknowledgements travel against the data, so count only the data way:
	# 4 MB in full frames of MTU size would be over 2700 of them.
	awk -v b="$before" -v a="$after" 'BEGIN {
		split(b, x); split(a, y)
		exit !((y[2] - x[2]) < 2700 && (y[4] - x[4]) < 2700)
	}'
}

net_mtu() {
	local vif
	vif=$(vif_of "$1")
	dom0 "ip link set $vif mtu $2 && ip link set xenbr0 mtu $2" &&
		guest "$1" "ip link set eth0 mtu $2" &&
		dom0 "ping -q -c 3 -i 0.3 -W 5 -M 'do' -s $(($2 - 28)) $(guest_addr "$1" 4)" &&
		dom0 "ping -q -c 3 -i 0.3 -W 5 -M 'do' -s $(($2 - 48)) $(guest_addr "$1" 6)"
}

# Node of the front end of a vif or vbd, for checks by the protocol's keys.
front_key() { dom0 "xenstore-read /local/domain/\$(cat /run/rig/$1/id)/device/$2/$3 2>/dev/null"; }

net_queues() {
	local got
	got=$(front_key "$1" vif "${3:-0}/multi-queue-num-queues" || echo 1)
	[[ $got == "$2" ]] || { echo "     $got queues instead of $2"; return 1; }
}

# Several streams at once, so that flows spread over the queues.
net_parallel() {
	local port first=$((net_port + 1)) n=4 ports
	net_port=$((net_port + n))
	ports=$(seq -s ' ' $first $net_port)
	dom0 "for p in $ports; do (stream listen \$p >/tmp/s.\$p 2>&1; echo rc \$? >>/tmp/s.\$p) >/dev/null 2>&1 & done" || return
	guest -t 120 "$1" "for p in $ports; do stream send 10.99.0.1 \$p $2 & done; wait" || return
	for port in $ports; do
		dom0 "${listen_wait//PORT/$port}" || return
	done
	guest "$1" "for p in $ports; do (stream listen \$p >/tmp/s.\$p 2>&1; echo rc \$? >>/tmp/s.\$p) >/dev/null 2>&1 & done" || return
	dom0 -t 120 "for p in $ports; do stream send $(guest_addr "$1" 4) \$p $2 & done; wait" || return
	for port in $ports; do
		guest "$1" "${listen_wait//PORT/$port}" || return
	done
}

net_guest_to_guest() {
	local port=$((++net_port))
	guest "$2" "${listen_start//PORT/$port}" &&
		guest -t 120 "$1" "stream send $(guest_addr "$2" 4) $port $3" &&
		guest "$2" "${listen_wait//PORT/$port}"
}

# The whole matrix for one pair: $front and $back are ours or stock.
net_interop() {
	local v bytes=3000000
	backend "$back" net='max_queues=2'
	guest_start g1 front="$front" vif='bridge=xenbr0'
	check 'one queue' net_queues g1 1
	check 'ping v4' dom0 ping -q -c 3 -i 0.3 "$(guest_addr g1 4)"
	check 'ping v6' guest g1 ping -q -c 3 fd99::1
	for v in 4 6; do
		check "TCP v$v guest to dom0" net_tcp_out g1 $v $bytes
		check "TCP v$v dom0 to guest" net_tcp_in g1 $v $bytes
		check "GSO v$v both ways" net_gso g1 $v
	done
	check 'UDP guest to dom0' net_udp_out g1 4 300 1472
	check 'UDP dom0 to guest' net_udp_in g1 4 300 1472
	check 'UDP v6 in fragments, guest to dom0' net_udp_out g1 6 100 9000
	check 'UDP v6 in fragments, dom0 to guest' net_udp_in g1 6 100 9000
	check 'MTU 9000' net_mtu g1 9000
	check 'MTU 9000: TCP guest to dom0' net_tcp_out g1 4 $bytes
	check 'MTU 9000: TCP dom0 to guest' net_tcp_in g1 4 $bytes
	check 'MTU 9000: UDP guest to dom0' net_udp_out g1 4 200 8900
	check 'MTU 9000: UDP dom0 to guest' net_udp_in g1 4 200 8900
	check 'MTU 1500 again' net_mtu g1 1500

	guest_start g2 front="$front" vcpus=2 net='max_queues=2' vif='bridge=xenbr0'
	check 'two queues' net_queues g2 2
	check 'four TCP streams each way on two queues' net_parallel g2 $bytes
	check 'GSO v4 on two queues' net_gso g2 4
	check 'TCP guest to guest' net_guest_to_guest g1 g2 $bytes
	check 'TCP guest to guest, back' net_guest_to_guest g2 g1 $bytes
}

# net_back NAME COUNTER: sum over all queues, as dom0 sees it.
net_back() { dom0 "ethtool -S $(vif_of "$1")" | awk -v c="$2:" '$1 == c { print $2; exit }'; }

# net_granted NAME: hypercalls for copies, packets and slots of the guest that
# went by grants of their own, and all packets.
net_granted() {
	local b f
	b=$(dom0 "ethtool -S $(vif_of "$1")") || return
	f=$(guest "$1" 'ethtool -S eth0') || return
	printf '%s\n' "$b" '#' "$f" | awk '
		BEGIN { front = 0 }
		$1 == "#" { front = 1 }
		!seen[front, $1]++ { v[front, $1] = $2 }
		END {
			print v[0, "tx_hypercalls:"] + v[0, "rx_hypercalls:"], \
				v[1, "tx_packets:"] - v[1, "tx_copied:"] - v[1, "tx_staged:"], \
				v[1, "rx_slots:"] - v[1, "rx_static_slots:"], \
				v[1, "tx_packets:"] + v[1, "rx_packets:"]
		}'
}

# net_steady NAME BYTES: bulk data and datagrams both ways, all of
# them verified, without a grant operation but for pages that a quiet queue had
# posted before it offered the ones that stay mapped.
net_steady() {
	local before after
	before=$(net_granted "$1") || return
	net_tcp_in "$1" 4 "$2" && net_tcp_out "$1" 4 "$2" &&
		net_udp_out "$1" 4 300 1472 && net_udp_in "$1" 4 300 1472 || return
	after=$(net_granted "$1") || return
	echo "     hypercalls, granted Tx packets, granted Rx slots, packets: $before -> $after"
	awk -v b="$before" -v a="$after" 'BEGIN {
		split(b, x); split(a, y)
		old = y[3] - x[3]
		exit !(y[1] - x[1] <= old && x[2] == y[2] && old < 20 && y[4] - x[4] > 600)
	}'
}

# net_destroy NAME: while packets run both ways. What is left of it is found at the
# end of the case.
net_destroy() {
	local port=$((++net_port))
	dom0 "(stream listen $port; stream send $(guest_addr "$1" 4) $port 1000000000) >/dev/null 2>&1 &"
	guest "$1" "(stream listen $port >/dev/null 2>&1 &) ; stream send 10.99.0.1 $port 1000000000 >/dev/null 2>&1 &"
	dom0 "sleep 1"
	net_moves "$1" && guest_destroy "$1"
}

# net_mcast_port: a port of dom0's bridge to send from; the bridge's own frames do
# not look like multicast to the stock back end. Nothing but what is sent comes from it.
net_mcast_port() {
	dom0 "modprobe veth && ip link add mc0 type veth peer name mc1 &&
		sysctl -qw net.ipv6.conf.mc0.disable_ipv6=1 net.ipv6.conf.mc1.disable_ipv6=1 &&
		ip addr add 10.98.0.1/24 dev mc0 && ip link set mc1 master xenbr0 &&
		ip link set mc1 up && ip link set mc0 up"
}

# net_maddr NAME add|del ADDRESS: the guest joins a group. Busybox cannot do that, and
# its shell prefers itself to what is in the path.
net_maddr() {
	guest "$1" "\$(ls /usr/sbin/ip /usr/bin/ip 2>/dev/null | head -n 1) maddr $2 $3 dev eth0"
}

# net_mcast NAME GROUP all|none: 100 frames to an IPv4 group reach the guest or none
# does; some frames of others may come at the same time.
net_mcast() {
	local count='cat /sys/class/net/eth0/statistics/rx_packets' before after
	before=$(guest "$1" "$count") || return
	dom0 "ping -q -f -c 100 -t 1 -W 1 -I mc0 $2; sleep 0.2" >/dev/null
	after=$(guest "$1" "$count") || return
	echo "     frames for the guest: $((after - before))"
	if [[ $3 == all ]]; then
		((after - before >= 100))
	else
		((after - before < 30))
	fi
}

# net_filtered NAME GROUP: our back end keeps such frames back, and counts them.
net_filtered() {
	local before after
	before=$(net_back "$1" rx_mcast_filtered)
	net_mcast "$1" "$2" none || return
	after=$(net_back "$1" rx_mcast_filtered)
	echo "     counted: $((after - before))"
	((after - before >= 100))
}

# net_asks NAME 0|1: the guest has multicast filtered, within 10 s.
net_asks() {
	local i got
	for ((i = 0; i < 20; i++)); do
		got=$(front_key "$1" vif 0/request-multicast-control)
		[[ ${got:-0} != "$2" ]] || return 0
		dom0 'sleep 0.5'
	done
	echo "     request-multicast-control is '$got' and not $2"
	return 1
}

# net_link_local NAME: both find the other's address by multicast.
net_link_local() {
	local mine theirs lla="ip -6 -o addr show dev DEV scope link | awk '{ sub(\"/.*\", \"\", \$4); print \$4; exit }'"
	mine=$(dom0 "${lla/DEV/xenbr0}") && theirs=$(guest "$1" "${lla/DEV/eth0}") || return
	dom0 "ip -6 neigh flush dev xenbr0; ping -q -c 2 -i 0.3 -W 5 $theirs%xenbr0" &&
		guest "$1" "ip -6 neigh flush dev eth0; ping -q -c 2 -W 5 -I eth0 $mine"
}

# net_moves NAME: packets pass in both directions right now.
net_moves() {
	local vif before after
	vif=$(vif_of "$1")
	before=$(net_frames "$vif") && dom0 'sleep 0.5' && after=$(net_frames "$vif") || return
	echo "     bytes and packets each way: $before -> $after"
	awk -v b="$before" -v a="$after" 'BEGIN {
		split(b, x); split(a, y); exit !(y[2] > x[2] && y[4] > x[4])
	}'
}

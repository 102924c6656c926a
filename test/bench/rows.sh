# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# The rows of the benchmark: what runs where, and how its result is read.
# Sourced by run.  Names are stable; results.json carries them.
#
#	{tcp,tcp4,tcp16}_FROM_to_TO	iperf3, 1, 4 or 16 streams
#	{udp64,udp1472}_FROM_to_TO	highest rate of which less than 1 % is lost
#	tcp_rr, udp_rr, tcp_crr		netperf, one transaction at a time
#	blk_{randread,randwrite}_SIZE_qdN, blk_{seqread,seqwrite}_SIZE[_qdN]
#	readahead_N			sectors of a request at the backing device
#					while dd reads with N sectors of read-ahead
#
# FROM and TO are dom0 and guest; tcp_guest_to_guest has a second guest, "peer".
# The rate of udp* is found by bisection: a sender without limit would measure
# how much the receiver is kept from its work.
#
# A guest reaches dom0 at 10.99.0.1; its disk is a null_blk of dom0, which
# answers at once and keeps nothing, so that only the drivers' work counts.
# One second of the machine's time a row: there is no noise to average.

dom0_addr=10.99.0.1

# The rows of QUICK=1.
rows_quick() {
	printf '%s\n' tcp_{guest_to_dom0,dom0_to_guest,rr} blk_randread_4k_qd{1,32} \
		blk_seq{read,write}_1m readahead_256
}

rows_all() {
	printf '%s\n' tcp_{guest_to_dom0,dom0_to_guest} tcp{4,16}_{guest_to_dom0,dom0_to_guest} \
		tcp_guest_to_guest udp{64,1472}_{guest_to_dom0,dom0_to_guest} \
		{tcp_rr,udp_rr,tcp_crr} \
		blk_randread_4k_qd{1,8,32,128} blk_randwrite_4k_qd{1,32} \
		blk_randread_{16k,128k}_qd32 blk_seq{read,write}_1m \
		readahead_{128,256,512,1024,2048}
}

# Rows whose work is counted piece by piece.
rows_counted() {
	printf '%s\n' tcp_{guest_to_dom0,dom0_to_guest} udp64_{guest_to_dom0,dom0_to_guest} \
		tcp_rr blk_randread_4k_qd{1,32} blk_seq{read,write}_1m
}

row_better() { echo more; }

row_unit() {
	case $1 in
	tcp_rr | udp_rr | tcp_crr) echo transactions/s ;;
	tcp*_to_*) echo bit/s ;;
	udp*_to_*) echo packets/s ;;
	blk_seq*) echo byte/s ;;
	blk_*) echo request/s ;;
	readahead_*) echo sectors ;;
	*) die "there is no row '$1'" ;;
	esac
}

# Servers listen in dom0 for the guest and, over loopback, for dom0 itself.
bench_setup() {
	dom0 -t 300 'ip link set lo up
		modprobe null_blk nr_devices=1 gb=4 bs=512 irqmode=1 queue_mode=2 &&
		iperf3 -s -D && netserver >/dev/null'
}

# iperf_args ROW [BITS-PER-SECOND]: the rate counts for udp* only.
iperf_args() {
	local what=${1%%_*} args='-t 1'
	case $what in
	tcp[0-9]*) args+=" -P ${what#tcp}" ;;
	udp*) args+=" -u -l ${what#udp} -b ${2:-10M}" ;;
	esac
	[[ $1 != *_dom0_to_guest ]] || args+=' -R'
	echo "$args"
}

# udp_probe RATE ROW ADDRESS CMD...: a second at this rate; prints what arrived
# of it, packets/s, and fails when that is not nearly all.
udp_probe() {
	local rate=$1 size=${2%%_*}
	"${@:4}" "$(row_cmd "$2" "$3" '' $((rate * ${size#udp} * 8)))" |
		sed -n '/^{/,$p' | jq -e --argjson rate "$rate" '.end.sum as $s
			| ($s.packets - $s.lost_packets) / $s.seconds
			| ., ($s.lost_percent < 1 and . > $rate * 0.9)' | {
		read -r value
		read -r good
		echo "$value"
		[[ $good == true ]]
	}
}

# udp_search ROW ADDRESS CMD...: CMD runs a line on the client.
udp_search() {
	local low=8000 high=100000 rate best='' value
	while ((high * 100 > low * 106)); do
		rate=$(awk -v a="$low" -v b="$high" 'BEGIN { printf "%d", sqrt(a * b) }')
		if value=$(udp_probe "$rate" "$1" "$2" "${@:3}"); then
			low=$rate
			best=$value
		else
			high=$rate
		fi
	done
	[[ -n $best ]] && echo "$best"
}

# fio_args ROW: of blk_KIND_SIZE[_qdDEPTH]
fio_args() {
	local kind size depth
	IFS=_ read -r _ kind size depth <<<"$1"
	depth=${depth:-qd4}
	echo "--rw=${kind/seq/} --bs=$size --iodepth=${depth#qd}"
}

fio_value() {
	local field=iops dir='read'
	[[ $1 != *seq* ]] || field=bw_bytes
	[[ $1 != *write* ]] || dir='write'
	jq -e ".jobs[0].$dir.$field"
}

# row_cmd ROW ADDRESS DISK [BITS-PER-SECOND]: the command, for guest and dom0 alike.
row_cmd() {
	local fio='fio --name=bench --ioengine=libaio --direct=1 --time_based --runtime=500ms
		--output-format=json --norandommap --randrepeat=1'
	case $1 in
	tcp_rr | udp_rr | tcp_crr)
		echo "netperf -P 0 -H $2 -l 1 -t ${1^^}" ;;
	tcp* | udp*)
		echo "iperf3 -J -c $2 $(iperf_args "$1" "${4:-}")" ;;
	blk_*)
		echo "${fio//$'\n\t\t'/ } --filename=$3 $(fio_args "$1")" ;;
	readahead_*)
		echo "echo 3 >/proc/sys/vm/drop_caches &&
			echo $((${1#readahead_} / 2)) >/sys/block/${3#/dev/}/queue/read_ahead_kb &&
			dd if=$3 of=/dev/null bs=1M count=64 2>/dev/null" ;;
	esac
}

row_value() {
	case $1 in
	tcp_rr | udp_rr | tcp_crr) awk 'NF >= 6 { print $6; exit }' ;;
	tcp*) jq -e '.end.sum_received.bits_per_second' ;;
	blk_*) sed -n '/^{/,$p' | fio_value "$1" ;;
	esac
}

# Reads that reached the backing device and their sectors, so far.
device_reads() { dom0 "awk '{ print \$1, \$3 }' /sys/block/nullb0/stat"; }

# readahead CMD...: CMD is the row's command where it belongs.
readahead() {
	local n sectors n2 sectors2
	read -r n sectors < <(device_reads)
	"$@" >/dev/null || return
	read -r n2 sectors2 < <(device_reads)
	awk -v n=$((n2 - n)) -v s=$((sectors2 - sectors)) 'BEGIN { if (!n) exit 1; print s / n }'
}

# The client of guest-to-guest traffic is the guest; the other one listens.
row_server() {
	[[ $1 == *_guest_to_guest ]] && echo "10.99.0.${guest_ip[peer]}" || echo "$dom0_addr"
}

row_guest() {
	local server
	server=$(row_server "$1")
	case $1 in
	udp*_to_*) udp_search "$1" "$server" guest -t 600 "$2" ;;
	readahead_*) readahead guest -t 600 "$2" "$(row_cmd "$1" '' /dev/xvda)" ;;
	*) guest -t 600 "$2" "$(row_cmd "$1" "$server" /dev/xvda)" | row_value "$1" ;;
	esac
}

row_limit() {
	case $1 in
	udp*_to_*) udp_search "$1" 127.0.0.1 dom0 -t 600 ;;
	readahead_*) readahead dom0 -t 600 "$(row_cmd "$1" '' /dev/nullb0)" ;;
	*) dom0 -t 600 "$(row_cmd "$1" 127.0.0.1 /dev/nullb0)" | row_value "$1" ;;
	esac
}

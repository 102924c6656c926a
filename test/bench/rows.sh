# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The rows of the benchmark: what runs where, and how its result is read.
# Sourced by run.  Names are stable; results.json carries them.
#
# udp64_* is the highest rate of which less than 1 % is lost, found by bisection:
# a sender without limit would measure how much the receiver is kept from its
# work.
#
# A guest reaches dom0 at 10.99.0.1; its disk is a null_blk of dom0, which
# answers at once and keeps nothing, so that only the drivers' work counts.
# One second of the machine's time a row: there is no noise to average.

dom0_addr=10.99.0.1

rows_all() {
	echo tcp_guest_to_dom0
	echo tcp_dom0_to_guest
	echo udp64_guest_to_dom0
	echo udp64_dom0_to_guest
	echo tcp_rr
	echo udp_rr
	echo blk_randread_4k_qd1
	echo blk_randread_4k_qd32
	echo blk_randwrite_4k_qd32
	echo blk_seqread_1m
	echo blk_seqwrite_1m
}

# Rows whose work is counted piece by piece.
rows_counted() {
	echo tcp_guest_to_dom0
	echo tcp_dom0_to_guest
	echo udp64_guest_to_dom0
	echo udp64_dom0_to_guest
	echo tcp_rr
	echo blk_randread_4k_qd1
	echo blk_randread_4k_qd32
	echo blk_seqread_1m
	echo blk_seqwrite_1m
}

row_better() { echo more; }

row_unit() {
	case $1 in
	tcp_rr | udp_rr) echo transactions/s ;;
	tcp_*) echo bit/s ;;
	udp64_*) echo packets/s ;;
	blk_seq*) echo byte/s ;;
	blk_*) echo request/s ;;
	*) die "there is no row '$1'" ;;
	esac
}

# Servers listen in dom0 for the guest and, over loopback, for dom0 itself.
bench_setup() {
	dom0 -t 300 'ip link set lo up
		modprobe null_blk nr_devices=1 gb=4 bs=512 irqmode=1 queue_mode=2 &&
		iperf3 -s -D && netserver >/dev/null'
}

# iperf_args ROW [BITS-PER-SECOND]: the rate counts for udp64_* only.
iperf_args() {
	case $1 in
	tcp_guest_to_dom0) echo '-t 1' ;;
	tcp_dom0_to_guest) echo '-t 1 -R' ;;
	udp64_guest_to_dom0) echo "-t 1 -u -l 64 -b ${2:-10M}" ;;
	udp64_dom0_to_guest) echo "-t 1 -u -l 64 -b ${2:-10M} -R" ;;
	esac
}

# udp_probe RATE ROW ADDRESS CMD...: a second at this rate; prints what arrived
# of it, packets/s, and fails when that is not nearly all.
udp_probe() {
	local rate=$1
	"${@:4}" "$(row_cmd "$2" "$3" '' $((rate * 64 * 8)))" |
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

fio_args() {
	case $1 in
	blk_randread_4k_qd1) echo '--rw=randread --bs=4k --iodepth=1' ;;
	blk_randread_4k_qd32) echo '--rw=randread --bs=4k --iodepth=32' ;;
	blk_randwrite_4k_qd32) echo '--rw=randwrite --bs=4k --iodepth=32' ;;
	blk_seqread_1m) echo '--rw=read --bs=1m --iodepth=4' ;;
	blk_seqwrite_1m) echo '--rw=write --bs=1m --iodepth=4' ;;
	esac
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
	tcp_rr | udp_rr)
		echo "netperf -P 0 -H $2 -l 1 -t ${1^^}" ;;
	tcp_* | udp64_*)
		echo "iperf3 -J -c $2 $(iperf_args "$1" "${4:-}")" ;;
	blk_*)
		echo "${fio//$'\n\t\t'/ } --filename=$3 $(fio_args "$1")" ;;
	esac
}

row_value() {
	case $1 in
	tcp_rr | udp_rr) awk 'NF >= 6 { print $6; exit }' ;;
	tcp_*) jq -e '.end.sum_received.bits_per_second' ;;
	blk_*) sed -n '/^{/,$p' | fio_value "$1" ;;
	esac
}

row_guest() {
	case $1 in
	udp64_*) udp_search "$1" "$dom0_addr" guest -t 600 "$2" ;;
	*) guest -t 600 "$2" "$(row_cmd "$1" "$dom0_addr" /dev/xvda)" | row_value "$1" ;;
	esac
}

row_limit() {
	case $1 in
	udp64_*) udp_search "$1" 127.0.0.1 dom0 -t 600 ;;
	*) dom0 -t 600 "$(row_cmd "$1" 127.0.0.1 /dev/nullb0)" | row_value "$1" ;;
	esac
}

# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154,SC2016
#
# Bodies of the block cases, the same for every pair of front and back end.
# What a guest wrote is verified by the guest (fio) and then compared with
# what dom0 finds on the device below.  Sourced by run-case.sh.

# blk_verify NAME DEV WORDS...: fio writes, reads back, compares checksums.
blk_verify() {
	local name=$1 dev=$2
	shift 2
	guest -t 240 "$name" "fio --name=v --filename=/dev/$dev --direct=1 --ioengine=libaio \
		--verify=crc32c --verify_fatal=1 --do_verify=1 --end_fsync=1 --randrepeat=1 \
		--output-format=terse --terse-version=3 $* >/tmp/fio.out 2>&1 ||
			{ tail -n 5 /tmp/fio.out; exit 1; }"
}

# Same bytes on both sides; dom0 reads below its own cache.
blk_same() {
	local name=$1 dev=$2 below=$3 in_guest in_dom0
	in_guest=$(guest -t 120 "$name" "blockdev --flushbufs /dev/$dev; sha256sum </dev/$dev") || return
	in_dom0=$(dom0 -t 120 "blockdev --flushbufs $below; sha256sum <$below") || return
	[[ -n $in_dom0 && $in_guest == "$in_dom0" ]] || { echo "     $in_guest in the guest, $in_dom0 in dom0"; return 1; }
}

# Everything between 512 bytes and 1 MiB, in order and at random.
blk_patterns() {
	local name=$1 dev=$2 below=$3 min=${4:-512}
	check "$dev: sequential 1 MiB" blk_verify "$name" "$dev" --rw=write --bs=1m --iodepth=4 --size=8m
	check "$dev: sequential $min B" blk_verify "$name" "$dev" --rw=write --bs="$min" --iodepth=32 --size=512k
	check "$dev: random $min B to 1 MiB" blk_verify "$name" "$dev" --rw=randwrite \
		--bsrange="$min-1m" --blockalign="$min" --iodepth=16 --size=12m
	check "$dev: random 4 KiB, flush after every 16" blk_verify "$name" "$dev" --rw=randwrite \
		--bs=4k --iodepth=32 --fsync=16 --size=1m
	check "$dev: dom0 finds the same" blk_same "$name" "$dev" "$below"
}

blk_key() { front_key "$1" vbd "$2/$3" || echo "${4:-}"; }

# blk_expect NAME VDEV KEY VALUE DEFAULT: what the front end asked for.
blk_expect() {
	local got
	got=$(blk_key "$1" "$2" "$3" "$5")
	[[ $got == "$4" ]] || { echo "     $3 is '$got', not '$4'"; return 1; }
}

flushes() { dom0 "awk '\$3 == \"$(basename "$1")\" { print \$19 }' /proc/diskstats"; }

# Every fsync in the guest must reach the device below.
blk_flush() {
	local name=$1 dev=$2 below=$3 before after
	before=$(flushes "$below")
	guest "$name" "for i in 1 2 3 4 5; do
			dd if=/dev/urandom of=/dev/$dev bs=4k count=1 seek=\$i conv=fsync 2>/dev/null || exit 1; done" || return
	after=$(flushes "$below")
	echo "     flushes below: $before before, $after after five"
	((after - before >= 5))
}

allocated() { dom0 "stat -c %b \$(losetup -nO BACK-FILE $1)"; }

# A discard frees room below, reads as zeroes, and leaves its neighbours.
blk_discard() {
	local name=$1 dev=$2 below=$3 before after
	guest -t 90 "$name" "dd if=/dev/urandom of=/dev/$dev bs=1M count=24 conv=fsync 2>/dev/null
		dd if=/dev/$dev bs=1M count=8 2>/dev/null | sha256sum >/tmp/left
		dd if=/dev/$dev bs=1M skip=16 count=8 2>/dev/null | sha256sum >/tmp/right" || return
	before=$(allocated "$below")
	guest "$name" "blkdiscard -o 8M -l 8M /dev/$dev || exit 1
		blockdev --flushbufs /dev/$dev
		dd if=/dev/$dev bs=1M count=8 2>/dev/null | sha256sum | cmp - /tmp/left || exit 2
		dd if=/dev/$dev bs=1M skip=16 count=8 2>/dev/null | sha256sum | cmp - /tmp/right || exit 3
		dd if=/dev/$dev bs=1M skip=8 count=8 2>/dev/null | cmp -n 8388608 - /dev/zero || exit 4" || return
	after=$(allocated "$below")
	echo "     blocks below: $before before, $after after"
	((before - after >= 16384))
}

blk_interop() {
	local d1 d2
	d1=$(disk_loop 24M)
	d2=$(disk_null 24M)
	backend "$back" blk='max_queues=2'
	guest_start g1 front="$front" blk='max_ring_page_order=0 max_queues=1 feature_persistent=0' \
		disk="phy:$d1,xvda,w" disk="phy:$d2,xvdb,w"
	check 'ring of one page' blk_expect g1 51712 ring-page-order 0 0
	check 'one queue' blk_expect g1 51712 multi-queue-num-queues 1 1
	check 'no persistent grants' blk_expect g1 51712 feature-persistent 0 0
	blk_patterns g1 xvda "$d1"
	blk_patterns g1 xvdb "$d2"
	check 'flush reaches the device' blk_flush g1 xvda "$d1"
	guest_stop g1
	# With persistent grants stock blkfront keeps a page for every segment
	# of every slot: 64 MiB a queue for sixteen ring pages.
	guest_start g2 front="$front" vcpus=2 mem=512 \
		blk='max_ring_page_order=4 max_queues=2 feature_persistent=1' \
		disk="phy:$d1,xvda,w"
	check 'ring of sixteen pages' blk_expect g2 51712 ring-page-order 4 0
	check 'two queues' blk_expect g2 51712 multi-queue-num-queues 2 1
	check 'persistent grants' blk_expect g2 51712 feature-persistent 1 0
	blk_patterns g2 xvda "$d1"
}

blk_limits() {
	local dd d4k dro sum
	dd=$(disk_loop 32M)
	d4k=$(disk_loop 48M 4096)
	dro=$(disk_loop 16M)
	dom0 "dd if=/dev/urandom of=$dro bs=1M count=16 conv=fsync 2>/dev/null"
	backend "$back"
	guest_start g1 front="$front" disk="phy:$dd,xvda,w" disk="phy:$d4k,xvdb,w" disk="phy:$dro,xvdc,r"
	check 'discard' blk_discard g1 xvda "$dd"
	check 'sectors of 4096 bytes' guest g1 \
		'[ "$(cat /sys/block/xvdb/queue/logical_block_size)" = 4096 ]'
	blk_patterns g1 xvdb "$d4k" 4k
	check 'marked read-only' guest g1 '[ "$(blockdev --getro /dev/xvdc)" = 1 ]'
	sum=$(dom0 "sha256sum <$dro")
	check 'read-only disk is readable' blk_same g1 xvdc "$dro"
	refuses 'a write to a read-only disk' guest g1 \
		'dd if=/dev/zero of=/dev/xvdc bs=4k count=1 oflag=direct 2>/dev/null'
	check 'read-only disk unchanged' same "$sum" "$(dom0 "blockdev --flushbufs $dro; sha256sum <$dro")"
}

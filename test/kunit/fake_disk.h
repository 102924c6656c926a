/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A disk in memory for tests of the block backend.
 *
 * Bios complete within submit_bio(), or are held until the test lets them go;
 * they can be made to fail.  Everything that was done is counted.
 */
#ifndef XPV_FAKE_DISK_H
#define XPV_FAKE_DISK_H

#include <kunit/test.h>
#include <linux/bio.h>
#include <linux/blkdev.h>

/**
 * struct fake_disk - the disk
 * @disk: as the block layer knows it
 * @data: its bytes
 * @lock: guards what follows
 * @hold: keep bios
 * @held: bios kept, in order
 * @nheld: how many
 * @fail_nth: the first bio to fail, counted from now; 0 = none
 * @fail_count: how many in a row
 * @fail_as: how
 * @reads: bios of each kind
 * @writes: with data
 * @flushes: with REQ_PREFLUSH
 * @fuas: with REQ_FUA
 * @discards: of either kind
 * @discarded: sectors in them
 */
struct fake_disk {
	struct gendisk *disk;
	u8 *data;
	spinlock_t lock; /* all below */
	bool hold;
	struct bio_list held;
	unsigned int nheld;
	unsigned int fail_nth, fail_count;
	blk_status_t fail_as;
	unsigned int reads, writes, flushes, fuas, discards;
	u64 discarded;
};

/**
 * fake_disk_create() - a disk of @sectors of 512 bytes; ends with the test
 * @test: test
 * @sectors: capacity
 * @lim: block sizes, discard limits, features
 */
struct fake_disk *fake_disk_create(struct kunit *test, sector_t sectors,
				   const struct queue_limits *lim);

/** fake_disk_hold() - from now on keep bios, or let all kept ones go. */
void fake_disk_hold(struct fake_disk *d, bool on);

/** fake_disk_release() - let the oldest @n kept bios go. */
void fake_disk_release(struct fake_disk *d, unsigned int n);

/** fake_disk_fail() - make bios fail. */
void fake_disk_fail(struct fake_disk *d, unsigned int nth, unsigned int count,
		    blk_status_t as);

#endif /* XPV_FAKE_DISK_H */

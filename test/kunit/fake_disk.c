// SPDX-License-Identifier: GPL-2.0
/*
 * A disk in memory for tests of the block backend: see fake_disk.h.
 *
 * Decides nothing about the drivers.  submit_bio() runs in the thread that
 * submitted, completions of held bios in the context of the test.
 */
#include <linux/vmalloc.h>
#include "fake_disk.h"

static void disk_data(struct fake_disk *d, struct bio *bio)
{
	loff_t pos = bio->bi_iter.bi_sector << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_segment(bv, bio, iter) {
		u8 *page = page_address(bv.bv_page) + bv.bv_offset;

		if (op_is_write(bio_op(bio)))
			memcpy(d->data + pos, page, bv.bv_len);
		else
			memcpy(page, d->data + pos, bv.bv_len);
		pos += bv.bv_len;
	}
}

static void disk_do(struct fake_disk *d, struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		disk_data(d, bio);
		break;
	default:
		memset(d->data + (bio->bi_iter.bi_sector << SECTOR_SHIFT), 0,
		       bio->bi_iter.bi_size);
	}
}

/* With the lock held. Return: how this bio ends. */
static blk_status_t disk_count(struct fake_disk *d, struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		d->reads++;
		break;
	case REQ_OP_WRITE:
		d->writes += !!bio_sectors(bio);
		d->flushes += !!(bio->bi_opf & REQ_PREFLUSH);
		d->fuas += !!(bio->bi_opf & REQ_FUA);
		break;
	default:
		d->discards++;
		d->discarded += bio_sectors(bio);
	}
	if (!d->fail_count || (d->fail_nth && --d->fail_nth))
		return BLK_STS_OK;
	d->fail_count--;
	return d->fail_as;
}

static void disk_submit(struct bio *bio)
{
	struct fake_disk *d = bio->bi_bdev->bd_disk->private_data;
	unsigned long flags;
	bool hold;

	spin_lock_irqsave(&d->lock, flags);
	bio->bi_status = disk_count(d, bio);
	hold = d->hold;
	if (hold) {
		bio_list_add(&d->held, bio);
		d->nheld++;
	}
	spin_unlock_irqrestore(&d->lock, flags);
	if (hold)
		return;
	if (!bio->bi_status)
		disk_do(d, bio);
	bio_endio(bio);
}

void fake_disk_release(struct fake_disk *d, unsigned int n)
{
	unsigned long flags;
	struct bio *bio;

	while (n--) {
		spin_lock_irqsave(&d->lock, flags);
		bio = bio_list_pop(&d->held);
		if (bio)
			d->nheld--;
		spin_unlock_irqrestore(&d->lock, flags);
		if (!bio)
			return;
		if (!bio->bi_status)
			disk_do(d, bio);
		bio_endio(bio);
	}
}

void fake_disk_hold(struct fake_disk *d, bool on)
{
	WRITE_ONCE(d->hold, on);
	if (!on)
		fake_disk_release(d, UINT_MAX);
}

void fake_disk_fail(struct fake_disk *d, unsigned int nth, unsigned int count,
		    blk_status_t as)
{
	d->fail_as = as;
	d->fail_nth = nth;
	d->fail_count = count;
}

static const struct block_device_operations disk_ops = {
	.owner = THIS_MODULE,
	.submit_bio = disk_submit,
};

static void disk_free(void *arg)
{
	struct fake_disk *d = arg;

	fake_disk_hold(d, false);
	del_gendisk(d->disk);
	put_disk(d->disk);
	vfree(d->data);
	kfree(d);
}

struct fake_disk *fake_disk_create(struct kunit *test, sector_t sectors,
				   const struct queue_limits *lim)
{
	static unsigned int serial;
	struct fake_disk *d = kzalloc(sizeof(*d), GFP_KERNEL);
	struct queue_limits own = *lim;

	KUNIT_ASSERT_NOT_NULL(test, d);
	spin_lock_init(&d->lock);
	bio_list_init(&d->held);
	d->data = vzalloc(sectors << SECTOR_SHIFT);
	KUNIT_ASSERT_NOT_NULL(test, d->data);
	d->disk = blk_alloc_disk(&own, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, d->disk);
	d->disk->flags = GENHD_FL_NO_PART;
	d->disk->fops = &disk_ops;
	d->disk->private_data = d;
	snprintf(d->disk->disk_name, DISK_NAME_LEN, "xpvfake%u", serial++);
	set_capacity(d->disk, sectors);
	KUNIT_ASSERT_EQ(test, add_disk(d->disk), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, disk_free, d), 0);
	return d;
}

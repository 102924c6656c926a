// SPDX-License-Identifier: GPL-2.0
/*
 * blkfront and blkback, the real ones, face to face on the fake Xen.
 *
 * Data written to the guest's disk must be found on the host's disk, byte by
 * byte, and read back again, in every shape of a connection; also across
 * detach, resume and a slow disk.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/mm.h>
#include "../../drivers/blkback/blkback.h"
#include "../../drivers/blkfront/blkfront.h"
#include "fake_disk.h"
#include "fake_hyp.h"

#define SECTORS		4096

/**
 * struct pair - a guest's disk and what is behind it
 * @disk: the host's
 * @h: the guest's, opened
 * @buf: memory of the guest, as large as a large request
 */
struct pair {
	struct kunit *test;
	struct fake_world *w;
	struct fake_pair *p;
	struct fake_disk *disk;
	struct xpv_bdev h;
	struct page *buf;
};

#define BUF_ORDER	8

static struct xbf_dev *front(struct pair *x)
{
	return fake_end(x->p, XPV_FRONT)->priv;
}

static struct xbb_dev *back(struct pair *x)
{
	return fake_end(x->p, XPV_BACK)->priv;
}

/* ------------------------------------------------------------------ */
/* Making and ending a pair                                            */
/* ------------------------------------------------------------------ */

/**
 * struct shape - how to connect
 * @order: of the ring
 * @queues: rings
 * @persistent: grants stay mapped
 * @block: logical block size
 * @mode: of the host's disk
 */
struct shape {
	unsigned int order, queues, block;
	bool persistent;
	const char *mode;
};

static const struct shape usual = {
	.order = 1, .queues = 2, .persistent = true, .block = 512, .mode = "w",
};

static void disk_let_go(void *arg)
{
	fake_disk_hold(arg, false);
}

static void free_buf(void *arg)
{
	__free_pages(arg, BUF_ORDER);
}

static bool both_connected(void *arg)
{
	struct pair *x = arg;

	return fake_state(x->p, XPV_FRONT) == XenbusStateConnected &&
	       fake_state(x->p, XPV_BACK) == XenbusStateConnected &&
	       front(x) && front(x)->disk && disk_live(front(x)->disk);
}

static void open_disk(struct pair *x, bool write)
{
	struct kunit *test = x->test;

	KUNIT_ASSERT_TRUE(test, fake_until(x->w, both_connected, x, 3000));
	KUNIT_ASSERT_EQ(test, xpv_bdev_open(&x->h, disk_devt(front(x)->disk),
					    write, NULL), 0);
}

static struct pair *pair_new(struct kunit *test, const struct shape *s)
{
	struct queue_limits lim = {
		.logical_block_size = s->block, .physical_block_size = 4096,
		.max_hw_discard_sectors = UINT_MAX, .max_discard_segments = 1,
		.discard_granularity = 4096,
		.features = BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA,
	};
	struct pair *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);
	dev_t dev;

	KUNIT_ASSERT_NOT_NULL(test, x);
	x->test = test;
	x->buf = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, BUF_ORDER);
	KUNIT_ASSERT_NOT_NULL(test, x->buf);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, free_buf, x->buf), 0);
	x->disk = fake_disk_create(test, SECTORS, &lim);
	x->w = fake_world_create(test);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, disk_let_go, x->disk), 0);
	x->p = fake_pair_create(x->w, "vbd", 0);
	dev = disk_devt(x->disk->disk);
	fake_set(x->p, XPV_BACK, "mode", "%s", s->mode);
	fake_set(x->p, XPV_BACK, "physical-device", "%x:%x", MAJOR(dev),
		 MINOR(dev));
	xbb_max_order = s->order;
	xbf_max_ring_order = s->order;
	xbb_max_queues = s->queues;
	xbf_max_queues = s->queues;
	xbb_feature_persistent = s->persistent;
	KUNIT_ASSERT_EQ(test, fake_probe(x->p, XPV_BACK), 0);
	KUNIT_ASSERT_EQ(test, fake_probe(x->p, XPV_FRONT), 0);
	open_disk(x, *s->mode == 'w');
	KUNIT_EXPECT_EQ(test, back(x)->nrings, s->queues);
	KUNIT_EXPECT_EQ(test, back(x)->order, s->order);
	KUNIT_EXPECT_EQ(test, back(x)->persistent, s->persistent);
	return x;
}

static bool both_unbound(void *arg)
{
	struct pair *x = arg;

	return !fake_bound(x->p, XPV_FRONT) && !fake_bound(x->p, XPV_BACK);
}

static bool both_closed(void *arg)
{
	struct pair *x = arg;

	return fake_state(x->p, XPV_FRONT) == XenbusStateClosed && !back(x);
}

static void pair_end(struct pair *x)
{
	if (x->h.bdev)
		xpv_bdev_close(&x->h);
	fake_detach(x->p);
	KUNIT_EXPECT_TRUE(x->test, fake_until(x->w, both_closed, x, 5000));
	fake_remove(x->p, XPV_FRONT);
	fake_remove(x->p, XPV_BACK);
	KUNIT_EXPECT_TRUE(x->test, both_unbound(x));
	fake_check_clean(x->w);
	xbb_max_order = XBF_RING_ORDER_MAX;
	xbb_feature_persistent = true;
}

/* ------------------------------------------------------------------ */
/* I/O                                                                 */
/* ------------------------------------------------------------------ */

static u8 pattern(u64 byte, u8 seed)
{
	return seed + byte * 7 + (byte >> 9) * 13 + (byte >> 17);
}

static int guest_io(struct pair *x, blk_opf_t op, u64 sector, unsigned int off,
		    unsigned int bytes)
{
	struct bio *bio = bio_alloc(x->h.bdev, 1, op, GFP_KERNEL);
	int err;

	bio->bi_iter.bi_sector = sector;
	if (op_is_discard(op))
		bio->bi_iter.bi_size = bytes;
	else if (bytes)
		__bio_add_page(bio, x->buf, bytes, off);
	err = submit_bio_wait(bio);
	bio_put(bio);
	return err;
}

static void buf_fill(struct pair *x, u64 sector, unsigned int off,
		     unsigned int bytes, u8 seed)
{
	u8 *at = page_address(x->buf) + off;
	unsigned int i;

	for (i = 0; i < bytes; i++)
		at[i] = pattern((sector << 9) + i, seed);
}

static unsigned int differ(const u8 *at, u64 sector, unsigned int bytes,
			   u8 seed)
{
	unsigned int i, n = 0;

	for (i = 0; i < bytes; i++)
		n += at[i] != pattern((sector << 9) + i, seed);
	return n;
}

/* Write, look at the host's disk, read into wiped memory, compare. */
static void round_trip(struct pair *x, u64 sector, unsigned int off,
		       unsigned int bytes, u8 seed)
{
	u8 *at = page_address(x->buf) + off;

	buf_fill(x, sector, off, bytes, seed);
	KUNIT_EXPECT_EQ(x->test, guest_io(x, REQ_OP_WRITE, sector, off, bytes), 0);
	KUNIT_EXPECT_EQ(x->test, differ(x->disk->data + (sector << 9), sector,
					bytes, seed), 0);
	memset(at, 0, bytes);
	KUNIT_EXPECT_EQ(x->test, guest_io(x, REQ_OP_READ, sector, off, bytes), 0);
	KUNIT_EXPECT_EQ(x->test, differ(at, sector, bytes, seed), 0);
}

static void round_trips(struct pair *x, unsigned int block)
{
	static const unsigned int sizes[] = {
		1, 2, 7, 8, 9, 64, 88, 96, 250, 256, 1024, 2040,
	};
	unsigned int i, n = block >> 9;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		unsigned int bytes = round_up(sizes[i], n) << 9;

		round_trip(x, round_down(i * 37, n), 0, bytes, i);
		/* Across page borders in the guest's memory. */
		if (n == 1)
			round_trip(x, i * 101, 1536, min(bytes, 1000U << 9),
				   i + 50);
	}
}

/* ------------------------------------------------------------------ */
/* Cases                                                               */
/* ------------------------------------------------------------------ */

static void shapes_desc(const struct shape *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "order %u, %u ring(s), %s, %u",
		 s->order, s->queues, s->persistent ? "persistent" : "copied",
		 s->block);
}

static const struct shape shapes[] = {
	{ 0, 1, 512, true, "w" }, { 0, 1, 512, false, "w" },
	{ 0, 2, 512, true, "w" }, { 0, 2, 512, false, "w" },
	{ 4, 1, 512, true, "w" }, { 4, 1, 512, false, "w" },
	{ 4, 2, 512, true, "w" }, { 4, 2, 512, false, "w" },
	{ 0, 1, 4096, true, "w" }, { 4, 2, 4096, false, "w" },
};

KUNIT_ARRAY_PARAM(shapes, shapes, shapes_desc);

static void data_each_shape(struct kunit *test)
{
	const struct shape *s = test->param_value;
	struct pair *x = pair_new(test, s);

	KUNIT_EXPECT_EQ(test, bdev_logical_block_size(x->h.bdev), s->block);
	KUNIT_EXPECT_EQ(test, bdev_nr_sectors(x->h.bdev), SECTORS);
	round_trips(x, s->block);
	pair_end(x);
}

static void flush_and_fua(struct kunit *test)
{
	struct pair *x = pair_new(test, &usual);
	unsigned int flushes;

	KUNIT_EXPECT_TRUE(test, bdev_write_cache(x->h.bdev));
	KUNIT_EXPECT_EQ(test, blkdev_issue_flush(x->h.bdev), 0);
	KUNIT_EXPECT_EQ(test, x->disk->flushes, 1);
	flushes = x->disk->flushes;
	KUNIT_EXPECT_EQ(test, guest_io(x, REQ_OP_WRITE | REQ_FUA, 0, 0, 4096), 0);
	/* The guest has no FUA: a flush after the write stands for it. */
	KUNIT_EXPECT_GT(test, x->disk->flushes + x->disk->fuas, flushes);
	fake_disk_fail(x->disk, 1, 1, BLK_STS_IOERR);
	KUNIT_EXPECT_EQ(test, blkdev_issue_flush(x->h.bdev), -EIO);
	KUNIT_EXPECT_EQ(test, blkdev_issue_flush(x->h.bdev), 0);
	pair_end(x);
}

static void discard_through(struct kunit *test)
{
	struct pair *x = pair_new(test, &usual);
	unsigned int i, bad = 0;

	KUNIT_EXPECT_GT(test, bdev_max_discard_sectors(x->h.bdev), 0);
	memset(x->disk->data, 0x77, SECTORS << 9);
	KUNIT_EXPECT_EQ(test, guest_io(x, REQ_OP_DISCARD, 16, 0, 8192), 0);
	for (i = 0; i < SECTORS << 9; i++)
		bad += x->disk->data[i] != (i >= 8192 && i < 16384 ? 0 : 0x77);
	KUNIT_EXPECT_EQ(test, bad, 0);
	pair_end(x);
}

static void read_only_disk(struct kunit *test)
{
	struct shape s = usual;
	struct pair *x;

	s.mode = "r";
	x = pair_new(test, &s);
	KUNIT_EXPECT_TRUE(test, bdev_read_only(x->h.bdev));
	KUNIT_EXPECT_EQ(test, guest_io(x, REQ_OP_READ, 0, 0, 4096), 0);
	KUNIT_EXPECT_EQ(test, x->disk->writes, 0);
	pair_end(x);
}

static bool capacity_is_1000(void *arg)
{
	struct pair *x = arg;

	return bdev_nr_sectors(x->h.bdev) == 1000;
}

static void resize_reaches_guest(struct kunit *test)
{
	struct pair *x = pair_new(test, &usual);

	set_capacity(x->disk->disk, 1000);
	KUNIT_EXPECT_TRUE(test, fake_until(x->w, capacity_is_1000, x, 4000));
	round_trip(x, 900, 0, 4096, 1);
	pair_end(x);
}

static void disk_errors_reach_guest(struct kunit *test)
{
	struct pair *x = pair_new(test, &usual);

	fake_disk_fail(x->disk, 1, 1, BLK_STS_MEDIUM);
	KUNIT_EXPECT_EQ(test, guest_io(x, REQ_OP_READ, 0, 0, 4096), -EIO);
	fake_disk_fail(x->disk, 2, 1, BLK_STS_IOERR);
	KUNIT_EXPECT_EQ(test, guest_io(x, REQ_OP_WRITE, 0, 0, 1 << 20), 0);
	KUNIT_EXPECT_EQ(test, guest_io(x, REQ_OP_WRITE, 0, 0, 4096), -EIO);
	round_trip(x, 0, 0, 4096, 3);
	pair_end(x);
}

/* The n-th copy fails: an error in the guest or a success, never wrong data. */
static void grant_faults_never_corrupt(struct kunit *test)
{
	struct shape s = usual;
	unsigned int nth, failed = 0;
	struct pair *x;

	s.persistent = false;
	x = pair_new(test, &s);
	for (nth = 1; nth <= 20; nth++) {
		fake_fail_op(x->w, FAKE_COPY, nth, 1, -EIO);
		buf_fill(x, 0, 0, 32768, nth);
		failed += !!guest_io(x, REQ_OP_WRITE, 0, 0, 32768);
		if (!guest_io(x, REQ_OP_READ, 0, 0, 32768))
			continue;
		failed++;
		fake_fail_op(x->w, FAKE_COPY, 1, 0, 0);
	}
	fake_fail_op(x->w, FAKE_COPY, 1, 0, 0);
	KUNIT_EXPECT_GE(test, failed, 16);
	round_trip(x, 0, 0, 32768, 99);
	pair_end(x);
}

/* ------------------------------------------------------------------ */
/* Requests in flight                                                  */
/* ------------------------------------------------------------------ */

struct flight {
	struct completion done;
	atomic_t left;
	atomic_t failed;
};

static void flight_end(struct bio *bio)
{
	struct flight *f = bio->bi_private;

	if (bio->bi_status)
		atomic_inc(&f->failed);
	bio_put(bio);
	if (atomic_dec_and_test(&f->left))
		complete(&f->done);
}

/* @n writes of a page each, the disk keeping them. */
static void take_off(struct pair *x, struct flight *f, unsigned int n)
{
	unsigned int i;

	init_completion(&f->done);
	atomic_set(&f->left, n);
	atomic_set(&f->failed, 0);
	fake_disk_hold(x->disk, true);
	for (i = 0; i < n; i++) {
		struct bio *bio = bio_alloc(x->h.bdev, 1, REQ_OP_WRITE,
					    GFP_KERNEL);

		buf_fill(x, i * 16, i * 4096, 4096, 7);
		bio->bi_iter.bi_sector = i * 16;
		bio->bi_private = f;
		bio->bi_end_io = flight_end;
		__bio_add_page(bio, x->buf, 4096, i * 4096);
		submit_bio(bio);
	}
	KUNIT_EXPECT_TRUE(x->test, fake_run(x->w));
	KUNIT_EXPECT_EQ(x->test, x->disk->nheld, n);
}

static void all_on_disk(struct pair *x, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(x->test, differ(x->disk->data + i * 8192, i * 16,
						4096, 7), 0);
}

/* The guest moves: writes that were not answered are issued again. */
static void resume_in_flight(struct kunit *test)
{
	struct pair *x = pair_new(test, &usual);
	struct flight f;

	take_off(x, &f, 20);
	fake_disk_hold(x->disk, false);
	KUNIT_EXPECT_EQ(test, fake_resume(x->p), 0);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&f.done, 10 * HZ));
	KUNIT_EXPECT_EQ(test, atomic_read(&f.failed), 0);
	KUNIT_EXPECT_TRUE(test, fake_until(x->w, both_connected, x, 3000));
	all_on_disk(x, 20);
	round_trips(x, 512);
	pair_end(x);
}

/* The backend's driver is replaced under a live guest. */
static void rebind_in_flight(struct kunit *test)
{
	struct pair *x = pair_new(test, &usual);
	struct flight f;

	take_off(x, &f, 20);
	fake_disk_hold(x->disk, false);
	fake_remove(x->p, XPV_BACK);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&f.done, 10 * HZ));
	KUNIT_EXPECT_EQ(test, atomic_read(&f.failed), 0);
	all_on_disk(x, 20);
	KUNIT_EXPECT_EQ(test, fake_state(x->p, XPV_FRONT), XenbusStateConnected);
	pair_end(x);
}

static void detach_in_flight(struct kunit *test)
{
	struct pair *x = pair_new(test, &usual);
	struct flight f;

	take_off(x, &f, 20);
	fake_detach(x->p);
	msleep(100);
	fake_disk_hold(x->disk, false);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&f.done, 10 * HZ));
	xpv_bdev_close(&x->h);
	KUNIT_EXPECT_TRUE(test, fake_until(x->w, both_closed, x, 5000));
	pair_end(x);
}

static void reconnect_many_times(struct kunit *test)
{
	struct pair *x = pair_new(test, &usual);
	unsigned int i;

	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, fake_resume(x->p), 0);
		KUNIT_EXPECT_TRUE(test, fake_until(x->w, both_connected, x, 3000));
		round_trip(x, i * 8, 0, 65536, i);
	}
	pair_end(x);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(data_each_shape, shapes_gen_params),
	KUNIT_CASE(flush_and_fua),
	KUNIT_CASE(discard_through),
	KUNIT_CASE(read_only_disk),
	KUNIT_CASE(resize_reaches_guest),
	KUNIT_CASE(disk_errors_reach_guest),
	KUNIT_CASE(grant_faults_never_corrupt),
	KUNIT_CASE(resume_in_flight),
	KUNIT_CASE(rebind_in_flight),
	KUNIT_CASE(detach_in_flight),
	KUNIT_CASE(reconnect_many_times),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkpair",
	.test_cases = cases,
};

kunit_test_suite(suite);

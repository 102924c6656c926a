// SPDX-License-Identifier: GPL-2.0
/*
 * blkfront connecting and going: keys, states, failures of the seam, users.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kobject.h>
#include "fake_blkpeer.h"

/* ------------------------------------------------------------------ */
/* Our keys                                                            */
/* ------------------------------------------------------------------ */

static void keys_least(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);

	blkpeer_probe(b);
	KUNIT_EXPECT_GT(test, blkpeer_front(b, "ring-ref"), 0);
	KUNIT_EXPECT_GT(test, blkpeer_front(b, "event-channel"), 0);
	KUNIT_EXPECT_STREQ(test, fake_get(b->p, XPV_FRONT, "protocol"),
			   "x86_64-abi");
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "feature-persistent"), 1);
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "ring-page-order"), -1);
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "num-ring-pages"), -1);
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "multi-queue-num-queues"), -1);
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "ring-ref0"), -1);
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "feature-large-sector-size"), -1);
	blkpeer_done(b);
}

/* One layout after the other: nothing of the one before is left. */
static void keys_ring_order(struct kunit *test)
{
	static const struct { const char *text; int order; } t[] = {
		{ "4", 4 }, { "0", 0 }, { "1", 1 }, { "5", 4 }, { "", 0 },
		{ "4096", 4 }, { "-1", 0 }, { "2", 2 }, { "x", 0 },
		{ "99999999999", 4 },
	};
	struct blkpeer *b = blkpeer_new(test);
	unsigned int i, k;
	char key[16];

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		fake_set(b->p, XPV_BACK, "max-ring-page-order", "%s", t[i].text);
		blkpeer_probe(b);
		KUNIT_EXPECT_EQ_MSG(test, blkpeer_front(b, "ring-page-order"),
				    t[i].order ?: -1, "order %s", t[i].text);
		KUNIT_EXPECT_EQ(test, blkpeer_front(b, "num-ring-pages"), -1);
		KUNIT_EXPECT_EQ(test, blkpeer_front(b, "ring-ref") > 0, !t[i].order);
		for (k = 0; k < 17; k++) {
			snprintf(key, sizeof(key), "ring-ref%u", k);
			KUNIT_EXPECT_EQ_MSG(test, blkpeer_front(b, key) > 0,
					    t[i].order && k < BIT(t[i].order),
					    "order %s, %s", t[i].text, key);
		}
		blkpeer_unbind(b);
	}
	fake_check_clean(b->w);
}

static void keys_deprecated_pages(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);

	blkpeer_set(b, "max-ring-pages", 8);
	blkpeer_probe(b);
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "ring-page-order"), 3);
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "num-ring-pages"), 8);
	KUNIT_EXPECT_GT(test, blkpeer_front(b, "ring-ref7"), 0);
	blkpeer_done(b);
}

static void keys_queues(struct kunit *test)
{
	static const struct { const char *text; int n; } t[] = {
		{ "4", 3 }, { "1", -1 }, { "2", 2 }, { "0", -1 }, { "3", 3 },
		{ "4294967295", 3 }, { "many", -1 },
	};
	struct blkpeer *b = blkpeer_new(test);
	unsigned int i;

	xbf_max_queues = 3;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		fake_set(b->p, XPV_BACK, "multi-queue-max-queues", "%s",
			 t[i].text);
		blkpeer_probe(b);
		KUNIT_EXPECT_EQ_MSG(test, blkpeer_front(b, "multi-queue-num-queues"),
				    t[i].n, "queues %s", t[i].text);
		KUNIT_EXPECT_EQ(test, blkpeer_front(b, "ring-ref") > 0, t[i].n < 0);
		KUNIT_EXPECT_EQ(test, blkpeer_front(b, "event-channel") > 0, t[i].n < 0);
		KUNIT_EXPECT_EQ(test, blkpeer_front(b, "queue-0/ring-ref") > 0, t[i].n > 1);
		KUNIT_EXPECT_EQ(test, blkpeer_front(b, "queue-1/event-channel") > 0,
				t[i].n > 1);
		KUNIT_EXPECT_EQ(test, blkpeer_front(b, "queue-2/ring-ref") > 0, t[i].n > 2);
		blkpeer_unbind(b);
	}
	xbf_max_queues = 0;
	fake_check_clean(b->w);
}

static void keys_persistent_off(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);

	xbf_persistent = false;
	blkpeer_probe(b);
	xbf_persistent = true;
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "feature-persistent"), 0);
	blkpeer_done(b);
}

static void queues_carry_io(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	unsigned int i;

	xbf_max_queues = 3;
	blkpeer_set(b, "multi-queue-max-queues", 3);
	blkpeer_set(b, "max-ring-page-order", 1);
	blkpeer_live(b);
	KUNIT_EXPECT_EQ(test, b->nrings, 3);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, i, 8192), 0);
	blkpeer_end(b);
	xbf_max_queues = 0;
}

/* Requests of three hardware queues, a backend with one ring. */
static void queues_fewer_after_resume(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	struct blkpeer_io *io[12];
	unsigned int i;

	xbf_max_queues = 3;
	blkpeer_set(b, "multi-queue-max-queues", 3);
	blkpeer_live(b);
	b->hold = true;
	for (i = 0; i < ARRAY_SIZE(io); i++)
		io[i] = blkpeer_io(b, REQ_OP_WRITE, i * 16, 4096, 0);
	fake_run(b->w);
	blkpeer_detach(b);
	KUNIT_ASSERT_EQ(test, fake_resume(b->p), 0);
	b->hold = false;
	fake_del(b->p, XPV_BACK, "multi-queue-max-queues");
	blkpeer_again(b);
	KUNIT_EXPECT_EQ(test, b->nrings, 1);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io[i]), 0);
	blkpeer_end(b);
	xbf_max_queues = 0;
}

/* ------------------------------------------------------------------ */
/* The backend's keys                                                  */
/* ------------------------------------------------------------------ */

/* Does the disk come up when the backend says @key = @text? */
static bool comes_up(struct blkpeer *b, const char *key, const char *text)
{
	bool up;

	blkpeer_probe(b);
	blkpeer_attach(b);
	blkpeer_set(b, "sectors", BLKPEER_SECTORS);
	if (text)
		fake_set(b->p, XPV_BACK, key, "%s", text);
	else
		fake_del(b->p, XPV_BACK, key);
	up = blkpeer_state(b, XenbusStateConnected) == XenbusStateConnected;
	if (!up)
		KUNIT_EXPECT_NOT_NULL(b->test, fake_error(b->p, XPV_FRONT));
	fake_del(b->p, XPV_BACK, key);
	blkpeer_unbind(b);
	return up;
}

static void disk_keys_sectors(struct kunit *test)
{
	static const struct { const char *text; bool up; } t[] = {
		{ "0", true }, { "1", true }, { "18014398509481983", true },
		{ "18014398509481984", false }, { "18446744073709551615", false },
		{ "18446744073709551616", false }, { "", false }, { "-1", false },
		{ "12x", false }, { " 64 ", true }, { NULL, false },
	};
	struct blkpeer *b = blkpeer_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		KUNIT_EXPECT_EQ_MSG(test, comes_up(b, "sectors", t[i].text),
				    t[i].up, "sectors %s", t[i].text);
	fake_check_clean(b->w);
}

static void disk_keys_sector_size(struct kunit *test)
{
	static const struct { const char *text; bool up; } t[] = {
		{ NULL, true }, { "512", true }, { "4096", true }, { "1024", true },
		{ "511", false }, { "0", false }, { "8192", false },
		{ "520", false }, { "4294967295", false },
	};
	struct blkpeer *b = blkpeer_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		KUNIT_EXPECT_EQ_MSG(test, comes_up(b, "sector-size", t[i].text),
				    t[i].up, "sector-size %s", t[i].text);
	fake_check_clean(b->w);
}

static void disk_keys_optional_garbage(struct kunit *test)
{
	static const char * const key[] = {
		"info", "physical-sector-size", "feature-max-indirect-segments",
		"feature-flush-cache", "feature-barrier", "feature-persistent",
		"feature-discard", "discard-granularity", "discard-alignment",
		"discard-secure",
	};
	static const char * const text[] = { NULL, "", "0", "-1", "junk",
					     "4294967295", "4294967296" };
	struct blkpeer *b = blkpeer_new(test);
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(key); i++) {
		for (k = 0; k < ARRAY_SIZE(text); k++)
			KUNIT_EXPECT_TRUE_MSG(test, comes_up(b, key[i], text[k]),
					      "%s %s", key[i], text[k]);
	}
	fake_check_clean(b->w);
}

static void disk_limits_block_layer(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	struct queue_limits *l;

	blkpeer_set(b, "sector-size", 4096);
	blkpeer_set(b, "physical-sector-size", 16384);
	blkpeer_set(b, "feature-max-indirect-segments", 256);
	blkpeer_set(b, "feature-flush-cache", 1);
	blkpeer_set(b, "feature-discard", 1);
	blkpeer_set(b, "discard-granularity", 65536);
	blkpeer_live(b);
	l = &blkpeer_dev(b)->disk->queue->limits;
	KUNIT_EXPECT_EQ(test, l->logical_block_size, 4096);
	KUNIT_EXPECT_EQ(test, l->physical_block_size, 16384);
	KUNIT_EXPECT_EQ(test, l->max_segments, 256);
	KUNIT_EXPECT_EQ(test, l->max_hw_sectors, 2048);
	KUNIT_EXPECT_EQ(test, l->max_sectors, 2048);
	KUNIT_EXPECT_EQ(test, l->dma_alignment, 511);
	KUNIT_EXPECT_EQ(test, l->discard_granularity, 65536);
	KUNIT_EXPECT_NE(test, l->max_discard_sectors, 0);
	KUNIT_EXPECT_EQ(test, l->max_secure_erase_sectors, 0);
	KUNIT_EXPECT_TRUE(test, l->features & BLK_FEAT_WRITE_CACHE);
	KUNIT_EXPECT_FALSE(test, l->features & BLK_FEAT_FUA);
	KUNIT_EXPECT_FALSE(test, l->features & BLK_FEAT_ROTATIONAL);
	blkpeer_end(b);
}

static void disk_blocks_of_4096(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	struct blkpeer_io *io;

	blkpeer_set(b, "sector-size", 4096);
	blkpeer_live(b);
	io = blkpeer_io(b, REQ_OP_WRITE, 80, 8192, 512);
	KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io), 0);
	KUNIT_EXPECT_EQ(test, b->seen[0].sector, 80);
	KUNIT_EXPECT_TRUE(test, blkpeer_same(b, io, 80));
	blkpeer_end(b);
}

static void disk_flags(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	struct gendisk *disk;

	blkpeer_set(b, "info", VDISK_CDROM | VDISK_REMOVABLE | VDISK_READONLY);
	blkpeer_live(b);
	disk = blkpeer_dev(b)->disk;
	KUNIT_EXPECT_TRUE(test, get_disk_ro(disk));
	KUNIT_EXPECT_TRUE(test, disk->flags & GENHD_FL_REMOVABLE);
	KUNIT_EXPECT_EQ(test, disk->major, 202);
	KUNIT_EXPECT_EQ(test, disk->first_minor, 0);
	KUNIT_EXPECT_STREQ(test, disk->disk_name, "xvda");
	blkpeer_end(b);
}

static void disk_resize(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);

	blkpeer_set(b, "sectors", 1000);
	blkpeer_live(b);
	KUNIT_EXPECT_EQ(test, get_capacity(blkpeer_dev(b)->disk), 1000);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 1000, 4096), -EIO);
	blkpeer_set(b, "sectors", 2000);
	KUNIT_EXPECT_EQ(test, blkpeer_state(b, XenbusStateConnected),
			XenbusStateConnected);
	KUNIT_EXPECT_EQ(test, get_capacity(blkpeer_dev(b)->disk), 2000);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 1000, 4096), 0);
	blkpeer_set(b, "sectors", 500);
	blkpeer_state(b, XenbusStateConnected);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 1000, 4096), -EIO);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 492, 4096), 0);
	blkpeer_end(b);
}

static void disk_resize_garbage_ignored(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);

	blkpeer_live(b);
	fake_set(b->p, XPV_BACK, "sectors", "junk");
	blkpeer_state(b, XenbusStateConnected);
	KUNIT_EXPECT_EQ(test, get_capacity(blkpeer_dev(b)->disk),
			BLKPEER_SECTORS);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 4096), 0);
	blkpeer_end(b);
}

/* Each size counts at once, people hear of the last one, and not too often. */
static void resize_told_in_the_end(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");
	struct gendisk *disk = blkpeer_dev(b)->disk;
	unsigned int i;
	u64 told;

	fake_run(b->w);
	told = atomic64_read(&uevent_seqnum);
	for (i = 1; i <= 4; i++) {
		blkpeer_set(b, "sectors", 1000 * i);
		blkpeer_state(b, XenbusStateConnected);
		KUNIT_ASSERT_EQ(test, get_capacity(disk), 1000 * i);
	}
	KUNIT_EXPECT_LE(test, atomic64_read(&uevent_seqnum) - told, 2);
	msleep(3000);
	KUNIT_EXPECT_EQ(test, atomic64_read(&uevent_seqnum) - told, 2);
	blkpeer_end(b);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(keys_least),
	KUNIT_CASE(keys_ring_order),
	KUNIT_CASE(keys_deprecated_pages),
	KUNIT_CASE(keys_queues),
	KUNIT_CASE(keys_persistent_off),
	KUNIT_CASE(queues_carry_io),
	KUNIT_CASE(queues_fewer_after_resume),
	KUNIT_CASE(disk_keys_sectors),
	KUNIT_CASE(resize_told_in_the_end),
	KUNIT_CASE(disk_keys_sector_size),
	KUNIT_CASE(disk_keys_optional_garbage),
	KUNIT_CASE(disk_limits_block_layer),
	KUNIT_CASE(disk_blocks_of_4096),
	KUNIT_CASE(disk_flags),
	KUNIT_CASE(disk_resize),
	KUNIT_CASE(disk_resize_garbage_ignored),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkfront_conn",
	.test_cases = cases,
};

kunit_test_suite(suite);

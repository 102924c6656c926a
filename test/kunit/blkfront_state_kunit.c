// SPDX-License-Identifier: GPL-2.0
/*
 * blkfront coming and going: probe, states, users, shortage, counters.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/file.h>
#include "fake_blkpeer.h"

/* ------------------------------------------------------------------ */
/* Probe                                                               */
/* ------------------------------------------------------------------ */

static void probe_bad_vdev(struct kunit *test)
{
	static const char * const text[] = { "", "0", "x", "4294967295", "512" };
	struct blkpeer *b = blkpeer_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(text); i++) {
		fake_set(b->p, XPV_FRONT, "virtual-device", "%s", text[i]);
		KUNIT_EXPECT_NE_MSG(test, fake_probe(b->p, XPV_FRONT), 0,
				    "vdev %s", text[i]);
	}
	fake_check_clean(b->w);
}

static void probe_extended_key(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);

	fake_del(b->p, XPV_FRONT, "virtual-device");
	fake_set(b->p, XPV_FRONT, "virtual-device-ext", "%lu",
		 BIT(XBF_EXT_SHIFT) | 30 << 8);
	blkpeer_live(b);
	KUNIT_EXPECT_STREQ(test, blkpeer_dev(b)->disk->disk_name, "xvdae");
	blkpeer_end(b);
}

static void probe_same_disk_twice(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	struct fake_pair *other = fake_pair_create(b->w, "vbd", 1);

	fake_set(other, XPV_FRONT, "virtual-device", "%u", 202 << 8);
	KUNIT_ASSERT_EQ(test, fake_probe(b->p, XPV_FRONT), 0);
	KUNIT_EXPECT_EQ(test, fake_probe(other, XPV_FRONT), -EBUSY);
	fake_remove(b->p, XPV_FRONT);
	KUNIT_EXPECT_EQ(test, fake_probe(other, XPV_FRONT), 0);
	fake_remove(other, XPV_FRONT);
	fake_check_clean(b->w);
}

/* ------------------------------------------------------------------ */
/* States                                                              */
/* ------------------------------------------------------------------ */

static void states_backend_early(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);

	/* Some backends are Connected before we are ready. */
	blkpeer_set(b, "sectors", BLKPEER_SECTORS);
	KUNIT_ASSERT_EQ(test, fake_probe(b->p, XPV_FRONT), 0);
	KUNIT_EXPECT_EQ(test, blkpeer_state(b, XenbusStateConnected),
			XenbusStateInitialised);
	blkpeer_attach(b);
	KUNIT_EXPECT_EQ(test, blkpeer_state(b, XenbusStateConnected),
			XenbusStateConnected);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 4096), 0);
	blkpeer_end(b);
}

/* Bring the frontend to its state @own, then the peer shows @peer. */
static void states_every_pair(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	unsigned int own, peer;

	for (own = XenbusStateInitialising; own <= XenbusStateClosed; own++) {
		for (peer = 0; peer <= XenbusStateReconfigured; peer++) {
			if (own == XenbusStateInitWait)
				continue;
			KUNIT_ASSERT_EQ(test, fake_probe(b->p, XPV_FRONT), 0);
			fake_run(b->w);
			if (own >= XenbusStateInitialised) {
				blkpeer_state(b, XenbusStateInitWait);
				blkpeer_attach(b);
			}
			if (own >= XenbusStateConnected) {
				blkpeer_set(b, "sectors", 64);
				blkpeer_state(b, XenbusStateConnected);
			}
			if (own >= XenbusStateClosing)
				blkpeer_state(b, XenbusStateClosing);
			if (own == XenbusStateClosed)
				msleep(20);
			blkpeer_state(b, peer);
			blkpeer_unbind(b);
			KUNIT_ASSERT_EQ(test, fake_use(b->w).refs, 0);
		}
	}
	fake_check_clean(b->w);
}

static bool gone(void *arg)
{
	struct blkpeer *b = arg;

	return fake_state(b->p, XPV_FRONT) == XenbusStateClosed;
}

static void close_peer_vanishes_with_io(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	struct blkpeer_io *io;

	blkpeer_live(b);
	b->hold = true;
	io = blkpeer_io(b, REQ_OP_READ, 0, 8192, 0);
	fake_run(b->w);
	blkpeer_detach(b);
	blkpeer_state(b, XenbusStateClosed);
	KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io), -EIO);
	KUNIT_EXPECT_TRUE(test, fake_until(b->w, gone, b, 5000));
	blkpeer_done(b);
}

static void close_waits_for_last_user(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	struct file *file;

	blkpeer_live(b);
	file = bdev_file_open_by_dev(MKDEV(202, 0), BLK_OPEN_READ, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_EQ(test, blkpeer_state(b, XenbusStateClosing),
			XenbusStateConnected);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 4096), 0);
	/* Nobody else gets in. */
	KUNIT_EXPECT_TRUE(test, IS_ERR(bdev_file_open_by_dev(MKDEV(202, 0),
							     BLK_OPEN_READ, NULL,
							     NULL)));
	bdev_fput(file);
	flush_delayed_fput();
	fake_run(b->w);
	blkpeer_detach(b);
	blkpeer_state(b, XenbusStateClosing);
	KUNIT_EXPECT_TRUE(test, fake_until(b->w, gone, b, 5000));
	blkpeer_done(b);
}

static void remove_while_open(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	struct file *file;

	blkpeer_live(b);
	file = bdev_file_open_by_dev(MKDEV(202, 0), BLK_OPEN_READ, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	blkpeer_state(b, XenbusStateClosed);
	fake_remove(b->p, XPV_FRONT);
	bdev_fput(file);
	flush_delayed_fput();
	blkpeer_done(b);
}

/* An honest backend finishes what it has when our module goes. */
static void remove_drains(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	struct blkpeer_io *io[8];
	unsigned int i;

	blkpeer_live(b);
	fake_delay_events(b->w, 20);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		io[i] = blkpeer_io(b, REQ_OP_WRITE, i * 8, 4096, 0);
	fake_remove(b->p, XPV_FRONT);
	fake_delay_events(b->w, 0);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io[i]), 0);
	blkpeer_done(b);
}

static void remove_pages_kept_by_peer(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);

	blkpeer_set(b, "feature-persistent", 1);
	blkpeer_live(b);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 45056), 0);
	fake_keep(b->w, true);
	blkpeer_detach(b);
	blkpeer_state(b, XenbusStateClosed);
	fake_remove(b->p, XPV_FRONT);
	KUNIT_EXPECT_GE(test, fake_use(b->w).abandoned, 11);
	fake_keep(b->w, false);
	fake_run(b->w);
	blkpeer_done(b);
}

/* ------------------------------------------------------------------ */
/* Shortage                                                            */
/* ------------------------------------------------------------------ */

static void shortage_of_grants(struct kunit *test)
{
	static const unsigned int limit[] = { 2000, 1072, 700, 300, 275, 100, 50 };
	struct blkpeer *b = blkpeer_new(test);
	unsigned int i;

	blkpeer_set(b, "max-ring-page-order", 4);
	blkpeer_set(b, "feature-max-indirect-segments", 256);
	blkpeer_set(b, "feature-persistent", 1);
	blkpeer_set(b, "sectors", BLKPEER_SECTORS);
	for (i = 0; i < ARRAY_SIZE(limit); i++) {
		fake_grant_limit(b->w, limit[i]);
		blkpeer_live(b);
		KUNIT_EXPECT_EQ_MSG(test, blkpeer_do(b, REQ_OP_READ, 0, 1 << 20),
				    0, "%u grants", limit[i]);
		blkpeer_unbind(b);
	}
	fake_grant_limit(b->w, 5000);
	fake_check_clean(b->w);
}

static void shortage_fewer_rings(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);

	xbf_max_queues = 4;
	blkpeer_set(b, "multi-queue-max-queues", 4);
	/* The third ring has no room; one try with two is next. */
	fake_fail(b->w, FAKE_RING_SHARE, 3, 1, -ENOSPC);
	blkpeer_probe(b);
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "multi-queue-num-queues"), 2);
	blkpeer_unbind(b);
	fake_fail(b->w, FAKE_STORE_WRITE, 1, 2, -ENOSPC);
	blkpeer_probe(b);
	KUNIT_EXPECT_EQ(test, blkpeer_front(b, "multi-queue-num-queues"), -1);
	KUNIT_EXPECT_GT(test, blkpeer_front(b, "ring-ref"), 0);
	xbf_max_queues = 0;
	blkpeer_done(b);
}

static const enum fake_call failing[] = {
	FAKE_GREF_ALLOC, FAKE_RING_SHARE, FAKE_EVT_LISTEN, FAKE_STORE_READ,
	FAKE_STORE_WRITE,
};

/* The n-th call fails, for every n: up or not, nothing leaks, next time works. */
static void connect_nth_call_fails(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	unsigned int i, n;

	xbf_max_queues = 2;
	blkpeer_set(b, "multi-queue-max-queues", 2);
	blkpeer_set(b, "sectors", 64);
	for (i = 0; i < ARRAY_SIZE(failing); i++) {
		for (n = 1; n < 40; n++) {
			u64 calls = fake_calls(b->w, failing[i]);

			fake_fail(b->w, failing[i], n, 1, -EIO);
			if (!fake_probe(b->p, XPV_FRONT)) {
				fake_run(b->w);
				blkpeer_state(b, XenbusStateInitWait);
				if (fake_state(b->p, XPV_FRONT) ==
				    XenbusStateInitialised)
					blkpeer_attach(b);
				blkpeer_state(b, XenbusStateConnected);
			}
			fake_fail(b->w, failing[i], 1, 0, 0);
			calls = fake_calls(b->w, failing[i]) - calls;
			blkpeer_unbind(b);
			KUNIT_ASSERT_EQ(test, fake_use(b->w).refs, 0);
			KUNIT_ASSERT_EQ(test, fake_use(b->w).ports, 0);
			KUNIT_ASSERT_EQ(test, fake_use(b->w).rings, 0);
			if (calls < n)
				break;
		}
		KUNIT_EXPECT_LT(test, n, 40);
	}
	xbf_max_queues = 0;
	blkpeer_live(b);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 4096), 0);
	blkpeer_end(b);
}

static void counters_survive_resume(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	u64 requests;

	blkpeer_live(b);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 4096), 0);
	requests = blkpeer_stat(b, "requests");
	KUNIT_EXPECT_GE(test, requests, 1);
	blkpeer_detach(b);
	KUNIT_ASSERT_EQ(test, fake_resume(b->p), 0);
	KUNIT_EXPECT_EQ(test, blkpeer_stat(b, "requests"), requests);
	blkpeer_again(b);
	KUNIT_EXPECT_EQ(test, blkpeer_stat(b, "requests"), requests);
	blkpeer_end(b);
}

/* As stock blkback does: not one page may be left to it. */
static void close_backend_unmaps_last(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-persistent=1");

	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_WRITE, 0, 45056), 0);
	blkpeer_end_late(b);
	KUNIT_EXPECT_EQ(test, fake_calls(b->w, FAKE_ABANDON), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(close_backend_unmaps_last),
	KUNIT_CASE(probe_bad_vdev),
	KUNIT_CASE(probe_extended_key),
	KUNIT_CASE(probe_same_disk_twice),
	KUNIT_CASE(states_backend_early),
	KUNIT_CASE(states_every_pair),
	KUNIT_CASE(close_peer_vanishes_with_io),
	KUNIT_CASE(close_waits_for_last_user),
	KUNIT_CASE(remove_while_open),
	KUNIT_CASE(remove_drains),
	KUNIT_CASE(remove_pages_kept_by_peer),
	KUNIT_CASE(shortage_of_grants),
	KUNIT_CASE(shortage_fewer_rings),
	KUNIT_CASE(connect_nth_call_fails),
	KUNIT_CASE(counters_survive_resume),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkfront_state",
	.test_cases = cases,
};

kunit_test_suite(suite);

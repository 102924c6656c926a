// SPDX-License-Identifier: GPL-2.0
/*
 * blkback on the fake Xen: keys, states, teardown, faults while connecting. A
 * test plays the guest and the toolstack.
 */
#include <linux/kthread.h>
#include "fake_blkguest.h"

#define RD	BLKIF_OP_READ
#define WR	BLKIF_OP_WRITE

static struct blkguest *new_guest(struct kunit *test)
{
	struct queue_limits lim = blkguest_limits(512);

	return blkguest_new(test, &lim);
}

static long long back_num(struct blkguest *g, const char *key)
{
	return fake_get_num(g->p, XPV_BACK, key, -1);
}

/* A request works: the connection is a real one. */
static void works(struct blkguest *g)
{
	unsigned int i;

	for (i = 0; i < g->nrings; i++)
		KUNIT_EXPECT_EQ(g->test, blkguest_do(g, i, blkguest_rw(g, RD, 0, 0, 1)),
				BLKIF_RSP_OKAY);
}

/* ------------------------------------------------------------------ */
/* What is offered                                                     */
/* ------------------------------------------------------------------ */

static void offer_before_disk(struct kunit *test)
{
	struct blkguest *g = new_guest(test);

	KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK), XenbusStateInitWait);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-persistent"), 1);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-barrier"), 0);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-max-indirect-segments"), 256);
	KUNIT_EXPECT_EQ(test, back_num(g, "max-ring-page-order"), 4);
	KUNIT_EXPECT_EQ(test, back_num(g, "max-ring-pages"), 16);
	KUNIT_EXPECT_EQ(test, back_num(g, "multi-queue-max-queues"),
			xbb_max_queues);
	KUNIT_EXPECT_EQ(test, back_num(g, "sectors"), -1);
	fake_remove(g->p, XPV_BACK);
}

static void offer_disk_keys(struct kunit *test)
{
	struct queue_limits lim = blkguest_limits(4096);
	struct blkguest *g = blkguest_new(test, &lim);

	blkguest_connect(g, 1, 0, true);
	/* Units of 512 bytes, whatever the block. */
	KUNIT_EXPECT_EQ(test, back_num(g, "sectors"), BLKGUEST_SECTORS);
	KUNIT_EXPECT_EQ(test, back_num(g, "sector-size"), 4096);
	KUNIT_EXPECT_EQ(test, back_num(g, "physical-sector-size"), 4096);
	KUNIT_EXPECT_EQ(test, back_num(g, "info"), 0);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-flush-cache"), 1);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-discard"), 1);
	KUNIT_EXPECT_EQ(test, back_num(g, "discard-granularity"), 4096);
	KUNIT_EXPECT_EQ(test, back_num(g, "discard-alignment"), 0);
	KUNIT_EXPECT_EQ(test, back_num(g, "discard-secure"), 1);
	works(g);
	blkguest_end(g);
}

static void offer_plain_disk(struct kunit *test)
{
	struct queue_limits lim = { .logical_block_size = 512 };
	struct blkguest *g = blkguest_new(test, &lim);

	blkguest_connect(g, 1, 0, true);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-flush-cache"), 0);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-discard"), 0);
	KUNIT_EXPECT_EQ(test, back_num(g, "discard-granularity"), -1);
	KUNIT_EXPECT_EQ(test, back_num(g, "sector-size"), 512);
	blkguest_end(g);
}

/* Pages that must not change under the device are copied. */
static void offer_no_persistent_on_stable_disk(struct kunit *test)
{
	struct queue_limits lim = blkguest_limits(512);
	struct blkguest *g;

	lim.features |= BLK_FEAT_STABLE_WRITES;
	g = blkguest_new(test, &lim);
	blkguest_connect(g, 1, 0, true);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-persistent"), 0);
	KUNIT_EXPECT_FALSE(test, blkguest_dev(g)->persistent);
	works(g);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "maps"), 0);
	blkguest_end(g);
}

static void toolstack_keys(struct kunit *test)
{
	struct blkguest *g = new_guest(test);

	fake_set(g->p, XPV_BACK, "mode", "r");
	fake_set(g->p, XPV_BACK, "device-type", "cdrom");
	blkguest_connect(g, 1, 0, true);
	KUNIT_EXPECT_EQ(test, back_num(g, "info"), 1 | 2 | 4);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-flush-cache"), 0);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-discard"), 0);
	works(g);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, blkguest_rw(g, WR, 0, 0, 1)),
			BLKIF_RSP_ERROR);
	KUNIT_EXPECT_EQ(test, g->disk->writes, 0);
	blkguest_end(g);
}

static void toolstack_forbids_discard(struct kunit *test)
{
	struct blkguest *g = new_guest(test);

	fake_set(g->p, XPV_BACK, "discard-enable", "0");
	fake_set(g->p, XPV_BACK, "removable", "1");
	blkguest_connect(g, 1, 0, true);
	KUNIT_EXPECT_EQ(test, back_num(g, "feature-discard"), 0);
	KUNIT_EXPECT_EQ(test, back_num(g, "info"), 2);
	blkguest_end(g);
}

/* ------------------------------------------------------------------ */
/* The disk                                                            */
/* ------------------------------------------------------------------ */

static void waits_for_disk(struct kunit *test)
{
	struct blkguest *g = new_guest(test);

	blkguest_share(g, 1, 0, false);
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateInitialised),
			XenbusStateInitWait);
	/* An empty drive, and nonsense. */
	fake_set(g->p, XPV_BACK, "physical-device", "%s", "");
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	fake_set(g->p, XPV_BACK, "physical-device", "fe");
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK), XenbusStateInitWait);
	blkguest_disk(g);
	KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK), XenbusStateConnected);
	works(g);
	blkguest_end(g);
}

static void disk_is_claimed(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	dev_t dev = disk_devt(g->disk->disk);
	struct xpv_bdev h = {};

	KUNIT_EXPECT_EQ(test, xpv_bdev_open(&h, dev, true, test), -EBUSY);
	KUNIT_EXPECT_EQ(test, xpv_bdev_open(&h, dev, true, NULL), 0);
	xpv_bdev_close(&h);
	blkguest_again(g);
	/* Mounted on the host: not for a guest that may write. */
	fake_del(g->p, XPV_BACK, "physical-device");
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	KUNIT_ASSERT_EQ(test, xpv_bdev_open(&h, dev, true, test), 0);
	blkguest_disk(g);
	KUNIT_EXPECT_NULL(test, blkguest_dev(g)->disk.h.bdev);
	KUNIT_EXPECT_NOT_NULL(test, fake_error(g->p, XPV_BACK));
	/* Unless the toolstack insists. */
	fake_set(g->p, XPV_BACK, "mode", "w!");
	blkguest_disk(g);
	KUNIT_EXPECT_NOT_NULL(test, blkguest_dev(g)->disk.h.bdev);
	xpv_bdev_close(&h);
	blkguest_connect(g, 1, 0, false);
	blkguest_end(g);
}

/* Free for the hotplug script as soon as Closed is to be seen. */
static void disk_is_free_when_closed(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	struct xpv_bdev h = {};

	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateClosed),
			XenbusStateClosed);
	KUNIT_EXPECT_EQ(test, xpv_bdev_open(&h, disk_devt(g->disk->disk), true,
					    test), 0);
	xpv_bdev_close(&h);
	blkguest_unshare(g);
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateInitialising),
			XenbusStateInitWait);
	blkguest_connect(g, 1, 0, false);
	blkguest_end(g);
}

static bool sectors_are_double(void *arg)
{
	return back_num(arg, "sectors") == 2 * BLKGUEST_SECTORS;
}

static void resize_is_told(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);

	set_capacity(g->disk->disk, BLKGUEST_SECTORS / 2);
	KUNIT_EXPECT_EQ(test,
			blkguest_do(g, 0, blkguest_rw(g, RD, BLKGUEST_SECTORS / 2,
						      0, 1)), BLKIF_RSP_ERROR);
	KUNIT_EXPECT_EQ(test, back_num(g, "sectors"), BLKGUEST_SECTORS / 2);
	KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK), XenbusStateConnected);
	/* Without any request it is seen a little later. */
	set_capacity(g->disk->disk, 2 * BLKGUEST_SECTORS);
	KUNIT_EXPECT_TRUE(test, fake_until(g->w, sectors_are_double, g, 4000));
	set_capacity(g->disk->disk, BLKGUEST_SECTORS);
	blkguest_end(g);
}

/* ------------------------------------------------------------------ */
/* Keys of the guest                                                   */
/* ------------------------------------------------------------------ */

/*
 * Each key of the guest with odd values. A connection that is refused leaves
 * nothing behind and can be tried again.
 */
static void key_matrix(struct kunit *test)
{
	static const struct {
		const char *key, *val;
		bool good;
	} row[] = {
		{ "protocol", "", true }, { "protocol", "x86_64", false },
		{ "protocol", "X86_64-abi", false },
		{ "protocol", "arm-abi", true },
		{ "ring-ref", "", false }, { "ring-ref", "0", false },
		{ "ring-ref", "-1", false }, { "ring-ref", "4294967296", false },
		{ "ring-ref", "99999", false }, { "ring-ref", "1x", false },
		{ "event-channel", "", false }, { "event-channel", "0", false },
		{ "event-channel", "77777", false },
		{ "event-channel", "x", false },
		{ "ring-page-order", "", true }, { "ring-page-order", "0", true },
		{ "ring-page-order", "1", false },
		{ "ring-page-order", "5", false },
		{ "ring-page-order", "4294967297", false },
		{ "ring-page-order", "-1", false },
		{ "num-ring-pages", "", true }, { "num-ring-pages", "1", true },
		{ "num-ring-pages", "3", false }, { "num-ring-pages", "0", false },
		{ "num-ring-pages", "17", false },
		{ "multi-queue-num-queues", "", true },
		{ "multi-queue-num-queues", "1", true },
		{ "multi-queue-num-queues", "0", false },
		{ "multi-queue-num-queues", "2", false },
		{ "multi-queue-num-queues", "65", false },
		{ "feature-persistent", "", true },
		{ "feature-persistent", "7", true },
		{ "feature-persistent", "yes", true },
	};
	struct blkguest *g = new_guest(test);
	unsigned int i;

	blkguest_disk(g);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		enum xenbus_state want = row[i].good ? XenbusStateConnected :
					 XenbusStateClosing;

		g->abi = XBB_ABI_64;
		blkguest_share(g, 1, 0, false);
		fake_set(g->p, XPV_FRONT, row[i].key, "%s", row[i].val);
		KUNIT_EXPECT_EQ_MSG(test,
				    blkguest_state(g, XenbusStateInitialised),
				    want, "%s = %s", row[i].key, row[i].val);
		/* Absent means the layout of 32 bits. */
		if (!strcmp(row[i].key, "protocol") && row[i].good)
			KUNIT_EXPECT_EQ(test, blkguest_dev(g)->abi,
					*row[i].val ? XBB_ABI_64 : XBB_ABI_32);
		blkguest_again(g);
		KUNIT_EXPECT_EQ(test, fake_use(g->w).rings, 0);
		fake_del(g->p, XPV_FRONT, row[i].key);
	}
	blkguest_connect(g, 1, 0, false);
	works(g);
	blkguest_end(g);
}

/* The several ways to say how large the ring is. */
static void ring_key_spellings(struct kunit *test)
{
	struct blkguest *g = new_guest(test);

	blkguest_disk(g);
	/* One page named like the first of many. */
	blkguest_share(g, 1, 0, false);
	fake_set(g->p, XPV_FRONT, "ring-ref0", "%u", g->r[0].mem.gref[0]);
	fake_del(g->p, XPV_FRONT, "ring-ref");
	fake_set(g->p, XPV_FRONT, "ring-page-order", "0");
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateInitialised),
			XenbusStateConnected);
	works(g);
	blkguest_again(g);
	/* The old name of the number. */
	blkguest_share(g, 1, 3, false);
	fake_del(g->p, XPV_FRONT, "ring-page-order");
	fake_set(g->p, XPV_FRONT, "num-ring-pages", "8");
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateConnected),
			XenbusStateConnected);
	KUNIT_EXPECT_EQ(test, blkguest_dev(g)->ring[0]->ring.size, 256);
	works(g);
	/* Both names: FreeBSD. */
	blkguest_again(g);
	fake_del(g->p, XPV_FRONT, "num-ring-pages");
	blkguest_share(g, 1, 2, false);
	fake_set(g->p, XPV_FRONT, "num-ring-pages", "4");
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateConnected),
			XenbusStateConnected);
	works(g);
	fake_del(g->p, XPV_FRONT, "num-ring-pages");
	blkguest_end(g);
}

/* ------------------------------------------------------------------ */
/* States                                                              */
/* ------------------------------------------------------------------ */

static void states_of_ovmf(struct kunit *test)
{
	struct blkguest *g = new_guest(test);
	unsigned int i;

	blkguest_disk(g);
	for (i = 0; i < 3; i++) {
		blkguest_share(g, 1, 0, false);
		KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateConnected),
				XenbusStateConnected);
		works(g);
		KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateClosing),
				XenbusStateClosing);
		KUNIT_EXPECT_EQ(test, fake_use(g->w).maps, 0);
		KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateClosed),
				XenbusStateClosed);
		KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateInitialising),
				XenbusStateInitWait);
		blkguest_unshare(g);
	}
	/* Then the system's own driver. */
	blkguest_connect(g, 2, 1, true);
	works(g);
	blkguest_end(g);
}

static void states_of_grub(struct kunit *test)
{
	struct blkguest *g = new_guest(test);

	blkguest_disk(g);
	blkguest_share(g, 1, 0, false);
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateInitialised),
			XenbusStateConnected);
	works(g);
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateClosed),
			XenbusStateClosed);
	fake_set(g->p, XPV_FRONT, "ring-ref", "%s", "");
	fake_set(g->p, XPV_FRONT, "event-channel", "%s", "");
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateInitialising),
			XenbusStateInitWait);
	/* Emptied keys are as good as none. */
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateInitialised),
			XenbusStateClosing);
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateInitialising),
			XenbusStateInitWait);
	blkguest_unshare(g);
	blkguest_connect(g, 1, 0, false);
	blkguest_end(g);
}

static void states_of_linux(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 2, 4, true);

	works(g);
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateConnected),
			XenbusStateConnected);
	works(g);
	blkguest_end(g);
}

/* A crashed guest starts over without a word. */
static void states_start_over(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, true);

	works(g);
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateInitialising),
			XenbusStateInitWait);
	KUNIT_EXPECT_EQ(test, fake_use(g->w).maps, 0);
	blkguest_unshare(g);
	blkguest_connect(g, 1, 0, true);
	works(g);
	blkguest_end(g);
}

static void states_close_without_connection(struct kunit *test)
{
	struct blkguest *g = new_guest(test);

	blkguest_again(g);
	blkguest_again(g);
	blkguest_connect(g, 1, 0, false);
	blkguest_end(g);
}

static bool back_unbound(void *arg)
{
	struct blkguest *g = arg;

	return !fake_bound(g->p, XPV_BACK);
}

static void detach_by_toolstack(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 2, 0, true);

	works(g);
	fake_detach(g->p);
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateClosing),
			XenbusStateClosing);
	blkguest_state(g, XenbusStateClosed);
	KUNIT_EXPECT_TRUE(test, fake_until(g->w, back_unbound, g, 2000));
	KUNIT_EXPECT_EQ(test, fake_use(g->w).maps, 0);
	KUNIT_EXPECT_EQ(test, fake_use(g->w).watches, 0);
}

static void guest_vanishes(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 2, 0, true);

	works(g);
	fake_vanish(g->p, XPV_FRONT);
	KUNIT_EXPECT_TRUE(test, fake_until(g->w, back_unbound, g, 2000));
	KUNIT_EXPECT_EQ(test, fake_use(g->w).maps, 0);
}

static void back_vanishes(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 2, 0, true);

	works(g);
	fake_vanish(g->p, XPV_BACK);
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	KUNIT_EXPECT_FALSE(test, fake_bound(g->p, XPV_BACK));
	KUNIT_EXPECT_EQ(test, fake_use(g->w).maps, 0);
}

/* ------------------------------------------------------------------ */
/* Faults                                                              */
/* ------------------------------------------------------------------ */

static void producer_index_beyond_ring(struct kunit *test)
{
	static const u32 ahead[] = { 33, 1000, 1U << 31, U32_MAX };
	struct blkguest *g = blkguest_ready(test, 2, 0, true);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ahead); i++) {
		struct xpv_sring __peer *s = g->r[0].mem.addr;

		works(g);
		xpv_peer_write(&s->req_prod, g->r[0].ring.req_prod + ahead[i]);
		hyp_evt_notify(&g->r[0].evt);
		KUNIT_EXPECT_TRUE(test, fake_run(g->w));
		KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK),
				XenbusStateClosing);
		KUNIT_EXPECT_EQ(test, fake_use(g->w).maps, 0);
		blkguest_again(g);
		blkguest_connect(g, 2, 0, true);
	}
	works(g);
	blkguest_end(g);
}

/* The n-th call of each kind fails while connecting; then it works. */
static void fault_nth_call_of_connect(struct kunit *test)
{
	static const enum fake_call call[] = {
		FAKE_RING_MAP, FAKE_EVT_BIND, FAKE_STORE_READ, FAKE_STORE_WRITE,
	};
	struct blkguest *g = new_guest(test);
	unsigned int i, nth, failed = 0;

	blkguest_disk(g);
	for (i = 0; i < ARRAY_SIZE(call); i++)
		for (nth = 1; nth < 20; nth++) {
			blkguest_share(g, 2, 1, true);
			fake_fail(g->w, call[i], nth, 1, -EIO);
			failed += blkguest_state(g, XenbusStateInitialised) !=
				  XenbusStateConnected;
			fake_fail(g->w, call[i], 1, 0, 0);
			blkguest_again(g);
			KUNIT_EXPECT_EQ(test, fake_use(g->w).rings, 0);
			KUNIT_EXPECT_EQ(test, fake_use(g->w).maps, 0);
		}
	KUNIT_EXPECT_GE(test, failed, 2 + 2 + 8 + 1);
	blkguest_connect(g, 2, 1, true);
	works(g);
	blkguest_end(g);
}

static void fault_probe(struct kunit *test)
{
	struct blkguest *g = new_guest(test);

	fake_remove(g->p, XPV_BACK);
	fake_state_set(g->p, XPV_BACK, XenbusStateInitialising);
	fake_fail(g->w, FAKE_WATCH, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, fake_probe(g->p, XPV_BACK), -ENOMEM);
	fake_state_set(g->p, XPV_BACK, XenbusStateInitialising);
	fake_fail(g->w, FAKE_STORE_WRITE, 1, 1, -ENOSPC);
	KUNIT_EXPECT_EQ(test, fake_probe(g->p, XPV_BACK), -ENOSPC);
	fake_state_set(g->p, XPV_BACK, XenbusStateInitialising);
	KUNIT_EXPECT_EQ(test, fake_probe(g->p, XPV_BACK), 0);
	blkguest_connect(g, 1, 0, true);
	blkguest_end(g);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(offer_before_disk),
	KUNIT_CASE(offer_disk_keys),
	KUNIT_CASE(offer_plain_disk),
	KUNIT_CASE(offer_no_persistent_on_stable_disk),
	KUNIT_CASE(toolstack_keys),
	KUNIT_CASE(toolstack_forbids_discard),
	KUNIT_CASE(waits_for_disk),
	KUNIT_CASE(disk_is_claimed),
	KUNIT_CASE(disk_is_free_when_closed),
	KUNIT_CASE(resize_is_told),
	KUNIT_CASE_SLOW(key_matrix),
	KUNIT_CASE(ring_key_spellings),
	KUNIT_CASE(states_of_ovmf),
	KUNIT_CASE(states_of_grub),
	KUNIT_CASE(states_of_linux),
	KUNIT_CASE(states_start_over),
	KUNIT_CASE(states_close_without_connection),
	KUNIT_CASE(detach_by_toolstack),
	KUNIT_CASE(guest_vanishes),
	KUNIT_CASE(back_vanishes),
	KUNIT_CASE(producer_index_beyond_ring),
	KUNIT_CASE_SLOW(fault_nth_call_of_connect),
	KUNIT_CASE(fault_probe),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkback_conn",
	.test_cases = cases,
};

kunit_test_suite(suite);

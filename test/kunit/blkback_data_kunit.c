// SPDX-License-Identifier: GPL-2.0
/*
 * blkback on the fake Xen: data, faults of grants and of the disk. A test plays
 * the guest.
 */
#include <linux/mm.h>
#include <linux/prandom.h>
#include "fake_blkguest.h"

#define RD	BLKIF_OP_READ
#define WR	BLKIF_OP_WRITE

static const u8 *disk_at(struct blkguest *g, u64 sector)
{
	return g->disk->data + (sector << SECTOR_SHIFT);
}

/* Write @n pages, look at the disk, read them back elsewhere, compare. */
static void round_trip(struct blkguest *g, unsigned int ring, u64 sector,
		       unsigned int n, u8 seed)
{
	struct kunit *test = g->test;
	unsigned int i, bad = 0;

	blkguest_fill(g, 0, n, seed);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, ring, blkguest_rw(g, WR, sector, 0, n)),
			BLKIF_RSP_OKAY);
	for (i = 0; i < n; i++) {
		bad += blkguest_bad(disk_at(g, sector + i * 8), i, seed);
		memset(page_address(g->page[i]), 0, PAGE_SIZE);
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, ring, blkguest_rw(g, RD, sector, 0, n)),
			BLKIF_RSP_OKAY);
	for (i = 0; i < n; i++)
		bad += blkguest_bad(page_address(g->page[i]), i, seed);
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static void data_all_shapes(struct kunit *test)
{
	static const unsigned int sizes[] = { 1, 2, 11, 12, 32, 255, 256 };
	struct queue_limits lim = blkguest_limits(512);
	struct blkguest *g = blkguest_new(test, &lim);
	unsigned int shape, i;

	for (shape = 0; shape < 16; shape++) {
		unsigned int nrings = 1 + (shape & 1);

		g->abi = shape & 2 ? XBB_ABI_32 : XBB_ABI_64;
		blkguest_connect(g, nrings, shape & 4 ? 4 : 0, shape & 8);
		for (i = 0; i < ARRAY_SIZE(sizes); i++)
			round_trip(g, i % nrings, i * 256, sizes[i], shape + i);
		blkguest_again(g);
	}
	blkguest_connect(g, 1, 0, false);
	blkguest_end(g);
}

/* A part of a page moves only that part. */
static void data_sub_page_grid(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	unsigned int first, last, off;

	for (first = 0; first < 8; first++)
		for (last = first; last < 8; last++) {
			struct blkguest_ask *a = blkguest_rw(g, RD, 8, 0, 1);
			u8 *page = page_address(g->page[0]);
			unsigned int bad = 0;

			memset(g->disk->data, 0x5a, 8192);
			memset(page, 0xa5, PAGE_SIZE);
			a->seg[0].first = first;
			a->seg[0].last = last;
			KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, a), 0);
			for (off = 0; off < PAGE_SIZE; off++)
				bad += page[off] != (off >> 9 >= first &&
						     off >> 9 <= last ? 0x5a : 0xa5);
			KUNIT_EXPECT_EQ(test, bad, 0);
		}
	blkguest_end(g);
}

/* The same reference twice in one request, and in two of one batch. */
static void data_duplicate_grants(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, true);
	unsigned int persistent, i;

	for (persistent = 1; persistent <= 1; persistent--) {
		struct blkguest_ask *a = blkguest_rw(g, WR, 0, 0, 8);
		struct blkguest_rsp rsp;

		blkguest_fill(g, 0, 1, 3);
		for (i = 0; i < 8; i++)
			a->seg[i].gref = g->gref[0];
		fake_hold_events(g->w, true);
		blkguest_send(g, 0, a);
		a->sector = 64;
		blkguest_send(g, 0, a);
		fake_hold_events(g->w, false);
		KUNIT_EXPECT_TRUE(test, fake_run(g->w));
		for (i = 0; i < 2; i++) {
			KUNIT_EXPECT_TRUE(test, blkguest_take(g, 0, &rsp));
			KUNIT_EXPECT_EQ(test, rsp.status, BLKIF_RSP_OKAY);
		}
		for (i = 0; i < 16; i++)
			KUNIT_EXPECT_EQ(test, blkguest_bad(disk_at(g, i * 8), 0, 3),
					0);
		if (persistent)
			KUNIT_EXPECT_EQ(test, blkguest_stat(g, "maps"), 1);
		blkguest_again(g);
		blkguest_connect(g, 1, 0, false);
	}
	blkguest_end(g);
}

static void data_bad_grants_fail_alone(struct kunit *test)
{
	static const grant_ref_t bad[] = { 0, 1 << 30, U32_MAX };
	struct blkguest *g = blkguest_ready(test, 1, 0, true);
	unsigned int again, i;

	for (again = 0; again < 2; again++) {
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			struct blkguest_ask *a = blkguest_rw(g, RD, 0, 0, 3);

			a->seg[1].gref = bad[i];
			KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, a),
					BLKIF_RSP_ERROR);
			round_trip(g, 0, 8, 4, i);
		}
		/* The ring page as data; only that it does no harm. */
		g->ask = *blkguest_rw(g, WR, 0, 0, 1);
		g->ask.seg[0].gref = g->r[0].mem.gref[0];
		KUNIT_EXPECT_LE(test, blkguest_do(g, 0, &g->ask), 0);
		round_trip(g, 0, 8, 4, 77);
		blkguest_again(g);
		blkguest_connect(g, 1, 0, false);
	}
	blkguest_end(g);
}

/* A read needs a page that may be written. */
static void data_read_only_grant(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	struct blkguest_ask *a = blkguest_rw(g, RD, 0, 0, 2);
	grant_ref_t ro = fake_grant_page(g->d, g->page[1], true);

	a->seg[1].gref = ro;
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, a), BLKIF_RSP_ERROR);
	a->op = WR;
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, a), BLKIF_RSP_OKAY);
	KUNIT_EXPECT_TRUE(test, fake_grant_end(ro));
	blkguest_end(g);
}

/*
 * The n-th operation fails, for every n: that request fails, the next one with
 * the same pages works, and nothing is left at the end.
 */
static void fail_each_op(struct blkguest *g, enum fake_call call, u8 op,
			 unsigned int n, int err)
{
	struct kunit *test = g->test;
	unsigned int nth, seen = 0;

	for (nth = 1; nth <= n + 2; nth++) {
		int status;

		fake_fail_op(g->w, call, nth, 1, err);
		status = blkguest_do(g, 0, blkguest_rw(g, op, 0, 0, n));
		fake_fail_op(g->w, call, 1, 0, 0);
		KUNIT_EXPECT_LE(test, status, 0);
		seen += status == BLKIF_RSP_ERROR;
		if (status == BLKIF_RSP_OKAY)
			break;
	}
	/* Only an operation that was never reached did not matter. */
	if (call == FAKE_COPY)
		KUNIT_EXPECT_EQ(test, seen, n + (n > XBB_DIRECT_SEGS));
	round_trip(g, 0, 0, n, nth);
}

static void fault_nth_copy(struct kunit *test)
{
	static const int errs[] = { -EIO, FAKE_UNTOUCHED, FAKE_POSITIVE };
	static const unsigned int sizes[] = { 1, 11, 24 };
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(errs); i++)
		for (k = 0; k < ARRAY_SIZE(sizes); k++) {
			fail_each_op(g, FAKE_COPY, RD, sizes[k], errs[i]);
			fail_each_op(g, FAKE_COPY, WR, sizes[k], errs[i]);
		}
	blkguest_end(g);
}

static void fault_nth_map(struct kunit *test)
{
	static const int errs[] = { -EIO, FAKE_UNTOUCHED, FAKE_POSITIVE };
	static const unsigned int sizes[] = { 1, 11, 24 };
	struct blkguest *g = blkguest_ready(test, 1, 0, true);
	unsigned int i, k;
	u64 maps;

	for (i = 0; i < ARRAY_SIZE(errs); i++)
		for (k = 0; k < ARRAY_SIZE(sizes); k++) {
			maps = blkguest_stat(g, "maps");
			fail_each_op(g, FAKE_MAP, k & 1 ? RD : WR, sizes[k],
				     errs[i]);
			KUNIT_EXPECT_EQ(test, blkguest_stat(g, "maps") - maps,
					sizes[k]);
			/* Everything cached goes away with the connection. */
			blkguest_again(g);
			blkguest_connect(g, 1, 0, true);
		}
	blkguest_end(g);
}

/* Without pages to map at, persistent grants are copied like others. */
static void fault_no_pages_to_map(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, true);

	fake_fail(g->w, FAKE_PAGES_GET, 1, FAKE_ALL, -ENOMEM);
	round_trip(g, 0, 0, 11, 1);
	round_trip(g, 0, 0, 200, 2);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "maps"), 0);
	fake_fail(g->w, FAKE_PAGES_GET, 1, 0, 0);
	round_trip(g, 0, 0, 200, 3);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "maps"), 200);
	blkguest_end(g);
}

static void fault_unmap_refused(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, true);

	round_trip(g, 0, 0, 11, 1);
	fake_fail_op(g->w, FAKE_UNMAP, 3, 2, -EIO);
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateClosing),
			XenbusStateClosing);
	KUNIT_EXPECT_EQ(test, fake_use(g->w).leaked, 2);
	KUNIT_EXPECT_EQ(test, blkguest_state(g, XenbusStateClosed),
			XenbusStateClosed);
	blkguest_unshare(g);
	fake_remove(g->p, XPV_BACK);
}

static void persistent_maps_once(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, true);
	unsigned int i;

	for (i = 0; i < 5; i++)
		round_trip(g, 0, i * 100, 11, i);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "maps"), 11);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "write_copies"), 0);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "read_copies"), 0);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "pgrant_hits"), 99);
	blkguest_end(g);
}

static void copied_maps_nothing(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);

	round_trip(g, 0, 0, 100, 0);
	KUNIT_EXPECT_EQ(test, fake_ops(g->w, FAKE_MAP), 0);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "write_copies"), 100);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "read_copies"), 100);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "write_copy_calls"), 1);
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "read_copy_calls"), 1);
	blkguest_end(g);
}

/* A ring full of requests costs one hypercall and few notifies. */
static void batch_is_one_hypercall(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	struct blkguest_rsp rsp;
	u64 calls, notifies;
	unsigned int i;

	fake_hold_events(g->w, true);
	for (i = 0; i < 32; i++)
		blkguest_send(g, 0, blkguest_rw(g, WR, i * 8, i, 1));
	calls = fake_calls(g->w, FAKE_COPY);
	notifies = fake_calls(g->w, FAKE_NOTIFY);
	fake_hold_events(g->w, false);
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	KUNIT_EXPECT_EQ(test, fake_calls(g->w, FAKE_COPY) - calls, 1);
	KUNIT_EXPECT_EQ(test, fake_calls(g->w, FAKE_NOTIFY) - notifies, 1);
	for (i = 0; i < 32; i++) {
		KUNIT_EXPECT_TRUE(test, blkguest_take(g, 0, &rsp));
		KUNIT_EXPECT_EQ(test, rsp.status, BLKIF_RSP_OKAY);
	}
	blkguest_end(g);
}

/* Good and bad ones side by side: each gets its own answer. */
static void batch_of_good_and_bad(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	struct blkguest_rsp rsp;
	unsigned int i, ok = 0;

	fake_hold_events(g->w, true);
	for (i = 0; i < 32; i++) {
		struct blkguest_ask *a = blkguest_rw(g, RD, i * 8, i, 1);

		a->id = i;
		if (i % 4 == 1)
			a->op = 200;
		if (i % 4 == 2)
			a->seg[0].last = 9;
		if (i % 4 == 3)
			a->seg[0].gref = 0;
		blkguest_send(g, 0, a);
	}
	fake_hold_events(g->w, false);
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	for (i = 0; i < 32; i++) {
		static const s16 want[] = {
			BLKIF_RSP_OKAY, BLKIF_RSP_EOPNOTSUPP, BLKIF_RSP_ERROR,
			BLKIF_RSP_ERROR,
		};

		KUNIT_ASSERT_TRUE(test, blkguest_take(g, 0, &rsp));
		KUNIT_EXPECT_EQ(test, rsp.status, want[rsp.id % 4]);
		ok += rsp.status == BLKIF_RSP_OKAY;
	}
	KUNIT_EXPECT_EQ(test, ok, 8);
	KUNIT_EXPECT_EQ(test, g->disk->reads, 8 + 8);
	blkguest_end(g);
}

/*
 * More at once than private pages may be in use: some wait for others, none
 * fails.
 */
static void starved_requests_wait(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	struct blkguest_rsp rsp;
	unsigned int i, got = 0;

	fake_disk_hold(g->disk, true);
	for (i = 0; i < 20; i++)
		blkguest_send(g, 0, blkguest_rw(g, WR, 0, 0, 256));
	fake_run(g->w);
	KUNIT_EXPECT_EQ(test, g->disk->nheld, XBB_POOL_MAX / 256);
	KUNIT_EXPECT_GT(test, blkguest_stat(g, "starved"), 0);
	for (i = 0; i < 40; i++) {
		fake_disk_release(g->disk, 1);
		fake_run(g->w);
		KUNIT_EXPECT_LE(test, g->disk->nheld, XBB_POOL_MAX / 256);
		if (!blkguest_take(g, 0, &rsp))
			continue;
		KUNIT_EXPECT_EQ(test, rsp.status, BLKIF_RSP_OKAY);
		got++;
	}
	KUNIT_EXPECT_EQ(test, got, 20);
	fake_disk_hold(g->disk, false);
	round_trip(g, 0, 0, 256, 1);
	blkguest_end(g);
}

/* Bytes at random, some of them made more likely. The seed is fixed. */
static void random_slot(struct blkguest *g, struct rnd_state *rnd, u8 *raw)
{
	unsigned int id = g->abi == XBB_ABI_64 ? 8 : 4, i;
	u32 dice = prandom_u32_state(rnd);

	prandom_bytes_state(rnd, raw, XBB_SLOT_MAX);
	if (dice & 32)
		dice = 15;
	if (dice & 1)
		raw[0] %= 8;
	if (dice & 2)
		raw[1] %= 14;
	if (dice & 4)
		memset(raw + id + 9, 0, 7);
	for (i = 0; i < 11 && dice & 8; i++) {
		u32 gref = g->gref[prandom_u32_state(rnd) % BLKGUEST_PAGES];

		memcpy(raw + id + 16 + i * 8, &gref, 4);
		raw[id + 20 + i * 8] %= 8;
		raw[id + 21 + i * 8] %= 9;
	}
	if (dice & 16)
		memcpy(raw + id + 20, &g->gref[1], 4);
}

static void send_raw(struct blkguest *g, const u8 *raw)
{
	if (g->abi == XBB_ABI_64)
		xpv_front_put(&g->r[0].ring, raw, 112);
	else
		xpv_front_put(&g->r[0].ring, raw, 108);
}

/* Each one is answered, by its name, and the next good one works. */
static void random_slots(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, true);
	struct rnd_state rnd;
	unsigned int round, i, ok = 0;
	u8 raw[XBB_SLOT_MAX];

	prandom_seed_state(&rnd, 20261201);
	for (round = 0; round < 60; round++) {
		struct blkguest_rsp rsp;

		for (i = 0; i < 32; i++) {
			random_slot(g, &rnd, raw);
			send_raw(g, raw);
		}
		if (xpv_front_push(&g->r[0].ring))
			hyp_evt_notify(&g->r[0].evt);
		KUNIT_ASSERT_TRUE(test, fake_run(g->w));
		for (i = 0; i < 32; i++) {
			KUNIT_ASSERT_TRUE(test, blkguest_take(g, 0, &rsp));
			ok += rsp.status == BLKIF_RSP_OKAY;
		}
		if (round % 20 == 19) {
			round_trip(g, 0, 0, 20, round);
			blkguest_again(g);
			g->abi = !g->abi;
			blkguest_connect(g, 1, 0, round & 1);
		}
	}
	KUNIT_EXPECT_GT(test, ok, 20);
	blkguest_end(g);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_SLOW(data_all_shapes),
	KUNIT_CASE(data_sub_page_grid),
	KUNIT_CASE(data_duplicate_grants),
	KUNIT_CASE(data_bad_grants_fail_alone),
	KUNIT_CASE(data_read_only_grant),
	KUNIT_CASE_SLOW(fault_nth_copy),
	KUNIT_CASE_SLOW(fault_nth_map),
	KUNIT_CASE(fault_no_pages_to_map),
	KUNIT_CASE(fault_unmap_refused),
	KUNIT_CASE(persistent_maps_once),
	KUNIT_CASE(copied_maps_nothing),
	KUNIT_CASE(batch_is_one_hypercall),
	KUNIT_CASE(batch_of_good_and_bad),
	KUNIT_CASE(starved_requests_wait),
	KUNIT_CASE_SLOW(random_slots),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkback_data",
	.test_cases = cases,
};

kunit_test_suite(suite);

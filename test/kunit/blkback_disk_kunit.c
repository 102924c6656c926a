// SPDX-License-Identifier: GPL-2.0
/*
 * blkback on the fake Xen: what reaches the disk and what comes back from it,
 * slow and failing disks, and the two stores of memory. A test plays the guest.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include "fake_blkguest.h"

#define RD	BLKIF_OP_READ
#define WR	BLKIF_OP_WRITE

static struct blkguest_ask *op_only(struct blkguest *g, u8 op)
{
	return blkguest_rw(g, op, 0, 0, 0);
}

static struct blkguest_ask *discard(struct blkguest *g, u64 sector, u64 n)
{
	struct blkguest_ask *a = op_only(g, BLKIF_OP_DISCARD);

	a->sector = sector;
	a->nr_sectors = n;
	return a;
}

/* ------------------------------------------------------------------ */
/* Flush and discard                                                   */
/* ------------------------------------------------------------------ */

static void flush_reaches_disk(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	unsigned int i;

	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test,
				blkguest_do(g, 0, op_only(g, BLKIF_OP_FLUSH_DISKCACHE)),
				BLKIF_RSP_OKAY);
		KUNIT_EXPECT_EQ(test, g->disk->flushes, i);
	}
	KUNIT_EXPECT_EQ(test, g->disk->writes, 0);
	blkguest_end(g);
	/* The last one is ours, when the guest is gone. */
	KUNIT_EXPECT_EQ(test, g->disk->flushes, 4);
}

static void flush_with_data(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);

	blkguest_fill(g, 0, 2, 9);
	KUNIT_EXPECT_EQ(test,
			blkguest_do(g, 0, blkguest_rw(g, BLKIF_OP_FLUSH_DISKCACHE,
						      16, 0, 2)), BLKIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, g->disk->flushes, 1);
	KUNIT_EXPECT_EQ(test, g->disk->fuas, 1);
	KUNIT_EXPECT_EQ(test, blkguest_bad(g->disk->data + 8192, 0, 9), 0);
	KUNIT_EXPECT_EQ(test, blkguest_bad(g->disk->data + 12288, 1, 9), 0);
	blkguest_end(g);
}

/* Every failed flush is reported, the next one is tried again. */
static void flush_failure_is_told(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	struct blkguest_ask *a = op_only(g, BLKIF_OP_FLUSH_DISKCACHE);

	fake_disk_fail(g->disk, 1, 2, BLK_STS_IOERR);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, a), BLKIF_RSP_ERROR);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, a), BLKIF_RSP_ERROR);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, a), BLKIF_RSP_OKAY);
	fake_disk_fail(g->disk, 1, 1, BLK_STS_NOTSUPP);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, a), BLKIF_RSP_EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, g->disk->flushes, 4);
	blkguest_end(g);
}

static void barrier_is_not_offered(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);

	KUNIT_EXPECT_EQ(test,
			blkguest_do(g, 0, blkguest_rw(g, BLKIF_OP_WRITE_BARRIER,
						      0, 0, 1)),
			BLKIF_RSP_EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, g->disk->writes, 0);
	blkguest_end(g);
}

static void discard_spares_neighbours(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	unsigned int i, bad = 0;

	memset(g->disk->data, 0x77, BLKGUEST_SECTORS << SECTOR_SHIFT);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, discard(g, 8, 16)),
			BLKIF_RSP_OKAY);
	for (i = 0; i < BLKGUEST_SECTORS << SECTOR_SHIFT; i++)
		bad += g->disk->data[i] != (i >= 4096 && i < 12288 ? 0 : 0x77);
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, g->disk->discards, 1);
	g->ask.flags = BLKIF_DISCARD_SECURE;
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, &g->ask), BLKIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, g->disk->discards, 2);
	blkguest_end(g);
}

static void discard_failure_is_told(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);

	fake_disk_fail(g->disk, 1, 1, BLK_STS_NOTSUPP);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, discard(g, 0, 8)),
			BLKIF_RSP_EOPNOTSUPP);
	fake_disk_fail(g->disk, 1, 1, BLK_STS_MEDIUM);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, discard(g, 0, 8)),
			BLKIF_RSP_ERROR);
	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, discard(g, 0, BLKGUEST_SECTORS + 8)),
			BLKIF_RSP_ERROR);
	KUNIT_EXPECT_EQ(test, g->disk->discards, 2);
	blkguest_end(g);
}

/* ------------------------------------------------------------------ */
/* Slow and failing disks                                              */
/* ------------------------------------------------------------------ */

static void bio_failure_hits_its_request(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, true);
	struct blkguest_rsp rsp;
	unsigned int i, nth;

	for (nth = 1; nth <= 8; nth++) {
		fake_disk_fail(g->disk, nth, 1, BLK_STS_IOERR);
		fake_hold_events(g->w, true);
		for (i = 0; i < 8; i++) {
			struct blkguest_ask *a = blkguest_rw(g, nth & 1 ? RD : WR,
							     i * 8, i, 1);

			a->id = i + 1;
			blkguest_send(g, 0, a);
		}
		fake_hold_events(g->w, false);
		KUNIT_EXPECT_TRUE(test, fake_run(g->w));
		for (i = 0; i < 8; i++) {
			KUNIT_ASSERT_TRUE(test, blkguest_take(g, 0, &rsp));
			KUNIT_EXPECT_EQ(test, rsp.status, rsp.id == nth ?
					BLKIF_RSP_ERROR : BLKIF_RSP_OKAY);
		}
	}
	blkguest_end(g);
}

/* No answer before the disk has answered; then one for each, in any order. */
static void answers_wait_for_disk(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 2, 0, false);
	struct blkguest_rsp rsp;
	unsigned int i, k;

	fake_disk_hold(g->disk, true);
	for (i = 0; i < 20; i++)
		blkguest_send(g, i & 1, blkguest_rw(g, i & 2 ? RD : WR, i * 8, i, 1));
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	KUNIT_EXPECT_EQ(test, g->disk->nheld, 20);
	KUNIT_EXPECT_FALSE(test, blkguest_take(g, 0, &rsp));
	for (i = 0; i < 20; i++) {
		unsigned int got = 0;

		fake_disk_release(g->disk, 1);
		KUNIT_EXPECT_TRUE(test, fake_run(g->w));
		for (k = 0; k < 2; k++)
			got += blkguest_take(g, k, &rsp);
		KUNIT_EXPECT_EQ(test, got, 1);
	}
	fake_disk_hold(g->disk, false);
	blkguest_end(g);
}

/* A large read is not copied by the completing context, but it is copied. */
static void large_read_goes_to_thread(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	struct blkguest_rsp rsp;
	unsigned int i, bad = 0;

	blkguest_fill(g, 0, 200, 5);
	for (i = 0; i < 200; i++)
		memcpy(g->disk->data + i * PAGE_SIZE, page_address(g->page[i]),
		       PAGE_SIZE);
	for (i = 0; i < 200; i++)
		clear_page(page_address(g->page[i]));
	fake_disk_hold(g->disk, true);
	blkguest_send(g, 0, blkguest_rw(g, RD, 0, 0, 200));
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	fake_disk_hold(g->disk, false);
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	KUNIT_ASSERT_TRUE(test, blkguest_take(g, 0, &rsp));
	KUNIT_EXPECT_EQ(test, rsp.status, BLKIF_RSP_OKAY);
	for (i = 0; i < 200; i++)
		bad += blkguest_bad(page_address(g->page[i]), i, 5);
	KUNIT_EXPECT_EQ(test, bad, 0);
	blkguest_end(g);
}

struct closing {
	struct blkguest *g;
	unsigned int want;
};

static bool state_is(void *arg)
{
	struct closing *c = arg;

	return fake_state(c->g->p, XPV_BACK) == c->want;
}

/* A slow disk delays Closing, and every request is answered before. */
static void close_drains(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 2, 0, true);
	struct closing c = { .g = g, .want = XenbusStateClosing };
	struct blkguest_rsp rsp;
	unsigned int i, got = 0;

	fake_disk_hold(g->disk, true);
	for (i = 0; i < 20; i++)
		blkguest_send(g, i & 1, blkguest_rw(g, WR, i * 8, i, 1));
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	fake_state_set(g->p, XPV_FRONT, XenbusStateClosing);
	KUNIT_EXPECT_FALSE(test, fake_until(g->w, state_is, &c, 300));
	KUNIT_EXPECT_GT(test, fake_use(g->w).maps, 2);
	fake_disk_hold(g->disk, false);
	KUNIT_EXPECT_TRUE(test, fake_until(g->w, state_is, &c, 2000));
	for (i = 0; i < 40; i++)
		got += blkguest_take(g, i & 1, &rsp) && !rsp.status;
	KUNIT_EXPECT_EQ(test, got, 20);
	KUNIT_EXPECT_EQ(test, fake_use(g->w).maps, 0);
	blkguest_end(g);
}

/* Nobody else waits: another guest's events go on while one drains. */
static void remove_drains(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	unsigned int i;

	for (i = 0; i < 10; i++)
		blkguest_send(g, 0, blkguest_rw(g, WR, i * 8, i, 1));
	fake_remove(g->p, XPV_BACK);
	KUNIT_EXPECT_EQ(test, fake_use(g->w).pages, 0);
	/* allow_rebind: the state is still Connected, a new one takes over. */
	KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK), XenbusStateConnected);
}

static void counters_survive_reconnect(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, true);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, blkguest_rw(g, WR, 0, 0, 2)),
				BLKIF_RSP_OKAY);
		KUNIT_EXPECT_EQ(test, blkguest_stat(g, "writes"), i + 1);
		KUNIT_EXPECT_EQ(test, blkguest_stat(g, "write_sectors"),
				16 * (i + 1));
		blkguest_again(g);
		blkguest_connect(g, 1, 0, i & 1);
	}
	KUNIT_EXPECT_EQ(test, blkguest_stat(g, "writes"), 3);
	blkguest_end(g);
}

static void idle_gives_memory_back(struct kunit *test)
{
	struct blkguest *g = blkguest_ready(test, 1, 0, false);
	struct xbb_ring *r = blkguest_dev(g)->ring[0];

	KUNIT_EXPECT_EQ(test, blkguest_do(g, 0, blkguest_rw(g, WR, 0, 0, 256)),
			BLKIF_RSP_OKAY);
	KUNIT_EXPECT_GE(test, r->pool.nfree, 256);
	KUNIT_EXPECT_EQ(test, r->pool.out, 0);
	msleep(6500);
	KUNIT_EXPECT_EQ(test, r->pool.nfree, 0);
	blkguest_end(g);
}

/* ------------------------------------------------------------------ */
/* The cache of persistent grants                                      */
/* ------------------------------------------------------------------ */

struct cache {
	struct blkguest *g;
	struct xbb_cache c;
};

static struct cache *cache_new(struct kunit *test)
{
	struct queue_limits lim = blkguest_limits(512);
	struct cache *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, x);
	x->g = blkguest_new(test, &lim);
	KUNIT_ASSERT_EQ(test, xbb_cache_init(&x->c, fake_end(x->g->p, XPV_BACK)),
			0);
	return x;
}

static void cache_end(struct kunit *test, struct cache *x)
{
	xbb_cache_exit(&x->c);
	xbb_cache_exit(&x->c);
	KUNIT_EXPECT_EQ(test, fake_use(x->g->w).maps, 0);
	KUNIT_EXPECT_EQ(test, fake_use(x->g->w).pages, 0);
	KUNIT_EXPECT_EQ(test, x->c.maps, x->c.unmaps);
	blkguest_connect(x->g, 1, 0, false);
	blkguest_end(x->g);
}

static struct xbb_pgrant *get(struct cache *x, unsigned int page,
			      unsigned int budget, unsigned long now)
{
	return xbb_cache_get(&x->c, x->g->gref[page], budget, now);
}

static void cache_hit_and_duplicate(struct kunit *test)
{
	struct cache *x = cache_new(test);
	struct xbb_pgrant *e = get(x, 0, 10, 0);

	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_EXPECT_PTR_EQ(test, get(x, 0, 10, 0), e);
	xbb_cache_run(&x->c);
	KUNIT_EXPECT_PTR_EQ(test, get(x, 0, 10, 5), e);
	KUNIT_EXPECT_EQ(test, atomic_read(&e->users), 3);
	KUNIT_EXPECT_EQ(test, x->c.maps, 1);
	KUNIT_EXPECT_EQ(test, x->c.hits, 2);
	KUNIT_EXPECT_EQ(test, x->c.misses, 1);
	*(u32 *)page_address(e->page) = 0x12345678;
	KUNIT_EXPECT_EQ(test, *(u32 *)page_address(x->g->page[0]), 0x12345678);
	cache_end(test, x);
}

static void cache_budget_and_age(struct kunit *test)
{
	struct cache *x = cache_new(test);
	unsigned long now = 1000;
	unsigned int i;

	for (i = 0; i < 10; i++)
		xbb_cache_put(get(x, i, 10, now));
	xbb_cache_run(&x->c);
	/* Full of young ones: no room. */
	KUNIT_EXPECT_NULL(test, get(x, 10, 10, now));
	KUNIT_EXPECT_NULL(test, get(x, 10, 10, now + XBB_EVICT_AGE - 1));
	KUNIT_EXPECT_NULL(test, get(x, 10, 0, now + XBB_EVICT_AGE));
	/* Use 0 again; then 1 is the oldest and makes room. */
	now += XBB_EVICT_AGE;
	xbb_cache_put(get(x, 0, 10, now));
	xbb_cache_put(get(x, 10, 10, now));
	xbb_cache_run(&x->c);
	KUNIT_EXPECT_EQ(test, x->c.count, 10);
	KUNIT_EXPECT_EQ(test, x->c.unmaps, 1);
	KUNIT_EXPECT_EQ(test, fake_use(x->g->w).maps, 10);
	x->c.hits = 0;
	xbb_cache_put(get(x, 0, 10, now));
	KUNIT_EXPECT_EQ(test, x->c.hits, 1);
	KUNIT_EXPECT_TRUE(test, fake_grant_end(x->g->gref[1]));
	x->g->gref[1] = fake_grant_page(x->g->d, x->g->page[1], false);
	cache_end(test, x);
}

static void cache_spares_users(struct kunit *test)
{
	struct cache *x = cache_new(test);
	struct xbb_pgrant *e = get(x, 0, 1, 0);

	xbb_cache_run(&x->c);
	KUNIT_EXPECT_NULL(test, get(x, 1, 1, 100 * HZ));
	xbb_cache_age(&x->c, 100 * HZ);
	KUNIT_EXPECT_EQ(test, x->c.count, 1);
	xbb_cache_put(e);
	xbb_cache_age(&x->c, 100 * HZ);
	KUNIT_EXPECT_EQ(test, x->c.count, 0);
	KUNIT_EXPECT_EQ(test, fake_use(x->g->w).maps, 0);
	cache_end(test, x);
}

static void cache_age_takes_only_old(struct kunit *test)
{
	struct cache *x = cache_new(test);
	unsigned int i;

	for (i = 0; i < 20; i++)
		xbb_cache_put(get(x, i, 100, i));
	xbb_cache_run(&x->c);
	for (i = 0; i <= 20; i++) {
		xbb_cache_age(&x->c, i);
		KUNIT_EXPECT_EQ(test, x->c.count, 20 - i);
		KUNIT_EXPECT_EQ(test, x->c.unmaps, i);
	}
	cache_end(test, x);
}

static void cache_map_fails_for_each(struct kunit *test)
{
	struct cache *x = cache_new(test);
	struct xbb_pgrant *e[8];
	unsigned int nth, i;

	for (nth = 1; nth <= 8; nth++) {
		fake_fail_op(x->g->w, FAKE_MAP, nth, 1, -EIO);
		for (i = 0; i < 8; i++)
			e[i] = get(x, i, 100, 0);
		xbb_cache_run(&x->c);
		for (i = 0; i < 8; i++) {
			KUNIT_EXPECT_EQ(test, !!e[i]->err, i + 1 == nth);
			xbb_cache_drop(&x->c, e[i]);
		}
		KUNIT_EXPECT_EQ(test, x->c.count, 7);
		xbb_cache_age(&x->c, 1);
		KUNIT_EXPECT_EQ(test, fake_use(x->g->w).pages, 0);
	}
	fake_fail_op(x->g->w, FAKE_MAP, 1, 0, 0);
	/* Wanted, and let go before it was mapped. */
	xbb_cache_put(get(x, 0, 100, 0));
	fake_fail_op(x->g->w, FAKE_MAP, 1, 1, -EIO);
	xbb_cache_run(&x->c);
	KUNIT_EXPECT_EQ(test, x->c.count, 0);
	cache_end(test, x);
}

static void pool_limit_and_reuse(struct kunit *test)
{
	struct xbb_pool p;
	LIST_HEAD(pages);
	LIST_HEAD(more);

	xbb_pool_init(&p);
	KUNIT_EXPECT_EQ(test, xbb_pool_get(&p, XBB_POOL_MAX + 1, &pages), -ENOMEM);
	KUNIT_EXPECT_EQ(test, xbb_pool_get(&p, XBB_POOL_MAX, &pages), 0);
	KUNIT_EXPECT_EQ(test, xbb_pool_get(&p, 1, &more), -ENOMEM);
	KUNIT_EXPECT_TRUE(test, list_empty(&more));
	xbb_pool_put(&p, XBB_POOL_MAX, &pages, 100);
	KUNIT_EXPECT_EQ(test, p.out, 0);
	KUNIT_EXPECT_EQ(test, p.nfree, 100);
	KUNIT_EXPECT_EQ(test, xbb_pool_get(&p, 60, &pages), 0);
	KUNIT_EXPECT_EQ(test, p.nfree, 40);
	/* Taken from lately: spared once. */
	xbb_pool_shrink(&p);
	KUNIT_EXPECT_EQ(test, p.nfree, 40);
	xbb_pool_shrink(&p);
	KUNIT_EXPECT_EQ(test, p.nfree, 0);
	xbb_pool_put(&p, 60, &pages, 0);
	xbb_pool_exit(&p);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(flush_reaches_disk),
	KUNIT_CASE(flush_with_data),
	KUNIT_CASE(flush_failure_is_told),
	KUNIT_CASE(barrier_is_not_offered),
	KUNIT_CASE(discard_spares_neighbours),
	KUNIT_CASE(discard_failure_is_told),
	KUNIT_CASE(bio_failure_hits_its_request),
	KUNIT_CASE(answers_wait_for_disk),
	KUNIT_CASE(large_read_goes_to_thread),
	KUNIT_CASE(close_drains),
	KUNIT_CASE(remove_drains),
	KUNIT_CASE(counters_survive_reconnect),
	KUNIT_CASE_SLOW(idle_gives_memory_back),
	KUNIT_CASE(cache_hit_and_duplicate),
	KUNIT_CASE(cache_budget_and_age),
	KUNIT_CASE(cache_spares_users),
	KUNIT_CASE(cache_age_takes_only_old),
	KUNIT_CASE(cache_map_fails_for_each),
	KUNIT_CASE(pool_limit_and_reuse),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkback_disk",
	.test_cases = cases,
};

kunit_test_suite(suite);

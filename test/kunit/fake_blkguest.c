// SPDX-License-Identifier: GPL-2.0
/*
 * The guest that the suites of blkback play; see fake_blkguest.h.
 */
#include <linux/mm.h>
#include "fake_blkguest.h"

struct queue_limits blkguest_limits(unsigned int block)
{
	return (struct queue_limits) {
		.logical_block_size = block,
		.physical_block_size = 4096,
		.max_hw_discard_sectors = UINT_MAX,
		.max_secure_erase_sectors = UINT_MAX,
		.max_discard_segments = 1,
		.discard_granularity = 4096,
		.features = BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA,
	};
}

struct xbb_dev *blkguest_dev(struct blkguest *g)
{
	return fake_end(g->p, XPV_BACK)->priv;
}

u64 blkguest_stat(struct blkguest *g, const char *name)
{
	struct xbb_dev *b = blkguest_dev(g);
	unsigned int i, k;
	u64 sum = 0;

	for (i = 0; i < xbb_stat_count; i++) {
		if (strcmp(xbb_stat_table[i].name, name))
			continue;
		sum = xpv_stat_get(&b->total, &xbb_stat_table[i]);
		for (k = 0; b->ring && k < b->nrings; k++)
			sum += xpv_stat_get(&b->ring[k]->st, &xbb_stat_table[i]);
		return sum;
	}
	KUNIT_FAIL(g->test, "no counter %s", name);
	return 0;
}

/* ------------------------------------------------------------------ */
/* Setting up                                                          */
/* ------------------------------------------------------------------ */

static void disk_let_go(void *arg)
{
	fake_disk_hold(arg, false);
}

struct blkguest *blkguest_new(struct kunit *test,
			      const struct queue_limits *lim)
{
	struct blkguest *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, g);
	g->test = test;
	g->disk = fake_disk_create(test, BLKGUEST_SECTORS, lim);
	g->w = fake_world_create(test);
	/* Before the world ends, so that the backend can drain. */
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, disk_let_go, g->disk), 0);
	g->p = fake_pair_create(g->w, "vbd", 0);
	g->d = fake_end(g->p, XPV_FRONT);
	g->abi = XBB_ABI_64;
	/* This kernel has one processor, by which the default goes. */
	xbb_max_queues = max_t(unsigned int, xbb_max_queues, BLKGUEST_QUEUES);
	for (i = 0; i < BLKGUEST_PAGES; i++) {
		g->page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		KUNIT_ASSERT_NOT_NULL(test, g->page[i]);
		g->gref[i] = fake_grant_page(g->d, g->page[i], false);
		KUNIT_ASSERT_NE(test, g->gref[i], XPV_GREF_NONE);
	}
	KUNIT_ASSERT_EQ(test, fake_probe(g->p, XPV_BACK), 0);
	KUNIT_ASSERT_TRUE(test, fake_run(g->w));
	return g;
}

void blkguest_disk(struct blkguest *g)
{
	dev_t dev = disk_devt(g->disk->disk);

	fake_set(g->p, XPV_BACK, "physical-device", "%x:%x", MAJOR(dev),
		 MINOR(dev));
	KUNIT_ASSERT_TRUE(g->test, fake_run(g->w));
}

static void got_event(void *arg)
{
	struct blkguest_ring *r = arg;

	xpv_evt_got(&r->evt);
	r->events++;
	xpv_evt_work(&r->evt);
	xpv_evt_done(&r->evt);
}

static void share_keys(struct blkguest *g, unsigned int ring)
{
	struct blkguest_ring *r = &g->r[ring];
	char key[40], dir[16] = "";
	unsigned int i;

	if (g->nrings > 1)
		snprintf(dir, sizeof(dir), "queue-%u/", ring);
	for (i = 0; i < r->mem.npages; i++) {
		if (r->mem.npages == 1)
			snprintf(key, sizeof(key), "%sring-ref", dir);
		else
			snprintf(key, sizeof(key), "%sring-ref%u", dir, i);
		fake_set(g->p, XPV_FRONT, key, "%u", r->mem.gref[i]);
	}
	snprintf(key, sizeof(key), "%sevent-channel", dir);
	fake_set(g->p, XPV_FRONT, key, "%u", r->evt.port);
}

static void common_keys(struct blkguest *g, bool persistent)
{
	fake_set(g->p, XPV_FRONT, "protocol", "%s",
		 g->abi == XBB_ABI_64 ? "x86_64-abi" : "x86_32-abi");
	fake_set(g->p, XPV_FRONT, "feature-persistent", "%d", persistent);
	if (g->order)
		fake_set(g->p, XPV_FRONT, "ring-page-order", "%u", g->order);
	if (g->nrings > 1)
		fake_set(g->p, XPV_FRONT, "multi-queue-num-queues", "%u",
			 g->nrings);
}

void blkguest_share(struct blkguest *g, unsigned int nrings, unsigned int order,
		    bool persistent)
{
	unsigned int i;

	g->nrings = nrings;
	g->order = order;
	common_keys(g, persistent);
	for (i = 0; i < nrings; i++) {
		struct blkguest_ring *r = &g->r[i];

		*r = (struct blkguest_ring) {
			.evt = { .fn = got_event, .arg = r },
		};
		KUNIT_ASSERT_EQ(g->test, hyp_ring_share(g->d, &r->mem,
							1U << order), 0);
		xpv_front_init(&r->ring, &r->mem, xbb_slot_size(g->abi));
		KUNIT_ASSERT_EQ(g->test, hyp_evt_listen(g->d, &r->evt, "guest"),
				0);
		share_keys(g, i);
	}
}

void blkguest_unshare(struct blkguest *g)
{
	static const char * const flat[] = {
		"event-channel", "ring-ref", "ring-page-order", "queue-0",
		"queue-1", "multi-queue-num-queues",
	};
	unsigned int i;
	char key[16];

	for (i = 0; i < g->nrings; i++) {
		hyp_evt_close(&g->r[i].evt);
		hyp_ring_unshare(g->d, &g->r[i].mem);
	}
	for (i = 0; i < ARRAY_SIZE(flat); i++)
		fake_del(g->p, XPV_FRONT, flat[i]);
	for (i = 0; i < XPV_RING_MAX_PAGES; i++) {
		snprintf(key, sizeof(key), "ring-ref%u", i);
		fake_del(g->p, XPV_FRONT, key);
	}
	g->nrings = 0;
}

/* ------------------------------------------------------------------ */
/* States                                                              */
/* ------------------------------------------------------------------ */

enum xenbus_state blkguest_state(struct blkguest *g, enum xenbus_state state)
{
	fake_state_set(g->p, XPV_FRONT, state);
	KUNIT_EXPECT_TRUE(g->test, fake_run(g->w));
	return fake_state(g->p, XPV_BACK);
}

void blkguest_connect(struct blkguest *g, unsigned int nrings,
		      unsigned int order, bool persistent)
{
	blkguest_disk(g);
	blkguest_share(g, nrings, order, persistent);
	KUNIT_ASSERT_EQ_MSG(g->test,
			    blkguest_state(g, XenbusStateInitialised),
			    XenbusStateConnected, "error: %s",
			    fake_error(g->p, XPV_BACK) ?: "none");
}

struct blkguest *blkguest_ready(struct kunit *test, unsigned int nrings,
				unsigned int order, bool persistent)
{
	struct queue_limits lim = blkguest_limits(512);
	struct blkguest *g = blkguest_new(test, &lim);

	blkguest_connect(g, nrings, order, persistent);
	return g;
}

static void close_down(struct blkguest *g)
{
	KUNIT_EXPECT_EQ(g->test, blkguest_state(g, XenbusStateClosing),
			XenbusStateClosing);
	KUNIT_EXPECT_EQ(g->test, blkguest_state(g, XenbusStateClosed),
			XenbusStateClosed);
	blkguest_unshare(g);
}

void blkguest_again(struct blkguest *g)
{
	close_down(g);
	KUNIT_EXPECT_EQ(g->test, blkguest_state(g, XenbusStateInitialising),
			XenbusStateInitWait);
}

void blkguest_end(struct blkguest *g)
{
	unsigned int i;

	close_down(g);
	for (i = 0; i < BLKGUEST_PAGES; i++) {
		KUNIT_EXPECT_TRUE(g->test, fake_grant_end(g->gref[i]));
		KUNIT_EXPECT_EQ(g->test, page_count(g->page[i]), 1);
		__free_page(g->page[i]);
	}
	fake_remove(g->p, XPV_BACK);
	fake_check_clean(g->w);
}

/* ------------------------------------------------------------------ */
/* Requests                                                            */
/* ------------------------------------------------------------------ */

static void encode_segs(u8 *at, const struct xbb_seg *seg, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++, at += 8) {
		memcpy(at, &seg[i].gref, 4);
		at[4] = seg[i].first;
		at[5] = seg[i].last;
	}
}

void blkguest_encode(u8 *raw, enum xbb_abi abi, const struct blkguest_ask *a)
{
	u8 *id = raw + (abi == XBB_ABI_64 ? 8 : 4);
	u16 n = a->nsegs;

	memset(raw, 0, XBB_SLOT_MAX);
	raw[0] = a->op;
	memcpy(id, &a->id, 8);
	memcpy(id + 8, &a->sector, 8);
	switch (a->op) {
	case BLKIF_OP_INDIRECT:
		raw[1] = a->inner;
		memcpy(raw + 2, &n, 2);
		memcpy(id + 20, &a->list_gref, 4);
		if (a->list)
			encode_segs(page_address(a->list), a->seg, a->nsegs);
		break;
	case BLKIF_OP_DISCARD:
		raw[1] = a->flags;
		memcpy(id + 16, &a->nr_sectors, 8);
		break;
	default:
		raw[1] = a->nsegs;
		encode_segs(id + 16, a->seg, min(a->nsegs, 11U));
	}
}

struct blkguest_ask *blkguest_rw(struct blkguest *g, u8 op, u64 sector,
				 unsigned int first, unsigned int n)
{
	static u64 serial = 0x1122334455667788;
	struct blkguest_ask *a = &g->ask;
	unsigned int i;

	memset(a, 0, sizeof(*a));
	a->op = op;
	a->id = serial++;
	a->sector = sector;
	a->nsegs = n;
	for (i = 0; i < n; i++) {
		a->seg[i].gref = g->gref[first + i];
		a->seg[i].last = 7;
	}
	if (n > XBB_DIRECT_SEGS) {
		a->inner = op;
		a->op = BLKIF_OP_INDIRECT;
		a->list = g->page[BLKGUEST_PAGES - 1];
		a->list_gref = g->gref[BLKGUEST_PAGES - 1];
	}
	return a;
}

void blkguest_send(struct blkguest *g, unsigned int ring,
		   const struct blkguest_ask *a)
{
	struct blkguest_ring *r = &g->r[ring];
	u8 raw[XBB_SLOT_MAX];

	blkguest_encode(raw, g->abi, a);
	if (g->abi == XBB_ABI_64)
		xpv_front_put(&r->ring, raw, 112);
	else
		xpv_front_put(&r->ring, raw, 108);
	if (xpv_front_push(&r->ring))
		hyp_evt_notify(&r->evt);
}

bool blkguest_take(struct blkguest *g, unsigned int ring,
		   struct blkguest_rsp *rsp)
{
	struct blkguest_ring *r = &g->r[ring];
	int n = xpv_front_pending(&r->ring);

	KUNIT_EXPECT_GE(g->test, n, 0);
	memset(rsp, 0xaa, sizeof(*rsp));
	if (n <= 0 && !xpv_front_arm(&r->ring, 1))
		return false;
	if (g->abi == XBB_ABI_64)
		xpv_front_get(&r->ring, rsp->raw, 16);
	else
		xpv_front_get(&r->ring, rsp->raw, 12);
	memcpy(&rsp->id, rsp->raw, 8);
	rsp->op = rsp->raw[8];
	memcpy(&rsp->status, rsp->raw + 10, 2);
	return true;
}

int blkguest_do(struct blkguest *g, unsigned int ring,
		const struct blkguest_ask *a)
{
	struct blkguest_rsp rsp;

	blkguest_send(g, ring, a);
	KUNIT_EXPECT_TRUE(g->test, fake_run(g->w));
	if (!blkguest_take(g, ring, &rsp))
		return 1;
	KUNIT_EXPECT_EQ(g->test, rsp.id, a->id);
	KUNIT_EXPECT_EQ(g->test, rsp.op,
			a->op == BLKIF_OP_INDIRECT ? a->inner : a->op);
	return rsp.status;
}

/* ------------------------------------------------------------------ */
/* Data                                                                */
/* ------------------------------------------------------------------ */

static u8 pattern(unsigned int page, unsigned int off, u8 seed)
{
	return seed + page * 37 + off * 5 + (off >> 8) * 3;
}

void blkguest_fill(struct blkguest *g, unsigned int first, unsigned int n,
		   u8 seed)
{
	unsigned int i, off;

	for (i = 0; i < n; i++) {
		u8 *at = page_address(g->page[first + i]);

		for (off = 0; off < PAGE_SIZE; off++)
			at[off] = pattern(i, off, seed);
	}
}

unsigned int blkguest_bad(const u8 *bytes, unsigned int page, u8 seed)
{
	unsigned int off, bad = 0;

	for (off = 0; off < PAGE_SIZE; off++)
		bad += bytes[off] != pattern(page, off, seed);
	return bad;
}

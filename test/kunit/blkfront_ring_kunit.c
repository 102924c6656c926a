// SPDX-License-Identifier: GPL-2.0
/*
 * blkfront's steps at the ring: requests built, answers judged, grants kept.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include "../../drivers/blkfront/blkfront.h"
#include "fake_hyp.h"

/* ------------------------------------------------------------------ */
/* Ring requests                                                       */
/* ------------------------------------------------------------------ */

static void make_grants(struct xbf_grant *g, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		g[i] = (struct xbf_grant) {
			.next = i + 1 < n ? &g[i + 1] : NULL,
			.ref = 100 + i, .first = i % 8, .last = 7 - i % 3 * (i % 8 < 5),
		};
}

static void build_rw_bytes(struct kunit *test)
{
	u8 raw[112];
	struct xbf_grant g[11];
	unsigned int n, i;

	KUNIT_ASSERT_EQ(test, sizeof(struct blkif_request), sizeof(raw));
	make_grants(g, 11);
	for (n = 1; n <= 11; n++) {
		struct blkif_request req = {};

		xbf_build_rw(&req, BLKIF_OP_WRITE, 0x1122, 51712,
			     0x123456789aULL, g, n);
		memcpy(raw, &req, sizeof(raw));
		KUNIT_EXPECT_EQ(test, raw[0], BLKIF_OP_WRITE);
		KUNIT_EXPECT_EQ(test, raw[1], n);
		KUNIT_EXPECT_EQ(test, raw[2] | raw[3] << 8, 51712);
		KUNIT_EXPECT_EQ(test, *(u64 *)(raw + 8), 0x1122);
		KUNIT_EXPECT_EQ(test, *(u64 *)(raw + 16), 0x123456789aULL);
		for (i = 0; i < n; i++) {
			KUNIT_EXPECT_EQ(test, *(u32 *)(raw + 24 + 8 * i), 100 + i);
			KUNIT_EXPECT_EQ(test, raw[24 + 8 * i + 4], g[i].first);
			KUNIT_EXPECT_EQ(test, raw[24 + 8 * i + 5], g[i].last);
			KUNIT_EXPECT_EQ(test, raw[24 + 8 * i + 6], 0);
		}
		for (i = 24 + 8 * n; i < sizeof(raw); i++)
			KUNIT_ASSERT_EQ(test, raw[i], 0);
	}
}

static void build_indirect_bytes(struct kunit *test)
{
	struct blkif_request req = {};
	u8 raw[112];
	unsigned int i;

	xbf_build_indirect(&req, BLKIF_OP_READ, 7, 51728, 99, 4242, 256);
	memcpy(raw, &req, sizeof(raw));
	KUNIT_EXPECT_EQ(test, raw[0], BLKIF_OP_INDIRECT);
	KUNIT_EXPECT_EQ(test, raw[1], BLKIF_OP_READ);
	KUNIT_EXPECT_EQ(test, *(u16 *)(raw + 2), 256);
	KUNIT_EXPECT_EQ(test, *(u64 *)(raw + 8), 7);
	KUNIT_EXPECT_EQ(test, *(u64 *)(raw + 16), 99);
	KUNIT_EXPECT_EQ(test, *(u16 *)(raw + 24), 51728);
	KUNIT_EXPECT_EQ(test, *(u32 *)(raw + 28), 4242);
	for (i = 32; i < sizeof(raw); i++)
		KUNIT_ASSERT_EQ(test, raw[i], 0);
}

static void build_list_entries(struct kunit *test)
{
	struct blkif_request_segment *seg;
	struct xbf_grant *g;
	unsigned int i;

	seg = kunit_kzalloc(test, 4096, GFP_KERNEL);
	g = kunit_kcalloc(test, 256, sizeof(*g), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, seg);
	KUNIT_ASSERT_NOT_NULL(test, g);
	make_grants(g, 256);
	xbf_build_list(seg, g, 255);
	for (i = 0; i < 255; i++) {
		KUNIT_ASSERT_EQ(test, seg[i].gref, 100 + i);
		KUNIT_ASSERT_EQ(test, seg[i].first_sect, g[i].first);
		KUNIT_ASSERT_EQ(test, seg[i].last_sect, g[i].last);
	}
	KUNIT_EXPECT_EQ(test, seg[255].gref, 0);
}

static void build_discard_bytes(struct kunit *test)
{
	struct blkif_request req = {};
	u8 raw[112];

	xbf_build_discard(&req, 3, 0x100000000ULL, 0x200000001ULL, true);
	memcpy(raw, &req, sizeof(raw));
	KUNIT_EXPECT_EQ(test, raw[0], BLKIF_OP_DISCARD);
	KUNIT_EXPECT_EQ(test, raw[1], 1);
	KUNIT_EXPECT_EQ(test, *(u64 *)(raw + 8), 3);
	KUNIT_EXPECT_EQ(test, *(u64 *)(raw + 16), 0x100000000ULL);
	KUNIT_EXPECT_EQ(test, *(u64 *)(raw + 24), 0x200000001ULL);
	xbf_build_discard(&req, 3, 0, 1, false);
	KUNIT_EXPECT_EQ(test, req.u.discard.flag, 0);
}

/* ------------------------------------------------------------------ */
/* Answers                                                             */
/* ------------------------------------------------------------------ */

static struct xbf_ring *make_ring(struct kunit *test, unsigned int n)
{
	struct xbf_ring *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_ASSERT_EQ(test, xpv_ids_init(&r->ids, n), 0);
	r->shadow = kunit_kcalloc(test, n, sizeof(*r->shadow), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r->shadow);
	return r;
}

static int answer(struct xbf_ring *r, u64 id, u8 op, enum xpv_fault *why)
{
	struct blkif_response rsp = { .id = id, .operation = op };

	return xbf_check_answer(r, &rsp, why);
}

static void check_answer_ids(struct kunit *test)
{
	static const u64 wild[] = { 31, 32, 0xffff, 0x10000, 0x7fffffff,
				    0x80000000ULL, 0xffffffffULL, 0x100000000ULL,
				    0x8000000000000000ULL, ~0ULL };
	struct xbf_ring *r = make_ring(test, 32);
	int id = xpv_ids_get(&r->ids);
	enum xpv_fault why;
	unsigned int i;

	r->shadow[id].op = BLKIF_OP_READ;
	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		KUNIT_EXPECT_EQ(test, answer(r, wild[i], BLKIF_OP_READ, &why),
				-EPROTO);
		KUNIT_EXPECT_EQ(test, why, XPV_FAULT_ID);
	}
	r->shadow[id].slot = XBF_SLOT_SENT;
	KUNIT_EXPECT_EQ(test, answer(r, id, BLKIF_OP_READ, &why), id);
	xpv_ids_exit(&r->ids);
}

static void check_answer_slot_states(struct kunit *test)
{
	struct xbf_ring *r = make_ring(test, 32);
	int id = xpv_ids_get(&r->ids);
	enum xpv_fault why;
	unsigned int s;

	for (s = XBF_SLOT_FREE; s <= XBF_SLOT_ANSWERED; s++) {
		r->shadow[id].slot = s;
		KUNIT_EXPECT_EQ(test, answer(r, id, 0, &why),
				s == XBF_SLOT_SENT ? id : -EPROTO);
	}
	xpv_ids_exit(&r->ids);
}

static void check_answer_operations(struct kunit *test)
{
	struct xbf_ring *r = make_ring(test, 32);
	int id = xpv_ids_get(&r->ids);
	unsigned int sent, got;
	enum xpv_fault why;

	r->shadow[id].slot = XBF_SLOT_SENT;
	for (sent = 0; sent <= BLKIF_OP_DISCARD; sent++) {
		r->shadow[id].op = sent;
		for (got = 0; got < 256; got++) {
			bool rw = sent <= BLKIF_OP_WRITE;
			bool ok = got == sent || (rw && got == BLKIF_OP_INDIRECT);

			KUNIT_ASSERT_EQ(test, answer(r, id, got, &why),
					ok ? id : -EPROTO);
			if (!ok)
				KUNIT_ASSERT_EQ(test, why, XPV_FAULT_OP);
		}
	}
	xpv_ids_exit(&r->ids);
}

/* Random answers: accepted exactly when one is owed, and once. */
static void check_answer_fuzz(struct kunit *test)
{
	struct xbf_ring *r = make_ring(test, 64);
	struct rnd_state rnd;
	enum xpv_fault why;
	unsigned int i, got = 0;

	prandom_seed_state(&rnd, 20461);
	for (i = 0; i < 200000; i++) {
		u64 id = prandom_u32_state(&rnd) % 80;
		u8 op = prandom_u32_state(&rnd) % 7;
		int ret, new;

		if (!(i % 3)) {
			new = xpv_ids_get(&r->ids);
			if (new >= 0) {
				r->shadow[new].op = prandom_u32_state(&rnd) % 2;
				r->shadow[new].slot = XBF_SLOT_SENT;
			}
		}
		if (!(i % 7))
			id |= (u64)prandom_u32_state(&rnd) << 32;
		ret = answer(r, id, op, &why);
		if (ret < 0)
			continue;
		KUNIT_ASSERT_LT(test, id, 64);
		KUNIT_ASSERT_EQ(test, ret, (int)id);
		KUNIT_ASSERT_EQ(test, r->shadow[id].slot, XBF_SLOT_SENT);
		r->shadow[id].slot = XBF_SLOT_FREE;
		KUNIT_ASSERT_EQ(test, xpv_ids_put(&r->ids, id), 0);
		KUNIT_ASSERT_EQ(test, answer(r, id, op, &why), -EPROTO);
		got++;
	}
	KUNIT_EXPECT_GT(test, got, 1000);
	xpv_ids_exit(&r->ids);
}

#define OK	BLKIF_RSP_OKAY
#define ERR	BLKIF_RSP_ERROR
#define NOSUP	BLKIF_RSP_EOPNOTSUPP

static const struct {
	u8 op;
	bool barrier, secure;
	s16 status;
	blk_status_t want;
	enum xbf_revoke revoke;
} verdicts[] = {
	{ BLKIF_OP_READ, 0, 0, OK, BLK_STS_OK, XBF_REVOKE_NONE },
	{ BLKIF_OP_READ, 0, 0, ERR, BLK_STS_IOERR, XBF_REVOKE_NONE },
	{ BLKIF_OP_READ, 0, 0, NOSUP, BLK_STS_IOERR, XBF_REVOKE_NONE },
	{ BLKIF_OP_WRITE, 1, 0, NOSUP, BLK_STS_IOERR, XBF_REVOKE_NONE },
	{ BLKIF_OP_WRITE, 0, 0, 1, BLK_STS_IOERR, XBF_REVOKE_NONE },
	{ BLKIF_OP_WRITE, 0, 0, -3, BLK_STS_IOERR, XBF_REVOKE_NONE },
	{ BLKIF_OP_FLUSH_DISKCACHE, 0, 0, OK, BLK_STS_OK, XBF_REVOKE_NONE },
	{ BLKIF_OP_FLUSH_DISKCACHE, 0, 0, ERR, BLK_STS_IOERR, XBF_REVOKE_NONE },
	{ BLKIF_OP_FLUSH_DISKCACHE, 1, 0, ERR, BLK_STS_IOERR, XBF_REVOKE_NONE },
	{ BLKIF_OP_FLUSH_DISKCACHE, 0, 0, NOSUP, BLK_STS_NOTSUPP,
	  XBF_REVOKE_FLUSH },
	{ BLKIF_OP_FLUSH_DISKCACHE, 1, 0, NOSUP, BLK_STS_NOTSUPP,
	  XBF_REVOKE_TO_BARRIER },
	{ BLKIF_OP_WRITE_BARRIER, 0, 0, OK, BLK_STS_OK, XBF_REVOKE_NONE },
	{ BLKIF_OP_WRITE_BARRIER, 0, 0, ERR, BLK_STS_IOERR, XBF_REVOKE_NONE },
	{ BLKIF_OP_WRITE_BARRIER, 0, 0, NOSUP, BLK_STS_NOTSUPP,
	  XBF_REVOKE_FLUSH },
	{ BLKIF_OP_DISCARD, 0, 0, OK, BLK_STS_OK, XBF_REVOKE_NONE },
	{ BLKIF_OP_DISCARD, 0, 0, ERR, BLK_STS_IOERR, XBF_REVOKE_NONE },
	{ BLKIF_OP_DISCARD, 0, 0, NOSUP, BLK_STS_NOTSUPP, XBF_REVOKE_DISCARD },
	{ BLKIF_OP_DISCARD, 0, 1, NOSUP, BLK_STS_NOTSUPP, XBF_REVOKE_SECURE },
};

static void judge_table(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(verdicts); i++) {
		struct xbf_limits l = { .flush_op = BLKIF_OP_FLUSH_DISKCACHE,
					.barrier = verdicts[i].barrier };
		struct xbf_verdict v = xbf_judge(&l, verdicts[i].op,
						 verdicts[i].secure,
						 verdicts[i].status);

		KUNIT_EXPECT_EQ_MSG(test, (__force u8)v.status,
				    (__force u8)verdicts[i].want, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, v.revoke, verdicts[i].revoke,
				    "row %u", i);
	}
}

/* A flush sent before the switch to barriers must not take the barrier away. */
static void judge_late_flush_after_switch(struct kunit *test)
{
	struct xbf_limits l = { .flush_op = BLKIF_OP_WRITE_BARRIER };
	struct xbf_verdict v = xbf_judge(&l, BLKIF_OP_FLUSH_DISKCACHE, false,
					 NOSUP);

	KUNIT_EXPECT_EQ(test, v.revoke, XBF_REVOKE_TO_BARRIER);
}

static void judge_error_never_success(struct kunit *test)
{
	struct xbf_limits l = {};
	int status;
	u8 op;

	for (op = 0; op <= BLKIF_OP_INDIRECT; op++) {
		for (status = S16_MIN; status <= S16_MAX; status++) {
			struct xbf_verdict v = xbf_judge(&l, op, false, status);

			if (!status)
				continue;
			KUNIT_ASSERT_NE(test, (__force u8)v.status,
					(__force u8)BLK_STS_OK);
		}
	}
}

/* ------------------------------------------------------------------ */
/* Grants                                                              */
/* ------------------------------------------------------------------ */

static struct xpv_dev *grants_world(struct kunit *test, struct fake_world **w)
{
	*w = fake_world_create(test);
	return fake_end(fake_pair_create(*w, "vbd", 0), XPV_FRONT);
}

static void pool_take_newest_first(struct kunit *test)
{
	struct fake_world *w;
	struct xpv_dev *d = grants_world(test, &w);
	struct xbf_grants l = {}, m = {};
	struct xbf_grant *g[3];
	struct xbf_pool p;

	KUNIT_ASSERT_EQ(test, xbf_pool_init(&p, 8), 0);
	KUNIT_ASSERT_EQ(test, xbf_pool_fill(&p, d, 3), 0);
	KUNIT_EXPECT_EQ(test, p.ready.n, 3);
	KUNIT_EXPECT_EQ(test, p.bare.n, 5);
	KUNIT_ASSERT_TRUE(test, xbf_pool_take(&p, 3, true, &l));
	g[0] = l.head;
	g[1] = g[0]->next;
	g[2] = g[1]->next;
	xbf_pool_put(&p, &l, true);
	KUNIT_ASSERT_TRUE(test, xbf_pool_take(&p, 1, true, &m));
	KUNIT_EXPECT_PTR_EQ(test, m.head, g[2]);
	KUNIT_ASSERT_TRUE(test, xbf_pool_take(&p, 1, true, &m));
	KUNIT_EXPECT_PTR_EQ(test, m.tail, g[1]);
	xbf_pool_put(&p, &m, true);
	xbf_pool_exit(&p);
	fake_check_clean(w);
}

static void pool_take_all_or_nothing(struct kunit *test)
{
	struct fake_world *w;
	struct xpv_dev *d = grants_world(test, &w);
	struct xbf_grants l = {};
	struct xbf_pool p;

	KUNIT_ASSERT_EQ(test, xbf_pool_init(&p, 4), 0);
	KUNIT_ASSERT_EQ(test, xbf_pool_fill(&p, d, 1), 0);
	KUNIT_EXPECT_FALSE(test, xbf_pool_take(&p, 5, true, &l));
	KUNIT_EXPECT_FALSE(test, xbf_pool_take(&p, 4, false, &l));
	KUNIT_EXPECT_EQ(test, l.n, 0);
	KUNIT_EXPECT_TRUE(test, xbf_pool_take(&p, 4, true, &l));
	KUNIT_EXPECT_EQ(test, l.n, 4);
	KUNIT_EXPECT_FALSE(test, xbf_pool_take(&p, 1, true, &l));
	xbf_pool_put(&p, &l, true);
	KUNIT_EXPECT_EQ(test, p.ready.n, 1);
	KUNIT_EXPECT_EQ(test, p.bare.n, 3);
	xbf_pool_exit(&p);
	xbf_pool_exit(&p);
	fake_check_clean(w);
}

static void pool_init_without_grants(struct kunit *test)
{
	struct fake_world *w;
	struct xbf_pool p;

	grants_world(test, &w);
	fake_grant_limit(w, 7);
	KUNIT_EXPECT_EQ(test, xbf_pool_init(&p, 8), -ENOSPC);
	KUNIT_EXPECT_EQ(test, xbf_pool_init(&p, 7), 0);
	xbf_pool_exit(&p);
	fake_check_clean(w);
}

static void pool_unpage_makes_room(struct kunit *test)
{
	struct fake_world *w;
	struct xpv_dev *d = grants_world(test, &w);
	struct xbf_pool p;

	KUNIT_ASSERT_EQ(test, xbf_pool_init(&p, 8), 0);
	KUNIT_ASSERT_EQ(test, xbf_pool_fill(&p, d, 6), 0);
	KUNIT_EXPECT_TRUE(test, xbf_pool_unpage(&p, 5));
	KUNIT_EXPECT_EQ(test, p.bare.n, 5);
	KUNIT_EXPECT_EQ(test, p.ready.n, 3);
	KUNIT_EXPECT_FALSE(test, xbf_pool_unpage(&p, 9));
	xbf_pool_exit(&p);
	fake_check_clean(w);
}

static void pool_exit_pages_kept_by_peer(struct kunit *test)
{
	struct fake_world *w;
	struct xpv_dev *d = grants_world(test, &w);
	struct xbf_pool p;

	KUNIT_ASSERT_EQ(test, xbf_pool_init(&p, 8), 0);
	KUNIT_ASSERT_EQ(test, xbf_pool_fill(&p, d, 6), 0);
	fake_keep(w, true);
	KUNIT_EXPECT_FALSE(test, xbf_pool_unpage(&p, 3));
	xbf_pool_exit(&p);
	KUNIT_EXPECT_EQ(test, fake_use(w).abandoned, 6);
	KUNIT_EXPECT_EQ(test, fake_use(w).refs, 6);
	fake_keep(w, false);
	fake_run(w);
	fake_check_clean(w);
}

static void grants_page_zeroed(struct kunit *test)
{
	struct fake_world *w;
	struct xpv_dev *d = grants_world(test, &w);
	struct xbf_grants l = {};
	struct xbf_grant *g;
	struct xbf_pool p;

	KUNIT_ASSERT_EQ(test, xbf_pool_init(&p, 16), 0);
	KUNIT_ASSERT_EQ(test, xbf_pool_fill(&p, d, 16), 0);
	KUNIT_ASSERT_TRUE(test, xbf_pool_take(&p, 16, true, &l));
	for (g = l.head; g; g = g->next)
		KUNIT_EXPECT_NULL(test, memchr_inv(page_address(g->page), 0,
						   PAGE_SIZE));
	xbf_pool_put(&p, &l, true);
	xbf_pool_exit(&p);
	fake_check_clean(w);
}

static void grants_span_odd_sizes(struct kunit *test)
{
	struct xbf_grant g[3];
	struct xbf_grants l = { .head = g, .tail = &g[2], .n = 3 };
	unsigned int s;

	for (s = 1; s <= 8; s++) {
		make_grants(g, 3);
		xbf_grants_span(&l, 8192 + s * 512);
		KUNIT_EXPECT_EQ(test, g[0].first, 0);
		KUNIT_EXPECT_EQ(test, g[0].last, 7);
		KUNIT_EXPECT_EQ(test, g[1].last, 7);
		KUNIT_EXPECT_EQ(test, g[2].first, 0);
		KUNIT_EXPECT_EQ(test, g[2].last, s - 1);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(build_rw_bytes),
	KUNIT_CASE(build_indirect_bytes),
	KUNIT_CASE(build_list_entries),
	KUNIT_CASE(build_discard_bytes),
	KUNIT_CASE(check_answer_ids),
	KUNIT_CASE(check_answer_slot_states),
	KUNIT_CASE(check_answer_operations),
	KUNIT_CASE(check_answer_fuzz),
	KUNIT_CASE(judge_table),
	KUNIT_CASE(judge_late_flush_after_switch),
	KUNIT_CASE(judge_error_never_success),
	KUNIT_CASE(pool_take_newest_first),
	KUNIT_CASE(pool_take_all_or_nothing),
	KUNIT_CASE(pool_init_without_grants),
	KUNIT_CASE(pool_unpage_makes_room),
	KUNIT_CASE(pool_exit_pages_kept_by_peer),
	KUNIT_CASE(grants_page_zeroed),
	KUNIT_CASE(grants_span_odd_sizes),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkfront_ring",
	.test_cases = cases,
};

kunit_test_suite(suite);

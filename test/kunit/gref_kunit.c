// SPDX-License-Identifier: GPL-2.0
/*
 * Suite xpv_gref: grant reference pools and tables of ids in flight.
 */
#include <kunit/test.h>
#include <xpv/gref.h>
#include "fake_hyp.h"

static int gref_init(struct kunit *test)
{
	test->priv = fake_world_create(test);
	return 0;
}

static void pool_gives_each_reference_once(struct kunit *test)
{
	struct fake_world *w = test->priv;
	struct xpv_gref_pool p;
	grant_ref_t ref[16];
	unsigned int i, k;

	KUNIT_ASSERT_EQ(test, xpv_gref_pool_init(&p, 16), 0);
	for (i = 0; i < 16; i++) {
		ref[i] = xpv_gref_get(&p);
		KUNIT_EXPECT_NE(test, ref[i], XPV_GREF_NONE);
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_NE(test, ref[k], ref[i]);
	}
	KUNIT_EXPECT_EQ(test, xpv_gref_get(&p), XPV_GREF_NONE);
	xpv_gref_put(&p, ref[3]);
	KUNIT_EXPECT_EQ(test, xpv_gref_get(&p), ref[3]);
	for (i = 0; i < 16; i++)
		xpv_gref_put(&p, ref[i]);
	xpv_gref_pool_exit(&p);
	xpv_gref_pool_exit(&p);
	fake_check_clean(w);
}

static void pool_ignores_one_put_too_many(struct kunit *test)
{
	struct xpv_gref_pool p;

	KUNIT_ASSERT_EQ(test, xpv_gref_pool_init(&p, 2), 0);
	xpv_gref_put(&p, 12345);
	KUNIT_EXPECT_EQ(test, p.nfree, 2);
	xpv_gref_pool_exit(&p);
	fake_check_clean(test->priv);
}

/* A reference given up stays with the fake's deferred list. */
static void pool_without_an_abandoned_reference(struct kunit *test)
{
	struct fake_world *w = test->priv;
	struct fake_pair *pair = fake_pair_create(w, "vif", 0);
	struct page *page = alloc_page(GFP_KERNEL);
	struct xpv_gref_pool p;
	grant_ref_t ref;

	KUNIT_ASSERT_EQ(test, xpv_gref_pool_init(&p, 4), 0);
	ref = xpv_gref_get(&p);
	hyp_grant(ref, fake_end(pair, XPV_FRONT)->peer, page, false);
	fake_keep(w, true);
	KUNIT_EXPECT_FALSE(test, hyp_ungrant(ref));
	hyp_grant_abandon(ref, page);
	xpv_gref_pool_exit(&p);
	KUNIT_EXPECT_EQ(test, fake_use(w).refs, 1);
	fake_keep(w, false);
	fake_check_clean(w);
}

static void pool_init_without_references(struct kunit *test)
{
	struct fake_world *w = test->priv;
	struct xpv_gref_pool p;

	fake_grant_limit(w, 7);
	KUNIT_EXPECT_EQ(test, xpv_gref_pool_init(&p, 8), -ENOSPC);
	KUNIT_EXPECT_EQ(test, xpv_gref_get(&p), XPV_GREF_NONE);
	xpv_gref_pool_exit(&p);
	fake_fail(w, FAKE_GREF_ALLOC, 1, 1, -ENOSPC);
	KUNIT_EXPECT_EQ(test, xpv_gref_pool_init(&p, 1), -ENOSPC);
	xpv_gref_pool_exit(&p);
	fake_check_clean(w);
}

static void ids_of_every_size(struct kunit *test)
{
	static const unsigned int sizes[] = { 1, 2, 31, 32, 33, 256, 512, 65536 };
	struct xpv_ids t;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		KUNIT_ASSERT_EQ(test, xpv_ids_init(&t, sizes[i]), 0);
		for (n = 0; n < sizes[i]; n++)
			KUNIT_ASSERT_EQ(test, xpv_ids_get(&t), n);
		KUNIT_EXPECT_EQ(test, xpv_ids_get(&t), -ENOSPC);
		for (n = 0; n < sizes[i]; n++)
			KUNIT_ASSERT_EQ(test, xpv_ids_put(&t, n), 0);
		KUNIT_EXPECT_EQ(test, t.nfree, sizes[i]);
		xpv_ids_exit(&t);
		xpv_ids_exit(&t);
	}
	KUNIT_EXPECT_EQ(test, xpv_ids_init(&t, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, xpv_ids_init(&t, 65537), -EINVAL);
}

static const u64 bad_ids[] = {
	1, 7, 8, 9, 63, 64, 0xffff, 0x10000, 0xffffffff, 0x100000000, 0x100000001,
	0x8000000000000000, 0xffffffffffffffff,
};

static void bad_id_name(const u64 *id, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "id %#llx", *id);
}

KUNIT_ARRAY_PARAM(bad_id, bad_ids, bad_id_name);

/* Eight ids, of which only 0 is in flight. */
static void ids_refuse_what_is_not_in_flight(struct kunit *test)
{
	const u64 *id = test->param_value;
	struct xpv_ids t;

	KUNIT_ASSERT_EQ(test, xpv_ids_init(&t, 8), 0);
	KUNIT_ASSERT_EQ(test, xpv_ids_get(&t), 0);
	KUNIT_EXPECT_FALSE(test, xpv_ids_busy(&t, *id));
	KUNIT_EXPECT_EQ(test, xpv_ids_put(&t, *id), -EPROTO);
	KUNIT_EXPECT_EQ(test, t.nfree, 7);
	KUNIT_EXPECT_TRUE(test, xpv_ids_busy(&t, 0));
	xpv_ids_exit(&t);
}

static void ids_refuse_a_second_answer(struct kunit *test)
{
	struct xpv_ids t;
	int id;

	KUNIT_ASSERT_EQ(test, xpv_ids_init(&t, 4), 0);
	id = xpv_ids_get(&t);
	KUNIT_EXPECT_EQ(test, xpv_ids_put(&t, id), 0);
	KUNIT_EXPECT_EQ(test, xpv_ids_put(&t, id), -EPROTO);
	KUNIT_EXPECT_EQ(test, t.nfree, 4);
	/* Last in, first out. */
	KUNIT_EXPECT_EQ(test, xpv_ids_get(&t), id);
	xpv_ids_exit(&t);
	/* An empty table knows no id. */
	KUNIT_EXPECT_EQ(test, xpv_ids_put(&t, 0), -EPROTO);
}

static struct kunit_case gref_cases[] = {
	KUNIT_CASE(pool_gives_each_reference_once),
	KUNIT_CASE(pool_ignores_one_put_too_many),
	KUNIT_CASE(pool_without_an_abandoned_reference),
	KUNIT_CASE(pool_init_without_references),
	KUNIT_CASE(ids_of_every_size),
	KUNIT_CASE_PARAM(ids_refuse_what_is_not_in_flight, bad_id_gen_params),
	KUNIT_CASE(ids_refuse_a_second_answer),
	{}
};

static struct kunit_suite gref_suite = {
	.name = "xpv_gref",
	.init = gref_init,
	.test_cases = gref_cases,
};

kunit_test_suite(gref_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * Suite xpv_fake_grant: the fake hypervisor's grants, copies, mappings, rings.
 *
 * The pair suites take it for granted that the fake moves bytes, shows one page
 * at two addresses, keeps books and notices misuse; here that is shown.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <xpv/ring.h>
#include "fake_hyp.h"

struct ctx {
	struct fake_world *w;
	struct fake_pair *p;
	struct xpv_dev *front;
	struct xpv_dev *back;
	struct page *page;
};

static void page_end(void *page)
{
	put_page(page);
}

static int fake_grant_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	test->priv = c;
	c->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(test, c->page);
	/* Before the world's, so it runs after it: nothing maps the page then. */
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, page_end, c->page), 0);
	c->w = fake_world_create(test);
	c->p = fake_pair_create(c->w, "vif", 0);
	c->front = fake_end(c->p, XPV_FRONT);
	c->back = fake_end(c->p, XPV_BACK);
	return 0;
}

/* ------------------------------------------------------------------ */
/* Grants                                                              */
/* ------------------------------------------------------------------ */

static void grant_exhausts_and_comes_back(struct kunit *test)
{
	struct ctx *c = test->priv;
	grant_ref_t ref[8];

	fake_grant_limit(c->w, 8);
	KUNIT_EXPECT_EQ(test, hyp_gref_alloc(9, ref), -ENOSPC);
	KUNIT_ASSERT_EQ(test, hyp_gref_alloc(8, ref), 0);
	KUNIT_EXPECT_EQ(test, fake_use(c->w).refs, 8);
	KUNIT_EXPECT_EQ(test, hyp_gref_alloc(1, ref), -ENOSPC);
	hyp_gref_free(8, ref);
	fake_check_clean(c->w);
}

static void grant_misuse_is_blamed(struct kunit *test)
{
	struct ctx *c = test->priv;
	grant_ref_t ref = fake_grant_page(c->front, c->page, false);

	hyp_grant(ref, c->front->peer, c->page, false);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 1);
	hyp_gref_free(1, &ref);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 1);
	KUNIT_EXPECT_TRUE(test, fake_grant_end(ref));
	hyp_ungrant(ref);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 1);
	hyp_gref_free(1, &ref);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 1);
	fake_check_clean(c->w);
}

static int copy(struct ctx *c, struct page *page, grant_ref_t ref, u16 off,
		u16 goff, u16 len, bool to_peer)
{
	struct gnttab_copy raw;
	struct xpv_copy op = {
		.page = page, .gref = ref, .page_off = off, .gref_off = goff,
		.len = len, .to_peer = to_peer, .status = 1,
	};

	hyp_copy(c->back, &op, &raw, 1);
	return op.status;
}

static void copy_moves_bytes_both_ways(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct page *mine = alloc_page(GFP_KERNEL | __GFP_ZERO);
	grant_ref_t ref = fake_grant_page(c->front, c->page, false);

	strscpy(page_address(c->page) + 100, "from front", 16);
	KUNIT_EXPECT_EQ(test, copy(c, mine, ref, 200, 100, 11, false), 0);
	KUNIT_EXPECT_STREQ(test, (char *)page_address(mine) + 200, "from front");
	strscpy(page_address(mine), "from back", 16);
	KUNIT_EXPECT_EQ(test, copy(c, mine, ref, 0, 4000, 10, true), 0);
	KUNIT_EXPECT_STREQ(test, (char *)page_address(c->page) + 4000,
			   "from back");
	fake_grant_end(ref);
	__free_page(mine);
	fake_check_clean(c->w);
}

static void copy_refuses_bad_grants(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct page *mine = alloc_page(GFP_KERNEL | __GFP_ZERO);
	grant_ref_t ro = fake_grant_page(c->front, c->page, true);
	grant_ref_t own = fake_grant_page(c->back, c->page, false);

	KUNIT_EXPECT_EQ(test, copy(c, mine, ro, 0, 0, 1, true), -EACCES);
	KUNIT_EXPECT_EQ(test, copy(c, mine, ro, 0, 0, 1, false), 0);
	/* Granted by us to the frontend, not the other way round. */
	KUNIT_EXPECT_EQ(test, copy(c, mine, own, 0, 0, 1, false), -EINVAL);
	KUNIT_EXPECT_EQ(test, copy(c, mine, 0, 0, 0, 1, false), -EINVAL);
	KUNIT_EXPECT_EQ(test, copy(c, mine, ~0U, 0, 0, 1, false), -EINVAL);
	fake_grant_end(ro);
	KUNIT_EXPECT_EQ(test, copy(c, mine, ro, 0, 0, 1, false), -EINVAL);
	fake_grant_end(own);
	__free_page(mine);
	fake_check_clean(c->w);
}

static void copy_out_of_page_is_blamed(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct page *mine = alloc_page(GFP_KERNEL | __GFP_ZERO);
	grant_ref_t ref = fake_grant_page(c->front, c->page, false);

	KUNIT_EXPECT_NE(test, copy(c, mine, ref, 4000, 0, 97, false), 0);
	KUNIT_EXPECT_NE(test, copy(c, mine, ref, 0, 4095, 2, true), 0);
	KUNIT_EXPECT_NE(test, copy(c, mine, ref, 0, 0, 0, true), 0);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 3);
	fake_grant_end(ref);
	__free_page(mine);
}

static void map_shows_the_same_memory(struct kunit *test)
{
	struct ctx *c = test->priv;
	grant_ref_t ref = fake_grant_page(c->front, c->page, false);
	struct xpv_map op = { .gref = ref };
	u8 *ours, *theirs = page_address(c->page);

	KUNIT_ASSERT_EQ(test, hyp_pages_get(1, &op.page), 0);
	ours = page_address(op.page);
	ours[5] = 0x11;
	theirs[5] = 0x22;
	hyp_map(c->back, &op, 1);
	KUNIT_ASSERT_EQ(test, op.status, 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(ours[5]), 0x22);
	WRITE_ONCE(ours[5], 0x33);
	KUNIT_EXPECT_EQ(test, READ_ONCE(theirs[5]), 0x33);
	WRITE_ONCE(theirs[6], 0x44);
	KUNIT_EXPECT_EQ(test, READ_ONCE(ours[6]), 0x44);
	KUNIT_EXPECT_EQ(test, fake_use(c->w).maps, 1);
	KUNIT_EXPECT_FALSE(test, hyp_ungrant(ref));
	hyp_unmap(c->back, &op, 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(ours[5]), 0x11);
	KUNIT_EXPECT_EQ(test, READ_ONCE(theirs[5]), 0x33);
	hyp_pages_put(1, &op.page);
	KUNIT_EXPECT_TRUE(test, fake_grant_end(ref));
	fake_check_clean(c->w);
}

static void map_twice_shows_one_page_at_two(struct kunit *test)
{
	struct ctx *c = test->priv;
	grant_ref_t ref = fake_grant_page(c->front, c->page, false);
	struct xpv_map op[2] = { { .gref = ref }, { .gref = ref } };
	struct page *page[2];

	KUNIT_ASSERT_EQ(test, hyp_pages_get(2, page), 0);
	op[0].page = page[0];
	op[1].page = page[1];
	hyp_map(c->back, op, 2);
	*(u32 *)page_address(page[0]) = 0x12345678;
	KUNIT_EXPECT_EQ(test, *(u32 *)page_address(page[1]), 0x12345678);
	hyp_unmap(c->back, op, 2);
	hyp_pages_put(2, page);
	fake_grant_end(ref);
	fake_check_clean(c->w);
}

static void map_misuse_is_blamed(struct kunit *test)
{
	struct ctx *c = test->priv;
	grant_ref_t ref = fake_grant_page(c->front, c->page, false);
	struct xpv_map op = { .gref = ref, .page = c->page };

	hyp_map(c->back, &op, 1);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 1);
	KUNIT_ASSERT_EQ(test, hyp_pages_get(1, &op.page), 0);
	hyp_map(c->back, &op, 1);
	KUNIT_EXPECT_EQ(test, op.status, 0);
	op.readonly = true;
	hyp_unmap(c->back, &op, 1);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 1);
	hyp_pages_put(1, &op.page);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 1);
	op.readonly = false;
	hyp_unmap(c->back, &op, 1);
	hyp_unmap(c->back, &op, 1);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 1);
	hyp_pages_put(1, &op.page);
	fake_grant_end(ref);
	fake_check_clean(c->w);
}

static void map_fails_as_told(struct kunit *test)
{
	static const int err[] = { -ENOSPC, FAKE_POSITIVE, FAKE_UNTOUCHED };
	struct ctx *c = test->priv;
	grant_ref_t ref = fake_grant_page(c->front, c->page, false);
	struct xpv_map op[3] = {};
	struct page *page[3];
	unsigned int i, k;

	KUNIT_ASSERT_EQ(test, hyp_pages_get(3, page), 0);
	for (k = 0; k < ARRAY_SIZE(err); k++) {
		fake_fail_op(c->w, FAKE_MAP, 2, 1, err[k]);
		for (i = 0; i < 3; i++)
			op[i] = (struct xpv_map) { .page = page[i], .gref = ref };
		hyp_map(c->back, op, 3);
		KUNIT_EXPECT_EQ(test, op[0].status, 0);
		KUNIT_EXPECT_LT(test, op[1].status, 0);
		KUNIT_EXPECT_EQ(test, op[2].status, 0);
		hyp_unmap(c->back, &op[0], 1);
		hyp_unmap(c->back, &op[2], 1);
	}
	hyp_pages_put(3, page);
	fake_grant_end(ref);
	fake_check_clean(c->w);
}

static void unmap_refused_leaks_the_page(struct kunit *test)
{
	struct ctx *c = test->priv;
	grant_ref_t ref = fake_grant_page(c->front, c->page, false);
	struct xpv_map op = { .gref = ref };

	KUNIT_ASSERT_EQ(test, hyp_pages_get(1, &op.page), 0);
	hyp_map(c->back, &op, 1);
	fake_fail(c->w, FAKE_UNMAP, 1, 1, -EIO);
	hyp_unmap(c->back, &op, 1);
	KUNIT_EXPECT_NULL(test, op.page);
	hyp_pages_put(1, &op.page);
	KUNIT_EXPECT_EQ(test, fake_use(c->w).leaked, 1);
	KUNIT_EXPECT_EQ(test, fake_use(c->w).maps, 1);
}

static void abandon_frees_when_the_peer_lets_go(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct page *page = alloc_page(GFP_KERNEL);
	grant_ref_t ref = fake_grant_page(c->front, page, false);

	get_page(page);
	fake_keep(c->w, true);
	KUNIT_EXPECT_FALSE(test, hyp_ungrant(ref));
	hyp_grant_abandon(ref, page);
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 2);
	KUNIT_EXPECT_EQ(test, fake_use(c->w).abandoned, 1);
	fake_keep(c->w, false);
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 1);
	put_page(page);
	fake_check_clean(c->w);
}

/* ------------------------------------------------------------------ */
/* Rings                                                               */
/* ------------------------------------------------------------------ */

static void ring_is_shared(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct xpv_ring_mem front, back = {};
	unsigned int i, n = 4;

	KUNIT_ASSERT_EQ(test, hyp_ring_share(c->front, &front, n), 0);
	back.npages = n;
	for (i = 0; i < n; i++)
		back.gref[i] = front.gref[i];
	KUNIT_ASSERT_EQ(test, hyp_ring_map(c->back, &back), 0);
	xpv_peer_write(front.addr + 3 * XPV_PAGE_SIZE + 8, 77);
	KUNIT_EXPECT_EQ(test, xpv_peer_read(back.addr + 3 * XPV_PAGE_SIZE + 8),
			77);
	/* The frontend goes first: its pages stay until the backend is done. */
	hyp_ring_unshare(c->front, &front);
	KUNIT_EXPECT_EQ(test, fake_use(c->w).abandoned, n);
	xpv_peer_write(back.addr, 1);
	hyp_ring_unmap(c->back, &back);
	hyp_ring_unmap(c->back, &back);
	fake_check_clean(c->w);
}

static void ring_map_with_one_bad_grant(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct xpv_ring_mem front, back = { .npages = 2 };

	KUNIT_ASSERT_EQ(test, hyp_ring_share(c->front, &front, 2), 0);
	back.gref[0] = front.gref[0];
	back.gref[1] = 3;
	KUNIT_EXPECT_NE(test, hyp_ring_map(c->back, &back), 0);
	KUNIT_EXPECT_EQ(test, fake_use(c->w).maps, 0);
	hyp_ring_unmap(c->back, &back);
	hyp_ring_unshare(c->front, &front);
	fake_check_clean(c->w);
}

static struct kunit_case fake_grant_cases[] = {
	KUNIT_CASE(grant_exhausts_and_comes_back),
	KUNIT_CASE(grant_misuse_is_blamed),
	KUNIT_CASE(copy_moves_bytes_both_ways),
	KUNIT_CASE(copy_refuses_bad_grants),
	KUNIT_CASE(copy_out_of_page_is_blamed),
	KUNIT_CASE(map_shows_the_same_memory),
	KUNIT_CASE(map_twice_shows_one_page_at_two),
	KUNIT_CASE(map_misuse_is_blamed),
	KUNIT_CASE(map_fails_as_told),
	KUNIT_CASE(unmap_refused_leaks_the_page),
	KUNIT_CASE(abandon_frees_when_the_peer_lets_go),
	KUNIT_CASE(ring_is_shared),
	KUNIT_CASE(ring_map_with_one_bad_grant),
	{}
};

static struct kunit_suite fake_grant_suite = {
	.name = "xpv_fake_grant",
	.init = fake_grant_init,
	.test_cases = fake_grant_cases,
};

kunit_test_suite(fake_grant_suite);

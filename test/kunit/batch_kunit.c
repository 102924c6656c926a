// SPDX-License-Identifier: GPL-2.0
/*
 * Suite xpv_batch: how runs of bytes are cut into copies, and how failures of
 * single operations come back.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <xpv/batch.h>
#include "fake_hyp.h"

#define ROOM	8
#define ORDER	2	/* a local buffer of four pages */

struct ctx {
	struct fake_world *w;
	struct xpv_dev *front;
	struct xpv_dev *back;
	struct xpv_copy_batch b;
	struct page *ours;
	struct page *theirs;
	grant_ref_t ref;
};

static void ctx_end(void *arg)
{
	struct ctx *c = arg;

	__free_pages(c->ours, ORDER);
	__free_page(c->theirs);
}

static void batch_end(void *arg)
{
	xpv_copy_batch_exit(arg);
}

static int batch_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct fake_pair *p;

	test->priv = c;
	c->ours = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, ORDER);
	c->theirs = alloc_page(GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(test, c->ours);
	KUNIT_ASSERT_NOT_NULL(test, c->theirs);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, ctx_end, c), 0);
	c->w = fake_world_create(test);
	p = fake_pair_create(c->w, "vif", 0);
	c->front = fake_end(p, XPV_FRONT);
	c->back = fake_end(p, XPV_BACK);
	c->ref = fake_grant_page(c->front, c->theirs, false);
	KUNIT_ASSERT_EQ(test, xpv_copy_batch_init(&c->b, c->back, ROOM), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, batch_end, &c->b), 0);
	return 0;
}

/* ------------------------------------------------------------------ */
/* Planning                                                            */
/* ------------------------------------------------------------------ */

struct split {
	unsigned int off, goff, len;
};

static const unsigned int edges[] = { 0, 1, 2047, 2048, 4095 };
static const unsigned int lens[] = { 1, 2, 100, 2048, 4095, 4096 };

/* Every operation inside one page on both sides, all bytes, in order. */
static void check_split(struct kunit *test, const struct split *s, int n)
{
	struct ctx *c = test->priv;
	unsigned int done = 0;
	int i;

	for (i = 0; i < n; i++) {
		const struct xpv_copy *op = &c->b.op[i];
		unsigned int off = s->off + done;

		KUNIT_EXPECT_GE(test, op->len, 1);
		KUNIT_EXPECT_LE(test, op->page_off + op->len, XPV_PAGE_SIZE);
		KUNIT_EXPECT_LE(test, op->gref_off + op->len, XPV_PAGE_SIZE);
		KUNIT_EXPECT_PTR_EQ(test, op->page, c->ours + off / 4096);
		KUNIT_EXPECT_EQ(test, op->page_off, off % 4096);
		KUNIT_EXPECT_EQ(test, op->gref_off, s->goff + done);
		KUNIT_EXPECT_EQ(test, op->gref, c->ref);
		done += op->len;
	}
	KUNIT_EXPECT_EQ(test, done, s->len);
}

static void plan_one(struct kunit *test, const struct split *s)
{
	struct ctx *c = test->priv;
	int n;

	xpv_copy_reset(&c->b);
	n = xpv_copy_plan(&c->b, c->ours, s->off, c->ref, s->goff, s->len,
			  false);
	if (s->goff + s->len > 4096) {
		KUNIT_EXPECT_EQ(test, n, -ERANGE);
		KUNIT_EXPECT_EQ(test, c->b.n, 0);
		return;
	}
	KUNIT_EXPECT_EQ(test, n, s->off % 4096 + s->len > 4096 ? 2 : 1);
	check_split(test, s, n);
}

/* Both offsets and the length run through their edges. */
static void plan_splits_everywhere(struct kunit *test)
{
	const unsigned int e = ARRAY_SIZE(edges), l = ARRAY_SIZE(lens);
	unsigned int i;

	for (i = 0; i < 2 * e * e * l; i++) {
		struct split s = {
			.off = i % 2 * 4096 + edges[i / 2 % e],
			.goff = edges[i / 2 / e % e],
			.len = lens[i / 2 / e / e],
		};

		plan_one(test, &s);
	}
}

/* ROOM operations, minus what is planned already: all of a run or nothing. */
static void plan_without_room_adds_nothing(struct kunit *test)
{
	struct ctx *c = test->priv;
	unsigned int i;

	for (i = 0; i < ROOM - 1; i++)
		KUNIT_EXPECT_EQ(test, xpv_copy_plan(&c->b, c->ours, 0, c->ref, 0,
						    1, true), 1);
	KUNIT_EXPECT_EQ(test, xpv_copy_room(&c->b), 1);
	KUNIT_EXPECT_EQ(test, xpv_copy_plan(&c->b, c->ours, 4095, c->ref, 0, 2,
					    true), -ENOSPC);
	KUNIT_EXPECT_EQ(test, c->b.n, ROOM - 1);
	KUNIT_EXPECT_EQ(test, xpv_copy_plan(&c->b, c->ours, 0, c->ref, 0, 1,
					    true), 1);
	KUNIT_EXPECT_EQ(test, xpv_copy_plan(&c->b, c->ours, 0, c->ref, 0, 1,
					    true), -ENOSPC);
}

static void plan_of_sizes_that_wrap(struct kunit *test)
{
	struct ctx *c = test->priv;

	KUNIT_EXPECT_EQ(test, xpv_copy_plan(&c->b, c->ours, 0, c->ref, 4097, 0,
					    true), -ERANGE);
	KUNIT_EXPECT_EQ(test, xpv_copy_plan(&c->b, c->ours, 0, c->ref, 1, ~0U,
					    true), -ERANGE);
	KUNIT_EXPECT_EQ(test, xpv_copy_plan(&c->b, c->ours, 0, c->ref, ~0U, 2,
					    true), -ERANGE);
	KUNIT_EXPECT_EQ(test, xpv_copy_plan(&c->b, c->ours, 0, c->ref, 4096, 0,
					    true), 0);
	KUNIT_EXPECT_EQ(test, c->b.n, 0);
}

/* ------------------------------------------------------------------ */
/* Running and settling                                                */
/* ------------------------------------------------------------------ */

static void run_moves_bytes_across_a_border(struct kunit *test)
{
	struct ctx *c = test->priv;
	u8 *ours = page_address(c->ours), *theirs = page_address(c->theirs);
	unsigned int i;

	for (i = 0; i < 1000; i++)
		theirs[3000 + i] = i * 7;
	KUNIT_ASSERT_EQ(test, xpv_copy_plan(&c->b, c->ours, 8000, c->ref, 3000,
					    1000, false), 2);
	xpv_copy_run(&c->b);
	KUNIT_EXPECT_EQ(test, xpv_copy_status(&c->b, 0, 2), 0);
	KUNIT_EXPECT_EQ(test, memcmp(ours + 8000, theirs + 3000, 1000), 0);
	KUNIT_EXPECT_EQ(test, ours[7999], 0);
	KUNIT_EXPECT_EQ(test, ours[9000], 0);
	KUNIT_EXPECT_EQ(test, fake_calls(c->w, FAKE_COPY), 1);
}

static void run_of_nothing_makes_no_call(struct kunit *test)
{
	struct ctx *c = test->priv;

	xpv_copy_run(&c->b);
	KUNIT_EXPECT_EQ(test, fake_calls(c->w, FAKE_COPY), 0);
	KUNIT_EXPECT_EQ(test, xpv_copy_status(&c->b, 0, 0), 0);
}

static void plan_all(struct ctx *c)
{
	unsigned int i;

	xpv_copy_reset(&c->b);
	for (i = 0; i < ROOM; i++)
		xpv_copy_add(&c->b, c->ours, i * 100, c->ref, i * 100, 100, true);
}

static const int op_errs[] = { -EINVAL, -EAGAIN, FAKE_UNTOUCHED, FAKE_POSITIVE };

static void op_err_name(const int *err, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "left %d", *err);
}

KUNIT_ARRAY_PARAM(op_err, op_errs, op_err_name);

/* The n-th operation fails: it and nothing else, for every n. */
static void status_of_the_nth_failing(struct kunit *test)
{
	const int *err = test->param_value;
	struct ctx *c = test->priv;
	unsigned int n, i;

	for (n = 1; n <= ROOM; n++) {
		plan_all(c);
		fake_fail_op(c->w, FAKE_COPY, n, 1, *err);
		xpv_copy_run(&c->b);
		for (i = 0; i < ROOM; i++)
			KUNIT_EXPECT_EQ(test,
					xpv_copy_status(&c->b, i, 1) < 0,
					i == n - 1);
		KUNIT_EXPECT_LT(test, xpv_copy_status(&c->b, 0, ROOM), 0);
		KUNIT_EXPECT_EQ(test, xpv_copy_status(&c->b, 0, n - 1), 0);
		KUNIT_EXPECT_EQ(test, xpv_copy_status(&c->b, n, ROOM - n), 0);
	}
}

static void status_of_a_failed_call(struct kunit *test)
{
	struct ctx *c = test->priv;
	unsigned int i;

	plan_all(c);
	fake_fail(c->w, FAKE_COPY, 1, 1, -ENOMEM);
	xpv_copy_run(&c->b);
	for (i = 0; i < ROOM; i++)
		KUNIT_EXPECT_LT(test, xpv_copy_status(&c->b, i, 1), 0);
	/* Statuses of a former run do not stay. */
	xpv_copy_run(&c->b);
	KUNIT_EXPECT_EQ(test, xpv_copy_status(&c->b, 0, ROOM), 0);
}

static void exit_twice(struct kunit *test)
{
	struct xpv_copy_batch b;
	struct ctx *c = test->priv;

	KUNIT_ASSERT_EQ(test, xpv_copy_batch_init(&b, c->back, 4), 0);
	xpv_copy_batch_exit(&b);
	xpv_copy_batch_exit(&b);
	KUNIT_EXPECT_EQ(test, xpv_copy_room(&b), 0);
}

static struct kunit_case batch_cases[] = {
	KUNIT_CASE(plan_splits_everywhere),
	KUNIT_CASE(plan_without_room_adds_nothing),
	KUNIT_CASE(plan_of_sizes_that_wrap),
	KUNIT_CASE(run_moves_bytes_across_a_border),
	KUNIT_CASE(run_of_nothing_makes_no_call),
	KUNIT_CASE_PARAM(status_of_the_nth_failing, op_err_gen_params),
	KUNIT_CASE(status_of_a_failed_call),
	KUNIT_CASE(exit_twice),
	{}
};

static struct kunit_suite batch_suite = {
	.name = "xpv_batch",
	.init = batch_init,
	.test_cases = batch_cases,
};

kunit_test_suite(batch_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast control of netfront, the half that decides: which changes go to the
 * backend, in which order, and when it may filter.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include "../../drivers/netfront/mclist.h"
#include "fake_netguest.h"

/* A backend as the list sees it. */
struct listener {
	struct kunit *test;
	struct xnf_mclist l;
	u16 id;
	unsigned int adds, dels;
};

static struct listener *listener_new(struct kunit *test)
{
	struct listener *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->test = test;
	xnf_mc_forget(&s->l);
	return s;
}

static void want(struct listener *s, unsigned int first, unsigned int n)
{
	xnf_mc_begin(&s->l, false);
	while (n--)
		xnf_mc_want(&s->l, net_group(first++));
}

/* Send all there is. Return: how many changes. */
static unsigned int send(struct listener *s)
{
	struct xnf_mc_entry *e;
	unsigned int n = 0;

	while ((e = xnf_mc_next(&s->l))) {
		e->id = s->id++;
		n++;
		if (e->state == XNF_MC_ADDING)
			s->adds++;
		else
			s->dels++;
		KUNIT_ASSERT_LE(s->test, n, XNF_MC_MAX);
	}
	return n;
}

/* Answers to the last @n. Return: refusals. */
static unsigned int answer(struct listener *s, unsigned int n, bool ok)
{
	unsigned int refused = 0;

	while (n)
		refused += xnf_mc_answer(&s->l, s->id - n--, ok);
	return refused;
}

/* Until nothing is left to do; all is granted. */
static void settle(struct listener *s)
{
	unsigned int n;

	while ((n = send(s)))
		answer(s, n, true);
	KUNIT_EXPECT_FALSE(s->test, xnf_mc_busy(&s->l));
}

static void mclist_fills_before_it_filters(struct kunit *test)
{
	struct listener *s = listener_new(test);

	want(s, 0, 3);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	KUNIT_EXPECT_EQ(test, send(s), 3);
	KUNIT_EXPECT_TRUE(test, xnf_mc_busy(&s->l));
	KUNIT_EXPECT_EQ(test, answer(s, 3, true), 0);
	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
	KUNIT_EXPECT_FALSE(test, xnf_mc_busy(&s->l));
	/* One more and one less: filtering goes on, the new one is first. */
	want(s, 1, 3);
	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
	KUNIT_EXPECT_EQ(test, xnf_mc_next(&s->l)->state, XNF_MC_ADDING);
	KUNIT_EXPECT_EQ(test, xnf_mc_next(&s->l)->state, XNF_MC_DELETING);
	KUNIT_EXPECT_NULL(test, xnf_mc_next(&s->l));
	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
}

static void mclist_partly_answered(struct kunit *test)
{
	struct listener *s = listener_new(test);

	want(s, 0, 3);
	send(s);
	xnf_mc_answer(&s->l, 0, true);
	xnf_mc_answer(&s->l, 2, true);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	/* Answers to nothing change nothing. */
	KUNIT_EXPECT_FALSE(test, xnf_mc_answer(&s->l, 0, false));
	KUNIT_EXPECT_FALSE(test, xnf_mc_answer(&s->l, 777, false));
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	xnf_mc_answer(&s->l, 1, true);
	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
}

static void mclist_empty(struct kunit *test)
{
	struct listener *s = listener_new(test);

	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
	KUNIT_EXPECT_EQ(test, send(s), 0);
	/* Stations are not filtered, so the list has none. */
	xnf_mc_want(&s->l, "\x02\x00\x00\x00\x00\x01");
	KUNIT_EXPECT_EQ(test, send(s), 0);
}

static void mclist_refused(struct kunit *test)
{
	struct listener *s = listener_new(test);

	want(s, 0, 4);
	settle(s);
	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
	want(s, 0, 5);
	KUNIT_EXPECT_EQ(test, answer(s, send(s), false), 1);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	/* Not tried again by itself, only when the stack asks again. */
	KUNIT_EXPECT_EQ(test, send(s), 0);
	want(s, 0, 5);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	KUNIT_EXPECT_EQ(test, send(s), 1);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	answer(s, 1, true);
	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
}

static void mclist_all(struct kunit *test)
{
	struct listener *s = listener_new(test);

	want(s, 0, 4);
	settle(s);
	xnf_mc_begin(&s->l, true);
	xnf_mc_want(&s->l, net_group(9));
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	settle(s);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	xnf_mc_begin(&s->l, false);
	xnf_mc_want(&s->l, net_group(9));
	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
}

static void mclist_too_many(struct kunit *test)
{
	struct listener *s = listener_new(test);

	want(s, 0, XNF_MC_MAX);
	settle(s);
	KUNIT_EXPECT_EQ(test, s->adds, XNF_MC_MAX);
	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
	want(s, 0, XNF_MC_MAX + 1);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	want(s, 0, 1000);
	settle(s);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	/* All others: each needs the place of one that goes. */
	want(s, 500, XNF_MC_MAX);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	settle(s);
	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
	KUNIT_EXPECT_EQ(test, s->adds, 2 * XNF_MC_MAX);
	KUNIT_EXPECT_EQ(test, s->dels, XNF_MC_MAX);
}

/* A new backend is told all of it, and filters only then. */
static void mclist_forgotten(struct kunit *test)
{
	struct listener *s = listener_new(test);

	want(s, 0, 5);
	settle(s);
	want(s, 0, 6);
	send(s);
	xnf_mc_forget(&s->l);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	/* The answer to a request of before. */
	answer(s, 1, true);
	KUNIT_EXPECT_FALSE(test, xnf_mc_filter(&s->l));
	KUNIT_EXPECT_EQ(test, send(s), 6);
	answer(s, 6, true);
	KUNIT_EXPECT_TRUE(test, xnf_mc_filter(&s->l));
}

/* Wanted again while it is being taken away. */
static void mclist_back_and_forth(struct kunit *test)
{
	struct listener *s = listener_new(test);

	want(s, 0, 1);
	settle(s);
	want(s, 0, 0);
	KUNIT_EXPECT_EQ(test, send(s), 1);
	want(s, 0, 1);
	KUNIT_EXPECT_EQ(test, send(s), 0);
	answer(s, 1, true);
	KUNIT_EXPECT_EQ(test, send(s), 1);
	/* Not wanted any more while it is being added. */
	want(s, 0, 0);
	KUNIT_EXPECT_EQ(test, send(s), 0);
	answer(s, 1, true);
	KUNIT_EXPECT_EQ(test, send(s), 1);
	KUNIT_EXPECT_EQ(test, s->adds, 2);
	KUNIT_EXPECT_EQ(test, s->dels, 2);
}

static struct kunit_case mclist_cases[] = {
	KUNIT_CASE(mclist_fills_before_it_filters),
	KUNIT_CASE(mclist_partly_answered),
	KUNIT_CASE(mclist_empty),
	KUNIT_CASE(mclist_refused),
	KUNIT_CASE(mclist_all),
	KUNIT_CASE(mclist_too_many),
	KUNIT_CASE(mclist_forgotten),
	KUNIT_CASE(mclist_back_and_forth),
	{}
};

static struct kunit_suite mclist_suite = {
	.name = "xpv_netmcast_list",
	.test_cases = mclist_cases,
};

kunit_test_suite(mclist_suite);

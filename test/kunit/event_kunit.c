// SPDX-License-Identifier: GPL-2.0
/*
 * Suite xpv_event: one EOI for each event, and no honest peer is blamed.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <xpv/event.h>
#include "fake_hyp.h"

/* What can happen to an event channel. */
enum step { GOT, WORK, STALE, DONE, STEPS };

#define LONGEST	6

static int event_init(struct kunit *test)
{
	test->priv = fake_world_create(test);
	return 0;
}

static void take(struct xpv_evt *e, enum step s)
{
	switch (s) {
	case GOT:
		xpv_evt_got(e);
		break;
	case WORK:
		xpv_evt_work(e);
		break;
	case STALE:
		xpv_evt_stale(e);
		break;
	default:
		xpv_evt_done(e);
		break;
	}
}

/* What the rules say of an order of steps, told without flags. */
struct verdict {
	unsigned int eoi;	/* one for each DONE after a GOT */
	unsigned int blamed;	/* those with nothing that excuses them */
};

/*
 * Work since the last EOI excuses any number of times; a stale mark excuses one
 * event that found no work.
 */
static struct verdict judge(const enum step *s, unsigned int n)
{
	struct verdict v = {};
	unsigned int i, got = 0, work = 0, stale = 0;

	for (i = 0; i < n; i++) {
		got += s[i] == GOT;
		work += s[i] == WORK;
		if (s[i] == STALE)
			stale = 1;
		if (s[i] != DONE || !got)
			continue;
		v.eoi++;
		if (!work && !stale)
			v.blamed++;
		if (!work)
			stale = 0;
		got = 0;
		work = 0;
	}
	return v;
}

static void check_order(struct kunit *test, const enum step *s, unsigned int n)
{
	struct fake_world *w = test->priv;
	u64 eoi = fake_calls(w, FAKE_EOI);
	u64 blamed = fake_calls(w, FAKE_EOI_SPURIOUS);
	struct verdict want = judge(s, n);
	struct xpv_evt e = {};
	unsigned int i;

	for (i = 0; i < n; i++)
		take(&e, s[i]);
	KUNIT_EXPECT_EQ(test, fake_calls(w, FAKE_EOI) - eoi, want.eoi);
	KUNIT_EXPECT_EQ(test, fake_calls(w, FAKE_EOI_SPURIOUS) - blamed,
			want.blamed);
}

static const unsigned int lengths[] = { 1, 2, 3, 4, 5, LONGEST };

static void length_name(const unsigned int *n, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u steps", *n);
}

KUNIT_ARRAY_PARAM(length, lengths, length_name);

static void done_in_every_order(struct kunit *test)
{
	unsigned int n = *(const unsigned int *)test->param_value;
	unsigned int i, code, k, orders = 1;
	enum step s[LONGEST];

	for (i = 0; i < n; i++)
		orders *= STEPS;
	for (code = 0; code < orders; code++) {
		for (i = 0, k = code; i < n; i++, k /= STEPS)
			s[i] = k % STEPS;
		check_order(test, s, n);
	}
}

static void done_without_an_event(struct kunit *test)
{
	struct fake_world *w = test->priv;
	struct xpv_evt e = {};

	xpv_evt_done(&e);
	xpv_evt_work(&e);
	xpv_evt_done(&e);
	KUNIT_EXPECT_EQ(test, fake_calls(w, FAKE_EOI), 0);
	/* That work excuses the event which follows. */
	xpv_evt_got(&e);
	xpv_evt_done(&e);
	KUNIT_EXPECT_EQ(test, fake_calls(w, FAKE_EOI), 1);
	KUNIT_EXPECT_EQ(test, fake_calls(w, FAKE_EOI_SPURIOUS), 0);
}

static void done_of_a_storm_is_blamed(struct kunit *test)
{
	struct fake_world *w = test->priv;
	struct xpv_evt e = {};
	unsigned int i;

	xpv_evt_stale(&e);
	for (i = 0; i < 10; i++) {
		xpv_evt_got(&e);
		xpv_evt_done(&e);
	}
	KUNIT_EXPECT_EQ(test, fake_calls(w, FAKE_EOI), 10);
	KUNIT_EXPECT_EQ(test, fake_calls(w, FAKE_EOI_SPURIOUS), 9);
}

static void dead_ends_nothing(struct kunit *test)
{
	struct fake_world *w = test->priv;
	struct xpv_evt e = {};

	xpv_evt_got(&e);
	xpv_evt_work(&e);
	xpv_evt_dead(&e);
	xpv_evt_done(&e);
	xpv_evt_got(&e);
	xpv_evt_done(&e);
	KUNIT_EXPECT_EQ(test, fake_calls(w, FAKE_EOI), 0);
}

/* ------------------------------------------------------------------ */
/* Through the fake                                                    */
/* ------------------------------------------------------------------ */

struct lazy {
	struct xpv_evt e;
	unsigned int heard;
};

static void lazy_fn(void *arg)
{
	struct lazy *l = arg;

	l->heard++;
	xpv_evt_got(&l->e);
}

/* Between handler and EOI the line is silent, however loud the peer. */
static void event_is_silent_until_done(struct kunit *test)
{
	struct fake_world *w = test->priv;
	struct fake_pair *p = fake_pair_create(w, "vif", 0);
	struct lazy f = { .e = { .fn = lazy_fn, .arg = &f } };
	struct lazy b = { .e = { .fn = lazy_fn, .arg = &b } };
	unsigned int i;

	KUNIT_ASSERT_EQ(test, hyp_evt_listen(fake_end(p, XPV_FRONT), &f.e, "f"),
			0);
	KUNIT_ASSERT_EQ(test, hyp_evt_bind(fake_end(p, XPV_BACK), &b.e,
					   f.e.port, "b"), 0);
	for (i = 0; i < 5; i++) {
		hyp_evt_notify(&f.e);
		KUNIT_EXPECT_TRUE(test, fake_run(w));
	}
	KUNIT_EXPECT_EQ(test, b.heard, 1);
	for (i = 2; i < 5; i++) {
		xpv_evt_work(&b.e);
		xpv_evt_done(&b.e);
		KUNIT_EXPECT_TRUE(test, fake_run(w));
		hyp_evt_notify(&f.e);
		KUNIT_EXPECT_TRUE(test, fake_run(w));
		KUNIT_EXPECT_EQ(test, b.heard, 2);
		b.heard = 1;
	}
	hyp_evt_close(&b.e);
	hyp_evt_close(&f.e);
	/* Late, after the close: nobody is there to be told. */
	xpv_evt_done(&b.e);
	fake_check_clean(w);
}

static struct kunit_case event_cases[] = {
	KUNIT_CASE_PARAM(done_in_every_order, length_gen_params),
	KUNIT_CASE(done_without_an_event),
	KUNIT_CASE(done_of_a_storm_is_blamed),
	KUNIT_CASE(dead_ends_nothing),
	KUNIT_CASE(event_is_silent_until_done),
	{}
};

static struct kunit_suite event_suite = {
	.name = "xpv_event",
	.init = event_init,
	.test_cases = event_cases,
};

kunit_test_suite(event_suite);

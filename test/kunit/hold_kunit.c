// SPDX-License-Identifier: GPL-2.0
/*
 * Suite xpv_hold: an event is held off only when that cannot hurt for long, and
 * no entry is ever forgotten.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <xpv/hold.h>
#include <xpv/ring.h>

/* Any number of entries may come. */
#define ANY	U32_MAX

static const struct xpv_hold_conf standard = XPV_HOLD_DEFAULT;
static const struct xpv_hold_conf disk = XPV_HOLD_DISK(XPV_HOLD_USECS_DEFAULT);

/* ------------------------------------------------------------------ */
/* Levels and decisions                                                */
/* ------------------------------------------------------------------ */

static void level_first_holds_nothing(struct kunit *test)
{
	u32 n, t;

	xpv_hold_level(&standard, 0, &n, &t);
	KUNIT_EXPECT_EQ(test, n, 1);
	KUNIT_EXPECT_EQ(test, t, 0);
}

static void level_rises_to_bounds(struct kunit *test)
{
	u32 n, t, last_n = 1, last_t = 0;
	unsigned int i;

	for (i = 1; i < XPV_HOLD_LEVELS; i++) {
		xpv_hold_level(&standard, i, &n, &t);
		KUNIT_EXPECT_GT(test, n, last_n);
		KUNIT_EXPECT_GT(test, t, last_t);
		last_n = n;
		last_t = t;
	}
	KUNIT_EXPECT_EQ(test, last_n, XPV_HOLD_ENTRIES);
	KUNIT_EXPECT_EQ(test, last_t, XPV_HOLD_USECS_DEFAULT);
	xpv_hold_level(&standard, XPV_HOLD_LEVELS + 7, &n, &t);
	KUNIT_EXPECT_EQ(test, n, last_n);
}

static void level_keeps_to_settings(struct kunit *test)
{
	struct xpv_hold_conf c = { .usecs = 30, .entries = 6, .adaptive = true };
	unsigned int i;
	u32 n, t;

	for (i = 0; i < XPV_HOLD_LEVELS; i++) {
		xpv_hold_level(&c, i, &n, &t);
		KUNIT_EXPECT_LE(test, n, 6);
		KUNIT_EXPECT_LE(test, t, 30);
	}
	c.adaptive = false;
	xpv_hold_level(&c, 0, &n, &t);
	KUNIT_EXPECT_EQ(test, n, 6);
	KUNIT_EXPECT_EQ(test, t, 30);
	/* More than the highest level only when somebody wants just that. */
	c.entries = 500;
	xpv_hold_level(&c, 0, &n, &t);
	KUNIT_EXPECT_EQ(test, n, XPV_HOLD_ENTRIES_MAX);
	c.adaptive = true;
	xpv_hold_level(&c, XPV_HOLD_LEVELS - 1, &n, &t);
	KUNIT_EXPECT_EQ(test, n, XPV_HOLD_ENTRIES);
	c.adaptive = false;
	c.entries = 6;
	/* One without the other would wait for ever, or for nothing. */
	c.usecs = 0;
	xpv_hold_level(&c, 4, &n, &t);
	KUNIT_EXPECT_EQ(test, n, 1);
	c = (struct xpv_hold_conf) { .usecs = 30, .entries = 0 };
	xpv_hold_level(&c, 4, &n, &t);
	KUNIT_EXPECT_EQ(test, n, 1);
	KUNIT_EXPECT_EQ(test, t, 0);
}

static void gap_follows(struct kunit *test)
{
	u32 gap = 400000;
	unsigned int i;

	for (i = 0; i < 30; i++)
		gap = xpv_hold_gap(gap, 40000, 8);
	KUNIT_EXPECT_LT(test, gap, 5500);
	KUNIT_EXPECT_GT(test, gap, 4500);
	/* A pause of an hour is forgotten as soon as any other. */
	gap = xpv_hold_gap(gap, 3600ULL * NSEC_PER_SEC, 1);
	KUNIT_EXPECT_LE(test, gap, XPV_HOLD_USECS * NSEC_PER_USEC + 5500);
	KUNIT_EXPECT_GT(test, gap, 50000);
	/* No number divides by zero. */
	xpv_hold_gap(0, 0, 0);
	xpv_hold_gap(U32_MAX, U64_MAX, 0);
}

static void ahead_cases(struct kunit *test)
{
	struct xpv_hold h = { .conf = &standard, .entries = 16, .gap = 10000 };

	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, ANY), 16);
	/* Never more than can come: the event would not. */
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, 5), 5);
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, 1), 1);
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, 0), 1);
	/* The timer found nothing: idle. */
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 0, ANY), 1);
	/* A service with one request at a time. */
	h.gap = 60000;
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, ANY), 1);
	h.gap = 50000;
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, ANY), 16);
	h.entries = 1;
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, ANY), 1);
}

static void ahead_disk(struct kunit *test)
{
	struct xpv_hold h = {
		.conf = &disk, .entries = 16, .reach = 64, .gap = 3000,
	};

	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, ANY), 16);
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, 5), 5);
	/* Not more than are due within half of the longest T. */
	h.gap = 10000;
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, ANY), 5);
	h.gap = 25000;
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, ANY), 2);
	h.gap = 25001;
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, ANY), 1);
	h.gap = 0;
	h.reach = 6;
	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, ANY), 6);
}

static void wait_cases(struct kunit *test)
{
	struct xpv_hold h = { .conf = &standard, .usecs = 70, .gap = 5000 };

	KUNIT_EXPECT_EQ(test, xpv_hold_wait(&h, 4), 70000);
	h.conf = &disk;
	KUNIT_EXPECT_EQ(test, xpv_hold_wait(&h, 4), 60000);
	/* No timer for nothing, none beyond the bound. */
	KUNIT_EXPECT_EQ(test, xpv_hold_wait(&h, 1), 20000);
	KUNIT_EXPECT_EQ(test, xpv_hold_wait(&h, 11),
			XPV_HOLD_USECS_DEFAULT * NSEC_PER_USEC);
	h.gap = U32_MAX;
	KUNIT_EXPECT_EQ(test, xpv_hold_wait(&h, U32_MAX),
			XPV_HOLD_USECS_DEFAULT * NSEC_PER_USEC);
}

/* What people set is what they get. */
static void fixed_is_fixed(struct kunit *test)
{
	const struct xpv_hold_conf c = { .usecs = 100, .entries = 16, .answered = true };
	struct xpv_hold h = {
		.conf = &c, .entries = 16, .usecs = 100, .reach = 1, .gap = 50000,
	};

	KUNIT_EXPECT_EQ(test, xpv_hold_ahead(&h, 1, ANY), 16);
	KUNIT_EXPECT_EQ(test, xpv_hold_wait(&h, 5), 100000);
}

static void reach_cases(struct kunit *test)
{
	struct xpv_hold h = { .conf = &disk, .ahead = 1, .reach = 1 };
	unsigned int i;

	/* Grows with every wake until T is over once, */
	for (i = 0; i < 3; i++) {
		h.ahead = h.reach;
		xpv_hold_learn(&h, h.ahead, false);
	}
	KUNIT_EXPECT_EQ(test, h.reach, 8);
	/* but not while the load allows less, */
	h.ahead = 1;
	xpv_hold_learn(&h, 1, false);
	KUNIT_EXPECT_EQ(test, h.reach, 8);
	h.ahead = 8;
	xpv_hold_learn(&h, 5, true);
	KUNIT_EXPECT_EQ(test, h.reach, 2);
	/* rests then, and longer the second time. */
	h.ahead = 2;
	for (i = 0; h.reach == 2; i++)
		xpv_hold_learn(&h, 2, false);
	KUNIT_EXPECT_EQ(test, i, 65);
	h.ahead = 4;
	xpv_hold_learn(&h, 0, true);
	KUNIT_EXPECT_EQ(test, h.reach, 1);
	for (i = 0; h.reach == 1; i++)
		xpv_hold_learn(&h, 2, false);
	KUNIT_EXPECT_GT(test, i, 90);
	/* The timer and N entries at once: those came in time. */
	h.ahead = 2;
	xpv_hold_learn(&h, 2, true);
	KUNIT_EXPECT_EQ(test, h.reach, 4);
	for (i = 0; i < 100; i++) {
		h.ahead = 64;
		xpv_hold_learn(&h, i, true);
		KUNIT_EXPECT_GE(test, h.reach, 1);
		KUNIT_EXPECT_LE(test, h.calm, 4096);
	}
}

static void ethtool_limits(struct kunit *test)
{
	struct xpv_hold_conf c = standard;
	struct ethtool_coalesce ec = {};
	struct netlink_ext_ack ack = {};

	xpv_hold_get_coalesce(&c, &ec);
	KUNIT_EXPECT_EQ(test, ec.rx_coalesce_usecs, XPV_HOLD_USECS_DEFAULT);
	KUNIT_EXPECT_TRUE(test, ec.use_adaptive_rx_coalesce);
	ec.rx_coalesce_usecs = XPV_HOLD_USECS + 1;
	KUNIT_EXPECT_EQ(test, xpv_hold_set_coalesce(&c, &ec, &ack), -ERANGE);
	KUNIT_EXPECT_NOT_NULL(test, ack._msg);
	ec.rx_coalesce_usecs = 0;
	ec.rx_max_coalesced_frames = 0;
	KUNIT_EXPECT_EQ(test, xpv_hold_set_coalesce(&c, &ec, &ack), -ERANGE);
	ec.rx_max_coalesced_frames = XPV_HOLD_ENTRIES_MAX + 1;
	KUNIT_EXPECT_EQ(test, xpv_hold_set_coalesce(&c, &ec, &ack), -ERANGE);
	KUNIT_EXPECT_EQ(test, c.usecs, XPV_HOLD_USECS_DEFAULT);
	ec.rx_max_coalesced_frames = 8;
	ec.use_adaptive_rx_coalesce = 0;
	KUNIT_EXPECT_EQ(test, xpv_hold_set_coalesce(&c, &ec, &ack), 0);
	KUNIT_EXPECT_EQ(test, c.usecs, 0);
	KUNIT_EXPECT_EQ(test, c.entries, 8);
	KUNIT_EXPECT_FALSE(test, c.adaptive);
}

/* ------------------------------------------------------------------ */
/* The timer                                                           */
/* ------------------------------------------------------------------ */

static unsigned int fires;

static void count_fire(struct xpv_hold *h)
{
	fires++;
}

static void timer_only_when_held(struct kunit *test)
{
	struct xpv_hold *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, h);
	fires = 0;
	xpv_hold_stop(h);
	xpv_hold_init(h, &standard, count_fire);
	KUNIT_EXPECT_EQ(test, xpv_hold_rest(h, 0, ANY), 1);
	xpv_hold_sleep(h, 1);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&h->timer));
	h->usecs = 50;
	h->last = ktime_get_ns();
	xpv_hold_sleep(h, 2);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&h->timer));
	msleep(30);
	KUNIT_EXPECT_EQ(test, fires, 1);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&h->timer));
	xpv_hold_sleep(h, 2);
	xpv_hold_stop(h);
	msleep(30);
	KUNIT_EXPECT_EQ(test, fires, 1);
	xpv_hold_stop(h);
}

/* While events come the timer goes on to where the last rest wants it. */
static void timer_goes_on(struct kunit *test)
{
	struct xpv_hold *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, h);
	fires = 0;
	xpv_hold_init(h, &standard, count_fire);
	h->usecs = 50;
	h->last = ktime_get_ns();
	xpv_hold_sleep(h, 2);
	/* As if the consumer had rested again half a second from now. */
	h->last += 500 * NSEC_PER_MSEC;
	xpv_hold_sleep(h, 2);
	msleep(30);
	KUNIT_EXPECT_EQ(test, fires, 0);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&h->timer));
	msleep(900);
	KUNIT_EXPECT_EQ(test, fires, 1);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&h->timer));
	xpv_hold_stop(h);
}

/* A load that comes fast climbs, one that comes slowly is left alone. */
static u32 run_load(struct kunit *test, unsigned int gap_usecs)
{
	struct xpv_hold *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	u64 now = NSEC_PER_SEC;
	u32 ahead = 1, most = 1;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, h);
	xpv_hold_init(h, &standard, count_fire);
	for (i = 0; i < 2000; i++) {
		now += gap_usecs * NSEC_PER_USEC * ahead;
		ahead = xpv_hold_rest_at(h, now, ahead, 128);
		flush_work(&h->dim.work);
		most = max(most, ahead);
	}
	xpv_hold_stop(h);
	return most;
}

/*
 * A program that keeps @depth requests in flight, works @work ns on each, and
 * learns of answers only when an event or the timer comes.  The backend answers
 * at once.  Return: ns a request.
 */
static u64 run_program(struct kunit *test, const struct xpv_hold_conf *conf,
		       unsigned int depth, unsigned int work)
{
	struct xpv_hold *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	unsigned int free = depth, waiting = 0, done = 0;
	u64 now = NSEC_PER_SEC, start = now, until = 0;
	u32 ahead = 1;

	KUNIT_ASSERT_NOT_NULL(test, h);
	xpv_hold_init(h, conf, count_fire);
	while (done < 20000) {
		if (free) {
			now += work;
			free--;
			waiting++;
		} else if (waiting < ahead) {
			now = max(now, until);
		}
		h->due = waiting < ahead && now >= until;
		if (waiting < ahead && !h->due)
			continue;
		if (!waiting)
			h->due = false;
		ahead = waiting ? xpv_hold_rest_at(h, now, waiting, 64) : 1;
		flush_work(&h->dim.work);
		until = ahead > 1 ? now + xpv_hold_wait(h, ahead) : U64_MAX;
		done += waiting;
		free += waiting;
		waiting = 0;
	}
	xpv_hold_stop(h);
	return (now - start) / done;
}

/* Nobody who waits for answers is held up for more than a trial now and then. */
static void programs_keep_their_pace(struct kunit *test)
{
	static const struct xpv_hold_conf off;
	static const struct xpv_hold_conf slow = XPV_HOLD_DISK(XPV_HOLD_USECS);
	unsigned int depth, work;

	for (depth = 1; depth <= 32; depth++) {
		for (work = 2000; work <= 200000; work *= 3) {
			u64 without = run_program(test, &off, depth, work);
			u64 with = run_program(test, &slow, depth, work);

			KUNIT_EXPECT_LE_MSG(test, with * 100, without * 101,
					    "depth %u, %u ns each", depth, work);
		}
	}
}

static void load_fast_is_held(struct kunit *test)
{
	KUNIT_EXPECT_GE(test, run_load(test, 5), 4);
}

static void load_slow_is_not(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, run_load(test, 200), 1);
}

/* ------------------------------------------------------------------ */
/* Every order of producer, consumer and timer                         */
/* ------------------------------------------------------------------ */

/*
 * A ring of four entries of which LIMIT are produced.  Each side is a list of
 * steps that the other can come between; the indices are the shared ones.
 */
#define LIMIT	5

enum { TAKE, ASK, LOOK, DOZE };

struct state {
	u8 prod;	/* published */
	u8 seen;	/* what the producer's notify check compares with */
	u8 cons;
	u8 event;	/* placed by the consumer */
	u8 ahead;
	u8 taken;	/* by this wake */
	u8 step;	/* the consumer's */
	bool check;	/* published, notify not decided yet */
	bool pending;	/* an event is on its way */
	bool timer;
};

#define KEYS	(6 * 6 * 6 * 16 * 4 * 4 * 4 * 2 * 2 * 2)

static unsigned int key_of(const struct state *s)
{
	unsigned int k = s->prod;

	k = k * 6 + s->seen;
	k = k * 6 + s->cons;
	k = k * 16 + s->event;
	k = k * 4 + (s->ahead - 1);
	k = k * 4 + min_t(u8, s->taken, 3);
	k = k * 4 + s->step;
	return k * 8 + s->check * 4 + s->pending * 2 + s->timer;
}

static u8 ahead_of(const struct xpv_hold *h, const struct state *s)
{
	return xpv_hold_ahead(h, s->taken, 4);
}

/* Step @what of state @s. Return: it was possible. */
static bool move(const struct xpv_hold *h, struct state *s, unsigned int what)
{
	switch (what) {
	case 0:	/* producer publishes one */
		if (s->check || s->prod == LIMIT || s->prod - s->cons >= 4)
			return false;
		s->seen = s->prod++;
		s->check = true;
		return true;
	case 1:	/* producer decides about the event */
		if (!s->check)
			return false;
		if (xpv_ring_notify(s->seen, s->prod, s->event))
			s->pending = true;
		s->check = false;
		return true;
	case 2:	/* consumer wakes */
		if (s->step != DOZE || !s->pending)
			return false;
		s->pending = false;
		s->taken = 0;
		s->step = TAKE;
		return true;
	case 3:	/* timer */
		if (s->step != DOZE || !s->timer)
			return false;
		s->timer = false;
		s->taken = 0;
		s->step = TAKE;
		return true;
	}
	switch (s->step) {
	case TAKE:
		s->taken += s->prod - s->cons;
		s->cons = s->prod;
		s->ahead = ahead_of(h, s);
		s->step = ASK;
		return true;
	case ASK:
		s->event = s->cons + s->ahead;
		s->step = LOOK;
		return true;
	case LOOK:
		s->taken = 0;
		s->step = s->prod != s->cons ? TAKE : DOZE;
		if (s->step == DOZE && s->ahead > 1)
			s->timer = true;
		return true;
	}
	return false;
}

/* Nothing can move any more: then nothing may wait. */
static void explore(struct kunit *test, const struct xpv_hold *h)
{
	struct state *stack = kunit_kcalloc(test, 100000, sizeof(*stack), GFP_KERNEL);
	unsigned long *seen = kvcalloc(BITS_TO_LONGS(KEYS), sizeof(long), GFP_KERNEL);
	unsigned int n = 0, ends = 0, what;

	KUNIT_ASSERT_NOT_NULL(test, stack);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	stack[n++] = (struct state) { .event = 1, .ahead = 1, .step = DOZE };
	while (n) {
		struct state s = stack[--n];
		bool moved = false;

		for (what = 0; what < 5; what++) {
			struct state next = s;

			if (!move(h, &next, what))
				continue;
			moved = true;
			if (__test_and_set_bit(key_of(&next), seen))
				continue;
			KUNIT_ASSERT_LT(test, n, 100000);
			stack[n++] = next;
		}
		if (moved)
			continue;
		ends++;
		KUNIT_EXPECT_EQ(test, s.prod, LIMIT);
		KUNIT_EXPECT_EQ(test, s.cons, LIMIT);
	}
	KUNIT_EXPECT_GE(test, ends, 1);
	kvfree(seen);
}

static void every_order(struct kunit *test)
{
	struct xpv_hold h = { .conf = &standard, .usecs = 50, .gap = 1000 };

	for (h.entries = 1; h.entries <= 4; h.entries++)
		explore(test, &h);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(level_first_holds_nothing),
	KUNIT_CASE(level_rises_to_bounds),
	KUNIT_CASE(level_keeps_to_settings),
	KUNIT_CASE(gap_follows),
	KUNIT_CASE(ahead_cases),
	KUNIT_CASE(ahead_disk),
	KUNIT_CASE(wait_cases),
	KUNIT_CASE(fixed_is_fixed),
	KUNIT_CASE(reach_cases),
	KUNIT_CASE(ethtool_limits),
	KUNIT_CASE(timer_only_when_held),
	KUNIT_CASE(timer_goes_on),
	KUNIT_CASE(load_fast_is_held),
	KUNIT_CASE(load_slow_is_not),
	KUNIT_CASE(programs_keep_their_pace),
	KUNIT_CASE(every_order),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_hold",
	.test_cases = cases,
};

kunit_test_suite(suite);

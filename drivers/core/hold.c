// SPDX-License-Identifier: GPL-2.0
/*
 * Event hold-off: N, T and the measurement behind them.
 *
 * Decides how far ahead of a consumer its next event is placed.  It never
 * touches a ring: the consumer arms, this file names the number.  Called by
 * consumers in any context; the timer in hard interrupt context.
 */
#include <linux/ethtool.h>
#include <linux/minmax.h>
#include <linux/netlink.h>
#include <xpv/compat.h>
#include <xpv/hold.h>

/* The average follows a change within a few wakes. */
#define GAP_WEIGHT	4

/* A pause is a pause, however long. */
#define GAP_MAX		(4 * XPV_HOLD_USECS * NSEC_PER_USEC)

/* A timer that comes sooner is one more interrupt for nothing. */
#define WAIT_MIN	(20 * NSEC_PER_USEC)

/* Rests for which a reach that was too large is left alone. */
#define CALM_MIN	64
#define CALM_MAX	4096

struct level {
	u16 entries;
	u16 usecs;
};

/* The first one holds nothing off. */
static const struct level levels[XPV_HOLD_LEVELS] = {
	{ 1, 0 },
	{ 4, 20 },
	{ 8, 40 },
	{ 16, 70 },
	{ XPV_HOLD_ENTRIES, XPV_HOLD_USECS },
};

static_assert(XPV_HOLD_LEVELS == NET_DIM_PARAMS_NUM_PROFILES);
/* Named in messages. */
static_assert(XPV_HOLD_USECS == 250 && XPV_HOLD_ENTRIES_MAX == 128);

void xpv_hold_level(const struct xpv_hold_conf *c, unsigned int level,
		    u32 *entries, u32 *usecs)
{
	static const struct level most = { XPV_HOLD_ENTRIES_MAX, XPV_HOLD_USECS };
	const struct level *l = &most;

	if (READ_ONCE(c->adaptive))
		l = &levels[min(level, XPV_HOLD_LEVELS - 1U)];
	*entries = min_t(u32, READ_ONCE(c->entries), l->entries);
	*usecs = min_t(u32, READ_ONCE(c->usecs), l->usecs);
	if (*entries <= 1 || !*usecs) {
		*entries = 1;
		*usecs = 0;
	}
}

u32 xpv_hold_gap(u32 gap, u64 ns, u32 taken)
{
	u32 now = min_t(u64, ns, GAP_MAX);

	now /= max(taken, 1U);
	return gap - gap / GAP_WEIGHT + now / GAP_WEIGHT;
}

void xpv_hold_learn(struct xpv_hold *h, u32 taken, bool by_timer)
{
	if (by_timer && taken < h->ahead) {
		h->reach = max(taken / 2, 1U);
		h->backoff = clamp(2 * h->backoff, CALM_MIN, CALM_MAX);
		h->calm = h->backoff;
	} else if (h->calm) {
		h->calm--;
	} else {
		/* Only what was tried proves anything. */
		if (h->ahead >= h->reach)
			h->reach = min(2 * h->reach, XPV_HOLD_ENTRIES);
		if (h->ahead > 1)
			h->backoff -= h->backoff / 32;
	}
}

static u32 longest(const struct xpv_hold *h)
{
	return min_t(u32, READ_ONCE(h->conf->usecs), XPV_HOLD_USECS) *
	       NSEC_PER_USEC;
}

/* Do people want both as they set them, or as the load does? */
static bool learns(const struct xpv_hold *h)
{
	return h->conf->answered && READ_ONCE(h->conf->adaptive);
}

/*
 * At least two entries must be due within the longest T, or waiting for them is
 * only latency.  The bound is that of the settings, not of the level: a level
 * could not prove itself otherwise.  A disk's N must fit into T twice, or the
 * timer often comes first, an interrupt more in place of one less.
 */
u32 xpv_hold_ahead(const struct xpv_hold *h, u32 taken, u32 possible)
{
	u32 most = longest(h), n = h->entries;

	if (!taken || n <= 1 || possible <= 1 || h->gap > most / 2)
		return 1;
	if (learns(h))
		n = min3(n, h->reach, most / max(2 * h->gap, 1U));
	return clamp(n, 1U, possible);
}

u32 xpv_hold_wait(const struct xpv_hold *h, u32 ahead)
{
	if (!learns(h))
		return h->usecs * NSEC_PER_USEC;
	return min_t(u64, max_t(u64, 3ULL * ahead * h->gap, WAIT_MIN), longest(h));
}
XPV_EXPORT(xpv_hold_wait);

u32 xpv_hold_rest_at(struct xpv_hold *h, u64 now, u32 taken, u32 possible)
{
	struct dim_sample sample;

	if (learns(h))
		xpv_hold_learn(h, taken, READ_ONCE(h->due));
	WRITE_ONCE(h->due, false);
	h->gap = xpv_hold_gap(h->gap, now - h->last, taken);
	h->last = now;
	h->rests++;
	h->total += taken;
	sample = (struct dim_sample) {
		.time = ns_to_ktime(now),
		.event_ctr = h->rests,
		.pkt_ctr = h->total,
		.byte_ctr = h->total,
	};
	xpv_net_dim(&h->dim, &sample);
	xpv_hold_level(h->conf, READ_ONCE(h->dim.profile_ix), &h->entries,
		       &h->usecs);
	h->ahead = xpv_hold_ahead(h, taken, possible);
	return h->ahead;
}
XPV_EXPORT(xpv_hold_rest_at);

/* DIM has chosen; the consumer sees the new level with its next rest. */
static void level_changed(struct work_struct *w)
{
	struct dim *dim = container_of(w, struct dim, work);

	dim->state = DIM_START_MEASURE;
}

/*
 * Most of the time an event has come since the timer was started, and others
 * are awaited now: starting it anew each time would cost more.  The consumer
 * may start it at the same time, which is why it is not forwarded.
 */
static enum hrtimer_restart fired(struct hrtimer *t)
{
	struct xpv_hold *h = container_of(t, struct xpv_hold, timer);
	s64 left = READ_ONCE(h->until) - ktime_get_ns();

	if (left > (s64)WAIT_MIN / 2) {
		hrtimer_start(t, ns_to_ktime(min_t(u64, left, longest(h))),
			      HRTIMER_MODE_REL);
		return HRTIMER_NORESTART;
	}
	WRITE_ONCE(h->due, true);
	h->fire(h);
	return HRTIMER_NORESTART;
}

void xpv_hold_init(struct xpv_hold *h, const struct xpv_hold_conf *conf,
		   void (*fire)(struct xpv_hold *h))
{
	*h = (struct xpv_hold) {
		.fire = fire,
		.conf = conf,
		.gap = GAP_MAX,
		.entries = 1,
		.ahead = 1,
		.reach = 1,
	};
	hrtimer_setup(&h->timer, fired, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	INIT_WORK(&h->dim.work, level_changed);
}
XPV_EXPORT(xpv_hold_init);

void xpv_hold_stop(struct xpv_hold *h)
{
	if (!h->fire)
		return;
	hrtimer_cancel(&h->timer);
	/* A choice of DIM that was under way is not made: measure again. */
	cancel_work_sync(&h->dim.work);
	h->dim.state = DIM_START_MEASURE;
	h->gap = GAP_MAX;
	h->ahead = 1;
}
XPV_EXPORT(xpv_hold_stop);

void xpv_hold_get_coalesce(const struct xpv_hold_conf *c,
			   struct ethtool_coalesce *ec)
{
	ec->rx_coalesce_usecs = c->usecs;
	ec->rx_max_coalesced_frames = c->entries;
	ec->use_adaptive_rx_coalesce = c->adaptive;
}
XPV_EXPORT(xpv_hold_get_coalesce);

int xpv_hold_set_coalesce(struct xpv_hold_conf *c,
			  const struct ethtool_coalesce *ec,
			  struct netlink_ext_ack *extack)
{
	if (ec->rx_coalesce_usecs > XPV_HOLD_USECS) {
		NL_SET_ERR_MSG_MOD(extack, "rx-usecs is 0 to 250");
		return -ERANGE;
	}
	if (!ec->rx_max_coalesced_frames ||
	    ec->rx_max_coalesced_frames > XPV_HOLD_ENTRIES_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "rx-frames is 1 to 128");
		return -ERANGE;
	}
	WRITE_ONCE(c->usecs, ec->rx_coalesce_usecs);
	WRITE_ONCE(c->entries, ec->rx_max_coalesced_frames);
	WRITE_ONCE(c->adaptive, ec->use_adaptive_rx_coalesce);
	return 0;
}
XPV_EXPORT(xpv_hold_set_coalesce);

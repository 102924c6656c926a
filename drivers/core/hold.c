// SPDX-License-Identifier: GPL-2.0
/*
 * Event hold-off: N, T and the measurement behind them.
 *
 * Decides how far ahead of a consumer its next event is placed.  It never
 * touches a ring: the consumer arms, this file names the number.  Called by
 * consumers in any context; the timer in hard interrupt context.
 */
#include <linux/minmax.h>
#include <xpv/compat.h>
#include <xpv/hold.h>

/* The average follows a change within a few wakes. */
#define GAP_WEIGHT	4

/* A pause is a pause, however long. */
#define GAP_MAX		(4 * XPV_HOLD_USECS * NSEC_PER_USEC)

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

void xpv_hold_level(const struct xpv_hold_conf *c, unsigned int level,
		    u32 *entries, u32 *usecs)
{
	const struct level *l = &levels[min(level, XPV_HOLD_LEVELS - 1U)];

	if (!c->adaptive)
		l = &levels[XPV_HOLD_LEVELS - 1];
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

/*
 * At least two entries must be due within the longest T, or waiting for them is
 * only latency.  The bound is that of the settings, not of the level: a level
 * could not prove itself otherwise.
 */
u32 xpv_hold_ahead(const struct xpv_hold *h, u32 taken, u32 possible)
{
	u32 most = READ_ONCE(h->conf->usecs) * NSEC_PER_USEC;

	if (!taken || h->entries <= 1 || possible <= 1 || h->gap > most / 2)
		return 1;
	return min(h->entries, possible);
}

u32 xpv_hold_rest(struct xpv_hold *h, u32 taken, u32 possible)
{
	struct dim_sample sample;
	u64 now;

	if (!READ_ONCE(h->conf->usecs))
		return 1;
	now = ktime_get_ns();
	h->gap = xpv_hold_gap(h->gap, now - h->last, taken);
	h->last = now;
	if (taken) {
		h->rests++;
		h->total += taken;
		sample = (struct dim_sample) {
			.time = ns_to_ktime(now),
			.event_ctr = h->rests,
			.pkt_ctr = h->total,
			.byte_ctr = h->total,
		};
		xpv_net_dim(&h->dim, &sample);
	}
	xpv_hold_level(h->conf, READ_ONCE(h->dim.profile_ix), &h->entries,
		       &h->usecs);
	return xpv_hold_ahead(h, taken, possible);
}
XPV_EXPORT(xpv_hold_rest);

/* DIM has chosen; the consumer sees the new level with its next rest. */
static void level_changed(struct work_struct *w)
{
	struct dim *dim = container_of(w, struct dim, work);

	dim->state = DIM_START_MEASURE;
}

static enum hrtimer_restart fired(struct hrtimer *t)
{
	struct xpv_hold *h = container_of(t, struct xpv_hold, timer);

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
	};
	hrtimer_setup(&h->timer, fired, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	INIT_WORK(&h->dim.work, level_changed);
}
XPV_EXPORT(xpv_hold_init);

void xpv_hold_exit(struct xpv_hold *h)
{
	if (!h->fire)
		return;
	hrtimer_cancel(&h->timer);
	cancel_work_sync(&h->dim.work);
	h->fire = NULL;
}
XPV_EXPORT(xpv_hold_exit);

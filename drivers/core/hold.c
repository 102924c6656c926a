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
static_assert(XPV_HOLD_USECS == 100 && XPV_HOLD_ENTRIES == 64);

void xpv_hold_level(const struct xpv_hold_conf *c, unsigned int level,
		    u32 *entries, u32 *usecs)
{
	const struct level *l = &levels[min(level, XPV_HOLD_LEVELS - 1U)];

	if (!READ_ONCE(c->adaptive))
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

u32 xpv_hold_rest_at(struct xpv_hold *h, u64 now, u32 taken, u32 possible)
{
	struct dim_sample sample;

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
	return xpv_hold_ahead(h, taken, possible);
}
XPV_EXPORT(xpv_hold_rest_at);

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

void xpv_hold_stop(struct xpv_hold *h)
{
	if (!h->fire)
		return;
	hrtimer_cancel(&h->timer);
	/* A choice of DIM that was under way is not made: measure again. */
	cancel_work_sync(&h->dim.work);
	h->dim.state = DIM_START_MEASURE;
	h->gap = GAP_MAX;
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
		NL_SET_ERR_MSG_MOD(extack, "rx-usecs is 0 to 100");
		return -ERANGE;
	}
	if (!ec->rx_max_coalesced_frames ||
	    ec->rx_max_coalesced_frames > XPV_HOLD_ENTRIES) {
		NL_SET_ERR_MSG_MOD(extack, "rx-frames is 1 to 64");
		return -ERANGE;
	}
	WRITE_ONCE(c->usecs, ec->rx_coalesce_usecs);
	WRITE_ONCE(c->entries, ec->rx_max_coalesced_frames);
	WRITE_ONCE(c->adaptive, ec->use_adaptive_rx_coalesce);
	return 0;
}
XPV_EXPORT(xpv_hold_set_coalesce);

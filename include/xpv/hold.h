/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event hold-off: when a consumer of a ring wants to be woken next.
 *
 * A consumer that empties its ring faster than the peer fills it gets an event
 * for every entry, and both ends pay for each with an interrupt, a hypercall
 * and a change of domain.  io/ring.h lets a consumer place the event any number
 * of entries ahead; this file decides how many, and sees to it that entries
 * which are fewer do not wait for ever.
 *
 *	idle	the next entry makes an event at once
 *	busy	no event while the consumer is at it; when it has to rest it asks
 *		for one after N entries, and a timer looks after T microseconds
 *
 * "Busy" means that entries come so close to each other that several can be
 * expected within the longest T; a lone packet or a disk with one request at a
 * time is never held up.  N and T are a level of a short table that Linux' DIM
 * library climbs for as long as that brings more throughput, or fewer events for
 * the same, never above what people allow.
 *
 * How many requests the users of a disk send without an answer nobody tells; a
 * program that waits for each of its own would wait for T every time.  So that
 * is learned, the "reach": it grows while N entries come in time, is cut to half
 * of what had come when T was over, and then left alone for a while, the longer
 * the more often that happened.  A disk's T is three times as long as N entries
 * should take.  Packets come in bursts, and the end of one says nothing of the next.
 *
 * The life of a consumer:
 *
 *	event or timer	take what is there
 *	before resting	ahead = xpv_hold_rest(taken, possible), arm the ring with
 *			it; more waits already: go on
 *	resting		xpv_hold_sleep(ahead)
 *
 * It needs nothing of the peer but the notify rule of io/ring.h.
 */
#ifndef XPV_HOLD_H
#define XPV_HOLD_H

#include <linux/dim.h>
#include <linux/hrtimer.h>
#include <linux/types.h>

/** XPV_HOLD_USECS - largest T that can be set; bound of the added latency. */
#define XPV_HOLD_USECS	250U

/** XPV_HOLD_USECS_DEFAULT - largest T used unless people set another. */
#define XPV_HOLD_USECS_DEFAULT	100U

/** XPV_HOLD_ENTRIES - largest N unless people ask for more. */
#define XPV_HOLD_ENTRIES	64U

/** XPV_HOLD_ENTRIES_MAX - largest N that can be set; half of a ring of one page. */
#define XPV_HOLD_ENTRIES_MAX	128U

/**
 * struct xpv_hold_conf - what people may set
 * @usecs: T; with @adaptive its upper bound; 0 switches hold-off off
 * @entries: N, likewise
 * @adaptive: the level follows the load, up to XPV_HOLD_ENTRIES
 * @answered: whoever causes the entries waits for answers, so learn the reach
 */
struct xpv_hold_conf {
	u16 usecs;
	u16 entries;
	bool adaptive;
	bool answered;
};

/** XPV_HOLD_DEFAULT - initialiser of struct xpv_hold_conf. */
#define XPV_HOLD_DEFAULT \
	{ .usecs = XPV_HOLD_USECS_DEFAULT, .entries = XPV_HOLD_ENTRIES, .adaptive = true }

/** XPV_HOLD_DISK - the same for a disk. */
#define XPV_HOLD_DISK(us) { \
	.usecs = (us), .entries = XPV_HOLD_ENTRIES, .adaptive = true, \
	.answered = true, \
}

/**
 * struct xpv_hold - one consumer's
 * @fire: T is over: look at the ring; hard interrupt context, any CPU
 * @conf: settings, shared by all consumers of a device; read at any time
 * @entries: N of now, before the bounds of the moment
 * @usecs: T of now, likewise
 * @gap: average time between entries, ns
 * @last: when the consumer rested last, ns
 * @until: when the timer has to look, ns
 * @due: the timer has looked
 * @ahead: where the event was placed last
 * @reach: entries that the other side seems to send without an answer
 * @calm: rests until @reach may grow
 * @backoff: @calm after the next time it was too large
 * @timer: runs only while entries may wait unannounced
 * @dim: chooses the level
 * @rests: wakes that found something, for DIM
 * @total: entries taken, for DIM
 *
 * But for @timer and @dim.work all of it belongs to the consumer.
 */
struct xpv_hold {
	void (*fire)(struct xpv_hold *h);
	const struct xpv_hold_conf *conf;
	u32 entries;
	u32 usecs;
	u32 gap;
	u64 last;
	u64 until;
	bool due;
	u32 ahead;
	u32 reach;
	u32 calm;
	u32 backoff;
	struct hrtimer timer;
	struct dim dim;
	u16 rests;
	u64 total;
};

/** XPV_HOLD_LEVELS - steps that DIM can take. */
#define XPV_HOLD_LEVELS	5

/** xpv_hold_level() - N and T of level @level within @c; 1 and 0 hold nothing off. Pure. */
void xpv_hold_level(const struct xpv_hold_conf *c, unsigned int level,
		    u32 *entries, u32 *usecs);

/** xpv_hold_gap() - average with @taken entries in @ns more. Pure. */
u32 xpv_hold_gap(u32 gap, u64 ns, u32 taken);

/** xpv_hold_learn() - the reach after a wake that found @taken. Pure. */
void xpv_hold_learn(struct xpv_hold *h, u32 taken, bool by_timer);

/**
 * xpv_hold_ahead() - where to place the event
 * @h: for N, the reach, the gap and the settings
 * @taken: entries taken since the last rest
 * @possible: most entries that can come, e.g. requests in flight
 *
 * Pure. Return: 1 for an event with the next entry, or how many to wait for;
 * then the timer must run.
 */
u32 xpv_hold_ahead(const struct xpv_hold *h, u32 taken, u32 possible);

/** xpv_hold_wait() - T in ns for an event @ahead entries away. Pure. */
u32 xpv_hold_wait(const struct xpv_hold *h, u32 ahead);

/** xpv_hold_init() - a consumer that is idle; @conf must outlive it. */
void xpv_hold_init(struct xpv_hold *h, const struct xpv_hold_conf *conf,
		   void (*fire)(struct xpv_hold *h));

/**
 * xpv_hold_stop() - no @fire runs or comes afterwards
 *
 * The consumer has stopped, so nobody starts the timer; it may begin anew
 * later. Does nothing on zeroed memory. Process context, no lock of @fire held.
 */
void xpv_hold_stop(struct xpv_hold *h);

/** xpv_hold_rest_at() - xpv_hold_rest() at time @now, ns. */
u32 xpv_hold_rest_at(struct xpv_hold *h, u64 now, u32 taken, u32 possible);

/** xpv_hold_rest() - measure, then decide as xpv_hold_ahead(). The consumer. */
static inline u32 xpv_hold_rest(struct xpv_hold *h, u32 taken, u32 possible)
{
	if (taken && READ_ONCE(h->conf->usecs))
		return xpv_hold_rest_at(h, ktime_get_ns(), taken, possible);
	h->ahead = 1;
	WRITE_ONCE(h->due, false);
	return 1;
}

/** xpv_hold_sleep() - the ring was armed with @ahead and holds fewer. */
static inline void xpv_hold_sleep(struct xpv_hold *h, u32 ahead)
{
	u32 wait;

	if (ahead <= 1)
		return;
	wait = xpv_hold_wait(h, ahead);
	WRITE_ONCE(h->until, h->last + wait);
	/* One that runs already goes on from its end to the new one. */
	if (!hrtimer_is_queued(&h->timer))
		hrtimer_start(&h->timer, ns_to_ktime(wait), HRTIMER_MODE_REL);
}

/*
 * ethtool -c and -C: rx-usecs, rx-frames and adaptive-rx are the settings of
 * the consumer that receives.  What a driver names in its ethtool_ops:
 */
#define XPV_HOLD_COALESCE \
	(ETHTOOL_COALESCE_RX_USECS | ETHTOOL_COALESCE_RX_MAX_FRAMES | \
	 ETHTOOL_COALESCE_USE_ADAPTIVE_RX)

struct ethtool_coalesce;
struct netlink_ext_ack;

/** xpv_hold_get_coalesce() - fill @ec from @c. */
void xpv_hold_get_coalesce(const struct xpv_hold_conf *c,
			   struct ethtool_coalesce *ec);

/** xpv_hold_set_coalesce() - RTNL held. Return: 0; -ERANGE names the limit. */
int xpv_hold_set_coalesce(struct xpv_hold_conf *c,
			  const struct ethtool_coalesce *ec,
			  struct netlink_ext_ack *extack);

#endif /* XPV_HOLD_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events: exactly one EOI for each, and an honest answer to "was it spurious?"
 *
 * With late EOI an event channel stays silent from the moment its handler ran
 * until the consumer has finished and says so.  Xen slows down a peer whose
 * events turn out to be for nothing, so the answer must not blame an honest
 * one: an event whose work was already taken by polling is no fault.
 *
 * The life of an event:
 *
 *	handler		xpv_evt_got(), then schedule the consumer
 *	consumer	xpv_evt_work() whenever it takes anything, in any context
 *			arm the ring; if that says "more waits" and the consumer
 *			goes on: xpv_evt_stale(), since an event may be under way
 *	idle		xpv_evt_done()
 */
#ifndef XPV_EVENT_H
#define XPV_EVENT_H

#include <linux/bitops.h>
#include <xpv/hyp.h>

/* Bits of struct xpv_evt.flags. */
enum {
	XPV_EVT_OWED,	/* the handler ran, its EOI is owed */
	XPV_EVT_WORK,	/* something was consumed since the last EOI */
	XPV_EVT_STALE,	/* one event for work already taken may still come */
	XPV_EVT_DEAD,	/* peer broke the rules: no EOI any more */
};

/** xpv_evt_got() - first thing in the handler. Hard interrupt context. */
static inline void xpv_evt_got(struct xpv_evt *e)
{
	set_bit(XPV_EVT_OWED, &e->flags);
}

/** xpv_evt_work() - something was taken from the ring. Any context. */
static inline void xpv_evt_work(struct xpv_evt *e)
{
	if (!test_bit(XPV_EVT_WORK, &e->flags))
		set_bit(XPV_EVT_WORK, &e->flags);
}

/** xpv_evt_stale() - armed, found more, going on. Any context. */
static inline void xpv_evt_stale(struct xpv_evt *e)
{
	set_bit(XPV_EVT_STALE, &e->flags);
}

/** xpv_evt_dead() - never end an event again: the peer is not trusted. */
static inline void xpv_evt_dead(struct xpv_evt *e)
{
	set_bit(XPV_EVT_DEAD, &e->flags);
}

/**
 * xpv_evt_done() - the consumer is idle and the ring is armed
 *
 * Ends the event if one is owed. Safe to call when none is. Any context; the
 * consumer calls it from one place at a time.
 */
static inline void xpv_evt_done(struct xpv_evt *e)
{
	bool spurious;

	if (test_bit(XPV_EVT_DEAD, &e->flags) ||
	    !test_and_clear_bit(XPV_EVT_OWED, &e->flags))
		return;
	spurious = !test_and_clear_bit(XPV_EVT_WORK, &e->flags) &&
		   !test_and_clear_bit(XPV_EVT_STALE, &e->flags);
	hyp_evt_eoi(e, spurious);
}

#endif /* XPV_EVENT_H */

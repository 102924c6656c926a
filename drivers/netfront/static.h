/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xpv-netfront: the control ring, and pages that the backend keeps mapped.
 * Part of netfront.h.
 */
#ifndef XPV_NETFRONT_STATIC_H
#define XPV_NETFRONT_STATIC_H

#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <xpv/event.h>
#include <xpv/hyp.h>
#include <xpv/ring.h>

struct xnf;
struct xnf_queue;

/**
 * struct xnf_rx_buf - a page that the peer may write
 * @page: page
 * @gref: its grant
 * @fixed: the peer keeps it mapped, so it must never leave the driver
 */
struct xnf_rx_buf {
	struct page *page;
	grant_ref_t gref;
	bool fixed;
};

/**
 * struct xnf_fixed - pages that stay granted
 * @buf: the pages; for Rx a stack of those not in use
 * @n: how many
 * @on: the peer has mapped all; set once they are there
 */
struct xnf_fixed {
	struct xnf_rx_buf *buf;
	unsigned int n;
	bool on;
};

/**
 * struct xnf_ctrl - the control ring
 * @lock: one message at a time; guards @ring
 * @mem: ring page; its address is NULL without a control ring
 * @ring: ring end
 * @evt: event channel
 * @wait: who waits for a response
 * @dead: no message any more: the ring is being closed, or out of step
 * @id: of the last message
 * @work: tells the backend of the pages that it may keep mapped
 */
struct xnf_ctrl {
	struct mutex lock; /* one message at a time */
	struct xpv_ring_mem mem;
	struct xpv_front ring;
	struct xpv_evt evt;
	wait_queue_head_t wait;
	bool dead;
	u16 id;
	struct work_struct work;
};

/* ctrl.c */

/* How long a message waits for its response. */
extern unsigned int xnf_ctrl_ms;

void xnf_ctrl_init(struct xnf *x);

/** xnf_ctrl_open() - a ring to be published; without memory there is none. */
void xnf_ctrl_open(struct xnf *x);

/** xnf_ctrl_halt() - nobody sends or waits any more; twice does no harm. */
void xnf_ctrl_halt(struct xnf *x);

/** xnf_ctrl_close() - halt, and take the ring back; twice does no harm. */
void xnf_ctrl_close(struct xnf *x);

/**
 * xnf_ctrl_call() - one message and its response
 * @x: device
 * @type: XEN_NETIF_CTRL_TYPE_*
 * @arg: three words
 * @out: data of the response
 *
 * Context: process, sleeps; not with xnf.lock or rtnl held.
 * Return: XEN_NETIF_CTRL_STATUS_*; -ENODEV, -ETIMEDOUT or -EPROTO, then there
 * are no more messages on this connection.
 */
int xnf_ctrl_call(struct xnf *x, u16 type, const u32 *arg, u32 *out);

/* static.c */

/* Module parameter static_grants. */
extern bool xnf_statics;

void xnf_static_work(struct work_struct *w);

/** xnf_fixed_init() - @n zeroed pages, granted, known to nobody yet. 0 or errno. */
int xnf_fixed_init(struct xnf *x, struct xnf_fixed *f, unsigned int n,
		   bool readonly);

/** xnf_fixed_exit() - free what is not in use; twice does no harm. */
void xnf_fixed_exit(struct xnf_fixed *f);

#endif /* XPV_NETFRONT_STATIC_H */

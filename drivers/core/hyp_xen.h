/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two files below the seam, hyp_xen.c and hyp_xenbus.c, share.
 */
#ifndef XPV_HYP_XEN_H
#define XPV_HYP_XEN_H

#include <linux/jiffies.h>
#include <linux/ratelimit.h>
#include <xen/xenbus.h>
#include <xpv/hyp.h>

/*
 * What a peer can make us log for one device: so many lines, then silence for
 * the rest of the interval.
 */
#define HYP_LOG_BURST		20
#define HYP_LOG_INTERVAL	(60 * HZ)

/**
 * struct hyp_dev - the seam's part of a device, also what the bus points to
 * @d: what the driver sees
 * @xb: what the bus sees
 * @state_watch: backend only, on our own state node; node NULL when not set
 * @error_rs: limits hyp_error(), since a peer can provoke errors at will
 * @map_since: when @map_failed began to count, in jiffies
 * @map_failed: rings that could not be mapped since then
 * @closed: hyp_closed() was called; the device may leave when offline
 */
struct hyp_dev {
	struct xpv_dev d;
	struct xenbus_device *xb;
	struct xenbus_watch state_watch;
	struct ratelimit_state error_rs;
	unsigned long map_since;
	unsigned int map_failed;
	bool closed;
};

static inline struct hyp_dev *to_hyp_dev(struct xpv_dev *d)
{
	return container_of(d, struct hyp_dev, d);
}

static inline struct xenbus_device *to_xb(struct xpv_dev *d)
{
	return to_hyp_dev(d)->xb;
}

#endif /* XPV_HYP_XEN_H */

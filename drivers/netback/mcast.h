/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast control: the list of groups that a guest wants to receive.
 *
 * A table of fixed size inside the device.  mcast.c says more.
 */
#ifndef XPV_NETBACK_MCAST_H
#define XPV_NETBACK_MCAST_H

#include <linux/spinlock.h>
#include <linux/types.h>

/** XNB_MCAST_MAX - places of the list, the same as in the stock backend. */
#define XNB_MCAST_MAX	64

/**
 * struct xnb_mcast - addresses of groups, and whether they are looked at
 * @on: the list is looked at
 * @lost: the list was with a backend before us; until the frontend begins anew
 *        it is not looked at. Process context, device's lock held
 * @lock: serialises changes, which come from the NAPIs of all queues
 * @addr: a place each, 0 when it is free; read without the lock
 */
struct xnb_mcast {
	bool on;
	bool lost;
	spinlock_t lock;	/* changes of @addr */
	u64 addr[XNB_MCAST_MAX];
};

/** xnb_mcast_init() - an empty list, not in use. */
void xnb_mcast_init(struct xnb_mcast *m);

/** xnb_mcast_clear() - the same for one that was; no queue is live. */
void xnb_mcast_clear(struct xnb_mcast *m);

/** xnb_mcast_ask() - what the frontend wants now; device's lock held. */
void xnb_mcast_ask(struct xnb_mcast *m, bool on);

/** xnb_mcast_add() - Return: false when there is no place left. BH disabled. */
bool xnb_mcast_add(struct xnb_mcast *m, const u8 *addr);

/** xnb_mcast_del() - take one away, if it is there. BH disabled. */
void xnb_mcast_del(struct xnb_mcast *m, const u8 *addr);

/** xnb_mcast_wants() - may a frame to @dest go to the guest? Any context. */
bool xnb_mcast_wants(const struct xnb_mcast *m, const u8 *dest);

#endif /* XPV_NETBACK_MCAST_H */

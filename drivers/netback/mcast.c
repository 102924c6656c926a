// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast control: which groups a guest wants to receive. "Tx" is the guest's
 * transmit.
 *
 * Decides whether a frame for the guest is wanted.  The frontend changes the
 * list with Tx requests that carry no packet, and says in the store whether the
 * list is to be looked at.  An address that was added twice takes two places and
 * must be taken away twice, as with the stock backend.
 *
 * The list is changed in NAPI and looked up in the transmit path without a lock:
 * a place holds one word and an address never moves to another place, so a reader
 * that meets a change sees the list before or after it.  Nothing is ever allocated,
 * so nothing a guest does makes it grow.
 */
#include <linux/etherdevice.h>
#include "netback.h"

void xnb_mcast_init(struct xnb_mcast *m)
{
	spin_lock_init(&m->lock);
	xnb_mcast_clear(m);
}

void xnb_mcast_clear(struct xnb_mcast *m)
{
	WRITE_ONCE(m->on, false);
	m->lost = false;
	memset(m->addr, 0, sizeof(m->addr));
}

/*
 * A frontend does not notice that its backend was loaded again. It has asked for
 * control then, but would be sent no group at all: all of them are, until it has
 * taken its wish back once.
 */
void xnb_mcast_ask(struct xnb_mcast *m, bool on)
{
	m->lost &= on;
	WRITE_ONCE(m->on, on && !m->lost);
}

/* Return: the first place with this value, or -1. */
static int mcast_find(const struct xnb_mcast *m, u64 val)
{
	unsigned int i;

	for (i = 0; i < XNB_MCAST_MAX; i++)
		if (READ_ONCE(m->addr[i]) == val)
			return i;
	return -1;
}

/* A value that is there gives way to another. Return: it was there. */
static bool mcast_replace(struct xnb_mcast *m, u64 from, u64 to)
{
	int i;

	spin_lock(&m->lock);
	i = mcast_find(m, from);
	if (i >= 0)
		WRITE_ONCE(m->addr[i], to);
	spin_unlock(&m->lock);
	return i >= 0;
}

/* No group's address is 0, which marks free places. */
bool xnb_mcast_add(struct xnb_mcast *m, const u8 *addr)
{
	return mcast_replace(m, 0, ether_addr_to_u64(addr));
}

void xnb_mcast_del(struct xnb_mcast *m, const u8 *addr)
{
	mcast_replace(m, ether_addr_to_u64(addr), 0);
}

bool xnb_mcast_wants(const struct xnb_mcast *m, const u8 *dest)
{
	return !READ_ONCE(m->on) || !is_multicast_ether_addr(dest) ||
	       is_broadcast_ether_addr(dest) ||
	       mcast_find(m, ether_addr_to_u64(dest)) >= 0;
}

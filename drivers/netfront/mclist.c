// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast control, the half that decides.
 *
 * Two lists: what the guest wants, and what the backend has been told.  From
 * their difference come the changes to send, one at a time, and the decision
 * whether the backend may filter at all.  Additions go first, so that a group is
 * received as soon as there is room; what nobody wants any more goes last.
 *
 * The list is kept up to date even while the backend sends all groups, so that
 * going back costs no more than saying so.  No ring, no store, no lock.
 */
#include <linux/etherdevice.h>
#include "mclist.h"

static struct xnf_mc_entry *mc_find(struct xnf_mclist *l, const u8 *addr)
{
	unsigned int i;

	for (i = 0; i < XNF_MC_MAX; i++)
		if (l->entry[i].state != XNF_MC_FREE &&
		    ether_addr_equal(l->entry[i].addr, addr))
			return &l->entry[i];
	return NULL;
}

static struct xnf_mc_entry *mc_first(struct xnf_mclist *l,
				     enum xnf_mc_state state)
{
	unsigned int i;

	for (i = 0; i < XNF_MC_MAX; i++)
		if (l->entry[i].state == state)
			return &l->entry[i];
	return NULL;
}

static bool mc_wanted(const struct xnf_mclist *l, const u8 *addr)
{
	unsigned int i;

	for (i = 0; i < l->nwant; i++)
		if (ether_addr_equal(l->want[i], addr))
			return true;
	return false;
}

void xnf_mc_forget(struct xnf_mclist *l)
{
	memset(l->entry, 0, sizeof(l->entry));
	l->filling = true;
}

/* A refusal may have been for want of memory or of room: try it again. */
void xnf_mc_begin(struct xnf_mclist *l, bool all)
{
	unsigned int i;

	l->all = all;
	l->nwant = 0;
	for (i = 0; i < XNF_MC_MAX; i++)
		if (l->entry[i].state == XNF_MC_REFUSED)
			l->entry[i].state = XNF_MC_FREE;
}

void xnf_mc_want(struct xnf_mclist *l, const u8 *addr)
{
	/* Frames to one station are not filtered. */
	if (!is_multicast_ether_addr(addr))
		return;
	if (l->nwant == XNF_MC_MAX) {
		l->all = true;
		return;
	}
	ether_addr_copy(l->want[l->nwant++], addr);
}

static struct xnf_mc_entry *mc_next_add(struct xnf_mclist *l)
{
	struct xnf_mc_entry *e = mc_first(l, XNF_MC_FREE);
	unsigned int i;

	for (i = 0; e && i < l->nwant; i++) {
		if (mc_find(l, l->want[i]))
			continue;
		ether_addr_copy(e->addr, l->want[i]);
		e->state = XNF_MC_ADDING;
		return e;
	}
	return NULL;
}

static struct xnf_mc_entry *mc_next_del(struct xnf_mclist *l)
{
	unsigned int i;

	for (i = 0; i < XNF_MC_MAX; i++) {
		struct xnf_mc_entry *e = &l->entry[i];

		if (e->state != XNF_MC_LISTED || mc_wanted(l, e->addr))
			continue;
		e->state = XNF_MC_DELETING;
		return e;
	}
	return NULL;
}

struct xnf_mc_entry *xnf_mc_next(struct xnf_mclist *l)
{
	return mc_next_add(l) ?: mc_next_del(l);
}

/*
 * A backend that fails to take an address off keeps it, which costs it a place;
 * when that is missed it will refuse another one.
 */
bool xnf_mc_answer(struct xnf_mclist *l, u16 id, bool ok)
{
	unsigned int i;

	for (i = 0; i < XNF_MC_MAX; i++) {
		struct xnf_mc_entry *e = &l->entry[i];

		if (e->id != id)
			continue;
		if (e->state == XNF_MC_DELETING) {
			e->state = XNF_MC_FREE;
			return false;
		}
		if (e->state == XNF_MC_ADDING) {
			e->state = ok ? XNF_MC_LISTED : XNF_MC_REFUSED;
			return !ok;
		}
	}
	return false;
}

bool xnf_mc_busy(const struct xnf_mclist *l)
{
	unsigned int i;

	for (i = 0; i < XNF_MC_MAX; i++)
		if (l->entry[i].state == XNF_MC_ADDING ||
		    l->entry[i].state == XNF_MC_DELETING)
			return true;
	return false;
}

bool xnf_mc_filter(struct xnf_mclist *l)
{
	bool complete = true;
	bool refused = l->all;
	unsigned int i;

	for (i = 0; i < l->nwant; i++) {
		const struct xnf_mc_entry *e = mc_find(l, l->want[i]);

		complete &= e && e->state == XNF_MC_LISTED;
		refused |= e && e->state == XNF_MC_REFUSED;
	}
	if (refused)
		l->filling = true;
	else if (complete)
		l->filling = false;
	return !l->filling;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Static grants: pages that the backend may keep mapped, so that packets in
 * them cost no grant operation on either end.
 *
 * Decides which pages those are: the ones for small Tx packets, granted as long
 * as a queue exists in any case, as many Rx pages as the ring has slots, and
 * pages for larger Tx packets.  The backend may look at or write to such a page
 * at any time, so it belongs to the driver for good: received data are copied
 * out before the stack sees them (rxskb.c), sent data are copied in (tx.c).  Tx
 * pages hold nothing but earlier packets to the same backend.
 *
 * A work item tells the backend after every connect.  It takes neither
 * xnf.lock nor rtnl.  When the backend has no room, no memory or no such
 * messages, the queue goes on with grants for each packet.
 */
#include <linux/slab.h>
#include "netfront.h"

bool xnf_statics = true;

/* A zeroed page with a grant, known to nobody yet. */
static int xnf_page_grant(struct xnf *x, struct xnf_rx_buf *buf, bool readonly)
{
	buf->page = alloc_page(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (!buf->page)
		return -ENOMEM;
	if (hyp_gref_alloc(1, &buf->gref)) {
		__free_page(buf->page);
		return -ENOSPC;
	}
	hyp_grant(buf->gref, x->d->peer, buf->page, readonly);
	buf->fixed = true;
	return 0;
}

static void xnf_page_ungrant(const struct xnf_rx_buf *buf)
{
	if (likely(hyp_ungrant(buf->gref))) {
		hyp_gref_free(1, &buf->gref);
		__free_page(buf->page);
	} else {
		hyp_grant_abandon(buf->gref, buf->page);
	}
}

void xnf_fixed_exit(struct xnf_fixed *f)
{
	while (f->n)
		xnf_page_ungrant(&f->buf[--f->n]);
	f->on = false;
	kfree(f->buf);
	f->buf = NULL;
}

int xnf_fixed_init(struct xnf *x, struct xnf_fixed *f, unsigned int n,
		   bool readonly)
{
	int err = 0;

	f->buf = kcalloc(n, sizeof(*f->buf), GFP_KERNEL);
	if (!f->buf)
		return -ENOMEM;
	while (!err && f->n < n) {
		err = xnf_page_grant(x, &f->buf[f->n], readonly);
		f->n += !err;
	}
	return err;
}

/* Tell the backend. Return: it has mapped all the pages. */
static bool xnf_fixed_send(struct xnf_queue *q, const struct xnf_fixed *f,
			   bool readonly)
{
	struct xpv_net_gref *entry;
	struct xnf_rx_buf list;
	unsigned int i;
	u32 arg[3], none;
	int status;

	BUILD_BUG_ON(XNF_RING > XPV_NET_GREF_LIST);
	if (xnf_page_grant(q->x, &list, false))
		return false;
	entry = page_address(list.page);
	for (i = 0; i < f->n; i++)
		entry[i] = (struct xpv_net_gref) {
			.ref = f->buf[i].gref,
			.flags = readonly ? XPV_NET_GREF_READONLY : 0,
		};
	arg[0] = q->id;
	arg[1] = list.gref;
	arg[2] = f->n;
	status = xnf_ctrl_call(q->x, XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING, arg, &none);
	xnf_page_ungrant(&list);
	if (!status)
		q->stats.static_pages += f->n;
	return !status;
}

static bool xnf_fixed_offer(struct xnf_queue *q, struct xnf_fixed *f,
			    unsigned int n, bool readonly)
{
	if (xnf_fixed_init(q->x, f, n, readonly) ||
	    !xnf_fixed_send(q, f, readonly)) {
		xnf_fixed_exit(f);
		return false;
	}
	/* All pages are there: the data path may take them. */
	smp_store_release(&f->on, true);
	return true;
}

/* What saves most comes first. Return: the backend takes part in all of it. */
static bool xnf_static_offer(struct xnf_queue *q)
{
	const u32 arg[3] = { q->id };
	u32 room;

	if (xnf_ctrl_call(q->x, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE, arg,
			  &room))
		return false;
	if (room < XNF_COPY_PAGES || !xnf_fixed_send(q, &q->tx.copy, true))
		return false;
	room -= XNF_COPY_PAGES;
	if (room < XNF_RING || !xnf_fixed_offer(q, &q->rx.fixed, XNF_RING, false))
		return false;
	room -= XNF_RING;
	return room >= XNF_STAGE_PAGES &&
	       xnf_fixed_offer(q, &q->tx.stage, XNF_STAGE_PAGES, true);
}

/* One queue without room does not mean that the next has none. */
void xnf_static_work(struct work_struct *w)
{
	struct xnf *x = container_of(w, struct xnf, ctrl.work);
	unsigned int i;

	for (i = 0; i < x->nq && !READ_ONCE(x->ctrl.dead); i++)
		if (!xnf_static_offer(&x->q[i]))
			netdev_dbg(x->dev, "queue %u: not all pages stay mapped\n", i);
}

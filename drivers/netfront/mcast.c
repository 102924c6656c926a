// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast control: how the backend learns which groups the guest wants.
 *
 * Changes of its list are Tx requests without data on queue 0, so they keep
 * their order and each has an answer; where the ring has no room they wait for
 * responses.  That the list is to be used is said in the store, by a work item,
 * and only after the backend has taken every address that is wanted: until then,
 * and whenever the list does not suffice, it sends all groups.  So no group is
 * ever missing for want of an answer.
 *
 * This needs a backend that watches the key (feature-dynamic-multicast-control).
 * From one that does not, control is not asked for: it could not be told that the
 * interface has become promiscuous, or that 64 groups are too few, before the next
 * connect, and would keep frames back that the stack needs.
 *
 * The stack calls with its address lock held, the rest comes from tx.c; all of it
 * under the Tx lock of queue 0.  The work item takes no other lock.
 */
#include <linux/etherdevice.h>
#include "netfront.h"

/* Where the store could not be written, it is tried again after so long. */
#define XNF_MCAST_RETRY		HZ

static void xnf_mcast_put(struct xnf_queue *q, struct xnf_mc_entry *e)
{
	bool add = e->state == XNF_MC_ADDING;
	struct xen_netif_tx_request req = {
		.id = xpv_ids_get(&q->tx.ids),
		.flags = XEN_NETTXF_extra_info,
	};
	struct xen_netif_extra_info extra = {
		.type = add ? XEN_NETIF_EXTRA_TYPE_MCAST_ADD :
			      XEN_NETIF_EXTRA_TYPE_MCAST_DEL,
	};

	BUILD_BUG_ON(sizeof(extra) < 2 + ETH_ALEN);
	memcpy(extra.u.mcast.addr, e->addr, ETH_ALEN);
	e->id = req.id;
	q->tx.slot[req.id] = (struct xnf_tx_slot) { .mem = XNF_MEM_MCAST };
	xpv_front_put(&q->tx.ring, &req, sizeof(req));
	xpv_front_put(&q->tx.ring, &extra, sizeof(extra));
	q->tx.extras++;
	if (add)
		q->stats.mcast_add++;
	else
		q->stats.mcast_del++;
}

/* Does the store say what the list calls for? If not, the work item sees to it. */
static void xnf_mcast_judge(struct xnf *x)
{
	if (xnf_mc_filter(&x->mcast.list) != x->mcast.asked)
		schedule_delayed_work(&x->mcast.work, 0);
}

/* A packet must still fit, or the sender's queue would have to stop. */
static bool xnf_mcast_room(const struct xnf_queue *q)
{
	return xpv_front_free(&q->tx.ring) >= XNF_TX_ROOM + 2;
}

void xnf_mcast_send(struct xnf_queue *q)
{
	struct xnf_mclist *l = &q->x->mcast.list;
	struct xnf_mc_entry *e = NULL;
	bool room;

	while ((room = xnf_mcast_room(q)) && (e = xnf_mc_next(l)))
		xnf_mcast_put(q, e);
	/* What waits for room waits for responses, like what waits for its own. */
	q->tx.mcast = !room || xnf_mc_busy(l);
	xnf_mcast_judge(q->x);
}

void xnf_mcast_answer(struct xnf_queue *q, u16 id, s16 status)
{
	if (xnf_mc_answer(&q->x->mcast.list, id, status == XEN_NETIF_RSP_OKAY))
		q->stats.mcast_refused++;
}

/* Tx lock held. */
static void xnf_mcast_collect(struct xnf_mclist *l, struct net_device *dev)
{
	struct netdev_hw_addr *ha;

	xnf_mc_begin(l, dev->flags & (IFF_PROMISC | IFF_ALLMULTI));
	netdev_for_each_mc_addr(ha, dev)
		xnf_mc_want(l, ha->addr);
}

/* Tx lock held. */
static bool xnf_mcast_runs(const struct xnf *x)
{
	return x->caps.mcast && READ_ONCE(x->q[0].up) && netif_running(x->dev);
}

void xnf_set_rx_mode(struct net_device *dev)
{
	struct xnf *x = netdev_priv(dev);
	struct netdev_queue *txq = xnf_txq(&x->q[0]);

	__netif_tx_lock(txq, smp_processor_id());
	xnf_mcast_collect(&x->mcast.list, dev);
	if (xnf_mcast_runs(x))
		xnf_tx_mcast(&x->q[0]);
	__netif_tx_unlock(txq);
}

void xnf_mcast_start(struct xnf *x)
{
	struct netdev_queue *txq = xnf_txq(&x->q[0]);

	__netif_tx_lock_bh(txq);
	xnf_mc_forget(&x->mcast.list);
	if (xnf_mcast_runs(x))
		xnf_tx_mcast(&x->q[0]);
	__netif_tx_unlock_bh(txq);
}

/* Return: the store was told of a change, and there may be another one. */
static bool xnf_mcast_tell(struct xnf *x)
{
	struct netdev_queue *txq = xnf_txq(&x->q[0]);
	struct xpv_kv kv = { .key = "request-multicast-control" };
	bool on;

	__netif_tx_lock_bh(txq);
	on = xnf_mc_filter(&x->mcast.list);
	if (!READ_ONCE(x->q[0].up) || on == x->mcast.asked) {
		__netif_tx_unlock_bh(txq);
		return false;
	}
	__netif_tx_unlock_bh(txq);
	kv.value = on ? "1" : "0";
	if (hyp_store_write(x->d, &kv, 1)) {
		schedule_delayed_work(&x->mcast.work, XNF_MCAST_RETRY);
		return false;
	}
	__netif_tx_lock_bh(txq);
	x->mcast.asked = on;
	x->q[0].stats.mcast_switches++;
	__netif_tx_unlock_bh(txq);
	return true;
}

static void xnf_mcast_work(struct work_struct *w)
{
	struct xnf *x = container_of(w, struct xnf, mcast.work.work);

	if (xnf_mcast_tell(x))
		schedule_delayed_work(&x->mcast.work, 0);
}

void xnf_mcast_init(struct xnf *x)
{
	INIT_DELAYED_WORK(&x->mcast.work, xnf_mcast_work);
}

void xnf_mcast_halt(struct xnf *x)
{
	cancel_delayed_work_sync(&x->mcast.work);
	/* The next connect takes the key away before a backend can read it. */
	x->mcast.asked = false;
}

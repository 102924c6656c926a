// SPDX-License-Identifier: GPL-2.0
/*
 * Host to guest: "Rx" is what the guest receives, what the net stack sends.
 *
 * A packet joins its queue's short list; when the stack says that no more
 * follow at once, all of them are copied into the pages that the guest has
 * posted, with one hypercall, one push and one notify decision.  That is done in
 * the transmit context itself, no thread is woken; only for a stream of large
 * frames a work item does it, in larger batches the busier the CPUs are.
 *
 * A packet is given exactly the slots it needs.  Are there fewer, the queue
 * stops and an event is asked for at the slot that makes the head packet fit;
 * NAPI goes on from there.  Frontends that send no such events are polled.
 *
 * One lock guards all of it: the Tx lock of the net device's queue, which the
 * stack holds around ndo_start_xmit (the device is not lockless) and which
 * NAPI takes to wake the queue.  A second lock would only be taken inside it.
 */
#include <linux/etherdevice.h>
#include "netback.h"

/* How often a frontend that does not announce its Rx slots is looked at. */
#define RX_POLL_MSECS	30

/*
 * Frames that were made large by segmentation offload are bulk data; those that
 * are closer to each other than this are one stream.
 */
#define RX_BULK_NSECS	NSEC_PER_MSEC
#define RX_BULK_BYTES	4096

/* Look again when the head packet has waited for too long, or regularly. */
static void rx_timer_arm(struct xnb_queue *q)
{
	const struct sk_buff *head = skb_peek(&q->rx_pending);
	unsigned long age = msecs_to_jiffies(xnb_rx_drain_msecs);
	unsigned long when = jiffies + age;

	if (!q->vif->feat.rx_notify)
		when = jiffies + msecs_to_jiffies(RX_POLL_MSECS);
	else if (head)
		when = XNB_RX_CB(head)->queued + age;
	mod_timer(&q->rx_timer, time_after(when, jiffies) ? when : jiffies + 1);
}

static unsigned int rx_free_head(struct xnb_queue *q, bool sent)
{
	struct sk_buff *skb = __skb_dequeue(&q->rx_pending);
	unsigned int len = skb->len;

	if (sent)
		dev_consume_skb_any(skb);
	else
		dev_kfree_skb_any(skb);
	return len;
}

/* The first @n packets leave the queue; the stack may send as many bytes more. */
static void rx_free(struct xnb_queue *q, unsigned int n, bool sent)
{
	unsigned int i, bytes = 0;

	for (i = 0; i < n; i++)
		bytes += rx_free_head(q, sent);
	q->rx_pending_bytes -= bytes;
	netdev_tx_completed_queue(xnb_txq(q), n, bytes);
}

void xnb_rx_purge(struct xnb_queue *q)
{
	unsigned int n = skb_queue_len(&q->rx_pending);

	q->stats.rx_queue_drops += n;
	rx_free(q, n, false);
	WRITE_ONCE(q->rx_short, 0);
}

/* ------------------------------------------------------------------ */
/* One batch                                                           */
/* ------------------------------------------------------------------ */

/*
 * Take slots for packets from the head of the list and plan their copies.
 * Sets rx_short when the next packet lacks slots.
 * Return: packets taken.
 */
static unsigned int rx_take(struct xnb_queue *q)
{
	int avail = xpv_back_pending(&q->rx);
	unsigned int n = 0, nreq = 0;
	struct sk_buff *skb;

	WRITE_ONCE(q->rx_short, 0);
	if (unlikely(avail < 0)) {
		xnb_broken(q, XPV_FAULT_INDEX,
			   "Rx request producer beyond the ring of %u slots",
			   q->rx.size);
		return 0;
	}
	skb_queue_walk(&q->rx_pending, skb) {
		unsigned int need = xnb_rx_slots(skb);
		struct xnb_rx_item *item = &q->rx_item[n];
		unsigned int i;

		if (n == XNB_BATCH ||
		    xpv_copy_room(&q->rx_batch) < xnb_rx_ops(skb))
			break;
		if (need > avail - nreq) {
			WRITE_ONCE(q->rx_short, need);
			break;
		}
		item->skb = skb;
		item->req = nreq;
		item->nslots = need;
		item->op = q->rx_batch.n;
		for (i = 0; i < need; i++)
			xpv_back_get(&q->rx, &q->rx_req[nreq++],
				     sizeof(*q->rx_req));
		item->nops = xnb_rx_plan(&q->rx_batch, skb,
					 q->rx_req + item->req);
		n++;
	}
	q->rx_seen = q->rx.req_cons + avail - nreq;
	return n;
}

static void rx_settle_one(struct xnb_queue *q, const struct xnb_rx_item *item)
{
	bool ok = !xpv_copy_status(&q->rx_batch, item->op, item->nops);
	union xnb_rx_rsp rsp;
	unsigned int i;

	for (i = 0; i < item->nslots; i++) {
		xnb_rx_response(item->skb, q->rx_req + item->req, i, ok, &rsp);
		xpv_back_put(&q->rx, &rsp, sizeof(rsp));
	}
	q->stats.rx_slots += item->nslots;
	if (unlikely(!ok)) {
		q->stats.rx_errors++;
		xpv_peer_fault(q->vif->d, &q->vif->faults, XPV_FAULT_GRANT,
			       "queue %u: Rx grant copy of %u bytes failed",
			       q->id, item->skb->len);
		return;
	}
	q->stats.rx_packets++;
	q->stats.rx_bytes += item->skb->len;
	q->stats.rx_gso_packets += skb_is_gso(item->skb);
}

static void rx_finish(struct xnb_queue *q, unsigned int n)
{
	unsigned int i = xnb_static_run(q, &q->rx_batch, &q->rx_rest);

	q->stats.rx_static_copies += i;
	q->stats.rx_hypercalls += i < q->rx_batch.n;
	q->stats.rx_batches++;
	q->stats.rx_copies += q->rx_batch.n;
	for (i = 0; i < n; i++)
		rx_settle_one(q, &q->rx_item[i]);
	xpv_copy_reset(&q->rx_batch);
	q->rx_flushed = ktime_get_ns();
	xpv_evt_work(q->rx_evt);
	if (xpv_back_push(&q->rx)) {
		q->stats.rx_events_sent++;
		hyp_evt_notify(q->rx_evt);
	} else {
		q->stats.rx_events_suppressed++;
	}
	rx_free(q, n, true);
}

/*
 * Copy what fits.  Every turn frees a packet or ends the loop, however fast the
 * guest posts slots: the list does not grow here, and a producer that announced
 * enough slots and then has fewer went backwards.
 */
static void rx_flush(struct xnb_queue *q)
{
	bool promised = false;
	unsigned int n;

	while (!skb_queue_empty(&q->rx_pending) && !READ_ONCE(q->broken)) {
		n = rx_take(q);
		if (n) {
			rx_finish(q, n);
			q->rx_hungry = 0;
		} else if (promised && q->rx_short) {
			xnb_broken(q, XPV_FAULT_INDEX,
				   "queue %u: Rx request producer went back",
				   q->id);
		}
		if (!q->rx_short)
			continue;
		if (!xpv_back_arm(&q->rx, q->rx_short))
			return;
		xpv_evt_stale(q->rx_evt);
		promised = true;
	}
	WRITE_ONCE(q->rx_short, 0);
}

/* ------------------------------------------------------------------ */
/* Waiting for slots                                                   */
/* ------------------------------------------------------------------ */

static void rx_recover(struct xnb_queue *q)
{
	struct xnb_vif *vif = q->vif;

	q->rx_stalled = false;
	q->rx_hungry = 0;
	WRITE_ONCE(q->rx_short, 0);
	if (atomic_dec_and_test(&vif->stalled)) {
		xnb_info(vif, "guest takes packets again\n");
		netif_carrier_on(vif->dev);
	}
	netif_tx_wake_queue(xnb_txq(q));
}

/* The guest has taken nothing for long: say so to the net stack, once. */
static void rx_stall(struct xnb_queue *q)
{
	struct xnb_vif *vif = q->vif;

	q->rx_stalled = true;
	q->stats.rx_stalls++;
	xnb_rx_purge(q);
	if (atomic_inc_return(&vif->stalled) == 1) {
		xnb_info(vif, "queue %u: guest posted no Rx slots for %u ms\n",
			 q->id, xnb_rx_stall_msecs);
		netif_carrier_off(vif->dev);
	}
	/* What is posted did not do; any slot more ends the stall. */
	WRITE_ONCE(q->rx_short, max(xpv_back_pending(&q->rx), 0) + 1);
	if (xpv_back_arm(&q->rx, q->rx_short))
		rx_recover(q);
}

/* Packets that have waited for too long are of no use to anybody. */
static bool rx_expire(struct xnb_queue *q)
{
	unsigned long age = msecs_to_jiffies(xnb_rx_drain_msecs);
	struct sk_buff *skb;
	unsigned int n = 0;

	skb_queue_walk(&q->rx_pending, skb) {
		if (time_before(jiffies, XNB_RX_CB(skb)->queued + age))
			break;
		n++;
	}
	q->stats.rx_expired += n;
	if (n)
		rx_free(q, n, false);
	return n;
}

/*
 * The queue stays stopped; an event or the timer goes on.  How long the guest
 * has been hungry is kept over packets that expire, until one gets its slots.
 */
static void rx_wait(struct xnb_queue *q)
{
	if (!q->rx_hungry)
		q->rx_hungry = jiffies ?: 1;
	netif_tx_stop_queue(xnb_txq(q));
	rx_timer_arm(q);
}

static bool rx_stall_due(const struct xnb_queue *q)
{
	unsigned long stall = msecs_to_jiffies(xnb_rx_stall_msecs);

	return q->vif->feat.rx_notify && q->rx_hungry &&
	       time_after_eq(jiffies, q->rx_hungry + stall);
}

static void rx_go_on(struct xnb_queue *q)
{
	if (q->rx_stalled) {
		if (xpv_back_arm(&q->rx, q->rx_short))
			rx_recover(q);
		return;
	}
	rx_flush(q);
	if (q->rx_short && rx_stall_due(q)) {
		rx_stall(q);
		return;
	}
	if (q->rx_short && rx_expire(q))
		rx_flush(q);
	if (q->rx_short)
		rx_wait(q);
	else
		netif_tx_wake_queue(xnb_txq(q));
}

/*
 * xnb_rx_kick() - slots may have come, or time passed. NAPI.
 *
 * The first look needs no lock: whoever sets rx_short asks for an event or
 * starts the timer afterwards, and either one runs this again.
 */
void xnb_rx_kick(struct xnb_queue *q)
{
	struct netdev_queue *txq = xnb_txq(q);

	if (!READ_ONCE(q->rx_short))
		return;
	__netif_tx_lock(txq, smp_processor_id());
	if (q->live && q->rx_short)
		rx_go_on(q);
	__netif_tx_unlock(txq);
}

/* xnb_rx_look() - was an Rx event for nothing? Slots posted are something. */
void xnb_rx_look(struct xnb_queue *q)
{
	struct netdev_queue *txq = xnb_txq(q);
	int n;

	__netif_tx_lock(txq, smp_processor_id());
	n = q->live ? xpv_back_pending(&q->rx) : -ENODEV;
	if (n >= 0 && q->rx.req_cons + n != q->rx_seen) {
		q->rx_seen = q->rx.req_cons + n;
		xpv_evt_work(q->rx_evt);
	}
	__netif_tx_unlock(txq);
}

void xnb_rx_timeout(struct timer_list *t)
{
	struct xnb_queue *q = timer_container_of(q, t, rx_timer);

	napi_schedule(&q->napi);
}

/* ------------------------------------------------------------------ */
/* Transmit path                                                       */
/* ------------------------------------------------------------------ */

/*
 * The stack keeps to the features of the device, but those may have changed
 * after it looked, and not every sender asks.
 */
static bool rx_acceptable(const struct xnb_vif *vif, const struct sk_buff *skb)
{
	const struct xnb_features *f = &vif->feat;
	unsigned int type = skb_shinfo(skb)->gso_type;

	if (skb->len < ETH_HLEN || skb->len > XNB_RX_MAX_FRAME)
		return false;
	if (!f->sg && skb->len > XPV_PAGE_SIZE)
		return false;
	if (!skb_is_gso(skb))
		return true;
	return skb->ip_summed == CHECKSUM_PARTIAL &&
	       ((f->gso4 && (type & SKB_GSO_TCPV4)) ||
		(f->gso6 && (type & SKB_GSO_TCPV6)));
}

/* Return: false when the packet cannot be copied in one batch. */
static bool rx_copyable(struct sk_buff *skb)
{
	if (likely(xnb_rx_ops(skb) <= XNB_RX_BATCH_OPS))
		return true;
	return !skb_linearize(skb) && xnb_rx_ops(skb) <= XNB_RX_BATCH_OPS;
}

static void rx_flush_or_wait(struct xnb_queue *q)
{
	rx_flush(q);
	if (q->rx_short) {
		q->stats.rx_shortages++;
		rx_wait(q);
	}
}

/*
 * A packet goes at once: a request or its answer never waits, and for a small
 * one a thread would cost more than the copy.  A large one that follows another
 * closely is bulk data: a work item takes it together with all that come until
 * a CPU gets round to it, which is at once when there is nothing else to do.
 */
static void rx_try(struct xnb_queue *q, unsigned int len)
{
	if (q->rx_short)
		return;
	if (len > RX_BULK_BYTES && skb_queue_len(&q->rx_pending) < XNB_BATCH &&
	    q->rx_pending_bytes < XNB_RX_STREAM_BYTES &&
	    ktime_get_ns() < q->rx_flushed + RX_BULK_NSECS)
		queue_work(xnb_wq, &q->rx_work);
	else
		rx_flush_or_wait(q);
}

void xnb_rx_work(struct work_struct *w)
{
	struct xnb_queue *q = container_of(w, struct xnb_queue, rx_work);
	struct netdev_queue *txq = xnb_txq(q);

	__netif_tx_lock_bh(txq);
	if (q->live && !q->rx_short)
		rx_flush_or_wait(q);
	__netif_tx_unlock_bh(txq);
}

/* Return: false when the guest has asked not to get such frames. */
static bool rx_wanted(const struct xnb_queue *q, const struct sk_buff *skb)
{
	return skb_headlen(skb) < ETH_ALEN ||
	       xnb_mcast_wants(&q->vif->mcast, skb->data);
}

static bool rx_enqueue(struct xnb_queue *q, struct sk_buff *skb)
{
	if (!rx_wanted(q, skb)) {
		q->stats.rx_mcast_filtered++;
		return false;
	}
	if (unlikely(!rx_acceptable(q->vif, skb) || !rx_copyable(skb))) {
		q->stats.rx_refused++;
		return false;
	}
	if (unlikely(q->rx_pending_bytes + skb->len > XNB_RX_QUEUE_BYTES)) {
		q->stats.rx_queue_drops++;
		return false;
	}
	skb_tx_timestamp(skb);
	XNB_RX_CB(skb)->queued = jiffies;
	q->rx_pending_bytes += skb->len;
	__skb_queue_tail(&q->rx_pending, skb);
	return true;
}

netdev_tx_t xnb_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct xnb_vif *vif = netdev_priv(dev);
	struct xnb_queue *q = &vif->queues[skb_get_queue_mapping(skb)];
	unsigned int len = skb->len;

	if (unlikely(!q->live || q->rx_stalled || READ_ONCE(q->broken))) {
		q->stats.rx_queue_drops++;
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	if (unlikely(!rx_enqueue(q, skb))) {
		/* The packets before it may have counted on this one. */
		dev_kfree_skb_any(skb);
		rx_try(q, len);
		return NETDEV_TX_OK;
	}
	if (__netdev_tx_sent_queue(xnb_txq(q), len, netdev_xmit_more()) ||
	    skb_queue_len(&q->rx_pending) >= XNB_BATCH)
		rx_try(q, len);
	return NETDEV_TX_OK;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Guest to host: "Tx" is the guest's transmit, what arrives here is received.
 *
 * NAPI.  One poll makes one batch: pull slots into private memory, parse, plan
 * copies, run them with one hypercall at most, settle every packet by its own
 * copies, answer all slots with one push and one notify decision, hand the
 * packets to the net stack as a list.  Everything of a packet is copied once, so
 * that nothing a filter has looked at can change afterwards, and no page has to
 * be mapped or unmapped for it.
 *
 * Only this context touches the Tx ring.  It must not sleep, and it leaves a
 * peer that broke the rules to a work item.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include "netback.h"

/* ------------------------------------------------------------------ */
/* Pull                                                                */
/* ------------------------------------------------------------------ */

/*
 * Each slot is copied once and stays in tx_raw until its packet is answered:
 * a packet whose last slots are not there yet waits in private memory.
 * Return: false when the ring cannot be used any more.
 */
static bool tx_pull(struct xnb_queue *q)
{
	int n = xpv_back_pending(&q->tx);

	if (unlikely(n < 0)) {
		xnb_broken(q, XPV_FAULT_INDEX,
			   "Tx request producer beyond the ring of %u slots",
			   q->tx.size);
		return false;
	}
	if (q->tx_raw_pos) {
		q->tx_raw_n -= q->tx_raw_pos;
		memmove(q->tx_raw, q->tx_raw + q->tx_raw_pos,
			q->tx_raw_n * sizeof(*q->tx_raw));
		q->tx_raw_pos = 0;
	}
	n = min_t(int, n, XNB_RING_SLOTS - q->tx_raw_n);
	if (n) {
		xpv_evt_work(&q->tx_evt);
	} else if (unlikely(q->tx_promised)) {
		xnb_broken(q, XPV_FAULT_INDEX,
			   "queue %u: Tx request producer went back", q->id);
		return false;
	}
	q->tx_promised = false;
	q->tx_taken += n;
	while (n--) {
		union xnb_tx_raw *raw = &q->tx_raw[q->tx_raw_n++];

		xpv_back_get(&q->tx, raw, sizeof(*raw));
	}
	return true;
}

/* ------------------------------------------------------------------ */
/* Plan                                                                */
/* ------------------------------------------------------------------ */

/*
 * One piece of memory, of a large one that others share or a page.  The first
 * begins where the layout says, and is the only one that need not be whole.
 */
static bool tx_piece(struct xnb_queue *q, const struct xnb_tx_layout *l,
		     unsigned int i, bool big, struct xnb_tx_place *to)
{
	unsigned int first = i ? 0 : l->off;

	if (big) {
		unsigned int size = ALIGN(first + l->bytes[i], XPV_PAGE_SIZE);

		to->page = page_pool_dev_alloc_frag(q->big, &to->off, size);
		to->off += first;
	} else {
		to->page = page_pool_dev_alloc_pages(q->pool);
		to->off = 0;
	}
	return to->page;
}

/* All pieces or none. */
static bool tx_pieces(struct xnb_queue *q, const struct xnb_tx_layout *l,
		      bool big, struct xnb_tx_place *to)
{
	unsigned int i;

	for (i = 0; i < l->npieces; i++) {
		if (likely(tx_piece(q, l, i, big, &to[i])))
			continue;
		while (i)
			page_pool_put_full_page(big ? q->big : q->pool,
						to[--i].page, false);
		return false;
	}
	return true;
}

/* Return: an skb with all its copies planned, or NULL without memory. */
static struct sk_buff *tx_build(struct xnb_queue *q, const struct xnb_tx_pkt *p)
{
	struct xnb_tx_place to[MAX_SKB_FRAGS];
	struct xnb_tx_layout l;
	struct sk_buff *skb;
	unsigned int i;

	xnb_tx_layout(p, &l, XNB_TX_BIG);
	skb = napi_alloc_skb(&q->napi, l.head_len);
	if (unlikely(!skb))
		return NULL;
	skb_mark_for_recycle(skb);
	__skb_put(skb, l.head_len);
	if (unlikely(!tx_pieces(q, &l, true, to))) {
		xnb_tx_layout(p, &l, XPV_PAGE_SIZE);
		if (!tx_pieces(q, &l, false, to)) {
			kfree_skb(skb);
			return NULL;
		}
	}
	for (i = 0; i < l.npieces; i++)
		skb_add_rx_frag(skb, i, to[i].page, to[i].off, l.bytes[i],
				ALIGN(l.bytes[i], XPV_PAGE_SIZE));
	if (p->gso_size) {
		skb_shinfo(skb)->gso_size = p->gso_size;
		skb_shinfo(skb)->gso_type = SKB_GSO_DODGY |
			(p->gso_type == XEN_NETIF_GSO_TYPE_TCPV4 ?
			 SKB_GSO_TCPV4 : SKB_GSO_TCPV6);
	}
	xnb_tx_plan(&q->tx_batch, p, &l, virt_to_page(skb->data),
		    offset_in_page(skb->data), to);
	return skb;
}

/* Return: the response to a change of the multicast list. */
static s16 tx_mcast(struct xnb_queue *q, const struct xnb_tx_pkt *p)
{
	struct xnb_mcast *m = &q->vif->mcast;

	if (p->mcast == XEN_NETIF_EXTRA_TYPE_MCAST_DEL) {
		xnb_mcast_del(m, p->group);
		q->stats.mcast_del++;
		return XEN_NETIF_RSP_OKAY;
	}
	if (!xnb_mcast_add(m, p->group)) {
		q->stats.mcast_refused++;
		return XEN_NETIF_RSP_ERROR;
	}
	q->stats.mcast_add++;
	return XEN_NETIF_RSP_OKAY;
}

/* The next packet becomes an item of the batch, with or without an skb. */
static void tx_add(struct xnb_queue *q, const struct xnb_tx_pkt *p,
		   enum xnb_verdict v)
{
	struct xnb_tx_item *item = &q->tx_item[q->tx_n++];

	*item = (struct xnb_tx_item) {
		.raw = q->tx_raw_pos,
		.nraw = p->nraw,
		.nextras = p->nextras,
		.op = q->tx_batch.n,
		.flags = p->flags,
		.status = XEN_NETIF_RSP_OKAY,
	};
	q->tx_raw_pos += p->nraw;
	if (v == XNB_DROP) {
		item->status = XEN_NETIF_RSP_ERROR;
		q->stats.tx_errors++;
		xpv_peer_fault(q->vif->d, &q->vif->faults, p->why,
			       "queue %u: Tx packet of %u bytes in %u slots refused",
			       q->id, p->len, p->nraw);
		return;
	}
	if (v == XNB_MCAST) {
		item->status = tx_mcast(q, p);
		return;
	}
	if (likely(netif_running(q->vif->dev)))
		item->skb = tx_build(q, p);
	if (unlikely(!item->skb)) {
		item->status = XEN_NETIF_RSP_DROPPED;
		q->stats.tx_dropped++;
		return;
	}
	item->nops = q->tx_batch.n - item->op;
}

/* Used up: NAPI rests until the timer says that a new period has begun. */
static void tx_throttle(struct xnb_queue *q)
{
	WRITE_ONCE(q->tx_throttled, true);
	q->stats.tx_throttled++;
	mod_timer(&q->credit_timer, jiffies + q->credit.period);
}

static void tx_take(struct xnb_queue *q, unsigned int budget)
{
	struct xnb_tx_pkt p;
	enum xnb_verdict v;

	q->tx_n = 0;
	q->tx_more = true;
	while (q->tx_n < budget) {
		if (xpv_copy_room(&q->tx_batch) < XNB_TX_OPS)
			return;
		v = xnb_tx_parse(q->tx_raw + q->tx_raw_pos,
				 q->tx_raw_n - q->tx_raw_pos, xnb_fatal_slots, &p);
		if (v == XNB_FATAL)
			xnb_broken(q, p.why,
				   "queue %u: Tx slots that cannot be a packet",
				   q->id);
		if (v == XNB_FATAL || v == XNB_WAIT) {
			q->tx_more = false;
			return;
		}
		if (!xnb_credit_take(&q->credit, p.len, get_jiffies_64())) {
			tx_throttle(q);
			q->tx_more = false;
			return;
		}
		tx_add(q, &p, v);
	}
}

/* ------------------------------------------------------------------ */
/* Settle                                                              */
/* ------------------------------------------------------------------ */

/* Segmentation is believed only as far as the headers support it. */
static bool tx_gso_ok(const struct sk_buff *skb)
{
	unsigned int hdr;
	bool v6 = skb_shinfo(skb)->gso_type & SKB_GSO_TCPV6;

	if (skb->protocol != (v6 ? htons(ETH_P_IPV6) : htons(ETH_P_IP)) ||
	    skb->csum_offset != offsetof(struct tcphdr, check) ||
	    skb_headlen(skb) < skb_transport_offset(skb) + sizeof(struct tcphdr))
		return false;
	hdr = skb_transport_offset(skb) + tcp_hdrlen(skb);
	return tcp_hdrlen(skb) >= sizeof(struct tcphdr) && hdr < skb->len;
}

/*
 * Headers are in private memory now.  A segmented packet always needs its
 * checksum filled in; frontends that forget to say so are helped out.
 */
static bool tx_offload(struct xnb_queue *q, struct sk_buff *skb, u16 flags)
{
	bool gso = skb_is_gso(skb);
	bool redo = false;

	if (flags & XEN_NETTXF_csum_blank) {
		skb->ip_summed = CHECKSUM_PARTIAL;
	} else if (gso) {
		skb->ip_summed = CHECKSUM_PARTIAL;
		redo = true;
		q->stats.tx_csum_fixups++;
	} else if (flags & XEN_NETTXF_data_validated) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	}
	if (skb->ip_summed == CHECKSUM_PARTIAL && skb_checksum_setup(skb, redo))
		return false;
	return !gso || tx_gso_ok(skb);
}

static void tx_refuse(struct xnb_queue *q, struct xnb_tx_item *item,
		      enum xpv_fault why, const char *what)
{
	q->stats.tx_errors++;
	item->status = XEN_NETIF_RSP_ERROR;
	xpv_peer_fault(q->vif->d, &q->vif->faults, why,
		       "queue %u: Tx packet of %u bytes: %s", q->id,
		       item->skb->len, what);
	kfree_skb(item->skb);
	item->skb = NULL;
}

static void tx_settle_one(struct xnb_queue *q, struct xnb_tx_item *item)
{
	struct sk_buff *skb = item->skb;

	if (xpv_copy_status(&q->tx_batch, item->op, item->nops)) {
		tx_refuse(q, item, XPV_FAULT_GRANT, "grant copy failed");
		return;
	}
	q->stats.tx_packets++;
	q->stats.tx_bytes += skb->len;
	q->stats.tx_gso_packets += skb_is_gso(skb);
	skb_record_rx_queue(skb, q->id);
	skb->protocol = eth_type_trans(skb, q->vif->dev);
	skb_reset_network_header(skb);
	if (!tx_offload(q, skb, item->flags))
		tx_refuse(q, item, XPV_FAULT_OFFLOAD,
			  "headers do not match the offload");
}

/* Exactly one response a slot, in ring order. */
static void tx_answer(struct xnb_queue *q, const struct xnb_tx_item *item)
{
	struct xen_netif_tx_response rsp;
	unsigned int i;

	for (i = 0; i < item->nraw; i++) {
		bool extra = i && i <= item->nextras;

		rsp.id = extra ? 0 : q->tx_raw[item->raw + i].req.id;
		rsp.status = extra ? XEN_NETIF_RSP_NULL : item->status;
		xpv_back_put(&q->tx, &rsp, sizeof(rsp));
	}
	q->stats.tx_slots += item->nraw;
}

static void tx_push(struct xnb_queue *q)
{
	if (xpv_back_push(&q->tx)) {
		q->stats.tx_events_sent++;
		hyp_evt_notify(&q->tx_evt);
	} else {
		q->stats.tx_events_suppressed++;
	}
}

static void tx_finish(struct xnb_queue *q)
{
	LIST_HEAD(list);
	unsigned int i;

	if (q->tx_batch.n) {
		i = xnb_static_run(q, &q->tx_batch, &q->tx_rest);
		q->stats.tx_static_copies += i;
		q->stats.tx_hypercalls += i < q->tx_batch.n;
		q->stats.tx_batches++;
		q->stats.tx_copies += q->tx_batch.n;
	}
	for (i = 0; i < q->tx_n; i++) {
		struct xnb_tx_item *item = &q->tx_item[i];

		if (item->skb)
			tx_settle_one(q, item);
		tx_answer(q, item);
		if (item->skb)
			list_add_tail(&item->skb->list, &list);
	}
	xpv_copy_reset(&q->tx_batch);
	if (q->tx_n)
		tx_push(q);
	netif_receive_skb_list(&list);
}

/* ------------------------------------------------------------------ */
/* NAPI                                                                */
/* ------------------------------------------------------------------ */

/* Return: packets done, or @budget when more can be done at once. */
static int tx_batch(struct xnb_queue *q, int budget)
{
	if (READ_ONCE(q->tx_throttled) || !tx_pull(q))
		return 0;
	tx_take(q, min(budget, XNB_BATCH));
	tx_finish(q);
	return q->tx_more ? budget : min_t(int, q->tx_n, budget);
}

static void end_event(struct xpv_evt *e, u64 *spurious)
{
	if (!test_bit(XPV_EVT_WORK, &e->flags) &&
	    !test_bit(XPV_EVT_STALE, &e->flags))
		(*spurious)++;
	xpv_evt_done(e);
}

/*
 * Ask for the next event while NAPI still owns the ring: an older consumer
 * index written after a newer one would lose it for ever.
 *
 * A queue without credit does not ask, but its last event is ended all the
 * same: on a shared channel the Rx side needs the next.
 * Return: how far ahead it was asked for, 0 when more is there already.
 */
static u32 tx_arm(struct xnb_queue *q)
{
	u32 ahead;

	if (READ_ONCE(q->broken) || READ_ONCE(q->tx_throttled))
		return 1;
	ahead = xpv_hold_rest(&q->tx_hold, q->tx_taken, XNB_RING_SLOTS / 2);
	q->tx_taken = 0;
	q->tx_promised = xpv_back_doze(&q->tx, ahead);
	if (!q->tx_promised)
		return ahead;
	xpv_evt_stale(&q->tx_evt);
	return 0;
}

void xnb_tx_due(struct xpv_hold *h)
{
	napi_schedule(&container_of(h, struct xnb_queue, tx_hold)->napi);
}

/*
 * An event that was owed before arming keeps its channel silent until it is
 * ended here.  One that was not may arrive at any moment and belongs to the
 * poll that it starts.
 */
int xnb_poll(struct napi_struct *napi, int budget)
{
	struct xnb_queue *q = container_of(napi, struct xnb_queue, napi);
	bool tx_owed, rx_owed;
	u32 ahead;
	int done = 0;

	if (!READ_ONCE(q->broken))
		xnb_rx_kick(q);
	/* A budget of 0 comes from netpoll, with interrupts off. */
	if (budget && !READ_ONCE(q->broken))
		done = tx_batch(q, budget);
	if (done >= budget)
		return done;
	tx_owed = test_bit(XPV_EVT_OWED, &q->tx_evt.flags);
	rx_owed = test_bit(XPV_EVT_OWED, &q->rx_evt->flags);
	ahead = tx_arm(q);
	if (!ahead)
		return budget;
	if (!napi_complete_done(napi, done))
		return done;
	xpv_hold_sleep(&q->tx_hold, ahead);
	if (rx_owed && !test_bit(XPV_EVT_WORK, &q->rx_evt->flags))
		xnb_rx_look(q);
	if (tx_owed)
		end_event(&q->tx_evt, &q->stats.tx_events_spurious);
	if (rx_owed && q->rx_evt != &q->tx_evt)
		end_event(q->rx_evt, &q->stats.rx_events_spurious);
	return done;
}

void xnb_credit_timeout(struct timer_list *t)
{
	struct xnb_queue *q = timer_container_of(q, t, credit_timer);

	WRITE_ONCE(q->tx_throttled, false);
	napi_schedule(&q->napi);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Guest Tx: packets of the guest's stack to the backend.
 *
 * Decides when the backend hears of a packet, which packets are copied, when
 * responses are looked for, and when the memory behind a slot may be freed:
 * after the response, and only if the grant could be revoked.  Must not wait,
 * and must not believe an id.
 *
 * Called by the net stack (xmit) and the Tx NAPI, both under the netdev
 * queue's Tx lock, which is all the locking there is.
 */
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <xpv/bulk.h>
#include "netfront.h"

/* With fewer free slots the sender itself looks for responses. */
#define XNF_TX_SHORT	96

static void xnf_tx_put_gso(struct xnf_tx *tx, const struct xnf_tx_plan *plan)
{
	struct xen_netif_extra_info extra = {
		.type = XEN_NETIF_EXTRA_TYPE_GSO,
		.u.gso.size = plan->gso_size,
		.u.gso.type = plan->gso_type,
	};

	xpv_front_put(&tx->ring, &extra, sizeof(extra));
	tx->extras++;
}

/*
 * The place of an id in pages that stay granted: @size bytes. Return: where it
 * is; the request is told as well.
 */
static __always_inline void *xnf_tx_place(const struct xnf_fixed *f,
					  unsigned int size,
					  struct xen_netif_tx_request *req)
{
	unsigned int per = XPV_PAGE_SIZE / size;
	const struct xnf_rx_buf *buf = &f->buf[req->id / per];

	req->gref = buf->gref;
	req->offset = req->id % per * size;
	return (u8 *)page_address(buf->page) + req->offset;
}

/* The backend keeps the pages mapped that pieces can be copied to. */
static bool xnf_tx_can_stage(const struct xnf_queue *q)
{
	/* The pages before the flag: pairs with the release in static.c. */
	return smp_load_acquire(&q->tx.stage.on);
}

/*
 * A short linear part is copied like a small packet: its grant costs more.
 * Where the backend keeps pages mapped no piece needs a grant: the second copy
 * costs less than granting, the backend's hypercall, and revoking.
 */
static enum xnf_mem xnf_piece_mem(const struct xnf_queue *q,
				  const struct xnf_tx_plan *plan, unsigned int i)
{
	if (plan->bounce)
		return XNF_MEM_BOUNCE;
	if (i < plan->nhead && plan->piece[i].len <= READ_ONCE(q->x->tx_copybreak))
		return XNF_MEM_COPY;
	if (xnf_tx_can_stage(q))
		return XNF_MEM_STAGE;
	return i < plan->nhead ? XNF_MEM_HEAD : XNF_MEM_FRAG;
}

/* Let the peer have one piece of a packet; the slot's @mem says how. */
static void xnf_tx_give(struct xnf_queue *q, const struct xnf_piece *p,
			struct xnf_tx_slot *s, struct xen_netif_tx_request *req)
{
	const u8 *data = (u8 *)page_address(p->page) + p->off;

	if (s->mem == XNF_MEM_COPY) {
		memcpy(xnf_tx_place(&q->tx.copy, XNF_COPY, req), data, p->len);
		return;
	}
	if (s->mem == XNF_MEM_STAGE) {
		xpv_bulk_copy(xnf_tx_place(&q->tx.stage, XNF_STAGE, req), data, p->len);
		return;
	}
	s->gref = xpv_gref_get(&q->tx.grefs);
	req->gref = s->gref;
	req->offset = p->off;
	hyp_grant(s->gref, q->x->d->peer, p->page, true);
}

void xnf_tx_queue(struct xnf_queue *q, struct sk_buff *skb,
		  const struct xnf_tx_plan *plan)
{
	struct xnf_tx *tx = &q->tx;
	bool staged = false;
	unsigned int i;

	*xnf_tx_cb(skb) = (struct xnf_tx_cb) { .left = plan->n };
	for (i = 0; i < plan->n; i++) {
		const struct xnf_piece *p = &plan->piece[i];
		struct xen_netif_tx_request req = {
			.id = xpv_ids_get(&tx->ids),
			/* The first slot names the length of the packet. */
			.size = i ? p->len : skb->len,
			.flags = i ? 0 : plan->flags,
		};

		if (i + 1 < plan->n)
			req.flags |= XEN_NETTXF_more_data;
		tx->slot[req.id] = (struct xnf_tx_slot) {
			.skb = skb,
			.page = p->page,
			.mem = xnf_piece_mem(q, plan, i),
		};
		staged |= tx->slot[req.id].mem == XNF_MEM_STAGE;
		xnf_tx_give(q, p, &tx->slot[req.id], &req);
		xpv_front_put(&tx->ring, &req, sizeof(req));
		if (!i && plan->gso_type != XEN_NETIF_GSO_TYPE_NONE)
			xnf_tx_put_gso(tx, plan);
	}
	q->stats.tx_packets++;
	q->stats.tx_bytes += skb->len;
	q->stats.tx_slots += plan->n;
	q->stats.tx_staged += staged;
}

/*
 * The peer still maps what this slot granted.  The grant goes to the deferred
 * list with a page reference; memory without a count of its own stays with the
 * skb, which is then never freed, and a stand-in page goes along.
 */
static void xnf_tx_abandon(struct xnf_queue *q, struct xnf_tx_slot *s)
{
	struct page *page = s->page;

	if (s->mem == XNF_MEM_HEAD) {
		xnf_tx_cb(s->skb)->stuck = true;
		page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
	} else if (s->mem == XNF_MEM_FRAG) {
		get_page(page);
	}
	q->stats.tx_abandoned++;
	/* Without a page the reference itself is lost, which harms nobody. */
	if (page)
		hyp_grant_abandon(s->gref, page);
}

/* What a slot let the peer have. Return: the peer had let go of it. */
static bool xnf_tx_take_back(struct xnf_queue *q, struct xnf_tx_slot *s)
{
	/* The peer may read there for ever, what it read was meant for it. */
	if (s->mem == XNF_MEM_COPY || s->mem == XNF_MEM_STAGE)
		return true;
	if (unlikely(!hyp_ungrant(s->gref))) {
		xnf_tx_abandon(q, s);
		return false;
	}
	xpv_gref_put(&q->tx.grefs, s->gref);
	if (s->mem == XNF_MEM_BOUNCE)
		__free_page(s->page);
	return true;
}

/* One slot was answered. Return: the peer had let go of its memory. */
static bool xnf_tx_release(struct xnf_queue *q, unsigned int id,
			   struct xnf_tx_done *done)
{
	struct xnf_tx_slot *s = &q->tx.slot[id];
	struct sk_buff *skb = s->skb;
	bool idle = xnf_tx_take_back(q, s);

	s->skb = NULL;
	if (--xnf_tx_cb(skb)->left)
		return idle;
	q->tx.held--;
	done->packets++;
	done->bytes += skb->len;
	if (likely(!xnf_tx_cb(skb)->stuck))
		__skb_queue_tail(&done->list, skb);
	return idle;
}

static int xnf_tx_settle(struct xnf_queue *q,
			 const struct xen_netif_tx_response *rsp,
			 struct xnf_tx_done *done)
{
	struct xnf *x = q->x;

	/* Extra infos have no id; each is answered with NULL once. */
	if (rsp->status == XEN_NETIF_RSP_NULL) {
		if (unlikely(!q->tx.extras)) {
			xpv_peer_fault(x->d, &x->faults, XPV_FAULT_ID,
				       "tx queue %u: empty response, no extra info in flight",
				       q->id);
			return -EPROTO;
		}
		q->tx.extras--;
		return 0;
	}
	if (unlikely(xpv_ids_put(&q->tx.ids, rsp->id))) {
		xpv_peer_fault(x->d, &x->faults, XPV_FAULT_ID,
			       "tx queue %u: response id %u is not in flight",
			       q->id, rsp->id);
		return -EPROTO;
	}
	if (unlikely(q->tx.slot[rsp->id].mem == XNF_MEM_MCAST)) {
		xnf_mcast_answer(q, rsp->id, rsp->status);
		return 0;
	}
	if (unlikely(rsp->status < 0))
		q->stats.tx_errors++;
	/* A copied packet was done with long ago: its place is free again. */
	if (!q->tx.slot[rsp->id].skb)
		return 0;
	if (unlikely(!xnf_tx_release(q, rsp->id, done))) {
		xpv_peer_fault(x->d, &x->faults, XPV_FAULT_BUSY,
			       "tx queue %u: id %u answered, its page still mapped",
			       q->id, rsp->id);
		return -EPROTO;
	}
	return 0;
}

int xnf_tx_reap(struct xnf_queue *q, struct xnf_tx_done *done)
{
	int n = xpv_front_pending(&q->tx.ring);
	int i, err = 0;

	if (unlikely(n < 0)) {
		xpv_peer_fault(q->x->d, &q->x->faults, XPV_FAULT_INDEX,
			       "tx queue %u: more responses than the %u requests in flight",
			       q->id, xpv_front_inflight(&q->tx.ring));
		err = n;
	}
	for (i = 0; !err && i < n; i++) {
		struct xen_netif_tx_response rsp;

		xpv_front_get(&q->tx.ring, &rsp, sizeof(rsp));
		err = xnf_tx_settle(q, &rsp, done);
	}
	if (unlikely(err)) {
		xnf_break(q->x);
		return err;
	}
	if (n)
		xpv_evt_work(xnf_tx_evt(q));
	return n;
}

/*
 * Ask for the event when about half of what is in flight has been answered:
 * few events, and yet one for the last packet.  When no skb waits, no group and
 * no stopped sender, nobody needs one: the sender finds the responses when
 * the ring gets short.  Return: as many wait already.
 */
static bool xnf_tx_arm(struct xnf_queue *q)
{
	struct xpv_front *r = &q->tx.ring;
	u32 ahead = XNF_RING;

	if (q->tx.held || q->tx.mcast || netif_tx_queue_stopped(xnf_txq(q)))
		ahead = max((XNF_RING - xpv_front_free(r)) / 2, 1U);
	return xpv_front_arm(r, ahead);
}

/* Arm outside the NAPI; it takes over when more waits than was asked for. */
static void xnf_tx_arm_now(struct xnf_queue *q)
{
	if (unlikely(xnf_tx_arm(q))) {
		xpv_evt_stale(xnf_tx_evt(q));
		napi_schedule(&q->tx_napi);
	}
}

static void xnf_tx_done_init(struct xnf_tx_done *done)
{
	__skb_queue_head_init(&done->list);
	done->packets = 0;
	done->bytes = 0;
}

static void xnf_tx_push(struct xnf_queue *q)
{
	if (q->tx.ring.req_pushed == q->tx.ring.req_prod)
		return;
	q->stats.tx_batches++;
	if (xpv_front_push(&q->tx.ring)) {
		q->stats.tx_events_sent++;
		hyp_evt_notify(xnf_tx_evt(q));
	} else {
		q->stats.tx_events_suppressed++;
	}
}

void xnf_tx_mcast(struct xnf_queue *q)
{
	xnf_mcast_send(q);
	xnf_tx_arm_now(q);
	xnf_tx_push(q);
}

/* Tx lock held, for the byte queue limit and the queue's state. */
static void xnf_tx_account(struct xnf_queue *q, const struct xnf_tx_done *done)
{
	struct netdev_queue *txq = xnf_txq(q);

	netdev_tx_completed_queue(txq, done->packets, done->bytes);
	if (unlikely(q->tx.mcast)) {
		xnf_mcast_send(q);
		xnf_tx_push(q);
	}
	if (unlikely(netif_tx_queue_stopped(txq)) && READ_ONCE(q->up) &&
	    xpv_front_free(&q->tx.ring) >= XNF_TX_ROOM)
		netif_tx_wake_queue(txq);
}

/* Tx lock held. Return: go on, more responses wait. */
static bool xnf_tx_reap_arm(struct xnf_queue *q, struct xnf_tx_done *done)
{
	int n = xnf_tx_reap(q, done);

	if (n < 0)
		return false;
	xnf_tx_account(q, done);
	return xnf_tx_arm(q);
}

bool xnf_tx_complete(struct xnf_queue *q, int budget)
{
	struct netdev_queue *txq = xnf_txq(q);
	struct xnf_tx_done done;
	struct sk_buff *skb;
	bool more = false;

	xnf_tx_done_init(&done);
	__netif_tx_lock(txq, smp_processor_id());
	if (likely(READ_ONCE(q->up)))
		more = xnf_tx_reap_arm(q, &done);
	__netif_tx_unlock(txq);
	while ((skb = __skb_dequeue(&done.list)))
		napi_consume_skb(skb, budget);
	if (more)
		xpv_evt_stale(xnf_tx_evt(q));
	return more;
}

int xnf_tx_poll(struct napi_struct *napi, int budget)
{
	struct xnf_queue *q = container_of(napi, struct xnf_queue, tx_napi);

	if (xnf_tx_complete(q, budget))
		return budget;
	if (napi_complete_done(napi, 0) && q->split)
		xnf_evt_done(&q->tx_evt, &q->stats.tx_events_spurious);
	return 0;
}

/* The sender looks itself when the ring gets short: that saves an event. */
static void xnf_tx_reap_by_sender(struct xnf_queue *q)
{
	struct xnf_tx_done done;
	struct sk_buff *skb;
	int n;

	xnf_tx_done_init(&done);
	n = xnf_tx_reap(q, &done);
	if (n > 0) {
		q->stats.tx_reaped_by_sender += n;
		xnf_tx_account(q, &done);
		xnf_tx_arm_now(q);
	}
	while ((skb = __skb_dequeue(&done.list)))
		dev_consume_skb_any(skb);
}

static void xnf_tx_stop(struct xnf_queue *q)
{
	q->stats.tx_queue_stops++;
	netif_tx_stop_queue(xnf_txq(q));
	xnf_tx_arm_now(q);
}

static void xnf_tx_fill(u8 *to, const struct sk_buff *skb)
{
	unsigned int i, len = skb_headlen(skb);

	if (unlikely(skb_has_frag_list(skb))) {
		skb_copy_bits(skb, 0, to, skb->len);
		return;
	}
	xpv_bulk_copy(to, skb->data, len);
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *f = &skb_shinfo(skb)->frags[i];

		to += len;
		len = skb_frag_size(f);
		xpv_bulk_copy(to, skb_frag_address(f), len);
	}
}

/*
 * A packet is copied to the place of its id, and its skb is done with at once.
 * No grant, no byte queue limit, no event.
 */
static int xnf_tx_copy(struct xnf_queue *q, struct sk_buff *skb,
		       struct xnf_tx_plan *plan)
{
	struct xen_netif_tx_request req = { .size = skb->len };
	bool small = skb->len <= XNF_COPY;
	struct xnf_tx *tx = &q->tx;
	int err;

	if (unlikely(skb->len < ETH_HLEN))
		return -EMSGSIZE;
	err = xnf_tx_offload(&q->x->caps, skb, plan);
	if (unlikely(err))
		return err;
	req.id = xpv_ids_get(&tx->ids);
	req.flags = plan->flags;
	tx->slot[req.id] = (struct xnf_tx_slot) { .mem = XNF_MEM_COPY };
	xnf_tx_fill(small ? xnf_tx_place(&tx->copy, XNF_COPY, &req) :
			    xnf_tx_place(&tx->stage, XNF_STAGE, &req), skb);
	xpv_front_put(&tx->ring, &req, sizeof(req));
	if (plan->gso_type != XEN_NETIF_GSO_TYPE_NONE)
		xnf_tx_put_gso(tx, plan);
	q->stats.tx_packets++;
	q->stats.tx_bytes += skb->len;
	q->stats.tx_slots++;
	q->stats.tx_copied += small;
	q->stats.tx_staged += !small;
	skb_tx_timestamp(skb);
	dev_consume_skb_any(skb);
	return 0;
}

static int xnf_tx_hold(struct xnf_queue *q, struct sk_buff *skb,
		       struct xnf_tx_plan *plan)
{
	int err = xnf_tx_prepare(q->x, skb, plan);

	if (unlikely(err))
		return err;
	q->stats.tx_linearized += plan->bounce;
	skb_tx_timestamp(skb);
	xnf_tx_queue(q, skb, plan);
	/* The first that waits: until now no event was asked for. */
	if (!q->tx.held++)
		xnf_tx_arm_now(q);
	return 0;
}

/*
 * Is it copied as a whole, and done with?  Of larger packets the sender sees how
 * many are on their way, as it wants to, even where their pieces are copied.
 */
static bool xnf_tx_copies(const struct xnf_queue *q, const struct sk_buff *skb)
{
	return skb->len <= READ_ONCE(q->x->tx_copybreak) ||
	       (skb->len <= XNF_WHOLE && xnf_tx_can_stage(q));
}

netdev_tx_t xnf_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct xnf *x = netdev_priv(dev);
	struct xnf_queue *q = &x->q[skb_get_queue_mapping(skb)];
	struct netdev_queue *txq = xnf_txq(q);
	bool copied = xnf_tx_copies(q, skb);
	bool more = netdev_xmit_more();
	struct xnf_tx_plan plan;

	/*
	 * Before the packet is queued: a peer that answers what it was not yet
	 * told of must not complete it ahead of the byte queue limit.
	 */
	if ((xpv_front_free(&q->tx.ring) < XNF_TX_SHORT ||
	     (!copied && !q->tx.held)) && READ_ONCE(q->up))
		xnf_tx_reap_by_sender(q);
	if (unlikely(!READ_ONCE(q->up)))
		goto drop;
	if (unlikely(xpv_front_free(&q->tx.ring) < XNF_TX_ROOM))
		goto full;
	if (unlikely(copied ? xnf_tx_copy(q, skb, &plan) : xnf_tx_hold(q, skb, &plan)))
		goto drop;
	if (xpv_front_free(&q->tx.ring) < XNF_TX_ROOM)
		xnf_tx_stop(q);
	if (copied ? !more || netif_tx_queue_stopped(txq) :
		     __netdev_tx_sent_queue(txq, skb->len, more))
		xnf_tx_push(q);
	return NETDEV_TX_OK;

full:
	xnf_tx_stop(q);
	xnf_tx_push(q);
	return NETDEV_TX_BUSY;

drop:
	q->stats.tx_dropped++;
	dev_kfree_skb_any(skb);
	if (!more && READ_ONCE(q->up))
		xnf_tx_push(q);
	return NETDEV_TX_OK;
}

int xnf_tx_init(struct xnf_queue *q)
{
	struct xnf_tx *tx = &q->tx;
	int err;

	tx->extras = 0;
	tx->held = 0;
	tx->mcast = false;
	tx->slot = kcalloc(XNF_RING, sizeof(*tx->slot), GFP_KERNEL);
	if (!tx->slot)
		return -ENOMEM;
	err = xpv_ids_init(&tx->ids, XNF_RING);
	if (err)
		return err;
	err = xpv_gref_pool_init(&tx->grefs, XNF_RING);
	if (err)
		return err;
	err = xnf_fixed_init(q->x, &tx->copy, XNF_COPY_PAGES, true);
	if (err)
		return err;
	err = hyp_ring_share(q->x->d, &tx->mem, 1);
	if (err)
		return err;
	xpv_front_init(&tx->ring, &tx->mem, sizeof(struct xen_netif_tx_request));
	return 0;
}

/* Nobody sends and no NAPI runs. */
static void xnf_tx_drain(struct xnf_queue *q)
{
	struct xnf_tx_done done;
	unsigned int id;

	xnf_tx_done_init(&done);
	for (id = 0; id < XNF_RING; id++)
		if (!xpv_ids_put(&q->tx.ids, id) && q->tx.slot[id].skb)
			xnf_tx_release(q, id, &done);
	q->stats.tx_dropped += done.packets;
	__skb_queue_purge(&done.list);
	netdev_tx_reset_queue(xnf_txq(q));
}

void xnf_tx_exit(struct xnf_queue *q)
{
	struct xnf_tx *tx = &q->tx;

	if (tx->slot && tx->mem.addr)
		xnf_tx_drain(q);
	if (tx->mem.addr)
		hyp_ring_unshare(q->x->d, &tx->mem);
	tx->mem.addr = NULL;
	xnf_fixed_exit(&tx->copy);
	xnf_fixed_exit(&tx->stage);
	xpv_gref_pool_exit(&tx->grefs);
	xpv_ids_exit(&tx->ids);
	kfree(tx->slot);
	tx->slot = NULL;
}

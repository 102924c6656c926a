// SPDX-License-Identifier: GPL-2.0
/*
 * Guest Rx: packets of the backend to the guest's stack.
 *
 * Decides which slots make a packet, whether they make sense, and which pages
 * are posted.  rxskb.c makes skbs of them.  Must not read a slot twice, and must
 * not look at ids: a response belongs to the request that stood in the same
 * slot.
 *
 * Called by the Rx NAPI; the parts that set up and tear down run while it is
 * disabled.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include "netfront.h"

/* How soon to try again when no page could be had. */
#define XNF_REFILL_DELAY	(HZ / 10)

static_assert(sizeof(union xnf_rx_slot) == 8);
static_assert(sizeof(struct xen_netif_rx_request) == 8);

static void xnf_rx_fault(struct xnf_rx_pkt *p, enum xpv_fault why)
{
	if (p->fault == XNF_NO_FAULT)
		p->fault = why;
}

/* A data slot. Return: its buffer is wanted. */
static bool xnf_rx_parse_data(struct xnf_rx_pkt *p,
			      const struct xen_netif_rx_response *rsp)
{
	int len = rsp->status;

	if (len < 0) {
		p->failed = true;
		return false;
	}
	if (rsp->offset + len > XPV_PAGE_SIZE) {
		xnf_rx_fault(p, XPV_FAULT_SIZE);
		return false;
	}
	if (p->nseg == XNF_RX_SEGS)
		xnf_rx_fault(p, XPV_FAULT_SLOTS);
	if (p->failed || p->fault != XNF_NO_FAULT)
		return false;
	if (!p->nseg && len < ETH_HLEN) {
		xnf_rx_fault(p, XPV_FAULT_SIZE);
		return false;
	}
	if (!len)
		return false;
	p->seg[p->nseg++] = (struct xnf_rx_seg) {
		.off = rsp->offset,
		.len = len,
	};
	p->len += len;
	if (p->len > XPV_NET_MAX_FRAME)
		xnf_rx_fault(p, XPV_FAULT_SIZE);
	return true;
}

static void xnf_rx_parse_extra(struct xnf_rx_pkt *p,
			       const struct xen_netif_extra_info *e)
{
	if (p->nextra == XNF_RX_EXTRAS) {
		xnf_rx_fault(p, XPV_FAULT_EXTRA);
		return;
	}
	p->nextra++;
	if (e->type != XEN_NETIF_EXTRA_TYPE_GSO || p->gso_size) {
		xnf_rx_fault(p, XPV_FAULT_EXTRA);
		return;
	}
	if (!e->u.gso.size || (e->u.gso.type != XEN_NETIF_GSO_TYPE_TCPV4 &&
			       e->u.gso.type != XEN_NETIF_GSO_TYPE_TCPV6)) {
		xnf_rx_fault(p, XPV_FAULT_OFFLOAD);
		return;
	}
	p->gso_size = e->u.gso.size;
	p->gso_type = e->u.gso.type;
}

static void xnf_rx_pkt_init(struct xnf_rx_pkt *p)
{
	p->state = XNF_RX_FIRST;
	p->fault = XNF_NO_FAULT;
	p->failed = false;
	p->more = false;
	p->nseg = 0;
	p->nextra = 0;
	p->gso_type = XEN_NETIF_GSO_TYPE_NONE;
	p->flags = 0;
	p->gso_size = 0;
	p->len = 0;
}

/* Which slot follows a data slot or the last extra info. */
static unsigned int xnf_rx_next(struct xnf_rx_pkt *p, bool more)
{
	p->state = more ? XNF_RX_DATA : XNF_RX_FIRST;
	return more ? 0 : XNF_RX_END;
}

unsigned int xnf_rx_parse(struct xnf_rx_pkt *p, const union xnf_rx_slot *s)
{
	unsigned int keep;

	if (p->state == XNF_RX_EXTRA) {
		xnf_rx_parse_extra(p, &s->extra);
		if (s->extra.flags & XEN_NETIF_EXTRA_FLAG_MORE)
			return 0;
		return xnf_rx_next(p, p->more);
	}
	if (p->state == XNF_RX_DATA) {
		keep = xnf_rx_parse_data(p, &s->rsp) ? XNF_RX_KEEP : 0;
		return keep | xnf_rx_next(p, s->rsp.flags & XEN_NETRXF_more_data);
	}
	xnf_rx_pkt_init(p);
	p->flags = s->rsp.flags;
	p->more = s->rsp.flags & XEN_NETRXF_more_data;
	/* A form of segmentation data that nobody may send unasked. */
	if (s->rsp.flags & XEN_NETRXF_gso_prefix)
		xnf_rx_fault(p, XPV_FAULT_EXTRA);
	keep = xnf_rx_parse_data(p, &s->rsp) ? XNF_RX_KEEP : 0;
	if (s->rsp.flags & XEN_NETRXF_extra_info) {
		p->state = XNF_RX_EXTRA;
		return keep;
	}
	return keep | xnf_rx_next(p, p->more);
}

unsigned int xnf_rx_headlen(const u8 *data, unsigned int len)
{
	unsigned int most = min_t(unsigned int, len, XNF_RX_HEAD);
	unsigned int off = ETH_HLEN;
	u8 l4 = 0;

	if (len < ETH_HLEN + sizeof(struct iphdr))
		return most;
	switch (get_unaligned_be16(data + 2 * ETH_ALEN)) {
	case ETH_P_IP:
		off += (data[ETH_HLEN] & 0xf) * 4;
		l4 = data[ETH_HLEN + 9];
		break;
	case ETH_P_IPV6:
		off += 40;
		l4 = data[ETH_HLEN + 6];
		break;
	}
	if (l4 != IPPROTO_TCP || off + sizeof(struct tcphdr) > most)
		return most;
	return min(most, off + max((data[off + 12] >> 4) * 4U,
				  (unsigned int)sizeof(struct tcphdr)));
}

/* Segmentation data must fit the packet's own headers. */
static bool xnf_rx_gso_fits(const struct sk_buff *skb, u8 type)
{
	__be16 want = type == XEN_NETIF_GSO_TYPE_TCPV6 ? htons(ETH_P_IPV6) :
							 htons(ETH_P_IP);

	return skb->protocol == want &&
	       skb->csum_offset == offsetof(struct tcphdr, check);
}

int xnf_rx_offload(struct sk_buff *skb, const struct xnf_rx_pkt *p, bool *fixed)
{
	bool blank = p->flags & XEN_NETRXF_csum_blank;

	*fixed = false;
	if (p->gso_size && !blank) {
		/* Old peers forget the flag; segments need the checksum. */
		*fixed = true;
		blank = true;
	}
	if (!blank) {
		if (p->flags & XEN_NETRXF_data_validated)
			skb->ip_summed = CHECKSUM_UNNECESSARY;
		return 0;
	}
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb_reset_network_header(skb);
	if (skb_checksum_setup(skb, true))
		return -EPROTO;
	if (!p->gso_size)
		return 0;
	if (!xnf_rx_gso_fits(skb, p->gso_type))
		return -EPROTO;
	skb_shinfo(skb)->gso_size = p->gso_size;
	skb_shinfo(skb)->gso_segs = 0;
	/* Nobody has looked at the headers yet: DODGY makes the stack do so. */
	skb_shinfo(skb)->gso_type = SKB_GSO_DODGY |
		(p->gso_type == XEN_NETIF_GSO_TYPE_TCPV6 ? SKB_GSO_TCPV6 :
							   SKB_GSO_TCPV4);
	return 0;
}

/* One segment more fits when the first is so short that it becomes linear. */
static bool xnf_rx_too_many(const struct xnf_rx_pkt *p)
{
	return p->nseg > MAX_SKB_FRAGS + (p->seg[0].len <= XNF_RX_HEAD);
}

static void xnf_rx_drop(struct xnf_queue *q, struct xnf_rx_pkt *p)
{
	struct xnf *x = q->x;

	if (p->fault != XNF_NO_FAULT)
		xpv_peer_fault(x->d, &x->faults, p->fault,
			       "rx queue %u: %u slots, %u extra infos, %u bytes, flags %#x",
			       q->id, p->nseg, p->nextra, p->len, p->flags);
	q->stats.rx_errors++;
	xnf_rx_put_back(q, p);
}

/* All slots are in: make a packet of them, or drop it. */
static void xnf_rx_deliver(struct xnf_queue *q, struct xnf_rx_pkt *p)
{
	struct sk_buff *skb;
	unsigned int len = p->len;
	bool fixed;

	if (xnf_rx_too_many(p))
		xnf_rx_fault(p, XPV_FAULT_SLOTS);
	if (unlikely(p->failed || p->fault != XNF_NO_FAULT || !p->nseg)) {
		xnf_rx_drop(q, p);
		return;
	}
	skb = xnf_rx_build(q, p);
	if (unlikely(!skb)) {
		q->stats.rx_dropped++;
		return;
	}
	skb->protocol = eth_type_trans(skb, q->x->dev);
	skb_record_rx_queue(skb, q->id);
	if (unlikely(xnf_rx_offload(skb, p, &fixed))) {
		xnf_rx_fault(p, XPV_FAULT_OFFLOAD);
		xnf_rx_drop(q, p);
		kfree_skb(skb);
		return;
	}
	q->stats.rx_packets++;
	q->stats.rx_bytes += len;
	q->stats.rx_gso_packets += !!p->gso_size;
	q->stats.rx_gso_checksum_fixup += fixed;
	napi_gro_receive(&q->rx_napi, skb);
}

/* One slot from the ring. Return: it completed a packet. */
static bool xnf_rx_pull(struct xnf_queue *q)
{
	struct xnf_rx *rx = &q->rx;
	union xnf_rx_slot slot;
	struct xnf_rx_buf buf;
	unsigned int step;
	u32 idx;

	idx = xpv_front_get(&rx->ring, &slot, sizeof(slot)) & (XNF_RING - 1);
	buf = rx->buf[idx];
	rx->buf[idx].page = NULL;
	step = xnf_rx_parse(&rx->pkt, &slot);
	q->stats.rx_slots++;
	q->stats.rx_static_slots += buf.fixed;
	if (step & XNF_RX_KEEP) {
		rx->pkt.seg[rx->pkt.nseg - 1].buf = buf;
	} else {
		xnf_rx_spare(q, &buf);
		q->stats.rx_recycled++;
	}
	return step & XNF_RX_END;
}

/*
 * Packets up to @budget, slots up to one ring: a chain without end must not
 * keep us here. Return: packets; @budget when there may be more.
 */
static int xnf_rx_take(struct xnf_queue *q, int budget)
{
	unsigned int slots = 0;
	int n = 0, work = 0;

	while (work < budget) {
		if (!n) {
			n = xpv_front_pending(&q->rx.ring);
			if (unlikely(n < 0))
				goto broken;
			if (!n)
				return work;
			xpv_evt_work(&q->rx_evt);
		}
		n--;
		q->rx.taken++;
		if (xnf_rx_pull(q)) {
			xnf_rx_deliver(q, &q->rx.pkt);
			work++;
			if (unlikely(!READ_ONCE(q->up)))
				return work;
		}
		if (++slots == XNF_RING)
			return budget;
	}
	return work;

broken:
	xpv_peer_fault(q->x->d, &q->x->faults, XPV_FAULT_INDEX,
		       "rx queue %u: more responses than the %u requests in flight",
		       q->id, xpv_front_inflight(&q->rx.ring));
	xnf_break(q->x);
	return work;
}

/* Before the NAPI ends. Return: how far ahead, 0 when more waits already. */
static u32 xnf_rx_arm(struct xnf_queue *q)
{
	u32 ahead = xpv_hold_rest(&q->rx.hold, q->rx.taken, XNF_RING / 2);

	q->rx.taken = 0;
	if (!xpv_front_doze(&q->rx.ring, ahead))
		return ahead;
	xpv_evt_stale(&q->rx_evt);
	return 0;
}

int xnf_rx_poll(struct napi_struct *napi, int budget)
{
	struct xnf_queue *q = container_of(napi, struct xnf_queue, rx_napi);
	bool more = false;
	u32 ahead = 1;
	int work = 0;

	if (likely(READ_ONCE(q->up) && budget))
		work = xnf_rx_take(q, budget);
	if (!q->split)
		more = xnf_tx_complete(q, budget);
	if (likely(READ_ONCE(q->up) && budget)) {
		xnf_rx_refill(q);
		if (work < budget)
			ahead = xnf_rx_arm(q);
	}
	if (more || !ahead || work == budget)
		return budget;
	if (napi_complete_done(napi, work)) {
		xnf_evt_done(&q->rx_evt, &q->stats.rx_events_spurious);
		xpv_hold_sleep(&q->rx.hold, ahead);
	}
	return work;
}

/* A fresh page with a grant. Return: got one. */
static bool xnf_rx_new_buf(struct xnf_queue *q, struct xnf_rx_buf *buf)
{
	struct xnf *x = q->x;

	buf->fixed = false;
	buf->gref = xpv_gref_get(&q->rx.grefs);
	if (buf->gref == XPV_GREF_NONE)
		return false;
	buf->page = page_pool_alloc_pages(q->rx.pool, GFP_ATOMIC |
					  __GFP_NOWARN | __GFP_ZERO);
	if (unlikely(!buf->page)) {
		xpv_gref_put(&q->rx.grefs, buf->gref);
		return false;
	}
	/* The pool zeroes only what is new; others may have had this page. */
	if (unlikely(!x->trusted))
		clear_page(page_address(buf->page));
	hyp_grant(buf->gref, x->d->peer, buf->page, false);
	return true;
}

static void xnf_rx_push(struct xnf_queue *q)
{
	if (q->rx.ring.req_pushed == q->rx.ring.req_prod)
		return;
	q->stats.rx_batches++;
	if (xpv_front_push(&q->rx.ring)) {
		q->stats.rx_events_sent++;
		hyp_evt_notify(&q->rx_evt);
	} else {
		q->stats.rx_events_suppressed++;
	}
}

void xnf_rx_refill(struct xnf_queue *q)
{
	struct xnf_rx *rx = &q->rx;

	while (xpv_front_free(&rx->ring)) {
		struct xen_netif_rx_request req = {};
		struct xnf_rx_buf buf;

		if (rx->nspare) {
			buf = rx->spare[--rx->nspare];
		/* The pages before the flag: pairs with the release in static.c. */
		} else if (smp_load_acquire(&rx->fixed.on)) {
			/* The others are in a packet that is coming in. */
			if (!rx->fixed.n)
				break;
			buf = rx->fixed.buf[--rx->fixed.n];
		} else if (unlikely(!xnf_rx_new_buf(q, &buf))) {
			q->stats.rx_refill_fail++;
			mod_timer(&rx->refill, jiffies + XNF_REFILL_DELAY);
			break;
		}
		req.id = rx->ring.req_prod & (XNF_RING - 1);
		req.gref = buf.gref;
		rx->buf[req.id] = buf;
		xpv_front_put(&rx->ring, &req, sizeof(req));
	}
	xnf_rx_push(q);
}

static void xnf_rx_refill_timer(struct timer_list *t)
{
	struct xnf_queue *q = container_of(t, struct xnf_queue, rx.refill);

	napi_schedule(&q->rx_napi);
}

/* Pages of @order, at most @n of them kept. NULL without memory. */
static struct page_pool *xnf_rx_pool(struct xnf_queue *q, unsigned int order,
				     unsigned int n)
{
	struct page_pool_params pp = {
		.flags = order ? XPV_PP_FLAG_FRAG : 0,
		.order = order,
		.pool_size = n,
		.nid = NUMA_NO_NODE,
	};
	struct page_pool *pool;

	/* Large ones beside the pool's ring would be too much memory. */
	xpv_page_pool_owner(&pp, q->x->dev, order ? NULL : &q->rx_napi);
	pool = page_pool_create(&pp);
	return IS_ERR(pool) ? NULL : pool;
}

int xnf_rx_init(struct xnf_queue *q)
{
	struct xnf_rx *rx = &q->rx;
	int err;

	timer_setup(&rx->refill, xnf_rx_refill_timer, 0);
	rx->nspare = 0;
	xnf_rx_pkt_init(&rx->pkt);
	/* Two tables in one: what is posted, and what waits to be. */
	rx->buf = kcalloc(2 * XNF_RING, sizeof(*rx->buf), GFP_KERNEL);
	if (!rx->buf)
		return -ENOMEM;
	rx->spare = rx->buf + XNF_RING;
	rx->pool = xnf_rx_pool(q, 0, 2 * XNF_RING);
	rx->big = xnf_rx_pool(q, get_order(XNF_RX_BIG), XNF_RX_BIG_POOL);
	if (!rx->pool || !rx->big)
		return -ENOMEM;
	err = xpv_gref_pool_init(&rx->grefs, XNF_RING);
	if (err)
		return err;
	err = hyp_ring_share(q->x->d, &rx->mem, 1);
	if (err)
		return err;
	xpv_front_init(&rx->ring, &rx->mem, sizeof(struct xen_netif_rx_request));
	return 0;
}

static void xnf_rx_drain(struct xnf_queue *q)
{
	struct xnf_rx *rx = &q->rx;
	unsigned int i;

	while (rx->pkt.nseg)
		xnf_rx_spare(q, &rx->pkt.seg[--rx->pkt.nseg].buf);
	for (i = 0; i < XNF_RING; i++)
		if (rx->buf[i].page)
			xnf_rx_spare(q, &rx->buf[i]);
	while (rx->nspare) {
		struct xnf_rx_buf *buf = &rx->spare[--rx->nspare];

		if (xnf_rx_revoke(q, buf))
			page_pool_put_full_page(rx->pool, buf->page, false);
	}
	xnf_fixed_exit(&rx->fixed);
}

void xnf_rx_exit(struct xnf_queue *q)
{
	struct xnf_rx *rx = &q->rx;

	if (rx->mem.addr) {
		timer_delete_sync(&rx->refill);
		xnf_rx_drain(q);
		hyp_ring_unshare(q->x->d, &rx->mem);
		rx->mem.addr = NULL;
	}
	xpv_gref_pool_exit(&rx->grefs);
	if (rx->pool)
		page_pool_destroy(rx->pool);
	rx->pool = NULL;
	if (rx->big)
		page_pool_destroy(rx->big);
	rx->big = NULL;
	kfree(rx->buf);
	rx->buf = NULL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What a packet is: the pure half of the backend. "Tx" is the guest's transmit.
 *
 * Decides whether the slots of a guest make a packet, where its bytes go, what
 * an skb costs in Rx slots and copies, and whether the rate limit lets a packet
 * pass.  Works on private copies only: no ring, no hypercall, no allocation, no
 * lock, no log.  Called by tx.c in NAPI, by rx.c in the transmit path, and by
 * the tests.
 */
#include <linux/etherdevice.h>
#include <linux/kstrtox.h>
#include "netback.h"

/* ------------------------------------------------------------------ */
/* Guest Tx                                                            */
/* ------------------------------------------------------------------ */

/* The first reason stays; the slots of a refused packet are still counted. */
static void refuse(struct xnb_tx_pkt *p, enum xpv_fault why)
{
	if (p->why == XPV_FAULT_COUNT)
		p->why = why;
}

static enum xnb_verdict fatal(struct xnb_tx_pkt *p, enum xpv_fault why)
{
	p->why = why;
	return XNB_FATAL;
}

static void parse_gso(const struct xen_netif_extra_info *e, struct xnb_tx_pkt *p)
{
	p->gso_size = e->u.gso.size;
	p->gso_type = e->u.gso.type;
	if (p->gso_size < XNB_GSO_MIN ||
	    (p->gso_type != XEN_NETIF_GSO_TYPE_TCPV4 &&
	     p->gso_type != XEN_NETIF_GSO_TYPE_TCPV6))
		refuse(p, XPV_FAULT_OFFLOAD);
}

static void parse_mcast(const struct xen_netif_extra_info *e,
			struct xnb_tx_pkt *p)
{
	p->mcast = e->type;
	ether_addr_copy(p->group, e->u.mcast.addr);
}

/*
 * A change of the multicast list is a request without data and one extra info;
 * together with anything else nobody could say what is meant.
 */
static enum xnb_verdict judge_mcast(struct xnb_tx_pkt *p)
{
	if (p->why == XPV_FAULT_COUNT && p->nraw == 2 && !p->len &&
	    is_multicast_ether_addr(p->group))
		return XNB_MCAST;
	refuse(p, XPV_FAULT_EXTRA);
	return XNB_DROP;
}

/*
 * Extra infos follow the first slot and are chained by a flag of their own.
 * Hash values and XDP headroom mean nothing to us and pass.  A type that nobody
 * knows says that the layout itself may be another one, so it is fatal.
 */
static enum xnb_verdict parse_extras(const union xnb_tx_raw *raw,
				     unsigned int avail, struct xnb_tx_pkt *p)
{
	const struct xen_netif_extra_info *e;
	unsigned int seen = 0;

	do {
		if (p->nextras == XNB_TX_EXTRAS)
			return fatal(p, XPV_FAULT_EXTRA);
		if (1 + p->nextras == avail)
			return XNB_WAIT;
		e = &raw[1 + p->nextras++].extra;
		if (e->type == XEN_NETIF_EXTRA_TYPE_NONE ||
		    e->type >= XEN_NETIF_EXTRA_TYPE_MAX)
			return fatal(p, XPV_FAULT_EXTRA);
		if (seen & BIT(e->type))
			refuse(p, XPV_FAULT_EXTRA);
		else if (e->type == XEN_NETIF_EXTRA_TYPE_GSO)
			parse_gso(e, p);
		else if (e->type == XEN_NETIF_EXTRA_TYPE_MCAST_ADD ||
			 e->type == XEN_NETIF_EXTRA_TYPE_MCAST_DEL)
			parse_mcast(e, p);
		seen |= BIT(e->type);
	} while (e->flags & XEN_NETIF_EXTRA_FLAG_MORE);
	return XNB_PACKET;
}

/*
 * Slots after the first.  The first one's size is the total, so what the others
 * do not hold is its own; @left tracks that.  A slot larger than what is left
 * comes from old frontends that send 64 KiB and more: refused, not fatal.
 */
static enum xnb_verdict parse_slots(const union xnb_tx_raw *raw,
				    unsigned int avail, unsigned int fatal_slots,
				    struct xnb_tx_pkt *p, unsigned int *left)
{
	const struct xen_netif_tx_request *r;
	unsigned int pos = 1 + p->nextras;
	unsigned int n = 0;
	u16 flags = p->flags;

	while (flags & XEN_NETTXF_more_data) {
		if (n == fatal_slots)
			return fatal(p, XPV_FAULT_SLOTS);
		if (pos == avail)
			return XNB_WAIT;
		r = &raw[pos++].req;
		flags = r->flags;
		n++;
		if (r->offset + r->size > XPV_PAGE_SIZE)
			return fatal(p, XPV_FAULT_SIZE);
		if (n >= XNB_TX_SLOTS) {
			refuse(p, XPV_FAULT_SLOTS);
		} else if (r->size > *left) {
			refuse(p, XPV_FAULT_SIZE);
		} else {
			*left -= r->size;
			p->slot[n] = (struct xnb_tx_slot) {
				.gref = r->gref, .off = r->offset, .len = r->size,
			};
			p->nslots = n + 1;
		}
	}
	p->nraw = pos;
	return XNB_PACKET;
}

enum xnb_verdict xnb_tx_parse(const union xnb_tx_raw *raw, unsigned int avail,
			      unsigned int fatal_slots, struct xnb_tx_pkt *p)
{
	const struct xen_netif_tx_request *first = &raw[0].req;
	enum xnb_verdict v = XNB_PACKET;
	unsigned int left;

	if (!avail)
		return XNB_WAIT;
	p->nslots = 1;
	p->nextras = 0;
	p->nraw = 1;
	p->len = first->size;
	p->flags = first->flags;
	p->gso_size = 0;
	p->gso_type = XEN_NETIF_GSO_TYPE_NONE;
	p->mcast = 0;
	p->why = XPV_FAULT_COUNT;
	left = first->size;

	if (p->flags & XEN_NETTXF_extra_info)
		v = parse_extras(raw, avail, p);
	if (v == XNB_PACKET)
		v = parse_slots(raw, avail, fatal_slots, p, &left);
	if (v != XNB_PACKET)
		return v;
	if (p->mcast)
		return judge_mcast(p);
	if (p->len < ETH_HLEN)
		refuse(p, XPV_FAULT_SIZE);
	if (p->why != XPV_FAULT_COUNT)
		return XNB_DROP;
	if (first->offset + left > XPV_PAGE_SIZE)
		return fatal(p, XPV_FAULT_SIZE);
	p->slot[0] = (struct xnb_tx_slot) {
		.gref = first->gref, .off = first->offset, .len = left,
	};
	return XNB_PACKET;
}

/* Bytes of the slot in which the head ends that lie behind the head. */
static unsigned int layout_rest(const struct xnb_tx_pkt *p, unsigned int skip)
{
	unsigned int i;

	for (i = 0; i < p->nslots; i++) {
		if (p->slot[i].len > skip)
			return p->slot[i].len - skip;
		skip -= p->slot[i].len;
	}
	return 0;
}

void xnb_tx_layout(const struct xnb_tx_pkt *p, struct xnb_tx_layout *l,
		   unsigned int size)
{
	unsigned int first, rest;

	l->head_len = p->len <= XNB_TX_LINEAR ? p->len : XNB_TX_HEAD;
	l->npieces = 0;
	l->off = 0;
	rest = p->len - l->head_len;
	first = layout_rest(p, l->head_len);
	if (size > XPV_PAGE_SIZE && first < rest)
		l->off = -first & (XPV_PAGE_SIZE - 1);
	size -= l->off;
	while (rest) {
		l->bytes[l->npieces] = min(rest, size);
		rest -= l->bytes[l->npieces++];
		size += l->npieces == 1 ? l->off : 0;
	}
}

unsigned int xnb_tx_plan(struct xpv_copy_batch *b, const struct xnb_tx_pkt *p,
			 const struct xnb_tx_layout *l, struct page *head,
			 unsigned int head_off, const struct xnb_tx_place *to)
{
	unsigned int before = b->n;
	unsigned int room = l->head_len;
	struct page *dst = head;
	unsigned int off = head_off;
	unsigned int i, piece = 0;

	for (i = 0; i < p->nslots; i++) {
		unsigned int goff = p->slot[i].off;
		unsigned int left = p->slot[i].len;

		while (left) {
			unsigned int n;

			if (!room) {
				dst = to[piece].page;
				off = to[piece].off;
				room = l->bytes[piece++];
			}
			n = xpv_copy_chunk(off, goff, min(left, room));
			xpv_copy_add(b, dst, off, p->slot[i].gref, goff, n,
				     false);
			off += n;
			room -= n;
			goff += n;
			left -= n;
		}
	}
	return b->n - before;
}

/* ------------------------------------------------------------------ */
/* Guest Rx                                                            */
/* ------------------------------------------------------------------ */

/* Slots are filled page by page; segmentation data take one more. */
unsigned int xnb_rx_slots(const struct sk_buff *skb)
{
	return DIV_ROUND_UP(skb->len, XPV_PAGE_SIZE) + !!skb_is_gso(skb);
}

static unsigned int local_pages(unsigned int off, unsigned int len)
{
	return DIV_ROUND_UP((off & (XPV_PAGE_SIZE - 1)) + len, XPV_PAGE_SIZE);
}

/* Pages that one skb without its frag_list lies in, or UINT_MAX. */
static unsigned int skb_pages(const struct sk_buff *skb)
{
	unsigned int n = local_pages(offset_in_page(skb->data),
				     skb_headlen(skb));
	int i;

	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *f = &skb_shinfo(skb)->frags[i];

		if (unlikely(!skb_frag_page(f)))
			return UINT_MAX;
		n += local_pages(skb_frag_off(f), skb_frag_size(f));
	}
	return n;
}

/*
 * A copy ends at the end of a local page, of a piece, or of the guest's page;
 * the first two are counted exactly, the third is at most once a slot.
 */
unsigned int xnb_rx_ops(const struct sk_buff *skb)
{
	const struct sk_buff *f;
	unsigned int n = skb_pages(skb);

	skb_walk_frags(skb, f) {
		unsigned int more = skb_pages(f);

		if (n == UINT_MAX || more == UINT_MAX || skb_has_frag_list(f))
			return UINT_MAX;
		n += more;
	}
	return n == UINT_MAX ? n : n + xnb_rx_slots(skb);
}

/* Where the next byte for the guest goes. */
struct rx_cursor {
	struct xpv_copy_batch *b;
	const struct xen_netif_rx_request *req;
	unsigned int goff;
	bool gso;
	bool first;
};

/* The slot after the first holds the segmentation data, if there are any. */
static void rx_next_slot(struct rx_cursor *c)
{
	c->req += c->first && c->gso ? 2 : 1;
	c->first = false;
	c->goff = 0;
}

static void rx_put(struct rx_cursor *c, struct page *page, unsigned int off,
		   unsigned int len)
{
	while (len) {
		unsigned int n;

		if (c->goff == XPV_PAGE_SIZE)
			rx_next_slot(c);
		n = xpv_copy_chunk(off, c->goff, len);
		xpv_copy_add(c->b, page, off, c->req->gref, c->goff, n, true);
		c->goff += n;
		off += n;
		len -= n;
	}
}

static void rx_put_skb(struct rx_cursor *c, const struct sk_buff *skb)
{
	int i;

	rx_put(c, virt_to_page(skb->data), offset_in_page(skb->data),
	       skb_headlen(skb));
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *f = &skb_shinfo(skb)->frags[i];

		rx_put(c, skb_frag_page(f), skb_frag_off(f), skb_frag_size(f));
	}
}

unsigned int xnb_rx_plan(struct xpv_copy_batch *b, const struct sk_buff *skb,
			 const struct xen_netif_rx_request *req)
{
	struct rx_cursor c = {
		.b = b,
		.req = req,
		.gso = skb_is_gso(skb),
		.first = true,
	};
	unsigned int before = b->n;
	const struct sk_buff *f;

	rx_put_skb(&c, skb);
	skb_walk_frags(skb, f)
		rx_put_skb(&c, f);
	return b->n - before;
}

static u16 rx_csum_flags(const struct sk_buff *skb)
{
	switch (skb->ip_summed) {
	case CHECKSUM_PARTIAL:
		return XEN_NETRXF_csum_blank | XEN_NETRXF_data_validated;
	case CHECKSUM_UNNECESSARY:
		return XEN_NETRXF_data_validated;
	default:
		return 0;
	}
}

static void rx_gso_extra(const struct sk_buff *skb,
			 struct xen_netif_extra_info *e)
{
	bool v6 = skb_shinfo(skb)->gso_type & SKB_GSO_TCPV6;

	e->type = XEN_NETIF_EXTRA_TYPE_GSO;
	e->u.gso.size = skb_shinfo(skb)->gso_size;
	e->u.gso.type = v6 ? XEN_NETIF_GSO_TYPE_TCPV6 : XEN_NETIF_GSO_TYPE_TCPV4;
}

void xnb_rx_response(const struct sk_buff *skb,
		     const struct xen_netif_rx_request *req, unsigned int i,
		     bool ok, union xnb_rx_rsp *out)
{
	bool gso = skb_is_gso(skb);
	unsigned int nr = i && gso ? i - 1 : i;
	unsigned int done = nr * XPV_PAGE_SIZE;
	unsigned int len;

	memset(out, 0, sizeof(*out));
	if (gso && i == 1) {
		rx_gso_extra(skb, &out->extra);
		return;
	}
	len = min_t(unsigned int, skb->len - done, XPV_PAGE_SIZE);
	out->rsp.id = req[i].id;
	out->rsp.status = ok ? len : XEN_NETIF_RSP_ERROR;
	if (done + len < skb->len)
		out->rsp.flags |= XEN_NETRXF_more_data;
	if (!i)
		out->rsp.flags |= rx_csum_flags(skb) |
				  (gso ? XEN_NETRXF_extra_info : 0);
}

/* ------------------------------------------------------------------ */
/* Rate                                                                */
/* ------------------------------------------------------------------ */

int xnb_rate_parse(const char *text, u64 *bytes, u64 *usec)
{
	char head[24];
	const char *comma;
	u64 b, u;

	*bytes = U64_MAX;
	*usec = 0;
	if (!text || !*text)
		return 0;
	comma = strchr(text, ',');
	if (!comma || comma - text >= sizeof(head))
		return -EINVAL;
	memcpy(head, text, comma - text);
	head[comma - text] = '\0';
	if (kstrtou64(head, 10, &b) || kstrtou64(comma + 1, 10, &u) || !b ||
	    u > U32_MAX)
		return -EINVAL;
	/* A period of no length is no limit. */
	if (u) {
		*bytes = b;
		*usec = u;
	}
	return 0;
}

void xnb_credit_set(struct xnb_credit *c, u64 bytes, u64 usec, u64 now)
{
	c->bytes = bytes;
	c->period = max(1UL, usecs_to_jiffies(usec));
	c->left = bytes == U64_MAX ? 0 : max_t(u64, bytes, XNB_BURST_MIN);
	c->start = now;
}

bool xnb_credit_take(struct xnb_credit *c, unsigned int len, u64 now)
{
	u64 most;

	if (c->bytes == U64_MAX)
		return true;
	if (now >= c->start + c->period) {
		/*
		 * Less credit than a frame per period must still add up to one,
		 * or the queue would stand for ever.
		 */
		most = max_t(u64, c->bytes, XNB_BURST_MIN);
		c->left = c->bytes > most - c->left ? most : c->left + c->bytes;
		c->start = now;
	}
	if (len > c->left)
		return false;
	c->left -= len;
	return true;
}

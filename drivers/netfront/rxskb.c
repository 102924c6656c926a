// SPDX-License-Identifier: GPL-2.0
/*
 * Guest Rx: from the pages of a packet to an skb, and what becomes of the pages.
 *
 * Small frames are copied out and their page is posted again with its grant.
 * The pages of larger ones go to the stack once their grant could be revoked.
 * A page that the backend keeps mapped never goes there: its data are copied to
 * memory that the backend cannot reach, and headers are looked at only in the
 * copy.
 *
 * Called by the Rx NAPI, or while it is disabled.
 */
#include <xpv/bulk.h>
#include "netfront.h"

/*
 * The peer still maps the page: it leaves the pool by the deferred list. One
 * more reference makes the pool let go of it instead of using it again.
 */
static void xnf_rx_abandon(struct xnf_queue *q, const struct xnf_rx_buf *buf)
{
	get_page(buf->page);
	hyp_grant_abandon(buf->gref, buf->page);
	q->stats.rx_abandoned++;
	page_pool_put_full_page(q->rx.pool, buf->page, false);
}

/* Take a page from the peer. Return: it is ours alone now. */
bool xnf_rx_revoke(struct xnf_queue *q, const struct xnf_rx_buf *buf)
{
	if (likely(hyp_ungrant(buf->gref))) {
		xpv_gref_put(&q->rx.grefs, buf->gref);
		return true;
	}
	xnf_rx_abandon(q, buf);
	return false;
}

/* A page that is not needed any more, or not in that form. */
static void xnf_rx_release(struct xnf_queue *q, const struct xnf_rx_buf *buf)
{
	if (xnf_rx_revoke(q, buf))
		page_pool_put_full_page(q->rx.pool, buf->page, false);
}

void xnf_rx_spare(struct xnf_queue *q, const struct xnf_rx_buf *buf)
{
	struct xnf_rx *rx = &q->rx;

	if (buf->fixed)
		rx->fixed.buf[rx->fixed.n++] = *buf;
	else if (READ_ONCE(rx->fixed.on))
		xnf_rx_release(q, buf);
	else
		rx->spare[rx->nspare++] = *buf;
}

void xnf_rx_put_back(struct xnf_queue *q, struct xnf_rx_pkt *p)
{
	q->stats.rx_recycled += p->nseg;
	while (p->nseg)
		xnf_rx_spare(q, &p->seg[--p->nseg].buf);
}

/* A frame of one slot into the linear part. */
static struct sk_buff *xnf_rx_copy(struct xnf_queue *q, struct xnf_rx_pkt *p)
{
	struct sk_buff *skb = napi_alloc_skb(&q->rx_napi, p->len);

	if (likely(skb)) {
		skb_put_data(skb, page_address(p->seg[0].buf.page) +
			     p->seg[0].off, p->len);
		q->stats.rx_copied++;
	}
	xnf_rx_put_back(q, p);
	return skb;
}

/* All pages of the packet back from the peer, or none is left to use. */
static int xnf_rx_revoke_all(struct xnf_queue *q, struct xnf_rx_pkt *p)
{
	unsigned int i, n = 0;

	for (i = 0; i < p->nseg; i++)
		if (xnf_rx_revoke(q, &p->seg[i].buf))
			p->seg[n++] = p->seg[i];
	if (likely(n == p->nseg))
		return 0;
	xpv_peer_fault(q->x->d, &q->x->faults, XPV_FAULT_BUSY,
		       "rx queue %u: %u answered pages still mapped", q->id,
		       p->nseg - n);
	while (n)
		page_pool_put_full_page(q->rx.pool, p->seg[--n].buf.page, false);
	p->nseg = 0;
	xnf_break(q->x);
	return -EPROTO;
}

static struct sk_buff *xnf_rx_frags(struct xnf_queue *q, struct xnf_rx_pkt *p)
{
	struct sk_buff *skb = napi_alloc_skb(&q->rx_napi, XNF_RX_HEAD);
	unsigned int i, head;
	const u8 *data;

	if (unlikely(!skb)) {
		xnf_rx_put_back(q, p);
		return NULL;
	}
	if (unlikely(xnf_rx_revoke_all(q, p))) {
		kfree_skb(skb);
		return NULL;
	}
	data = page_address(p->seg[0].buf.page) + p->seg[0].off;
	head = p->nseg > MAX_SKB_FRAGS ? p->seg[0].len :
					 xnf_rx_headlen(data, p->seg[0].len);
	skb_put_data(skb, data, head);
	p->seg[0].off += head;
	p->seg[0].len -= head;
	skb_mark_for_recycle(skb);
	for (i = 0; i < p->nseg; i++) {
		struct page *page = p->seg[i].buf.page;

		if (p->seg[i].len)
			skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page,
					p->seg[i].off, p->seg[i].len, PAGE_SIZE);
		else
			page_pool_recycle_direct(q->rx.pool, page);
	}
	p->nseg = 0;
	return skb;
}

/*
 * Memory for up to @len bytes of a packet: part of a large page that the pool
 * keeps, or one page when memory is in pieces. Return: the bytes it holds.
 */
static unsigned int xnf_rx_room(struct xnf_queue *q, unsigned int len,
				struct page **page, unsigned int *off)
{
	*page = page_pool_dev_alloc_frag(q->rx.big, off, ALIGN(len, 64));
	if (likely(*page))
		return len;
	*off = 0;
	*page = page_pool_dev_alloc_pages(q->rx.pool);
	return *page ? min_t(unsigned int, len, XPV_PAGE_SIZE) : 0;
}

/* The next @len bytes of the packet's pages to @to. */
static void xnf_rx_gather(struct xnf_rx_seg **seg, u8 *to, unsigned int len)
{
	unsigned int n;

	for (; len; len -= n, to += n) {
		while (!(*seg)->len)
			(*seg)++;
		n = min_t(unsigned int, len, (*seg)->len);
		xpv_bulk_copy(to, page_address((*seg)->buf.page) + (*seg)->off, n);
		(*seg)->off += n;
		(*seg)->len -= n;
	}
}

/* All but the headers of a packet, copied. Return: false without memory. */
static bool xnf_rx_fill(struct xnf_queue *q, struct sk_buff *skb,
			struct xnf_rx_seg *seg, unsigned int left)
{
	unsigned int off, len;
	struct page *page;

	while (left) {
		len = xnf_rx_room(q, min_t(unsigned int, left, XNF_RX_BIG),
				  &page, &off);
		if (unlikely(!len))
			return false;
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, off, len,
				ALIGN(len, 64));
		xnf_rx_gather(&seg, page_address(page) + off, len);
		left -= len;
	}
	return true;
}

/*
 * A packet of which some pages stay mapped by the backend.  How long the
 * headers are is read from the copy; what follows them is copied once as well.
 */
static struct sk_buff *xnf_rx_copy_all(struct xnf_queue *q, struct xnf_rx_pkt *p)
{
	struct sk_buff *skb = napi_alloc_skb(&q->rx_napi, XNF_RX_HEAD);
	struct xnf_rx_seg *seg = p->seg;
	unsigned int head;

	if (likely(skb)) {
		head = min_t(unsigned int, seg->len, XNF_RX_HEAD);
		memcpy(skb->data, page_address(seg->buf.page) + seg->off, head);
		/* From here on the shared bytes of the headers do not count. */
		barrier();
		head = xnf_rx_headlen(skb->data, head);
		skb_put(skb, head);
		seg->off += head;
		seg->len -= head;
		skb_mark_for_recycle(skb);
		if (unlikely(!xnf_rx_fill(q, skb, seg, p->len - head))) {
			kfree_skb(skb);
			skb = NULL;
		}
	}
	xnf_rx_put_back(q, p);
	return skb;
}

static bool xnf_rx_any_fixed(const struct xnf_rx_pkt *p)
{
	unsigned int i;

	for (i = 0; i < p->nseg; i++)
		if (p->seg[i].buf.fixed)
			return true;
	return false;
}

struct sk_buff *xnf_rx_build(struct xnf_queue *q, struct xnf_rx_pkt *p)
{
	if (p->nseg == 1 && p->len <= READ_ONCE(q->x->copybreak))
		return xnf_rx_copy(q, p);
	if (xnf_rx_any_fixed(p))
		return xnf_rx_copy_all(q, p);
	return xnf_rx_frags(q, p);
}

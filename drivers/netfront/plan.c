// SPDX-License-Identifier: GPL-2.0
/*
 * Planning a Tx packet: into which slots it is cut, and what its first slot
 * says about checksum and segmentation.
 *
 * Pure but for the pages of a packet that has to be copied.  Touches no ring
 * and no grant.  Called by tx.c in the transmit path.
 */
#include <linux/etherdevice.h>
#include "netfront.h"

static int xnf_piece_add(struct xnf_tx_plan *plan, struct page *page,
			 unsigned int off, unsigned int len)
{
	unsigned int chunk;

	page += off >> XPV_PAGE_SHIFT;
	off &= XPV_PAGE_SIZE - 1;
	for (; len; len -= chunk, off = 0, page++) {
		if (plan->n == XNF_TX_SLOTS)
			return -E2BIG;
		chunk = min_t(unsigned int, len, XPV_PAGE_SIZE - off);
		plan->piece[plan->n++] = (struct xnf_piece) {
			.page = page,
			.off = off,
			.len = chunk,
		};
	}
	return 0;
}

int xnf_tx_pieces(const struct sk_buff *skb, struct xnf_tx_plan *plan)
{
	unsigned int i;
	int err;

	plan->n = 0;
	plan->bounce = false;
	if (unlikely(skb_has_frag_list(skb)))
		return -E2BIG;
	err = xnf_piece_add(plan, virt_to_page(skb->data),
			    offset_in_page(skb->data), skb_headlen(skb));
	plan->nhead = plan->n;
	for (i = 0; !err && i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *f = &skb_shinfo(skb)->frags[i];

		err = xnf_piece_add(plan, skb_frag_page(f), skb_frag_off(f),
				    skb_frag_size(f));
	}
	return err ? err : plan->n;
}

static void xnf_bounce_free(struct xnf_tx_plan *plan)
{
	while (plan->n)
		__free_page(plan->piece[--plan->n].page);
	plan->bounce = false;
}

/*
 * Copy the packet into pages of its own: as few slots as possible, and nothing
 * else in the pages.  Single pages, so that it works when memory is short.
 */
static int xnf_tx_bounce(const struct sk_buff *skb, struct xnf_tx_plan *plan)
{
	unsigned int off, len;
	struct page *page;

	plan->n = 0;
	plan->nhead = 0;
	plan->bounce = true;
	for (off = 0; off < skb->len; off += len) {
		len = min_t(unsigned int, skb->len - off, XPV_PAGE_SIZE);
		page = alloc_page(GFP_ATOMIC | __GFP_NOWARN | __GFP_ZERO);
		if (!page)
			goto nomem;
		plan->piece[plan->n++] = (struct xnf_piece) {
			.page = page,
			.len = len,
		};
		if (skb_copy_bits(skb, off, page_address(page), len))
			goto nomem;
	}
	return 0;

nomem:
	xnf_bounce_free(plan);
	return -ENOMEM;
}

int xnf_tx_offload(const struct xnf_caps *caps, struct sk_buff *skb,
		   struct xnf_tx_plan *plan)
{
	plan->flags = 0;
	plan->gso_type = XEN_NETIF_GSO_TYPE_NONE;
	if (skb_is_gso(skb)) {
		unsigned int type = skb_shinfo(skb)->gso_type;

		if ((type & SKB_GSO_TCPV4) && caps->gso4)
			plan->gso_type = XEN_NETIF_GSO_TYPE_TCPV4;
		else if ((type & SKB_GSO_TCPV6) && caps->gso6)
			plan->gso_type = XEN_NETIF_GSO_TYPE_TCPV6;
		else
			return -EOPNOTSUPP;
		plan->gso_size = skb_shinfo(skb)->gso_size;
		plan->flags = XEN_NETTXF_extra_info;
	}
	if (skb->ip_summed == CHECKSUM_PARTIAL) {
		bool v6 = skb->protocol == htons(ETH_P_IPV6);

		if (unlikely(v6 ? !caps->csum6 : !caps->csum4))
			return skb_checksum_help(skb);
		plan->flags |= XEN_NETTXF_csum_blank | XEN_NETTXF_data_validated;
	} else if (skb->ip_summed == CHECKSUM_UNNECESSARY) {
		plan->flags |= XEN_NETTXF_data_validated;
	}
	return 0;
}

int xnf_tx_prepare(struct xnf *x, struct sk_buff *skb, struct xnf_tx_plan *plan)
{
	int n, err;

	if (unlikely(skb->len > XPV_NET_MAX_FRAME || skb->len < ETH_HLEN))
		return -EMSGSIZE;
	err = xnf_tx_offload(&x->caps, skb, plan);
	if (unlikely(err))
		return err;
	n = x->trusted ? xnf_tx_pieces(skb, plan) : -EPERM;
	/* Backends look for the Ethernet header in the first slot alone. */
	if (likely(n > 0 && plan->piece[0].len >= ETH_HLEN &&
		   (n == 1 || x->caps.sg)))
		return 0;
	if (!x->caps.sg && skb->len > XPV_PAGE_SIZE)
		return -EMSGSIZE;
	return xnf_tx_bounce(skb, plan);
}

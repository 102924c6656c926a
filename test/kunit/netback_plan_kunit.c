// SPDX-License-Identifier: GPL-2.0
/*
 * netback, packets to copies: where the bytes of both directions go, and how
 * many Rx slots an skb takes.  Copies are made with memcpy.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/gfp.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include "netback_slots.h"

/* ------------------------------------------------------------------ */
/* Layout and plan                                                     */
/* ------------------------------------------------------------------ */

/* Byte @off of the page behind a grant, as the tests fill it. */
static u8 pattern(grant_ref_t gref, unsigned int off)
{
	return gref * 31 + off * 7 + (off >> 8);
}

struct bench {
	struct xpv_copy_batch b;
	struct page *head;
	struct xnb_tx_place to[MAX_SKB_FRAGS];
};

static void run_ops(struct kunit *test, struct bench *w)
{
	unsigned int i, k;

	for (i = 0; i < w->b.n; i++) {
		const struct xpv_copy *c = &w->b.op[i];
		u8 *to = (u8 *)page_address(c->page) + c->page_off;

		KUNIT_ASSERT_GE(test, (int)c->len, 1);
		KUNIT_ASSERT_LE(test, c->page_off + c->len, (int)XPV_PAGE_SIZE);
		KUNIT_ASSERT_LE(test, c->gref_off + c->len, (int)XPV_PAGE_SIZE);
		KUNIT_ASSERT_FALSE(test, c->to_peer);
		for (k = 0; k < c->len; k++)
			to[k] = pattern(c->gref, c->gref_off + k);
	}
}

/* Every byte of the packet, in order, is where the layout says. */
static void check_copied(struct kunit *test, struct bench *w,
			 const struct xnb_tx_pkt *p,
			 const struct xnb_tx_layout *l, unsigned int head_off)
{
	const u8 *at = (u8 *)page_address(w->head) + head_off;
	unsigned int room = l->head_len, piece = 0, i, k;

	for (i = 0; i < p->nslots; i++) {
		for (k = 0; k < p->slot[i].len; k++) {
			if (!room) {
				KUNIT_ASSERT_LT(test, piece, l->npieces);
				room = l->bytes[piece];
				KUNIT_ASSERT_GT(test, room, 0);
				at = (u8 *)page_address(w->to[piece].page) +
				     w->to[piece].off;
				piece++;
			}
			if (*at++ != pattern(p->slot[i].gref,
					     p->slot[i].off + k))
				KUNIT_FAIL(test, "slot %u byte %u", i, k);
			room--;
		}
	}
	KUNIT_EXPECT_EQ(test, room, 0);
	KUNIT_EXPECT_EQ(test, piece, l->npieces);
}

static void plan_size(struct kunit *test, struct bench *w,
		      const struct xnb_tx_pkt *p, unsigned int head_off,
		      unsigned int size)
{
	struct xnb_tx_layout l;
	unsigned int n, i;

	xnb_tx_layout(p, &l, size);
	KUNIT_ASSERT_LE(test, l.npieces, (unsigned int)MAX_SKB_FRAGS);
	KUNIT_ASSERT_GE(test, l.head_len, min(p->len, (u32)XNB_TX_HEAD));
	for (i = 0; i < l.npieces; i++) {
		w->to[i].off = i ? 0 : l.off;
		KUNIT_ASSERT_LE(test, w->to[i].off + l.bytes[i], size);
	}
	xpv_copy_reset(&w->b);
	n = xnb_tx_plan(&w->b, p, &l, w->head, head_off, w->to);
	KUNIT_ASSERT_EQ(test, n, w->b.n);
	KUNIT_ASSERT_LE(test, n, (unsigned int)XNB_TX_OPS);
	run_ops(test, w);
	check_copied(test, w, p, &l, head_off);
}

static void plan_and_check(struct kunit *test, struct bench *w,
			   const struct xnb_tx_pkt *p, unsigned int head_off)
{
	plan_size(test, w, p, head_off, XPV_PAGE_SIZE);
	plan_size(test, w, p, head_off, XNB_TX_BIG);
}

static struct bench *bench(struct kunit *test)
{
	struct bench *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_ASSERT_EQ(test, xpv_copy_batch_init(&w->b, NULL,
						  XNB_TX_BATCH_OPS), 0);
	w->head = alloc_pages(GFP_KERNEL, 1);
	KUNIT_ASSERT_NOT_NULL(test, w->head);
	for (i = 0; i < MAX_SKB_FRAGS; i++) {
		w->to[i].page = alloc_pages(GFP_KERNEL, get_order(XNB_TX_BIG));
		KUNIT_ASSERT_NOT_NULL(test, w->to[i].page);
	}
	return w;
}

static void bench_end(struct bench *w)
{
	unsigned int i;

	for (i = 0; i < MAX_SKB_FRAGS; i++)
		__free_pages(w->to[i].page, get_order(XNB_TX_BIG));
	__free_pages(w->head, 1);
	xpv_copy_batch_exit(&w->b);
}

/* XSA-432: smallest packets in the most slots. */
static void plan_grid_slots_by_total(struct kunit *test)
{
	struct bench *w = bench(test);
	unsigned int n, total, each, k;

	for (n = 0; n <= 20; n++) {
		for (total = 14; total <= 200; total++) {
			for (each = 0; each <= 12; each += each ? 5 : 1) {
				struct slots s = { .n = 0 };
				u16 size[20];
				struct xnb_tx_pkt p;
				enum xnb_verdict v;

				for (k = 0; k < n; k++)
					size[k] = each;
				chain(&s, total, size, n);
				v = parse(&s, &p);
				if (n > 18 || n * each > total) {
					KUNIT_ASSERT_EQ(test, v, XNB_DROP);
					continue;
				}
				KUNIT_ASSERT_EQ(test, v, XNB_PACKET);
				plan_and_check(test, w, &p, 64);
			}
		}
	}
	bench_end(w);
}

/* XSA-448: every pattern of empty slots gives no empty page and no empty op. */
static void plan_empty_slots(struct kunit *test)
{
	struct bench *w = bench(test);
	unsigned int mask, k;

	for (mask = 0; mask < 256; mask++) {
		struct slots s = { .n = 0 };
		struct xnb_tx_pkt p;
		u16 size[8], total = 2000;

		for (k = 0; k < 8; k++) {
			size[k] = mask & BIT(k) ? 700 : 0;
			total += size[k];
		}
		chain(&s, total, size, 8);
		KUNIT_ASSERT_EQ(test, parse(&s, &p), XNB_PACKET);
		plan_and_check(test, w, &p, 64);
		/* The same with an empty first slot. */
		s.raw[0].req.size -= mask ? 2000 : 0;
		KUNIT_ASSERT_EQ(test, parse(&s, &p), XNB_PACKET);
		plan_and_check(test, w, &p, 64);
	}
	bench_end(w);
}

/* XSA-423: headers spread over tiny slots end up in the head. */
static void plan_split_headers(struct kunit *test)
{
	struct bench *w = bench(test);
	unsigned int n, k;

	for (n = 2; n <= 18; n++) {
		struct slots s = { .n = 0 };
		struct xnb_tx_layout l;
		struct xnb_tx_pkt p;
		u16 size[18];

		for (k = 0; k + 1 < n; k++)
			size[k] = 1;
		size[n - 1] = 4096;
		chain(&s, 4096 + n, size, n);
		KUNIT_ASSERT_EQ(test, parse(&s, &p), XNB_PACKET);
		xnb_tx_layout(&p, &l, XPV_PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, l.head_len, (unsigned int)XNB_TX_HEAD);
		plan_and_check(test, w, &p, 4000);
	}
	bench_end(w);
}

/* A large TCP packet as Linux cuts it: each slot is one copy, few pieces. */
static void plan_aligned_pieces(struct kunit *test)
{
	struct bench *w = bench(test);
	struct xnb_tx_pkt p = { .nslots = 17 };
	struct xnb_tx_layout l;
	unsigned int i;

	for (i = 0; i < p.nslots; i++) {
		p.slot[i] = (struct xnb_tx_slot) { 30 + i, 0, 4096 };
		if (i < 2)
			p.slot[i].len = i ? 1500 : 66;
		p.slot[i].off = 4096 - p.slot[i].len;
		p.len += p.slot[i].len;
	}
	xnb_tx_layout(&p, &l, XNB_TX_BIG);
	KUNIT_EXPECT_EQ(test, l.npieces, 2);
	KUNIT_EXPECT_EQ(test, l.off, 4096 - (1500 - (XNB_TX_HEAD - 66)));
	plan_and_check(test, w, &p, 64);
	/* The slot in which the head ends is cut once. */
	KUNIT_EXPECT_EQ(test, w->b.n, p.nslots + 1);
	bench_end(w);
}

/* The largest frame in the most slots still fits an skb. */
static void plan_largest_frame(struct kunit *test)
{
	struct bench *w = bench(test);
	struct xnb_tx_layout l;
	struct xnb_tx_pkt p = { .nslots = XNB_TX_SLOTS, .len = 65535 };
	unsigned int i, left = p.len;

	for (i = 0; i < XNB_TX_SLOTS; i++) {
		p.slot[i].gref = 7 + i;
		p.slot[i].len = DIV_ROUND_UP(left, XNB_TX_SLOTS - i);
		p.slot[i].off = i;
		left -= p.slot[i].len;
	}
	xnb_tx_layout(&p, &l, XPV_PAGE_SIZE);
	KUNIT_EXPECT_LE(test, l.npieces, (unsigned int)MAX_SKB_FRAGS);
	plan_and_check(test, w, &p, 64);
	bench_end(w);
}

/* Any shape: no operation crosses a page on either side, all bytes arrive. */
static void plan_random_shapes(struct kunit *test)
{
	struct bench *w = bench(test);
	struct rnd_state rnd;
	unsigned int turn, i;

	prandom_seed_state(&rnd, 4711);
	for (turn = 0; turn < 2000; turn++) {
		struct xnb_tx_pkt p = { .len = 0 };
		unsigned int want = 14 + prandom_u32_state(&rnd) % 60000;

		for (i = 0; i < XNB_TX_SLOTS && p.len < want; i++) {
			unsigned int off = prandom_u32_state(&rnd) % 4096;
			unsigned int len = prandom_u32_state(&rnd) %
					   (4096 - off + 1);

			if (prandom_u32_state(&rnd) % 4 == 0)
				len = min(len, 3u);
			p.slot[i] = (struct xnb_tx_slot) { 50 + i, off, len };
			p.len += len;
		}
		p.nslots = i;
		if (p.len < ETH_HLEN)
			continue;
		plan_and_check(test, w, &p, prandom_u32_state(&rnd) % 6000);
	}
	bench_end(w);
}

/* ------------------------------------------------------------------ */
/* Guest Rx                                                            */
/* ------------------------------------------------------------------ */

/* Slots for every length; neither offset nor shape of the skb matter. */
static void rx_slots_every_length(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);
	unsigned int len, data;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	for (len = 1; len <= XNB_RX_MAX_FRAME; len++) {
		data = (len - 1) / 4096 + 1;
		skb->len = len;
		skb_shinfo(skb)->gso_size = 0;
		if (xnb_rx_slots(skb) != data)
			KUNIT_FAIL(test, "%u bytes: %u slots", len,
				   xnb_rx_slots(skb));
		skb_shinfo(skb)->gso_size = 1448;
		if (xnb_rx_slots(skb) != data + 1)
			KUNIT_FAIL(test, "GSO %u bytes: %u slots", len,
				   xnb_rx_slots(skb));
	}
	skb->len = 0;
	skb_shinfo(skb)->gso_size = 0;
	kfree_skb(skb);
}

#define RX_SLOTS	20

struct rx_bench {
	struct xpv_copy_batch b;
	u8 *guest;
	u8 *want;
	struct page *compound;
	struct xen_netif_rx_request req[RX_SLOTS];
};

static struct rx_bench *rx_bench(struct kunit *test)
{
	struct rx_bench *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->guest = kunit_kzalloc(test, RX_SLOTS * 4096, GFP_KERNEL);
	w->want = kunit_kzalloc(test, 66000, GFP_KERNEL);
	w->compound = alloc_pages(GFP_KERNEL | __GFP_COMP, 4);
	KUNIT_ASSERT_NOT_NULL(test, w->guest);
	KUNIT_ASSERT_NOT_NULL(test, w->want);
	KUNIT_ASSERT_NOT_NULL(test, w->compound);
	KUNIT_ASSERT_EQ(test, xpv_copy_batch_init(&w->b, NULL,
						  XNB_RX_BATCH_OPS), 0);
	for (i = 0; i < 16 * 4096; i++)
		((u8 *)page_address(w->compound))[i] = i * 13 + (i >> 8);
	for (i = 0; i < RX_SLOTS; i++)
		w->req[i] = (struct xen_netif_rx_request) { .id = 900 + i,
							    .gref = 1 + i };
	return w;
}

static void rx_bench_end(struct rx_bench *w)
{
	__free_pages(w->compound, 4);
	xpv_copy_batch_exit(&w->b);
}

/* A linear part of @lin bytes and frags of the given lengths. */
static struct sk_buff *rx_skb(struct kunit *test, struct rx_bench *w,
			      unsigned int lin, const unsigned int *frag,
			      unsigned int n, struct rnd_state *rnd)
{
	struct sk_buff *skb = alloc_skb(lin + 64, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, prandom_u32_state(rnd) % 64);
	get_random_bytes(skb_put(skb, lin), lin);
	for (i = 0; i < n; i++) {
		unsigned int off = prandom_u32_state(rnd) %
				   (16 * 4096 - frag[i]);

		get_page(w->compound);
		skb_add_rx_frag(skb, i, w->compound, off, frag[i], frag[i]);
	}
	return skb;
}

/* Carry the plan out and read back what a guest would put together. */
static void rx_check(struct kunit *test, struct rx_bench *w,
		     const struct sk_buff *skb)
{
	unsigned int slots = xnb_rx_slots(skb), done = 0, i, n;
	union xnb_rx_rsp rsp;

	KUNIT_ASSERT_LE(test, slots, (unsigned int)RX_SLOTS);
	xpv_copy_reset(&w->b);
	n = xnb_rx_plan(&w->b, skb, w->req);
	KUNIT_ASSERT_LE(test, n, xnb_rx_ops(skb));
	for (i = 0; i < n; i++) {
		const struct xpv_copy *c = &w->b.op[i];

		KUNIT_ASSERT_TRUE(test, c->to_peer);
		KUNIT_ASSERT_GE(test, (int)c->len, 1);
		KUNIT_ASSERT_LE(test, c->page_off + c->len, 4096);
		KUNIT_ASSERT_LE(test, c->gref_off + c->len, 4096);
		KUNIT_ASSERT_LE(test, c->gref, slots);
		memcpy(w->guest + (c->gref - 1) * 4096 + c->gref_off,
		       (u8 *)page_address(c->page) + c->page_off, c->len);
	}
	KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, 0, w->want, skb->len), 0);
	for (i = 0; i < slots; i++) {
		xnb_rx_response(skb, w->req, i, true, &rsp);
		if (i == 1 && skb_is_gso(skb)) {
			KUNIT_EXPECT_EQ(test, rsp.extra.type,
					XEN_NETIF_EXTRA_TYPE_GSO);
			KUNIT_EXPECT_EQ(test, rsp.extra.u.gso.size,
					skb_shinfo(skb)->gso_size);
			continue;
		}
		KUNIT_EXPECT_EQ(test, rsp.rsp.id, 900 + i);
		KUNIT_EXPECT_EQ(test, rsp.rsp.offset, 0);
		KUNIT_EXPECT_GT(test, rsp.rsp.status, 0);
		KUNIT_EXPECT_EQ(test, memcmp(w->guest + i * 4096,
					     w->want + done, rsp.rsp.status), 0);
		done += rsp.rsp.status;
		KUNIT_EXPECT_EQ(test, !!(rsp.rsp.flags & XEN_NETRXF_more_data),
				done < skb->len);
		KUNIT_EXPECT_EQ(test, !!(rsp.rsp.flags & XEN_NETRXF_extra_info),
				!i && skb_is_gso(skb));
	}
	KUNIT_EXPECT_EQ(test, done, skb->len);
}

static void rx_plan_random_shapes(struct kunit *test)
{
	struct rx_bench *w = rx_bench(test);
	struct rnd_state rnd;
	unsigned int turn;

	prandom_seed_state(&rnd, 815);
	for (turn = 0; turn < 1000; turn++) {
		unsigned int n = prandom_u32_state(&rnd) % (MAX_SKB_FRAGS + 1);
		unsigned int frag[MAX_SKB_FRAGS], i;
		struct sk_buff *skb;

		for (i = 0; i < n; i++)
			frag[i] = 1 + prandom_u32_state(&rnd) %
				  (turn % 3 ? 3500 : 40);
		skb = rx_skb(test, w, 14 + prandom_u32_state(&rnd) % 5000, frag,
			     n, &rnd);
		if (turn % 2) {
			skb_shinfo(skb)->gso_size = 1000;
			skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
		}
		rx_check(test, w, skb);
		kfree_skb(skb);
	}
	rx_bench_end(w);
}

/* Borders of slots, hit exactly and by one byte. */
static void rx_plan_slot_borders(struct kunit *test)
{
	static const unsigned int len[] = { 1, 2, 4095, 4096, 4097, 8191, 8192,
					    8193, 65535, 65536, 65553 };
	struct rx_bench *w = rx_bench(test);
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < ARRAY_SIZE(len); i++) {
		struct sk_buff *skb = rx_skb(test, w, len[i], NULL, 0, &rnd);

		KUNIT_EXPECT_EQ(test, xnb_rx_slots(skb),
				DIV_ROUND_UP(len[i], 4096));
		rx_check(test, w, skb);
		kfree_skb(skb);
	}
	rx_bench_end(w);
}

static void rx_plan_frag_list(struct kunit *test)
{
	static const unsigned int frag[] = { 3000, 1, 4096 };
	struct rx_bench *w = rx_bench(test);
	struct sk_buff *skb, *more;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 2);
	skb = rx_skb(test, w, 100, frag, 3, &rnd);
	more = rx_skb(test, w, 200, frag, 2, &rnd);
	skb_shinfo(skb)->frag_list = more;
	skb->len += more->len;
	skb->data_len += more->len;
	rx_check(test, w, skb);
	/* A list in the list is for skb_linearize(). */
	skb_shinfo(more)->frag_list = alloc_skb(16, GFP_KERNEL);
	KUNIT_EXPECT_EQ(test, xnb_rx_ops(skb), UINT_MAX);
	kfree_skb(skb);
	rx_bench_end(w);
}

static void rx_response_checksum_flags(struct kunit *test)
{
	static const struct {
		u8 summed;
		u16 flags;
	} row[] = {
		{ CHECKSUM_NONE, 0 },
		{ CHECKSUM_UNNECESSARY, XEN_NETRXF_data_validated },
		{ CHECKSUM_COMPLETE, 0 },
		{ CHECKSUM_PARTIAL,
		  XEN_NETRXF_csum_blank | XEN_NETRXF_data_validated },
	};
	struct xen_netif_rx_request req = { .id = 77 };
	struct sk_buff *skb = alloc_skb(100, GFP_KERNEL);
	union xnb_rx_rsp rsp;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put(skb, 60);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		skb->ip_summed = row[i].summed;
		xnb_rx_response(skb, &req, 0, true, &rsp);
		KUNIT_EXPECT_EQ(test, rsp.rsp.flags, row[i].flags);
	}
	xnb_rx_response(skb, &req, 0, false, &rsp);
	KUNIT_EXPECT_EQ(test, rsp.rsp.status, XEN_NETIF_RSP_ERROR);
	kfree_skb(skb);
}

static struct kunit_case netback_plan_cases[] = {
	KUNIT_CASE(plan_grid_slots_by_total),
	KUNIT_CASE(plan_empty_slots),
	KUNIT_CASE(plan_split_headers),
	KUNIT_CASE(plan_aligned_pieces),
	KUNIT_CASE(plan_largest_frame),
	KUNIT_CASE(plan_random_shapes),
	KUNIT_CASE(rx_slots_every_length),
	KUNIT_CASE(rx_plan_random_shapes),
	KUNIT_CASE(rx_plan_slot_borders),
	KUNIT_CASE(rx_plan_frag_list),
	KUNIT_CASE(rx_response_checksum_flags),
	{}
};

static struct kunit_suite netback_plan_suite = {
	.name = "xpv_netback_plan",
	.test_cases = netback_plan_cases,
};

kunit_test_suite(netback_plan_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * netfront's pure steps on the way out: cutting packets into slots.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/skbuff.h>
#include "../../drivers/netfront/netfront.h"

/* Linear parts come from a buffer of so many pages, so offsets can be chosen. */
#define HEAD_PAGES	4

struct piece_of {
	unsigned int off;
	unsigned int len;
};

static void fill(u8 *p, unsigned int len, u32 seed)
{
	while (len--)
		*p++ = seed = seed * 13 + 7;
}

/* A packet whose linear part starts @h.off bytes into a page. */
static struct sk_buff *make_skb(struct kunit *test, struct piece_of h,
				const struct piece_of *frag, unsigned int nfrag)
{
	struct sk_buff *skb = alloc_skb(HEAD_PAGES * PAGE_SIZE, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_EQ(test, offset_in_page(skb->data), 0);
	skb_reserve(skb, h.off);
	fill(skb_put(skb, h.len), h.len, 1);
	for (i = 0; i < nfrag; i++) {
		struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP, 3);

		KUNIT_ASSERT_NOT_NULL(test, page);
		fill(page_address(page) + frag[i].off, frag[i].len, i + 2);
		skb_fill_page_desc(skb, i, page, frag[i].off, frag[i].len);
		skb->len += frag[i].len;
		skb->data_len += frag[i].len;
	}
	return skb;
}

static unsigned int pages_touched(struct piece_of p)
{
	return p.len ? (p.off + p.len - 1) / PAGE_SIZE - p.off / PAGE_SIZE + 1 : 0;
}

/* Every byte once, in order, and no piece leaves its page. */
static void expect_covers(struct kunit *test, const struct sk_buff *skb,
			  const struct xnf_tx_plan *plan)
{
	u8 *want = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	unsigned int i, sum = 0;

	KUNIT_ASSERT_NOT_NULL(test, want);
	for (i = 0; i < plan->n; i++) {
		const struct xnf_piece *p = &plan->piece[i];

		KUNIT_ASSERT_GT(test, p->len, 0);
		KUNIT_ASSERT_LE(test, p->off + p->len, PAGE_SIZE);
		KUNIT_ASSERT_LE(test, sum + p->len, skb->len);
		KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, sum, want, p->len), 0);
		KUNIT_EXPECT_EQ(test, memcmp(want, page_address(p->page) + p->off,
					     p->len), 0);
		sum += p->len;
	}
	KUNIT_EXPECT_EQ(test, sum, skb->len);
	kunit_kfree(test, want);
}

static const unsigned int offsets[] = { 0, 1, 14, 2048, 4081, 4082, 4083, 4095 };
static const unsigned int lengths[] = { 1, 13, 14, 15, 66, 1514, 4095, 4096,
					4097, 8192, 12000 };

static void tx_pieces_linear_grid(struct kunit *test)
{
	struct xnf_tx_plan plan;
	unsigned int o, l;

	for (o = 0; o < ARRAY_SIZE(offsets); o++) {
		for (l = 0; l < ARRAY_SIZE(lengths); l++) {
			struct piece_of h = { offsets[o], lengths[l] };
			struct sk_buff *skb = make_skb(test, h, NULL, 0);

			KUNIT_EXPECT_EQ(test, xnf_tx_pieces(skb, &plan),
					pages_touched(h));
			KUNIT_EXPECT_EQ(test, plan.nhead, plan.n);
			expect_covers(test, skb, &plan);
			kfree_skb(skb);
		}
	}
}

/* @nfrag fragments of one shape behind a usual header. */
static void frags_of_shape(struct kunit *test, struct piece_of shape,
			   unsigned int nfrag)
{
	struct piece_of frag[MAX_SKB_FRAGS], h = { 100, 66 };
	unsigned int i, want = 1;
	struct xnf_tx_plan plan;
	struct sk_buff *skb;

	for (i = 0; i < nfrag; i++) {
		frag[i] = shape;
		want += pages_touched(shape);
	}
	skb = make_skb(test, h, frag, nfrag);
	if (want > XNF_TX_SLOTS) {
		KUNIT_EXPECT_EQ(test, xnf_tx_pieces(skb, &plan), -E2BIG);
	} else {
		KUNIT_EXPECT_EQ(test, xnf_tx_pieces(skb, &plan), want);
		KUNIT_EXPECT_EQ(test, plan.nhead, 1);
		expect_covers(test, skb, &plan);
	}
	kfree_skb(skb);
}

static void tx_pieces_frags_grid(struct kunit *test)
{
	unsigned int o, l, n;

	for (n = 1; n <= MAX_SKB_FRAGS; n++)
		for (o = 0; o < ARRAY_SIZE(offsets); o += 2)
			for (l = 0; l < ARRAY_SIZE(lengths); l += 2)
				frags_of_shape(test, (struct piece_of) {
					offsets[o], lengths[l] }, n);
}

static void tx_pieces_offset_beyond_first_page(struct kunit *test)
{
	frags_of_shape(test, (struct piece_of) { 3 * PAGE_SIZE + 5, 9000 }, 1);
	frags_of_shape(test, (struct piece_of) { 7 * PAGE_SIZE, PAGE_SIZE }, 17);
}

static void tx_pieces_exactly_18_slots(struct kunit *test)
{
	struct piece_of frag[17], h = { 0, 66 };
	struct xnf_tx_plan plan;
	struct sk_buff *skb;
	unsigned int i;

	for (i = 0; i < 17; i++)
		frag[i] = (struct piece_of) { 0, PAGE_SIZE };
	frag[16].len = 1;
	skb = make_skb(test, h, frag, 17);
	KUNIT_EXPECT_EQ(test, xnf_tx_pieces(skb, &plan), 18);
	expect_covers(test, skb, &plan);
	kfree_skb(skb);
}

static void tx_pieces_19_slots_refused(struct kunit *test)
{
	struct piece_of frag[17], h = { 4095, 66 };
	struct xnf_tx_plan plan;
	struct sk_buff *skb;
	unsigned int i;

	for (i = 0; i < 17; i++)
		frag[i] = (struct piece_of) { 0, 1 };
	skb = make_skb(test, h, frag, 17);
	KUNIT_EXPECT_EQ(test, xnf_tx_pieces(skb, &plan), -E2BIG);
	kfree_skb(skb);
}

/* ------------------------------------------------------------------ */
/* Preparing                                                           */
/* ------------------------------------------------------------------ */

static struct xnf *make_xnf(struct kunit *test)
{
	struct xnf *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, x);
	x->trusted = true;
	x->caps = (struct xnf_caps) {
		.sg = true, .csum4 = true, .csum6 = true,
		.gso4 = true, .gso6 = true, .queues = 1,
	};
	return x;
}

static void bounce_free(struct xnf_tx_plan *plan)
{
	while (plan->bounce && plan->n)
		__free_page(plan->piece[--plan->n].page);
}

/* Fewest slots, starting at the page, and nothing else in the pages. */
static void expect_bounced(struct kunit *test, struct xnf *x,
			   struct sk_buff *skb)
{
	struct xnf_tx_plan plan;
	struct xnf_piece *last;

	KUNIT_ASSERT_EQ(test, xnf_tx_prepare(x, skb, &plan), 0);
	KUNIT_ASSERT_TRUE(test, plan.bounce);
	KUNIT_EXPECT_EQ(test, plan.n, DIV_ROUND_UP(skb->len, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, plan.piece[0].off, 0);
	expect_covers(test, skb, &plan);
	last = &plan.piece[plan.n - 1];
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(page_address(last->page) + last->len,
					     0, PAGE_SIZE - last->len), NULL);
	bounce_free(&plan);
	kfree_skb(skb);
}

static void tx_prepare_first_slot_holds_ethernet_header(struct kunit *test)
{
	unsigned int room;

	for (room = 1; room < ETH_HLEN; room++)
		expect_bounced(test, make_xnf(test),
			       make_skb(test, (struct piece_of) {
					PAGE_SIZE - room, 60 }, NULL, 0));
}

static void tx_prepare_too_many_slots_copied(struct kunit *test)
{
	struct piece_of frag[17];
	unsigned int i;

	for (i = 0; i < 17; i++)
		frag[i] = (struct piece_of) { 4090, 100 };
	expect_bounced(test, make_xnf(test),
		       make_skb(test, (struct piece_of) { 0, 54 }, frag, 17));
}

static void tx_prepare_untrusted_copied(struct kunit *test)
{
	struct xnf *x = make_xnf(test);
	struct piece_of frag = { 64, 3000 };

	x->trusted = false;
	expect_bounced(test, x, make_skb(test, (struct piece_of) { 0, 60 },
					 NULL, 0));
	expect_bounced(test, x, make_skb(test, (struct piece_of) { 0, 2000 },
					 &frag, 1));
}

static void tx_prepare_without_sg_one_slot(struct kunit *test)
{
	struct xnf *x = make_xnf(test);
	struct xnf_tx_plan plan;
	struct sk_buff *skb;

	x->caps = (struct xnf_caps) { .csum4 = true };
	expect_bounced(test, x, make_skb(test, (struct piece_of) { 4000, 1514 },
					 NULL, 0));
	skb = make_skb(test, (struct piece_of) { 100, 1514 }, NULL, 0);
	KUNIT_EXPECT_EQ(test, xnf_tx_prepare(x, skb, &plan), 0);
	KUNIT_EXPECT_FALSE(test, plan.bounce);
	KUNIT_EXPECT_EQ(test, plan.n, 1);
	kfree_skb(skb);
	skb = make_skb(test, (struct piece_of) { 0, 4097 }, NULL, 0);
	KUNIT_EXPECT_EQ(test, xnf_tx_prepare(x, skb, &plan), -EMSGSIZE);
	kfree_skb(skb);
}

static void tx_prepare_frame_length_limits(struct kunit *test)
{
	struct piece_of frag[2] = { { 0, 32768 }, { 0, 32768 - 66 } };
	struct xnf *x = make_xnf(test);
	struct xnf_tx_plan plan;
	struct sk_buff *skb;
	unsigned int len;

	for (len = 1; len < ETH_HLEN; len++) {
		skb = make_skb(test, (struct piece_of) { 0, len }, NULL, 0);
		KUNIT_EXPECT_EQ(test, xnf_tx_prepare(x, skb, &plan), -EMSGSIZE);
		kfree_skb(skb);
	}
	skb = make_skb(test, (struct piece_of) { 0, 66 }, frag, 2);
	KUNIT_EXPECT_EQ(test, xnf_tx_prepare(x, skb, &plan), -EMSGSIZE);
	kfree_skb(skb);
	frag[1].len--;
	skb = make_skb(test, (struct piece_of) { 0, 66 }, frag, 2);
	KUNIT_EXPECT_EQ(test, xnf_tx_prepare(x, skb, &plan), 0);
	KUNIT_EXPECT_EQ(test, plan.n, 17);
	kfree_skb(skb);
}

struct offload_case {
	const char *name;
	unsigned int gso_type, gso_size;
	u8 ip_summed;
	bool gso4, gso6;
	int err;
	u8 type;
	u16 flags;
};

#define BLANK	(XEN_NETTXF_csum_blank | XEN_NETTXF_data_validated)
#define EXTRA	XEN_NETTXF_extra_info

static const struct offload_case offload_cases[] = {
	{ "plain", 0, 0, CHECKSUM_NONE, true, true, 0, 0, 0 },
	{ "verified", 0, 0, CHECKSUM_UNNECESSARY, true, true, 0, 0,
	  XEN_NETTXF_data_validated },
	{ "blank", 0, 0, CHECKSUM_PARTIAL, true, true, 0, 0, BLANK },
	{ "v4", SKB_GSO_TCPV4, 1448, CHECKSUM_PARTIAL, true, true, 0,
	  XEN_NETIF_GSO_TYPE_TCPV4, BLANK | EXTRA },
	{ "v6", SKB_GSO_TCPV6, 1428, CHECKSUM_PARTIAL, true, true, 0,
	  XEN_NETIF_GSO_TYPE_TCPV6, BLANK | EXTRA },
	{ "v4 refused", SKB_GSO_TCPV4, 1448, CHECKSUM_PARTIAL, false, true,
	  -EOPNOTSUPP, 0, 0 },
	{ "v6 refused", SKB_GSO_TCPV6, 1448, CHECKSUM_PARTIAL, true, false,
	  -EOPNOTSUPP, 0, 0 },
	{ "udp refused", SKB_GSO_UDP_L4, 1448, CHECKSUM_PARTIAL, true, true,
	  -EOPNOTSUPP, 0, 0 },
};

static void offload_desc(const struct offload_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(offload, offload_cases, offload_desc);

static void tx_prepare_offload_flags(struct kunit *test)
{
	const struct offload_case *c = test->param_value;
	struct xnf *x = make_xnf(test);
	struct xnf_tx_plan plan;
	struct sk_buff *skb;

	x->caps.gso4 = c->gso4;
	x->caps.gso6 = c->gso6;
	skb = make_skb(test, (struct piece_of) { 0, 3000 }, NULL, 0);
	skb->ip_summed = c->ip_summed;
	skb_shinfo(skb)->gso_type = c->gso_type;
	skb_shinfo(skb)->gso_size = c->gso_size;
	KUNIT_EXPECT_EQ(test, xnf_tx_prepare(x, skb, &plan), c->err);
	if (!c->err) {
		KUNIT_EXPECT_EQ(test, plan.gso_type, c->type);
		KUNIT_EXPECT_EQ(test, plan.flags, c->flags);
		if (c->type)
			KUNIT_EXPECT_EQ(test, plan.gso_size, c->gso_size);
	}
	kfree_skb(skb);
}

static struct kunit_case netfront_cases[] = {
	KUNIT_CASE(tx_pieces_linear_grid),
	KUNIT_CASE(tx_pieces_frags_grid),
	KUNIT_CASE(tx_pieces_offset_beyond_first_page),
	KUNIT_CASE(tx_pieces_exactly_18_slots),
	KUNIT_CASE(tx_pieces_19_slots_refused),
	KUNIT_CASE(tx_prepare_first_slot_holds_ethernet_header),
	KUNIT_CASE(tx_prepare_too_many_slots_copied),
	KUNIT_CASE(tx_prepare_untrusted_copied),
	KUNIT_CASE(tx_prepare_without_sg_one_slot),
	KUNIT_CASE(tx_prepare_frame_length_limits),
	KUNIT_CASE_PARAM(tx_prepare_offload_flags, offload_gen_params),
	{}
};

static struct kunit_suite netfront_suite = {
	.name = "xpv_netfront_tx",
	.test_cases = netfront_cases,
};

kunit_test_suite(netfront_suite);
MODULE_LICENSE("GPL");

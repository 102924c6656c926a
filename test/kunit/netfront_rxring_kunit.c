// SPDX-License-Identifier: GPL-2.0
/*
 * netfront's Rx ring against a backend played by the test: what becomes of the
 * pages, and that a malformed packet harms neither the next one nor the ring.
 */
#include <linux/prandom.h>
#include "netfront_peer.h"

#define MORE	XEN_NETRXF_more_data
#define INFO	XEN_NETRXF_extra_info

static union xnf_rx_slot slot(u16 flags, u16 off, s16 status)
{
	return (union xnf_rx_slot) {
		.rsp = { .offset = off, .flags = flags, .status = status },
	};
}

static union xnf_rx_slot extra(u8 type, u8 flags, u8 gso, u16 size)
{
	return (union xnf_rx_slot) {
		.extra = { .type = type, .flags = flags,
			   .u.gso = { .type = gso, .size = size } },
	};
}

/* A page of payload behind an Ethernet header that nobody is addressed by. */
static u8 *payload(struct nf_peer *n)
{
	u8 *data = (u8 *)get_zeroed_page(GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(n->test, data);
	for (i = 0; i < PAGE_SIZE; i++)
		data[i] = i * 7;
	eth_broadcast_addr(data);
	data[12] = 0x88;
	data[13] = 0xb5;
	return data;
}

static struct sk_buff *received(struct nf_peer *n)
{
	struct sk_buff *skb = __skb_dequeue(&n->got);

	if (skb)
		skb_push(skb, ETH_HLEN);
	return skb;
}

static void expect_bytes(struct nf_peer *n, struct sk_buff *skb, unsigned int off,
			 const u8 *data, unsigned int len)
{
	u8 *got = kunit_kmalloc(n->test, len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(n->test, got);
	KUNIT_ASSERT_EQ(n->test, skb_copy_bits(skb, off, got, len), 0);
	KUNIT_EXPECT_EQ(n->test, memcmp(got, data, len), 0);
	kunit_kfree(n->test, got);
}

/* A good frame, and the ring is full again afterwards. */
static void expect_works(struct nf_peer *n)
{
	union xnf_rx_slot s = slot(0, 0, 300);
	u8 *data = payload(n);
	struct sk_buff *skb;

	KUNIT_EXPECT_NE(n->test, nf_deliver(n, &s, data, 300), XPV_GREF_NONE);
	nf_push_rx(n);
	skb = received(n);
	KUNIT_ASSERT_NOT_NULL(n->test, skb);
	KUNIT_EXPECT_EQ(n->test, skb->len, 300);
	expect_bytes(n, skb, 0, data, 300);
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(n->test, xpv_back_pending(&n->q[0].rx), XNF_RING);
	free_page((unsigned long)data);
}

static void rx_small_is_copied_and_page_reposted(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot s = slot(0, 10, 200);
	u64 revoked = fake_calls(n->w, FAKE_UNGRANT);
	u8 *data = payload(n);
	struct sk_buff *skb;
	grant_ref_t ref;

	ref = nf_deliver(n, &s, data, 200);
	nf_push_rx(n);
	skb = received(n);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_FALSE(test, skb_is_nonlinear(skb));
	expect_bytes(n, skb, 0, data, 200);
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, fake_calls(n->w, FAKE_UNGRANT), revoked);
	KUNIT_EXPECT_NOT_NULL(test, fake_granted(n->w, ref));
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_copied, 1);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_recycled, 1);
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&n->q[0].rx), XNF_RING);
	free_page((unsigned long)data);
	nf_down(n);
}

static void rx_large_gives_its_page(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot s = slot(0, 2, 1514);
	u8 *data = payload(n);
	struct sk_buff *skb;
	struct page *page;
	grant_ref_t ref;

	ref = nf_deliver(n, &s, data, 1514);
	page = fake_granted(n->w, ref);
	nf_push_rx(n);
	skb = received(n);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, skb->len, 1514);
	KUNIT_EXPECT_PTR_EQ(test, skb_frag_page(&skb_shinfo(skb)->frags[0]), page);
	KUNIT_EXPECT_GE(test, skb_headlen(skb), ETH_HLEN);
	expect_bytes(n, skb, 0, data, 1514);
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&n->q[0].rx), XNF_RING);
	free_page((unsigned long)data);
	nf_down(n);
}

static void rx_copybreak_decides(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot s = slot(0, 0, 1000);
	u8 *data = payload(n);

	n->x->copybreak = 1000;
	nf_deliver(n, &s, data, 1000);
	nf_push_rx(n);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_copied, 1);
	n->x->copybreak = 999;
	nf_deliver(n, &s, data, 1000);
	nf_push_rx(n);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_copied, 1);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_packets, 2);
	free_page((unsigned long)data);
	nf_down(n);
}

static void rx_many_slots_one_packet(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot full = slot(MORE, 0, 4096), last = slot(0, 0, 100);
	u8 *data = payload(n);
	struct sk_buff *skb;
	unsigned int i;

	for (i = 0; i < 15; i++)
		nf_deliver(n, &full, data, 4096);
	nf_deliver(n, &last, data, 100);
	nf_push_rx(n);
	skb = received(n);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, skb->len, 15 * 4096 + 100);
	for (i = 0; i < 15; i++)
		expect_bytes(n, skb, i * 4096, data, 4096);
	expect_bytes(n, skb, 15 * 4096, data, 100);
	kfree_skb(skb);
	expect_works(n);
	free_page((unsigned long)data);
	nf_down(n);
}

/* 18 slots and one more, of which the first is short enough to become linear. */
static void rx_most_slots_one_packet(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot first = slot(MORE, 0, 60), more = slot(MORE, 0, 1000);
	union xnf_rx_slot last = slot(0, 0, 1000);
	u8 *data = payload(n);
	struct sk_buff *skb;
	unsigned int i;

	nf_deliver(n, &first, data, 60);
	for (i = 0; i + 1 < MAX_SKB_FRAGS; i++)
		nf_deliver(n, &more, data, 1000);
	nf_deliver(n, &last, data, 1000);
	nf_push_rx(n);
	skb = received(n);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, skb->len, 60 + MAX_SKB_FRAGS * 1000);
	KUNIT_EXPECT_EQ(test, (int)skb_shinfo(skb)->nr_frags, MAX_SKB_FRAGS);
	kfree_skb(skb);
	/* One more than an skb can carry. */
	nf_deliver(n, &first, data, 60);
	for (i = 0; i < MAX_SKB_FRAGS; i++)
		nf_deliver(n, &more, data, 1000);
	nf_deliver(n, &last, data, 1000);
	nf_push_rx(n);
	KUNIT_EXPECT_NULL(test, received(n));
	KUNIT_EXPECT_EQ(test, nf_faults(n, XPV_FAULT_SLOTS), 1);
	expect_works(n);
	free_page((unsigned long)data);
	nf_down(n);
}

/* Slots of one packet published one by one are still one packet. */
static void rx_packet_split_over_pushes(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot more = slot(MORE, 0, 1000), last = slot(0, 0, 500);
	u8 *data = payload(n);
	struct sk_buff *skb;

	nf_deliver(n, &more, data, 1000);
	nf_push_rx(n);
	nf_deliver(n, &more, data, 1000);
	nf_push_rx(n);
	KUNIT_EXPECT_NULL(test, received(n));
	nf_deliver(n, &last, data, 500);
	nf_push_rx(n);
	skb = received(n);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, skb->len, 2500);
	kfree_skb(skb);
	expect_works(n);
	free_page((unsigned long)data);
	nf_down(n);
}

/* Down in the middle of a packet: its pages are not forgotten. */
static void rx_down_in_mid_packet(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot more = slot(MORE, 0, 1000);
	u8 *data = payload(n);
	unsigned int i;

	for (i = 0; i < 5; i++)
		nf_deliver(n, &more, data, 1000);
	nf_push_rx(n);
	KUNIT_EXPECT_EQ(test, n->x->q[0].rx.pkt.nseg, 5);
	free_page((unsigned long)data);
	nf_down(n);
}

/* A GSO frame with right headers arrives with its segment size. */
static void rx_gso_frame(struct kunit *test)
{
	static const u8 head[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 0,
		0x45, 0, 0x0b, 0xaa, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1,
		10, 0, 0, 2, 1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10,
	};
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot s = slot(INFO | XEN_NETRXF_csum_blank, 0, 3000);
	union xnf_rx_slot e = extra(XEN_NETIF_EXTRA_TYPE_GSO, 0, 1, 1448);
	u8 *data = payload(n);
	struct sk_buff *skb;

	memcpy(data, head, sizeof(head));
	nf_deliver(n, &s, data, 3000);
	nf_deliver(n, &e, data, 0);
	nf_push_rx(n);
	skb = received(n);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->gso_size, 1448);
	KUNIT_EXPECT_EQ(test, (int)skb->ip_summed, CHECKSUM_PARTIAL);
	KUNIT_EXPECT_EQ(test, skb_headlen(skb), 54);
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_gso_packets, 1);
	free_page((unsigned long)data);
	nf_down(n);
}

/* ------------------------------------------------------------------ */
/* Hostile                                                             */
/* ------------------------------------------------------------------ */

struct bad_packet {
	const char *name;
	union xnf_rx_slot s[8];
	unsigned int n;
	enum xpv_fault fault;
};

#define S(f, o, l)	{ .rsp = { .flags = (f), .offset = (o), .status = (l) } }
#define E(t, f, g, z)	{ .extra = { .type = (t), .flags = (f), \
				     .u.gso = { .type = (g), .size = (z) } } }

static const struct bad_packet bad_packets[] = {
	{ "short", { S(0, 0, 13) }, 1, XPV_FAULT_SIZE },
	{ "empty", { S(0, 0, 0) }, 1, XPV_FAULT_SIZE },
	{ "short first of many", { S(MORE, 0, 5), S(MORE, 0, 100), S(0, 0, 100) },
	  3, XPV_FAULT_SIZE },
	{ "beyond page", { S(MORE, 0, 100), S(0, 4000, 200) }, 2, XPV_FAULT_SIZE },
	{ "failed", { S(0, 0, -1) }, 1, XNF_NO_FAULT },
	{ "failed later", { S(MORE, 0, 100), S(MORE, 0, 100), S(0, 0, -1) },
	  3, XNF_NO_FAULT },
	{ "unknown extra", { S(INFO | MORE, 0, 100), E(7, 0, 0, 0), S(0, 0, 9) },
	  3, XPV_FAULT_EXTRA },
	{ "two gso", { S(INFO, 0, 100), E(1, 1, 1, 9), E(1, 0, 1, 9) },
	  3, XPV_FAULT_EXTRA },
	{ "gso of size 0", { S(INFO, 0, 100), E(1, 0, 1, 0) }, 2, XPV_FAULT_OFFLOAD },
	{ "gso without headers", { S(INFO, 0, 100), E(1, 0, 1, 9) }, 2,
	  XPV_FAULT_OFFLOAD },
	{ "blank without headers", { S(XEN_NETRXF_csum_blank, 0, 1000) }, 1,
	  XPV_FAULT_OFFLOAD },
};

static void bad_desc(const struct bad_packet *b, char *desc)
{
	strscpy(desc, b->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bad, bad_packets, bad_desc);

/* Often enough that a lost page would run the ring dry. */
static void rx_malformed_harms_nobody(struct kunit *test)
{
	const struct bad_packet *b = test->param_value;
	struct nf_peer *n = nf_up(test);
	unsigned int i, k;

	for (i = 0; i < 300; i++) {
		for (k = 0; k < b->n; k++)
			nf_deliver(n, &b->s[k], NULL, 0);
		if (i % 40 == 0)
			nf_push_rx(n);
	}
	nf_push_rx(n);
	KUNIT_EXPECT_NULL(test, received(n));
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_errors, 300);
	if (b->fault != XNF_NO_FAULT)
		KUNIT_EXPECT_EQ(test, nf_faults(n, b->fault), 300);
	KUNIT_EXPECT_FALSE(test, test_bit(XNF_BROKEN, &n->x->flags));
	expect_works(n);
	nf_down(n);
}

static void rx_endless_chains(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot more = slot(MORE, 0, 100), last = slot(0, 0, 100);
	union xnf_rx_slot info = slot(INFO, 0, 100);
	union xnf_rx_slot e = extra(2, XEN_NETIF_EXTRA_FLAG_MORE, 0, 0);
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		nf_deliver(n, &more, NULL, 0);
		if (i % 100 == 0)
			nf_push_rx(n);
	}
	nf_deliver(n, &last, NULL, 0);
	nf_deliver(n, &info, NULL, 0);
	for (i = 0; i < 2000; i++) {
		nf_deliver(n, &e, NULL, 0);
		if (i % 100 == 0)
			nf_push_rx(n);
	}
	e.extra.flags = 0;
	nf_deliver(n, &e, NULL, 0);
	nf_push_rx(n);
	KUNIT_EXPECT_EQ(test, nf_faults(n, XPV_FAULT_SLOTS), 1);
	KUNIT_EXPECT_EQ(test, nf_faults(n, XPV_FAULT_EXTRA), 1);
	KUNIT_EXPECT_NULL(test, received(n));
	expect_works(n);
	nf_down(n);
}

static void rx_more_responses_than_requests(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);

	n->q[0].rx.rsp_prod += XNF_RING + 1;
	nf_push_rx(n);
	KUNIT_EXPECT_EQ(test, nf_faults(n, XPV_FAULT_INDEX), 1);
	KUNIT_EXPECT_TRUE(test, test_bit(XNF_BROKEN, &n->x->flags));
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(n->x->dev));
	nf_down(n);
}

static void rx_kept_page_is_abandoned(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot more = slot(MORE, 0, 1000), last = slot(0, 0, 1000);

	nf_deliver(n, &more, NULL, 0);
	nf_deliver(n, &last, NULL, 0);
	fake_keep(n->w, true);
	nf_push_rx(n);
	KUNIT_EXPECT_NULL(test, received(n));
	KUNIT_EXPECT_EQ(test, nf_faults(n, XPV_FAULT_BUSY), 1);
	KUNIT_EXPECT_TRUE(test, test_bit(XNF_BROKEN, &n->x->flags));
	KUNIT_EXPECT_GE(test, fake_use(n->w).abandoned, 2);
	fake_keep(n->w, false);
	fake_blamed(n->w);
	nf_down(n);
}

static void rx_random_responses(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 4711);
	for (i = 0; i < 6000; i++) {
		union xnf_rx_slot s;

		prandom_bytes_state(&rnd, &s, sizeof(s));
		s.rsp.flags &= 0xf;
		if (i % 3)
			s.rsp.flags &= ~(MORE | INFO);
		s.rsp.offset &= i % 5 ? 0x1ff : 0xffff;
		s.rsp.status &= i % 7 ? 0x7ff : 0xffff;
		if (nf_deliver(n, &s, NULL, 0) == XPV_GREF_NONE || i % 100 == 0)
			nf_push_rx(n);
		__skb_queue_purge(&n->got);
	}
	KUNIT_EXPECT_FALSE(test, test_bit(XNF_BROKEN, &n->x->flags));
	KUNIT_EXPECT_GT(test, nf_stats(n)->rx_packets, 100);
	KUNIT_EXPECT_GT(test, nf_stats(n)->rx_errors, 100);
	nf_down(n);
}

/* ------------------------------------------------------------------ */
/* Events                                                              */
/* ------------------------------------------------------------------ */

static void rx_events_end_exactly_once(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot s = slot(0, 0, 100);
	u8 *data = payload(n);
	unsigned int i;

	for (i = 0; i < 50; i++) {
		nf_deliver(n, &s, data, 100);
		KUNIT_EXPECT_TRUE(test, nf_push_rx(n));
	}
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_packets, 50);
	KUNIT_EXPECT_GE(test, nf_stats(n)->rx_events_received, 50);
	KUNIT_EXPECT_LE(test, nf_stats(n)->rx_events_received, 51);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_events_spurious, 0);
	free_page((unsigned long)data);
	nf_down(n);
}

/* While the interface is down the backend's packets wait in the ring. */
static void rx_waits_while_interface_is_down(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	union xnf_rx_slot s = slot(0, 0, 100);
	u8 *data = payload(n);

	rtnl_lock();
	dev_close(n->x->dev);
	rtnl_unlock();
	nf_deliver(n, &s, data, 100);
	nf_push_rx(n);
	nf_deliver(n, &s, data, 100);
	nf_push_rx(n);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_packets, 0);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, dev_open(n->x->dev, NULL), 0);
	rtnl_unlock();
	fake_run(n->w);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_packets, 2);
	__skb_queue_purge(&n->got);
	free_page((unsigned long)data);
	expect_works(n);
	nf_down(n);
}

/* With one channel for both directions Tx completes as well. */
static void single_channel_serves_both(struct kunit *test)
{
	struct nf_peer *n = nf_create(test);
	struct xen_netif_tx_request req;

	fake_set(n->p, XPV_BACK, "feature-split-event-channels", "0");
	nf_probe(n);
	n->x->tx_copybreak = 0;
	nf_join(n);
	nf_open(n);
	nf_send(n, nf_skb(n, 100), false);
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
	nf_answer(n, req.id, 0);
	KUNIT_EXPECT_TRUE(test, nf_push_tx(n));
	KUNIT_EXPECT_EQ(test, n->x->q[0].tx.ids.nfree, XNF_RING);
	expect_works(n);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->rx_events_spurious, 0);
	nf_down(n);
}

static struct kunit_case netfront_rxring_cases[] = {
	KUNIT_CASE(rx_small_is_copied_and_page_reposted),
	KUNIT_CASE(rx_large_gives_its_page),
	KUNIT_CASE(rx_copybreak_decides),
	KUNIT_CASE(rx_many_slots_one_packet),
	KUNIT_CASE(rx_most_slots_one_packet),
	KUNIT_CASE(rx_packet_split_over_pushes),
	KUNIT_CASE(rx_down_in_mid_packet),
	KUNIT_CASE(rx_gso_frame),
	KUNIT_CASE_PARAM(rx_malformed_harms_nobody, bad_gen_params),
	KUNIT_CASE(rx_endless_chains),
	KUNIT_CASE(rx_more_responses_than_requests),
	KUNIT_CASE(rx_kept_page_is_abandoned),
	KUNIT_CASE(rx_random_responses),
	KUNIT_CASE(rx_events_end_exactly_once),
	KUNIT_CASE(rx_waits_while_interface_is_down),
	KUNIT_CASE(single_channel_serves_both),
	{}
};

static int netfront_rxring_init(struct kunit *test)
{
	xnf_close_ms = 20;
	return 0;
}

static struct kunit_suite netfront_rxring_suite = {
	.name = "xpv_netfront_rxring",
	.init = netfront_rxring_init,
	.test_cases = netfront_rxring_cases,
};

kunit_test_suite(netfront_rxring_suite);
MODULE_LICENSE("GPL");

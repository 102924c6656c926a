// SPDX-License-Identifier: GPL-2.0
/*
 * netfront against a backend played by the test: what goes over the rings in
 * peace, and what happens when the other end lies.
 */
#include <linux/prandom.h>
#include "netfront_peer.h"

/* ------------------------------------------------------------------ */
/* Tx                                                                  */
/* ------------------------------------------------------------------ */

static void tx_packet_is_on_the_ring(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct xen_netif_tx_request req;
	struct page *page;

	KUNIT_EXPECT_EQ(test, (int)nf_send(n, nf_skb(n, 100), false), NETDEV_TX_OK);
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
	KUNIT_EXPECT_EQ(test, req.size, 100);
	KUNIT_EXPECT_EQ(test, req.flags, 0);
	page = fake_granted(n->w, req.gref);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, *((u8 *)page_address(page) + req.offset), 0x5a);
	KUNIT_EXPECT_FALSE(test, nf_take(n, &req));
	nf_answer(n, req.id, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_TRUE(test, nf_push_tx(n));
	KUNIT_EXPECT_EQ(test, n->x->q[0].tx.ids.nfree, XNF_RING);
	KUNIT_EXPECT_EQ(test, n->x->q[0].tx.grefs.nfree, XNF_RING);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_packets, 1);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_bytes, 100);
	nf_down(n);
}

static void tx_burst_is_one_push(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	u64 notified = fake_calls(n->w, FAKE_NOTIFY);
	struct xen_netif_tx_request req;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_FALSE(test, nf_take(n, &req));
		nf_send(n, nf_skb(n, 60), i < 7);
	}
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&n->q[0].tx), 8);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_batches, 1);
	KUNIT_EXPECT_EQ(test, fake_calls(n->w, FAKE_NOTIFY) - notified, 1);
	nf_down(n);
}

/* A packet that is dropped last must not leave the burst unpublished. */
static void tx_drop_at_end_of_burst_pushes(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);

	nf_send(n, nf_skb(n, 60), true);
	nf_send(n, nf_skb(n, 5), false);
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&n->q[0].tx), 1);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_dropped, 1);
	nf_down(n);
}

static void tx_gso_extra_follows_first_slot(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct xen_netif_tx_request req[4];
	struct xen_netif_extra_info *e = (void *)&req[1];
	struct sk_buff *skb = nf_skb(n, 9000);

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
	skb_shinfo(skb)->gso_size = 1448;
	nf_send(n, skb, false);
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req[0]));
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req[1]));
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req[2]));
	KUNIT_EXPECT_EQ(test, req[0].size, 9000);
	KUNIT_EXPECT_TRUE(test, req[0].flags & XEN_NETTXF_extra_info);
	KUNIT_EXPECT_TRUE(test, req[0].flags & XEN_NETTXF_more_data);
	KUNIT_EXPECT_EQ(test, e->type, XEN_NETIF_EXTRA_TYPE_GSO);
	KUNIT_EXPECT_EQ(test, e->flags, 0);
	KUNIT_EXPECT_EQ(test, e->u.gso.size, 1448);
	KUNIT_EXPECT_EQ(test, e->u.gso.type, XEN_NETIF_GSO_TYPE_TCPV4);
	KUNIT_EXPECT_EQ(test, n->x->q[0].tx.extras, 1);
	nf_answer(n, req[0].id, XEN_NETIF_RSP_OKAY);
	nf_answer(n, 0xffff, XEN_NETIF_RSP_NULL);
	nf_answer(n, req[2].id, XEN_NETIF_RSP_OKAY);
	nf_push_tx(n);
	KUNIT_EXPECT_EQ(test, n->x->q[0].tx.extras, 0);
	KUNIT_EXPECT_FALSE(test, test_bit(XNF_BROKEN, &n->x->flags));
	nf_down(n);
}

/* Few events, and the last packet completes nevertheless. */
static void tx_events_come_half_way(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct xen_netif_tx_request req;
	unsigned int i, events = 0;

	for (i = 0; i < 64; i++)
		nf_send(n, nf_skb(n, 60), i < 63);
	for (i = 0; i < 64; i++) {
		KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
		nf_answer(n, req.id, XEN_NETIF_RSP_OKAY);
		events += nf_push_tx(n);
	}
	KUNIT_EXPECT_LE(test, events, 8);
	KUNIT_EXPECT_EQ(test, n->x->q[0].tx.ids.nfree, XNF_RING);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_events_spurious, 0);
	nf_down(n);
}

static void tx_full_ring_stops_and_wakes(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct netdev_queue *txq = netdev_get_tx_queue(n->x->dev, 0);
	struct xen_netif_tx_request req;
	unsigned int sent = 0;

	while (!netif_tx_queue_stopped(txq) && sent < 1000) {
		nf_send(n, nf_skb(n, 60), true);
		sent++;
	}
	KUNIT_EXPECT_EQ(test, sent, XNF_RING - XNF_TX_ROOM + 1);
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&n->q[0].tx), sent);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_queue_stops, 1);
	while (nf_take(n, &req))
		nf_answer(n, req.id, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_TRUE(test, nf_push_tx(n));
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(txq));
	nf_down(n);
}

/* The sender that finds the ring short takes responses without an event. */
static void tx_sender_reaps(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct xen_netif_tx_request req;
	unsigned int i;

	fake_hold_events(n->w, true);
	for (i = 0; i < 2000; i++) {
		KUNIT_ASSERT_EQ(test, (int)nf_send(n, nf_skb(n, 60), false),
				NETDEV_TX_OK);
		if (nf_take(n, &req))
			nf_answer(n, req.id, XEN_NETIF_RSP_OKAY);
		if (xpv_back_push(&n->q[0].tx))
			hyp_evt_notify(nf_tx_evt(n));
	}
	KUNIT_EXPECT_GT(test, nf_stats(n)->tx_reaped_by_sender, 1500);
	fake_hold_events(n->w, false);
	fake_run(n->w);
	KUNIT_EXPECT_EQ(test, n->x->q[0].tx.ids.nfree, XNF_RING);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_events_spurious, 0);
	nf_down(n);
}

static void answer_all(struct nf_peer *n)
{
	struct xen_netif_tx_request req;

	while (nf_take(n, &req))
		nf_answer(n, req.id, XEN_NETIF_RSP_OKAY);
}

static void tx_small_is_copied_and_done_with(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	u64 granted = fake_calls(n->w, FAKE_GRANT);
	struct xen_netif_tx_request req;
	struct sk_buff *skb;
	u8 *data;

	n->x->tx_copybreak = XNF_COPY;
	skb = skb_get(nf_skb(n, XNF_COPY));
	nf_send(n, skb, false);
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1);
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, fake_calls(n->w, FAKE_GRANT), granted);
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
	KUNIT_EXPECT_EQ(test, req.size, XNF_COPY);
	data = page_address(fake_granted(n->w, req.gref));
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(data + req.offset, 0x5a, XNF_COPY),
			    NULL);
	nf_answer(n, req.id, 0);
	KUNIT_EXPECT_FALSE(test, nf_push_tx(n));
	/* One byte more is granted. */
	nf_send(n, nf_skb(n, XNF_COPY + 1), false);
	KUNIT_EXPECT_EQ(test, fake_calls(n->w, FAKE_GRANT), granted + 1);
	nf_down(n);
}

/* Each id has its place: as many small packets as fit, all different. */
static void tx_small_packets_do_not_overlap(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct xen_netif_tx_request req;
	unsigned int i;

	n->x->tx_copybreak = XNF_COPY;
	for (i = 0; i < 200; i++) {
		struct sk_buff *skb = nf_skb(n, XNF_COPY);

		memset(skb->data, i, skb->len);
		nf_send(n, skb, false);
	}
	for (i = 0; i < 200; i++) {
		u8 *data;

		KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
		data = page_address(fake_granted(n->w, req.gref));
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(data + req.offset, i, XNF_COPY),
				    NULL);
	}
	nf_down(n);
}

/* A stream of small packets needs no event; a full ring does. */
static void tx_small_stream_without_events(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct netdev_queue *txq = netdev_get_tx_queue(n->x->dev, 0);
	unsigned int i, events = 0;

	n->x->tx_copybreak = XNF_COPY;
	for (i = 0; i < 3000; i++) {
		nf_send(n, nf_skb(n, 60), i & 1);
		answer_all(n);
		events += nf_push_tx(n);
	}
	KUNIT_EXPECT_EQ(test, events, 0);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_queue_stops, 0);
	while (!netif_tx_queue_stopped(txq))
		nf_send(n, nf_skb(n, 60), false);
	answer_all(n);
	KUNIT_EXPECT_TRUE(test, nf_push_tx(n));
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(txq));
	nf_down(n);
}

/* Behind any number of small packets, a large one gets its event. */
static void tx_large_behind_small_completes(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	unsigned int i, k;

	n->x->tx_copybreak = XNF_COPY;
	for (i = 0; i < 40; i++) {
		for (k = 0; k < i; k++)
			nf_send(n, nf_skb(n, 60), k & 1);
		if (i & 1)
			answer_all(n);
		nf_push_tx(n);
		nf_send(n, nf_skb(n, 1000), false);
		KUNIT_EXPECT_EQ(test, n->x->q[0].tx.held, 1);
		answer_all(n);
		nf_push_tx(n);
		KUNIT_EXPECT_EQ(test, n->x->q[0].tx.held, 0);
	}
	nf_down(n);
}

static void tx_down_with_packets_in_flight(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	unsigned int i;

	n->x->tx_copybreak = XNF_COPY;
	for (i = 0; i < 30; i++)
		nf_send(n, nf_skb(n, i % 3 ? 5000 : 100), i & 1);
	nf_down(n);
}

static void tx_untrusted_peer_sees_the_packet_only(struct kunit *test)
{
	struct nf_peer *n = nf_create(test);
	struct xen_netif_tx_request req;
	u8 *data;

	fake_set(n->p, XPV_FRONT, "trusted", "0");
	nf_probe(n);
	n->x->tx_copybreak = 0;
	nf_join(n);
	nf_open(n);
	nf_send(n, nf_skb(n, 100), false);
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
	KUNIT_EXPECT_EQ(test, req.offset, 0);
	data = page_address(fake_granted(n->w, req.gref));
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(data, 0x5a, 100), NULL);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(data + 100, 0, PAGE_SIZE - 100), NULL);
	nf_down(n);
}

/* ------------------------------------------------------------------ */
/* Tx, hostile                                                         */
/* ------------------------------------------------------------------ */

/* Broken for good: no carrier, no more sending, state Closing, removable. */
static void expect_broken(struct nf_peer *n, enum xpv_fault why)
{
	struct kunit *test = n->test;

	KUNIT_EXPECT_EQ(test, nf_faults(n, why), 1);
	KUNIT_EXPECT_TRUE(test, test_bit(XNF_BROKEN, &n->x->flags));
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(n->x->dev));
	KUNIT_EXPECT_EQ(test, fake_state(n->p, XPV_FRONT), XenbusStateClosing);
	KUNIT_EXPECT_EQ(test, (int)nf_send(n, nf_skb(n, 60), false), NETDEV_TX_OK);
	/* A backend that starts over finds no one. */
	fake_state_set(n->p, XPV_BACK, XenbusStateInitWait);
	KUNIT_EXPECT_TRUE(test, fake_run(n->w));
	KUNIT_EXPECT_TRUE(test, n->x->stopped);
	fake_blamed(n->w);
	nf_down(n);
}

struct lie {
	const char *name;
	u16 id;
	s16 status;
	bool twice;
};

static const struct lie lies[] = {
	{ "id of nobody", 3, 0 },
	{ "id 256", 256, 0 },
	{ "id 65535", 65535, -1 },
	{ "id 32768", 32768, 0 },
	{ "answered twice", 0, 0, true },
	{ "extra info that was not sent", 0, XEN_NETIF_RSP_NULL },
};

static void lie_desc(const struct lie *l, char *desc)
{
	strscpy(desc, l->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(lie, lies, lie_desc);

static void tx_response_lies(struct kunit *test)
{
	const struct lie *l = test->param_value;
	struct nf_peer *n = nf_up(test);
	struct xen_netif_tx_request req;

	nf_send(n, nf_skb(n, 60), true);
	nf_send(n, nf_skb(n, 60), false);
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
	KUNIT_ASSERT_NE(test, req.id, l->id);
	if (l->twice)
		nf_answer(n, req.id, 0);
	nf_answer(n, l->twice ? req.id : l->id, l->status);
	nf_push_tx(n);
	expect_broken(n, XPV_FAULT_ID);
}

static void tx_more_responses_than_requests(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct xen_netif_tx_request req;

	nf_send(n, nf_skb(n, 60), false);
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
	nf_answer(n, req.id, 0);
	nf_answer(n, req.id, 0);
	nf_push_tx(n);
	expect_broken(n, XPV_FAULT_INDEX);
}

/* An id that was handed out but not yet published. */
static void tx_answer_before_push(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct xen_netif_tx_request req;
	unsigned int i, next;

	nf_send(n, nf_skb(n, 60), false);
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
	next = n->x->q[0].tx.ids.stack[n->x->q[0].tx.ids.nfree - 1];
	nf_send(n, nf_skb(n, 60), true);
	nf_answer(n, next, 0);
	nf_push_tx(n);
	for (i = 0; i < 4; i++)
		nf_send(n, nf_skb(n, 60), i < 3);
	nf_down(n);
}

static void tx_kept_page_is_abandoned(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct xen_netif_tx_request req;

	nf_send(n, nf_skb(n, 3000), false);
	KUNIT_ASSERT_TRUE(test, nf_take(n, &req));
	fake_keep(n->w, true);
	nf_answer(n, req.id, 0);
	nf_push_tx(n);
	KUNIT_EXPECT_GE(test, nf_stats(n)->tx_abandoned, 1);
	KUNIT_EXPECT_GE(test, fake_use(n->w).abandoned, 1);
	fake_keep(n->w, false);
	expect_broken(n, XPV_FAULT_BUSY);
}

static void tx_random_responses(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	struct rnd_state rnd;
	unsigned int i, k;

	prandom_seed_state(&rnd, 42);
	for (i = 0; i < 100 && !test_bit(XNF_BROKEN, &n->x->flags); i++) {
		struct xen_netif_tx_request req;
		u32 r = prandom_u32_state(&rnd);

		for (k = 0; k < r % 5; k++)
			nf_send(n, nf_skb(n, 14 + r % 9000), k & 1);
		while (nf_take(n, &req)) {
			r = prandom_u32_state(&rnd);
			nf_answer(n, r % 50 ? req.id : r >> 8, (s16)(r >> 4));
		}
		nf_push_tx(n);
	}
	KUNIT_EXPECT_TRUE(test, test_bit(XNF_BROKEN, &n->x->flags));
	nf_down(n);
}

static void tx_event_storm_is_spurious(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	u64 eoi = fake_calls(n->w, FAKE_EOI_SPURIOUS);
	unsigned int i;

	for (i = 0; i < 10; i++) {
		hyp_evt_notify(nf_tx_evt(n));
		fake_run(n->w);
	}
	KUNIT_EXPECT_GE(test, fake_calls(n->w, FAKE_EOI_SPURIOUS) - eoi, 9);
	KUNIT_EXPECT_GE(test, nf_stats(n)->tx_events_spurious, 9);
	nf_down(n);
}

/* @head bytes in the linear part, a page behind them. Return: grants it took. */
static u64 send_head_and_page(struct nf_peer *n, unsigned int head)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct sk_buff *skb = nf_skb(n, head);
	u64 grants = fake_calls(n->w, FAKE_GRANT);

	KUNIT_ASSERT_NOT_NULL(n->test, page);
	skb_add_rx_frag(skb, 0, page, 0, XPV_PAGE_SIZE, XPV_PAGE_SIZE);
	nf_send(n, skb, false);
	return fake_calls(n->w, FAKE_GRANT) - grants;
}

/* Headers of a large packet are copied; its skb waits for both responses. */
static void tx_short_linear_part_is_copied(struct kunit *test)
{
	static const unsigned int order[][2] = { { 0, 1 }, { 1, 0 } };
	struct nf_peer *n = nf_up(test);
	struct xen_netif_tx_request req[2];
	unsigned int i;
	u8 *data;

	n->x->tx_copybreak = XNF_COPY;
	for (i = 0; i < 2 * XNF_RING; i++) {
		KUNIT_ASSERT_EQ(test, send_head_and_page(n, 66), 1);
		KUNIT_EXPECT_EQ(test, n->x->q[0].tx.held, 1);
		KUNIT_ASSERT_TRUE(test, nf_take(n, &req[0]) && nf_take(n, &req[1]));
		KUNIT_EXPECT_EQ(test, req[0].size, 66 + XPV_PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, req[1].size, XPV_PAGE_SIZE);
		data = page_address(fake_granted(n->w, req[0].gref));
		KUNIT_EXPECT_NULL(test, memchr_inv(data + req[0].offset, 0x5a, 66));
		nf_answer(n, req[order[i & 1][0]].id, XEN_NETIF_RSP_OKAY);
		nf_push_tx(n);
		KUNIT_EXPECT_EQ(test, n->x->q[0].tx.held, 1);
		nf_answer(n, req[order[i & 1][1]].id, XEN_NETIF_RSP_OKAY);
		nf_push_tx(n);
		KUNIT_ASSERT_EQ(test, n->x->q[0].tx.held, 0);
	}
	KUNIT_EXPECT_EQ(test, send_head_and_page(n, XNF_COPY + 1), 2);
	n->x->tx_copybreak = 0;
	KUNIT_EXPECT_EQ(test, send_head_and_page(n, 66), 2);
	nf_down(n);
}

static struct kunit_case netfront_txring_cases[] = {
	KUNIT_CASE(tx_packet_is_on_the_ring),
	KUNIT_CASE(tx_burst_is_one_push),
	KUNIT_CASE(tx_drop_at_end_of_burst_pushes),
	KUNIT_CASE(tx_gso_extra_follows_first_slot),
	KUNIT_CASE(tx_events_come_half_way),
	KUNIT_CASE(tx_full_ring_stops_and_wakes),
	KUNIT_CASE(tx_sender_reaps),
	KUNIT_CASE(tx_small_is_copied_and_done_with),
	KUNIT_CASE(tx_small_packets_do_not_overlap),
	KUNIT_CASE(tx_small_stream_without_events),
	KUNIT_CASE(tx_large_behind_small_completes),
	KUNIT_CASE(tx_down_with_packets_in_flight),
	KUNIT_CASE(tx_untrusted_peer_sees_the_packet_only),
	KUNIT_CASE_PARAM(tx_response_lies, lie_gen_params),
	KUNIT_CASE(tx_more_responses_than_requests),
	KUNIT_CASE(tx_answer_before_push),
	KUNIT_CASE(tx_kept_page_is_abandoned),
	KUNIT_CASE(tx_random_responses),
	KUNIT_CASE(tx_event_storm_is_spurious),
	KUNIT_CASE(tx_short_linear_part_is_copied),
	{}
};

static int netfront_txring_init(struct kunit *test)
{
	xnf_close_ms = 20;
	return 0;
}

static struct kunit_suite netfront_txring_suite = {
	.name = "xpv_netfront_txring",
	.init = netfront_txring_init,
	.test_cases = netfront_txring_cases,
};

kunit_test_suite(netfront_txring_suite);
MODULE_LICENSE("GPL");

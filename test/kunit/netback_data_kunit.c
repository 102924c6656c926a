// SPDX-License-Identifier: GPL-2.0
/*
 * netback on the fake Xen: packets both ways, grants that fail, guests that
 * post too few slots or break the rules.  A test plays the guest.
 */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include "fake_netguest.h"

/* ------------------------------------------------------------------ */
/* Guest to host                                                       */
/* ------------------------------------------------------------------ */

/* The next packet that the host received has @len bytes of Tx page @page. */
static void expect_page(struct guest *g, unsigned int page, unsigned int off,
			unsigned int len)
{
	struct sk_buff *skb = skb_dequeue(&g->got);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(g->test, skb);
	KUNIT_EXPECT_EQ(g->test, skb->len, len);
	for (i = 0; i < min(len, skb->len); i++)
		if (skb->data[i] != guest_pattern(page, off + i)) {
			KUNIT_FAIL(g->test, "byte %u differs", i);
			break;
		}
	kfree_skb(skb);
}

static void tx_one_packet(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];

	guest_connect(g, 1, true);
	guest_put(q, 3, 100, 60, 0);
	guest_push(g, q);
	expect_page(g, 3, 100, 60);
	guest_expect_rsp(g, q, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, host_sum(g, "tx_packets"), 1);
	KUNIT_EXPECT_EQ(test, host_sum(g, "tx_bytes"), 60);
	guest_end(g);
}

/* One batch: one hypercall, one event back, whatever the number of packets. */
static void tx_burst_is_one_batch(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int i, events;
	u64 calls;

	guest_connect(g, 1, true);
	calls = fake_calls(g->w, FAKE_COPY);
	events = q->events;
	for (i = 0; i < 32; i++)
		guest_put(q, i, i, 1000, 0);
	guest_push(g, q);
	for (i = 0; i < 32; i++)
		expect_page(g, i, i, 1000);
	guest_expect_rsp(g, q, 32, 0, 0);
	KUNIT_EXPECT_EQ(test, fake_calls(g->w, FAKE_COPY), calls + 1);
	KUNIT_EXPECT_EQ(test, q->events, events + 1);
	guest_end(g);
}

/* The whole ring, several times round, and every wrap of the index. */
static void tx_ring_wraps(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int turn, i, n, sent = 0;

	guest_connect(g, 1, true);
	for (turn = 0; turn < 20; turn++) {
		n = 1 + turn * 13 % 256;
		for (i = 0; i < n; i++)
			guest_put(q, i % GUEST_TX_PAGES, 0, 64, 0);
		guest_push(g, q);
		guest_expect_rsp(g, q, n, 0, 0);
		sent += n;
		KUNIT_EXPECT_EQ(test, skb_queue_len(&g->got), n);
		skb_queue_purge(&g->got);
	}
	KUNIT_EXPECT_EQ(test, host_sum(g, "tx_packets"), sent);
	guest_end(g);
}

/* A packet whose slots come one by one is one packet, when it is complete. */
static void tx_slots_one_by_one(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int i;

	guest_connect(g, 1, true);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, skb_queue_len(&g->got), 0);
		guest_put(q, 0, i * 200, i ? 200 : 2000,
			  i < 9 ? XEN_NETTXF_more_data : 0);
		guest_push(g, q);
	}
	expect_page(g, 0, 0, 2000);
	guest_expect_rsp(g, q, 10, 0, 0);
	guest_end(g);
}

/* Every operation fails in turn: its packet is lost, the others are not. */
static void tx_nth_copy_fails(struct kunit *test)
{
	static const int err[] = { -EINVAL, FAKE_UNTOUCHED, FAKE_POSITIVE };
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int n, i, e, ops, slots;

	guest_connect(g, 1, true);
	for (n = 1; n <= 18; n++) {
		e = n % ARRAY_SIZE(err);
		ops = fake_ops(g->w, FAKE_COPY);
		fake_fail_op(g->w, FAKE_COPY, n, 1, err[e]);
		/* Three packets of 1, 4 and 1 slots. */
		guest_put(q, 0, 0, 60, 0);
		for (i = 0; i < 4; i++)
			guest_put(q, i, 0, i ? 4096 : 12988,
				  i < 3 ? XEN_NETTXF_more_data : 0);
		guest_put(q, 1, 0, 60, 0);
		guest_push(g, q);
		fake_fail_op(g->w, FAKE_COPY, 0, 0, 0);
		ops = fake_ops(g->w, FAKE_COPY) - ops;
		slots = n == 1 || n == ops ? 1 : n < ops ? 4 : 0;
		guest_expect_rsp(g, q, 6 - slots, slots, 0);
		KUNIT_EXPECT_EQ(test, skb_queue_len(&g->got), slots ? 2 : 3);
		skb_queue_purge(&g->got);
	}
	KUNIT_EXPECT_TRUE(test, g->vif->connected);
	guest_end(g);
}

/* GSO: the net stack gets one large packet it can trust the headers of. */
static void tx_gso_packet(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	struct sk_buff *skb;
	unsigned int i, turn;

	guest_connect(g, 1, true);
	for (turn = 0; turn < 2; turn++) {
		host_headers(page_address(q->page[0]), 54 + 3 * 4096);
		guest_put(q, 0, 0, 54 + 3 * 4096, XEN_NETTXF_more_data |
			  XEN_NETTXF_extra_info |
			  (turn ? 0 : XEN_NETTXF_csum_blank |
				      XEN_NETTXF_data_validated));
		guest_put_gso(q, XEN_NETIF_GSO_TYPE_TCPV4, 1448);
		for (i = 1; i < 4; i++)
			guest_put(q, i, 0, 4096, i < 3 ? XEN_NETTXF_more_data : 0);
		guest_push(g, q);
		guest_expect_rsp(g, q, 4, 0, 1);
		skb = skb_dequeue(&g->got);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		KUNIT_EXPECT_EQ(test, skb->len, 54 + 3 * 4096);
		KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->gso_size, 1448);
		KUNIT_EXPECT_TRUE(test, skb_shinfo(skb)->gso_type & SKB_GSO_DODGY);
		KUNIT_EXPECT_TRUE(test, skb->ip_summed == CHECKSUM_PARTIAL);
		for (i = 0; i < 3 * 4096; i++)
			if (skb->data[54 + i] !=
			    guest_pattern(1 + i / 4096, i % 4096))
				KUNIT_FAIL(test, "byte %u", i);
		kfree_skb(skb);
		KUNIT_EXPECT_EQ(test, host_sum(g, "tx_csum_fixups"), turn);
	}
	guest_end(g);
}

/* Offload data that the headers do not bear out. */
static void tx_gso_wrong_headers(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int i;
	u8 *at;

	guest_connect(g, 1, true);
	at = page_address(q->page[0]);
	for (i = 0; i < 5; i++) {
		host_headers(at, 2000);
		if (i == 0)
			at[23] = IPPROTO_UDP;
		if (i == 1)
			at[12] = 0x86, at[13] = 0xdd;
		if (i == 2)
			at[46] = 0x00;
		if (i == 3)
			at[20] = 0x20;
		guest_put(q, 0, 0, i == 4 ? 54 : 2000, XEN_NETTXF_extra_info |
			  XEN_NETTXF_csum_blank);
		guest_put_gso(q, XEN_NETIF_GSO_TYPE_TCPV4, 1000);
		guest_push(g, q);
		KUNIT_EXPECT_EQ_MSG(test, skb_queue_len(&g->got), 0, "case %u", i);
		guest_expect_rsp(g, q, 0, 1, 1);
	}
	KUNIT_EXPECT_EQ(test, host_sum(g, "tx_errors"), 5);
	KUNIT_EXPECT_TRUE(test, g->vif->connected);
	guest_end(g);
}

/* Down on the host's side: answered, dropped, and well again afterwards. */
static void tx_while_down(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	struct guest_rsp r;

	guest_connect(g, 1, true);
	rtnl_lock();
	dev_close(g->vif->dev);
	rtnl_unlock();
	guest_put(q, 0, 0, 60, 0);
	guest_push(g, q);
	r = guest_rsp(q);
	KUNIT_EXPECT_EQ(test, r.n, 1);
	KUNIT_EXPECT_EQ(test, r.dropped, 1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&g->got), 0);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, dev_open(g->vif->dev, NULL), 0);
	rtnl_unlock();
	guest_put(q, 1, 0, 60, 0);
	guest_push(g, q);
	expect_page(g, 1, 0, 60);
	guest_end(g);
}

/* Slots that were in the ring before the backend came are not lost. */
static void tx_attach_replays(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];

	guest_share(g, 1, true);
	guest_put(q, 5, 0, 60, 0);
	xpv_front_push(&q->tx);
	guest_state(g, XenbusStateConnected);
	expect_page(g, 5, 0, 60);
	guest_end(g);
}

static bool all_sent(void *arg)
{
	struct guest *g = arg;

	return host_sum(g, "tx_packets") == 30;
}

/* 20 packets of burst, then ten bytes of credit a tick: no loss, but waiting. */
static void tx_rate_limit(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int i;

	fake_set(g->p, XPV_BACK, "rate", "131072,100000");
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	guest_connect(g, 1, false);
	for (i = 0; i < 120; i++)
		guest_put(q, i % 4, 0, i % 4 ? 4096 : 16384,
			  i % 4 < 3 ? XEN_NETTXF_more_data : 0);
	guest_push(g, q);
	KUNIT_EXPECT_GT(test, host_sum(g, "tx_throttled"), 0);
	KUNIT_EXPECT_LT(test, host_sum(g, "tx_packets"), 30);
	KUNIT_EXPECT_TRUE(test, fake_until(g->w, all_sent, g, 3000));
	guest_expect_rsp(g, q, 120, 0, 0);
	/* No limit at all once the toolstack says so. */
	fake_del(g->p, XPV_BACK, "rate");
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	KUNIT_EXPECT_EQ(test, g->vif->rate_bytes, U64_MAX);
	guest_end(g);
}

/* ------------------------------------------------------------------ */
/* Host to guest                                                       */
/* ------------------------------------------------------------------ */

static void expect_frame(struct guest *g, struct guest_queue *q,
			 unsigned int len, unsigned int gso)
{
	u8 *buf = kunit_kzalloc(g->test, 70000, GFP_KERNEL);
	unsigned int i, skip = len < HOST_HEADERS ? 0 : HOST_HEADERS;
	u16 flags, size;

	KUNIT_ASSERT_NOT_NULL(g->test, buf);
	KUNIT_ASSERT_EQ(g->test, guest_receive(q, buf, &flags, &size), len);
	KUNIT_EXPECT_EQ(g->test, size, gso);
	if (skip)
		KUNIT_EXPECT_EQ(g->test, flags & (XEN_NETRXF_csum_blank |
						  XEN_NETRXF_data_validated),
				XEN_NETRXF_csum_blank |
				XEN_NETRXF_data_validated);
	for (i = skip; i < len; i++)
		if (buf[i] != (u8)(i * 3 + (i >> 8))) {
			KUNIT_FAIL(g->test, "byte %u of %u", i, len);
			break;
		}
	kunit_kfree(g->test, buf);
}

static void rx_sizes(struct kunit *test)
{
	static const unsigned int len[] = { 60, 100, 1514, 4095, 4096, 4097,
					    9014, 16384, 65535 };
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int i;

	guest_connect(g, 1, true);
	guest_post(g, q, 200);
	rtnl_lock();
	dev_set_mtu(g->vif->dev, 65517);
	rtnl_unlock();
	for (i = 0; i < ARRAY_SIZE(len); i++) {
		host_send(g, len[i], 0);
		expect_frame(g, q, len[i], 0);
		if (len[i] > 2000) {
			host_send(g, len[i], 1448);
			expect_frame(g, q, len[i], 1448);
		}
	}
	KUNIT_EXPECT_EQ(test, host_sum(g, "rx_errors"), 0);
	guest_end(g);
}

/* A stream is copied in few batches, and stays in order. */
static void rx_stream_is_batched(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	struct sk_buff *skb[20];
	unsigned int i;

	guest_connect(g, 1, true);
	guest_post(g, q, 250);
	for (i = 0; i < ARRAY_SIZE(skb); i++)
		skb[i] = net_frame(test, g->vif->dev, 5000 + i, 0);
	/* However slow this machine is, they follow closely. */
	g->vif->queues[0].rx_flushed = ktime_get_ns() + 10ULL * NSEC_PER_SEC;
	preempt_disable();
	for (i = 0; i < ARRAY_SIZE(skb); i++)
		dev_queue_xmit(skb[i]);
	preempt_enable();
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	for (i = 0; i < ARRAY_SIZE(skb); i++)
		expect_frame(g, q, 5000 + i, 0);
	KUNIT_EXPECT_EQ(test, host_sum(g, "rx_packets"), ARRAY_SIZE(skb));
	KUNIT_EXPECT_LT(test, host_sum(g, "rx_batches"), 3);
	KUNIT_EXPECT_EQ(test, host_sum(g, "rx_queue_drops"), 0);
	guest_end(g);
}

/* Small packets wait for no thread, however close they are. */
static void rx_small_goes_at_once(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int i, sent = 0;
	struct sk_buff *skb[20];

	guest_connect(g, 1, true);
	guest_post(g, q, 50);
	g->vif->queues[0].rx_flushed = ktime_get_ns() + 10ULL * NSEC_PER_SEC;
	for (i = 0; i < ARRAY_SIZE(skb); i++)
		skb[i] = net_frame(test, g->vif->dev, 60 + i, 0);
	preempt_disable();
	for (i = 0; i < ARRAY_SIZE(skb); i++) {
		dev_queue_xmit(skb[i]);
		sent += host_sum(g, "rx_packets") == i + 1;
	}
	preempt_enable();
	KUNIT_EXPECT_EQ(test, sent, ARRAY_SIZE(skb));
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	for (i = 0; i < ARRAY_SIZE(skb); i++)
		expect_frame(g, q, 60 + i, 0);
	guest_end(g);
}

/* A small guest that posts four slots gets all that fits, at once. */
static void rx_few_slots(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int i;

	guest_connect(g, 1, false);
	guest_post(g, q, 4);
	for (i = 0; i < 4; i++)
		host_send(g, 60, 0);
	for (i = 0; i < 4; i++)
		expect_frame(g, q, 60, 0);
	guest_end(g);
}

/* Waiting for slots: stopped, woken by the guest, in order, nothing lost. */
static void rx_waits_for_slots(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	struct netdev_queue *txq;
	unsigned int i, split;

	for (split = 0; split <= 1; split++) {
		guest_connect(g, 1, split);
		txq = netdev_get_tx_queue(g->vif->dev, 0);
		for (i = 0; i < 5; i++)
			host_send(g, 5000 + i, 0);
		KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(txq));
		guest_post(g, q, 1);
		KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(txq));
		KUNIT_EXPECT_EQ(test, xpv_front_pending(&q->rx), 0);
		for (i = 0; i < 5; i++) {
			/* The last slot needed wakes the queue, not one more. */
			guest_post(g, q, i ? 2 : 1);
			expect_frame(g, q, 5000 + i, 0);
		}
		guest_post(g, q, 1);
		KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(txq));
		guest_again(g);
		guest_unshare(g);
	}
	guest_end(g);
}

static bool something_came(void *arg)
{
	struct guest_queue *q = arg;

	return xpv_front_pending(&q->rx) > 0;
}

/* A guest that does not announce its slots is looked after by a timer. */
static void rx_without_notify(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];

	guest_share(g, 1, true);
	fake_del(g->p, XPV_FRONT, "feature-rx-notify");
	guest_state(g, XenbusStateConnected);
	host_send(g, 60, 0);
	fake_hold_events(g->w, true);
	guest_post(g, q, 4);
	KUNIT_EXPECT_TRUE(test, fake_until(g->w, something_came, q, 1000));
	expect_frame(g, q, 60, 0);
	fake_hold_events(g->w, false);
	guest_end(g);
}

static bool expired(void *arg)
{
	return host_sum(arg, "rx_expired") >= 1;
}

static bool stalled(void *arg)
{
	struct guest *g = arg;

	return !netif_carrier_ok(g->vif->dev);
}

static void rx_expires(struct kunit *test)
{
	unsigned int drain = xnb_rx_drain_msecs;
	struct guest *g = guest_new(test);

	xnb_rx_drain_msecs = 100;
	guest_connect(g, 1, true);
	host_send(g, 60, 0);
	KUNIT_EXPECT_TRUE(test, fake_until(g->w, expired, g, 2000));
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(xnb_txq(&g->vif->queues[0])));
	xnb_rx_drain_msecs = drain;
	guest_end(g);
}

/* One slot too few for ever: carrier off; the first new slot ends it. */
static void rx_stalls_and_recovers(struct kunit *test)
{
	unsigned int stall = xnb_rx_stall_msecs, drain = xnb_rx_drain_msecs;
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int i;

	xnb_rx_stall_msecs = 200;
	xnb_rx_drain_msecs = 50;
	guest_connect(g, 1, true);
	guest_post(g, q, 1);
	/* Packets come, wait, and expire; the hunger lasts. */
	for (i = 0; i < 20 && !stalled(g); i++) {
		host_send(g, 5000, 0);
		fake_until(g->w, stalled, g, 60);
	}
	KUNIT_EXPECT_TRUE(test, stalled(g));
	KUNIT_EXPECT_GT(test, host_sum(g, "rx_expired"), 0);
	KUNIT_EXPECT_EQ(test, host_sum(g, "rx_stalls"), 1);
	guest_post(g, q, 1);
	KUNIT_EXPECT_FALSE(test, stalled(g));
	host_send(g, 5000, 0);
	expect_frame(g, q, 5000, 0);
	KUNIT_EXPECT_EQ(test, host_sum(g, "rx_stalls"), 1);
	xnb_rx_stall_msecs = stall;
	xnb_rx_drain_msecs = drain;
	guest_end(g);
}

static void rx_nth_copy_fails(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	u8 *buf = kunit_kzalloc(test, 70000, GFP_KERNEL);
	unsigned int n;
	u16 flags, gso;

	guest_connect(g, 1, true);
	guest_post(g, q, 250);
	for (n = 1; n <= 8; n++) {
		u64 ops = fake_ops(g->w, FAKE_COPY);
		int len;

		fake_fail_op(g->w, FAKE_COPY, n, 1, -EFAULT);
		host_send(g, 9000, 0);
		fake_fail_op(g->w, FAKE_COPY, 0, 0, 0);
		ops = fake_ops(g->w, FAKE_COPY) - ops;
		len = guest_receive(q, buf, &flags, &gso);
		if (n <= ops)
			KUNIT_EXPECT_EQ(test, len, XEN_NETIF_RSP_ERROR);
		else
			KUNIT_EXPECT_EQ(test, len, 9000);
	}
	host_send(g, 60, 0);
	expect_frame(g, q, 60, 0);
	KUNIT_EXPECT_TRUE(test, g->vif->connected);
	guest_end(g);
}

/* A frame that the guest did not agree to take never reaches it. */
static void rx_not_agreed(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];

	guest_share(g, 1, true);
	fake_del(g->p, XPV_FRONT, "feature-sg");
	guest_state(g, XenbusStateConnected);
	guest_post(g, q, 100);
	host_send(g, 4097, 0);
	KUNIT_EXPECT_EQ(test, xpv_front_pending(&q->rx), 0);
	KUNIT_EXPECT_EQ(test, host_sum(g, "rx_refused"), 1);
	host_send(g, 1514, 0);
	expect_frame(g, q, 1514, 0);
	guest_end(g);
}

static struct kunit_case netback_data_cases[] = {
	KUNIT_CASE(tx_one_packet),
	KUNIT_CASE(tx_burst_is_one_batch),
	KUNIT_CASE(tx_ring_wraps),
	KUNIT_CASE(tx_slots_one_by_one),
	KUNIT_CASE(tx_nth_copy_fails),
	KUNIT_CASE(tx_gso_packet),
	KUNIT_CASE(tx_gso_wrong_headers),
	KUNIT_CASE(tx_while_down),
	KUNIT_CASE(tx_attach_replays),
	KUNIT_CASE(tx_rate_limit),
	KUNIT_CASE(rx_sizes),
	KUNIT_CASE(rx_stream_is_batched),
	KUNIT_CASE(rx_small_goes_at_once),
	KUNIT_CASE(rx_few_slots),
	KUNIT_CASE(rx_waits_for_slots),
	KUNIT_CASE(rx_without_notify),
	KUNIT_CASE(rx_expires),
	KUNIT_CASE(rx_stalls_and_recovers),
	KUNIT_CASE(rx_nth_copy_fails),
	KUNIT_CASE(rx_not_agreed),
	{}
};

static struct kunit_suite netback_data_suite = {
	.name = "xpv_netback_data",
	.test_cases = netback_data_cases,
};

kunit_test_suite(netback_data_suite);

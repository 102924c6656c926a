// SPDX-License-Identifier: GPL-2.0
/*
 * netback on the fake Xen: guests that break the rules lose their connection,
 * and nothing else. A test plays the guest.
 */
#include "fake_netguest.h"

static void expect_left(struct guest *g, enum xpv_fault why)
{
	struct kunit *test = g->test;

	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	flush_work(&g->vif->broken_work);
	KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK), XenbusStateClosing);
	KUNIT_EXPECT_FALSE(test, g->vif->connected);
	KUNIT_EXPECT_EQ(test, atomic64_read(&g->vif->faults.count[why]), 1);
	KUNIT_EXPECT_EQ(test, fake_use(g->w).maps, 0);
	/* And it may come back. */
	guest_again(g);
	guest_unshare(g);
	guest_connect(g, 1, true);
	guest_put(&g->q[0], 2, 0, 60, 0);
	guest_push(g, &g->q[0]);
	skb_queue_purge(&g->got);
	guest_expect_rsp(g, &g->q[0], 1, 0, 0);
}

static void hostile_tx_producer(struct kunit *test)
{
	static const u32 jump[] = { 257, 0x80000000, 0xffffffff };
	struct guest *g = guest_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(jump); i++) {
		guest_connect(g, 1, true);
		xpv_peer_write(&g->q[0].tx.s->req_prod, jump[i]);
		hyp_evt_notify(&g->q[0].tx_evt);
		expect_left(g, XPV_FAULT_INDEX);
		guest_again(g);
		guest_unshare(g);
		atomic64_set(&g->vif->faults.count[XPV_FAULT_INDEX], 0);
	}
	guest_end(g);
}

static void hostile_rx_producer(struct kunit *test)
{
	struct guest *g = guest_new(test);

	guest_connect(g, 1, true);
	xpv_peer_write(&g->q[0].rx.s->req_prod, 1000);
	host_send(g, 60, 0);
	expect_left(g, XPV_FAULT_INDEX);
	guest_end(g);
}

static void hostile_tx_slot_crosses_page(struct kunit *test)
{
	struct guest *g = guest_new(test);

	guest_connect(g, 2, false);
	guest_put(&g->q[1], 0, 4000, 200, 0);
	guest_push(g, &g->q[1]);
	expect_left(g, XPV_FAULT_SIZE);
	guest_end(g);
}

static void hostile_tx_endless_chain(struct kunit *test)
{
	struct guest *g = guest_new(test);
	unsigned int i;

	guest_connect(g, 1, true);
	for (i = 0; i < 200; i++)
		guest_put(&g->q[0], 0, 0, i ? 1 : 1000, XEN_NETTXF_more_data);
	guest_push(g, &g->q[0]);
	expect_left(g, XPV_FAULT_SLOTS);
	guest_end(g);
}

/* Events for nothing are seen as such, those with work are not. */
static void events_spurious(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct guest_queue *q = &g->q[0];
	unsigned int i;
	u64 before;

	guest_connect(g, 1, true);
	for (i = 0; i < 10; i++) {
		guest_put(q, 0, 0, 60, 0);
		guest_push(g, q);
		guest_rsp(q);
	}
	/* The first slot posted sends an event by itself. */
	guest_post(g, q, 1);
	KUNIT_EXPECT_EQ(test, fake_calls(g->w, FAKE_EOI_SPURIOUS), 0);
	before = fake_calls(g->w, FAKE_EOI_SPURIOUS);
	for (i = 0; i < 10; i++) {
		guest_put(q, 0, 0, 60, 0);
		guest_push(g, q);
		guest_rsp(q);
		guest_post(g, q, 1);
		hyp_evt_notify(&q->rx_evt);
		KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	}
	KUNIT_EXPECT_EQ(test, fake_calls(g->w, FAKE_EOI_SPURIOUS), before);
	for (i = 0; i < 5; i++) {
		hyp_evt_notify(&q->tx_evt);
		KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	}
	KUNIT_EXPECT_EQ(test, fake_calls(g->w, FAKE_EOI_SPURIOUS), before + 5);
	guest_end(g);
}

static struct kunit_case netback_hostile_cases[] = {
	KUNIT_CASE(hostile_tx_producer),
	KUNIT_CASE(hostile_rx_producer),
	KUNIT_CASE(hostile_tx_slot_crosses_page),
	KUNIT_CASE(hostile_tx_endless_chain),
	KUNIT_CASE(events_spurious),
	{}
};

static struct kunit_suite netback_hostile_suite = {
	.name = "xpv_netback_hostile",
	.test_cases = netback_hostile_cases,
};

kunit_test_suite(netback_hostile_suite);

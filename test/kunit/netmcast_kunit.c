// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast control of netback against guests, also such as break the rules. A
 * test plays the guest.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include "fake_netguest.h"

#define ADD	XEN_NETIF_EXTRA_TYPE_MCAST_ADD
#define DEL	XEN_NETIF_EXTRA_TYPE_MCAST_DEL

static void put_extra(struct guest_queue *q, u8 type, const u8 *addr, bool more)
{
	union xnb_tx_raw raw = { };

	raw.extra.type = type;
	raw.extra.flags = more ? XEN_NETIF_EXTRA_FLAG_MORE : 0;
	ether_addr_copy(raw.extra.u.mcast.addr, addr);
	xpv_front_put(&q->tx, &raw, sizeof(raw));
}

/* One change, which is answered with @status. */
static void change(struct guest *g, unsigned int i, u8 type, unsigned int nr,
		   s16 status)
{
	guest_put(&g->q[i], 0, 0, 0, XEN_NETTXF_extra_info);
	put_extra(&g->q[i], type, net_group(nr), false);
	guest_push(g, &g->q[i]);
	guest_expect_rsp(g, &g->q[i], status == XEN_NETIF_RSP_OKAY,
			 status == XEN_NETIF_RSP_ERROR, 1);
}

/* Does a frame to this address reach the guest? Each is counted, once. */
static bool arrives(struct guest *g, const u8 *dest)
{
	struct sk_buff *skb = net_frame(g->test, g->vif->dev, 60, 0);
	u64 passed = host_sum(g, "rx_packets");
	u64 kept = host_sum(g, "rx_mcast_filtered");
	unsigned int i;

	for (i = 0; i < g->nq; i++)
		guest_post(g, &g->q[i], 1);
	ether_addr_copy(skb->data, dest);
	dev_queue_xmit(skb);
	KUNIT_EXPECT_TRUE(g->test, fake_run(g->w));
	passed = host_sum(g, "rx_packets") - passed;
	kept = host_sum(g, "rx_mcast_filtered") - kept;
	KUNIT_EXPECT_EQ(g->test, passed + kept, 1);
	return passed;
}

static void ask(struct guest *g, const char *value)
{
	fake_set(g->p, XPV_FRONT, "request-multicast-control", "%s", value);
	KUNIT_EXPECT_TRUE(g->test, fake_run(g->w));
}

static struct guest *asking_guest(struct kunit *test, unsigned int nq)
{
	struct guest *g = guest_new(test);

	ask(g, "1");
	guest_connect(g, nq, true);
	return g;
}

static void back_filters(struct kunit *test)
{
	static const u8 all[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const u8 one[] = { 0x00, 0x16, 0x3e, 0, 0, 0 };
	struct guest *g = asking_guest(test, 1);

	KUNIT_EXPECT_EQ(test, fake_get_num(g->p, XPV_BACK,
					   "feature-multicast-control", 0), 1);
	KUNIT_EXPECT_EQ(test, fake_get_num(g->p, XPV_BACK,
					   "feature-dynamic-multicast-control", 0), 1);
	KUNIT_EXPECT_FALSE(test, arrives(g, net_group(1)));
	change(g, 0, ADD, 1, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(1)));
	KUNIT_EXPECT_FALSE(test, arrives(g, net_group(0x101)));
	KUNIT_EXPECT_TRUE(test, arrives(g, all));
	KUNIT_EXPECT_TRUE(test, arrives(g, one));
	change(g, 0, DEL, 1, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_FALSE(test, arrives(g, net_group(1)));
	KUNIT_EXPECT_EQ(test, host_sum(g, "mcast_add"), 1);
	KUNIT_EXPECT_EQ(test, host_sum(g, "mcast_del"), 1);
	/* None of it was a packet. */
	KUNIT_EXPECT_EQ(test, host_sum(g, "tx_packets"), 0);
	KUNIT_EXPECT_EQ(test, host_sum(g, "tx_errors"), 0);
	guest_end(g);
}

static void back_asked_while_connected(struct kunit *test)
{
	static const char * const off[] = { "0", "", "yes", "-1", " 0 " };
	struct guest *g = guest_new(test);
	unsigned int i;

	guest_connect(g, 1, true);
	change(g, 0, ADD, 1, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(2)));
	for (i = 0; i < ARRAY_SIZE(off); i++) {
		ask(g, "1");
		KUNIT_EXPECT_FALSE(test, arrives(g, net_group(2)));
		KUNIT_EXPECT_TRUE(test, arrives(g, net_group(1)));
		ask(g, off[i]);
		KUNIT_EXPECT_TRUE(test, arrives(g, net_group(2)));
	}
	ask(g, "1");
	fake_del(g->p, XPV_FRONT, "request-multicast-control");
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(2)));
	guest_end(g);
}

static void back_list_full(struct kunit *test)
{
	struct guest *g = asking_guest(test, 2);
	unsigned int i;

	/* From either queue, it is one list. */
	for (i = 0; i < XNB_MCAST_MAX; i++)
		change(g, i & 1, ADD, i, XEN_NETIF_RSP_OKAY);
	for (i = 0; i < 10; i++)
		change(g, i & 1, ADD, 1000 + i, XEN_NETIF_RSP_ERROR);
	KUNIT_EXPECT_EQ(test, host_sum(g, "mcast_refused"), 10);
	KUNIT_EXPECT_FALSE(test, arrives(g, net_group(1000)));
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(XNB_MCAST_MAX - 1)));
	/* One that is not there, one that is, and its place is free. */
	change(g, 0, DEL, 999, XEN_NETIF_RSP_OKAY);
	change(g, 0, ADD, 1000, XEN_NETIF_RSP_ERROR);
	change(g, 0, DEL, 5, XEN_NETIF_RSP_OKAY);
	change(g, 1, ADD, 1000, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(1000)));
	KUNIT_EXPECT_FALSE(test, arrives(g, net_group(5)));
	/* A full list is no fault. */
	KUNIT_EXPECT_EQ(test, atomic64_read(&g->vif->faults.count[XPV_FAULT_EXTRA]), 0);
	guest_end(g);
}

static void back_added_twice(struct kunit *test)
{
	struct guest *g = asking_guest(test, 1);

	change(g, 0, ADD, 1, XEN_NETIF_RSP_OKAY);
	change(g, 0, ADD, 1, XEN_NETIF_RSP_OKAY);
	change(g, 0, DEL, 1, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(1)));
	change(g, 0, DEL, 1, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_FALSE(test, arrives(g, net_group(1)));
	guest_end(g);
}

static void expect_refused(struct guest *g, unsigned int errors,
			   unsigned int extras)
{
	u64 before = host_sum(g, "tx_errors");

	guest_push(g, &g->q[0]);
	guest_expect_rsp(g, &g->q[0], 0, errors, extras);
	KUNIT_EXPECT_EQ(g->test, host_sum(g, "tx_errors") - before, 1);
}

/* Requests that say two things at once say nothing. */
static void back_refuses(struct kunit *test)
{
	struct guest *g = asking_guest(test, 1);
	struct guest_queue *q = &g->q[0];

	/* With data, in one slot and in two. */
	guest_put(q, 0, 0, 60, XEN_NETTXF_extra_info);
	put_extra(q, ADD, net_group(1), false);
	expect_refused(g, 1, 1);
	guest_put(q, 0, 0, 0, XEN_NETTXF_extra_info | XEN_NETTXF_more_data);
	put_extra(q, ADD, net_group(1), false);
	guest_put(q, 1, 0, 0, 0);
	expect_refused(g, 2, 1);
	/* With another extra info, before and after it. */
	guest_put(q, 0, 0, 0, XEN_NETTXF_extra_info);
	put_extra(q, ADD, net_group(1), true);
	put_extra(q, DEL, net_group(2), false);
	expect_refused(g, 1, 2);
	guest_put(q, 0, 0, 0, XEN_NETTXF_extra_info);
	put_extra(q, ADD, net_group(1), true);
	put_extra(q, ADD, net_group(1), false);
	expect_refused(g, 1, 2);
	guest_put(q, 0, 0, 0, XEN_NETTXF_extra_info);
	put_extra(q, XEN_NETIF_EXTRA_TYPE_HASH, net_group(1), true);
	put_extra(q, ADD, net_group(1), false);
	expect_refused(g, 1, 2);
	/* A station. */
	guest_put(q, 0, 0, 0, XEN_NETTXF_extra_info);
	put_extra(q, ADD, "\x02\x00\x00\x00\x00\x01", false);
	expect_refused(g, 1, 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&g->vif->faults.count[XPV_FAULT_EXTRA]), 6);
	KUNIT_EXPECT_EQ(test, host_sum(g, "mcast_add"), 0);
	KUNIT_EXPECT_FALSE(test, arrives(g, net_group(1)));
	/* And goes on. */
	change(g, 0, ADD, 1, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(1)));
	guest_end(g);
}

/* The extra info comes later, or never: nothing is done without it. */
static void back_cut_off(struct kunit *test)
{
	struct guest *g = asking_guest(test, 1);
	struct guest_queue *q = &g->q[0];
	unsigned int i;

	guest_put(q, 0, 0, 0, XEN_NETTXF_extra_info);
	guest_push(g, q);
	guest_expect_rsp(g, q, 0, 0, 0);
	put_extra(q, ADD, net_group(1), false);
	guest_push(g, q);
	guest_expect_rsp(g, q, 1, 0, 1);
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(1)));
	guest_put(q, 0, 0, 0, XEN_NETTXF_extra_info);
	for (i = 0; i < 100; i++)
		put_extra(q, i & 1 ? ADD : DEL, net_group(1), true);
	guest_push(g, q);
	flush_work(&g->vif->broken_work);
	KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK), XenbusStateClosing);
	KUNIT_EXPECT_FALSE(test, g->vif->connected);
	guest_end(g);
}

static void back_forgets(struct kunit *test)
{
	struct guest *g = asking_guest(test, 1);

	change(g, 0, ADD, 1, XEN_NETIF_RSP_OKAY);
	guest_again(g);
	guest_unshare(g);
	guest_connect(g, 1, true);
	KUNIT_EXPECT_FALSE(test, arrives(g, net_group(1)));
	guest_again(g);
	guest_unshare(g);
	fake_del(g->p, XPV_FRONT, "request-multicast-control");
	guest_connect(g, 1, true);
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(1)));
	guest_end(g);
}

/* The fake has no way back for a channel whose other end was closed. */
static void renew_events(struct guest *g)
{
	struct guest_queue *q = &g->q[0];

	hyp_evt_close(&q->tx_evt);
	hyp_evt_close(&q->rx_evt);
	KUNIT_ASSERT_EQ(g->test, hyp_evt_listen(g->d, &q->tx_evt, "tx"), 0);
	KUNIT_ASSERT_EQ(g->test, hyp_evt_listen(g->d, &q->rx_evt, "rx"), 0);
	fake_set(g->p, XPV_FRONT, "event-channel-tx", "%u", q->tx_evt.port);
	fake_set(g->p, XPV_FRONT, "event-channel-rx", "%u", q->rx_evt.port);
}

/* The backend is loaded again below a guest that does not notice. */
static void back_reloaded(struct kunit *test)
{
	struct guest *g = asking_guest(test, 1);

	change(g, 0, ADD, 1, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_FALSE(test, arrives(g, net_group(2)));
	guest_untap(g);
	fake_remove(g->p, XPV_BACK);
	renew_events(g);
	fake_state_set(g->p, XPV_BACK, XenbusStateInitialising);
	fake_set(g->p, XPV_BACK, "hotplug-status", "connected");
	KUNIT_ASSERT_EQ(test, fake_probe(g->p, XPV_BACK), 0);
	KUNIT_ASSERT_TRUE(test, fake_run(g->w));
	g->vif = fake_end(g->p, XPV_BACK)->priv;
	KUNIT_ASSERT_TRUE(test, g->vif->connected);
	rtnl_lock();
	g->vif->dev->priv_flags |= IFF_NO_ADDRCONF;
	KUNIT_EXPECT_EQ(test, dev_open(g->vif->dev, NULL), 0);
	rtnl_unlock();
	/* What it had asked for is lost, so it gets everything. */
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(1)));
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(2)));
	ask(g, "1");
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(2)));
	/* Until it begins anew. */
	ask(g, "0");
	change(g, 0, ADD, 1, XEN_NETIF_RSP_OKAY);
	ask(g, "1");
	KUNIT_EXPECT_TRUE(test, arrives(g, net_group(1)));
	KUNIT_EXPECT_FALSE(test, arrives(g, net_group(2)));
	guest_end(g);
}

static struct kunit_case netmcast_cases[] = {
	KUNIT_CASE(back_filters),
	KUNIT_CASE(back_asked_while_connected),
	KUNIT_CASE(back_list_full),
	KUNIT_CASE(back_added_twice),
	KUNIT_CASE(back_refuses),
	KUNIT_CASE(back_cut_off),
	KUNIT_CASE(back_forgets),
	KUNIT_CASE(back_reloaded),
	{}
};

static struct kunit_suite netmcast_suite = {
	.name = "xpv_netmcast",
	.test_cases = netmcast_cases,
};

kunit_test_suite(netmcast_suite);

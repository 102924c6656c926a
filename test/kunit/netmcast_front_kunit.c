// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast control of netfront: against a backend played by the test, and with
 * the real netback.
 */
#include "netfront_peer.h"
#include "../../drivers/netback/netback.h"
#include "fake_netguest.h"

static const char asks[] = "request-multicast-control";

static void join(struct net_device *dev, unsigned int first, unsigned int n)
{
	rtnl_lock();
	while (n--)
		dev_mc_add(dev, net_group(first++));
	rtnl_unlock();
}

static void leave(struct net_device *dev, unsigned int first, unsigned int n)
{
	rtnl_lock();
	while (n--)
		dev_mc_del(dev, net_group(first++));
	rtnl_unlock();
}

/* ------------------------------------------------------------------ */
/* A played backend                                                    */
/* ------------------------------------------------------------------ */

/* What the backend was told; no order kept. */
struct told {
	unsigned int adds, dels, packets;
	u8 last[ETH_ALEN];
	u16 id;
};

static struct nf_peer *front_up(struct kunit *test, bool dynamic)
{
	struct nf_peer *n = nf_create(test);

	fake_set(n->p, XPV_BACK, "feature-multicast-control", "1");
	if (dynamic)
		fake_set(n->p, XPV_BACK, "feature-dynamic-multicast-control", "1");
	/* From an earlier driver. */
	fake_set(n->p, XPV_FRONT, asks, "1");
	nf_probe(n);
	n->x->tx_copybreak = 0;
	KUNIT_EXPECT_EQ(test, fake_get_num(n->p, XPV_FRONT, asks, -1), -1);
	nf_join(n);
	nf_open(n);
	return n;
}

static long long asked(struct nf_peer *n)
{
	KUNIT_EXPECT_TRUE(n->test, fake_run(n->w));
	return fake_get_num(n->p, XPV_FRONT, asks, 0);
}

static void take_change(struct nf_peer *n, const struct xen_netif_tx_request *req,
			s16 status, struct told *t)
{
	struct xen_netif_tx_request raw;
	struct xen_netif_extra_info *e = (void *)&raw;

	KUNIT_EXPECT_EQ(n->test, req->gref, 0);
	KUNIT_EXPECT_EQ(n->test, req->size, 0);
	KUNIT_EXPECT_EQ(n->test, req->flags, XEN_NETTXF_extra_info);
	KUNIT_ASSERT_TRUE(n->test, nf_take(n, &raw));
	KUNIT_EXPECT_EQ(n->test, e->flags, 0);
	t->adds += e->type == XEN_NETIF_EXTRA_TYPE_MCAST_ADD;
	t->dels += e->type == XEN_NETIF_EXTRA_TYPE_MCAST_DEL;
	t->id = req->id;
	ether_addr_copy(t->last, e->u.mcast.addr);
	nf_answer(n, req->id, status);
	nf_answer(n, 0xffff, XEN_NETIF_RSP_NULL);
}

/* Take and answer @max requests. Return: what they said. */
static struct told serve(struct nf_peer *n, unsigned int max, s16 status)
{
	struct xen_netif_tx_request req;
	struct told t = { };

	while (max-- && nf_take(n, &req)) {
		if (req.size) {
			t.packets++;
			nf_answer(n, req.id, XEN_NETIF_RSP_OKAY);
		} else {
			take_change(n, &req, status, &t);
		}
	}
	nf_push_tx(n);
	KUNIT_EXPECT_TRUE(n->test, fake_run(n->w));
	return t;
}

/* All there is, to the end. */
static struct told serve_all(struct nf_peer *n, s16 status)
{
	struct told t, sum = { };

	do {
		t = serve(n, UINT_MAX, status);
		sum.adds += t.adds;
		sum.dels += t.dels;
		sum.packets += t.packets;
	} while (t.adds + t.dels + t.packets);
	return sum;
}

static void front_asks_when_listed(struct kunit *test)
{
	struct nf_peer *n = front_up(test, true);
	unsigned int count = netdev_mc_count(n->x->dev);
	struct told t;

	/* What the stack itself wants; the case needs more than one. */
	join(n->x->dev, 1, 2);
	KUNIT_EXPECT_EQ(test, asked(n), 0);
	t = serve(n, 1, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, t.adds, 1);
	KUNIT_EXPECT_EQ(test, asked(n), 0);
	t = serve_all(n, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, t.adds, count + 1);
	KUNIT_EXPECT_EQ(test, asked(n), 1);
	KUNIT_EXPECT_EQ(test, n->x->q[0].tx.ids.nfree, XNF_RING);
	KUNIT_EXPECT_EQ(test, n->x->q[0].tx.extras, 0);
	/* While it filters. */
	join(n->x->dev, 3, 1);
	t = serve(n, 1, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, t.adds, 1);
	KUNIT_EXPECT_MEMEQ(test, t.last, net_group(3), ETH_ALEN);
	leave(n->x->dev, 1, 1);
	t = serve(n, 1, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, t.dels, 1);
	KUNIT_EXPECT_MEMEQ(test, t.last, net_group(1), ETH_ALEN);
	KUNIT_EXPECT_EQ(test, asked(n), 1);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->mcast_add, count + 3);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->mcast_del, 1);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->mcast_switches, 1);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_packets, 0);
	nf_down(n);
}

/* The static form cannot be left in time, so it is not entered. */
static void front_static_form(struct kunit *test)
{
	struct nf_peer *n = front_up(test, false);
	struct told t;

	join(n->x->dev, 1, 5);
	t = serve_all(n, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, t.adds + t.dels, 0);
	KUNIT_EXPECT_EQ(test, fake_get_num(n->p, XPV_FRONT, asks, -1), -1);
	nf_down(n);
}

static void front_refused(struct kunit *test)
{
	static const s16 no[] = { XEN_NETIF_RSP_ERROR, XEN_NETIF_RSP_DROPPED, 5 };
	struct nf_peer *n = front_up(test, true);
	unsigned int i;

	serve_all(n, XEN_NETIF_RSP_OKAY);
	for (i = 0; i < ARRAY_SIZE(no); i++) {
		KUNIT_EXPECT_EQ(test, asked(n), 1);
		join(n->x->dev, 1, 1);
		KUNIT_EXPECT_EQ(test, serve(n, UINT_MAX, no[i]).adds, 1);
		KUNIT_EXPECT_EQ(test, asked(n), 0);
		/* A word of the stack, and it is tried once more. */
		KUNIT_EXPECT_EQ(test, serve(n, UINT_MAX, no[i]).adds, 0);
		join(n->x->dev, 2, 1);
		KUNIT_EXPECT_EQ(test, serve_all(n, XEN_NETIF_RSP_OKAY).adds, 2);
		KUNIT_EXPECT_EQ(test, asked(n), 1);
		leave(n->x->dev, 1, 2);
		KUNIT_EXPECT_EQ(test, serve_all(n, XEN_NETIF_RSP_OKAY).dels, 2);
	}
	KUNIT_EXPECT_EQ(test, nf_stats(n)->mcast_refused, ARRAY_SIZE(no));
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_errors, 0);
	nf_down(n);
}

static void set_promisc(struct nf_peer *n, int inc)
{
	rtnl_lock();
	dev_set_promiscuity(n->x->dev, inc);
	rtnl_unlock();
}

static void set_allmulti(struct nf_peer *n, int inc)
{
	rtnl_lock();
	dev_set_allmulti(n->x->dev, inc);
	rtnl_unlock();
}

static void front_wants_all(struct kunit *test)
{
	struct nf_peer *n = front_up(test, true);

	serve_all(n, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, asked(n), 1);
	set_promisc(n, 1);
	KUNIT_EXPECT_EQ(test, asked(n), 0);
	set_allmulti(n, 1);
	set_promisc(n, -1);
	KUNIT_EXPECT_EQ(test, asked(n), 0);
	join(n->x->dev, 1, 1);
	set_allmulti(n, -1);
	KUNIT_EXPECT_EQ(test, asked(n), 0);
	KUNIT_EXPECT_EQ(test, serve_all(n, XEN_NETIF_RSP_OKAY).adds, 1);
	KUNIT_EXPECT_EQ(test, asked(n), 1);
	KUNIT_EXPECT_EQ(test, nf_stats(n)->mcast_switches, 3);
	nf_down(n);
}

static void front_too_many(struct kunit *test)
{
	struct nf_peer *n = front_up(test, true);
	struct xnf_mclist *l = &n->x->mcast.list;
	struct told t;

	t = serve_all(n, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, asked(n), 1);
	join(n->x->dev, 0, 100);
	KUNIT_EXPECT_EQ(test, asked(n), 0);
	t = serve_all(n, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_LE(test, t.adds, XNF_MC_MAX);
	KUNIT_EXPECT_EQ(test, asked(n), 0);
	leave(n->x->dev, 0, 60);
	t = serve_all(n, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, l->nwant, netdev_mc_count(n->x->dev));
	KUNIT_EXPECT_EQ(test, asked(n), 1);
	nf_down(n);
}

/* Nothing is lost while the ring has no room, nor does it take a packet's. */
static void front_ring_full(struct kunit *test)
{
	struct nf_peer *n = front_up(test, true);
	struct netdev_queue *txq = netdev_get_tx_queue(n->x->dev, 0);
	struct told t;

	serve_all(n, XEN_NETIF_RSP_OKAY);
	/* Packets that nobody waits for, so no event is asked for. */
	n->x->tx_copybreak = XNF_COPY;
	while (xpv_front_free(&n->x->q[0].tx.ring) >= XNF_TX_ROOM + 2)
		nf_send(n, nf_skb(n, 60), false);
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(txq));
	join(n->x->dev, 1, 20);
	KUNIT_EXPECT_LT(test, xpv_front_free(&n->x->q[0].tx.ring), XNF_TX_ROOM + 2);
	KUNIT_EXPECT_EQ(test, xnf_mc_busy(&n->x->mcast.list), false);
	t = serve(n, 1000, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_GT(test, t.packets, 200);
	KUNIT_EXPECT_EQ(test, t.adds, 0);
	KUNIT_EXPECT_EQ(test, serve_all(n, XEN_NETIF_RSP_OKAY).adds, 20);
	KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(txq));
	KUNIT_EXPECT_EQ(test, asked(n), 1);
	nf_down(n);
}

/* Few slots come free at a time: the list goes out bit by bit. */
static void front_ring_short(struct kunit *test)
{
	struct nf_peer *n = front_up(test, true);
	unsigned int i, adds = 0;

	serve_all(n, XEN_NETIF_RSP_OKAY);
	n->x->tx_copybreak = XNF_COPY;
	while (xpv_front_free(&n->x->q[0].tx.ring) >= XNF_TX_ROOM + 7)
		nf_send(n, nf_skb(n, 60), false);
	join(n->x->dev, 1, 20);
	KUNIT_EXPECT_TRUE(test, xnf_mc_busy(&n->x->mcast.list));
	for (i = 0; i < 400; i++)
		adds += serve(n, 1, XEN_NETIF_RSP_OKAY).adds;
	KUNIT_EXPECT_EQ(test, adds, 20);
	KUNIT_EXPECT_EQ(test, asked(n), 1);
	KUNIT_EXPECT_FALSE(test, n->x->q[0].tx.mcast);
	nf_down(n);
}

static bool asked_now(void *arg)
{
	struct nf_peer *n = arg;

	return fake_get_num(n->p, XPV_FRONT, asks, 0) == 1;
}

static void front_store_fails(struct kunit *test)
{
	struct nf_peer *n = front_up(test, true);

	fake_fail(n->w, FAKE_STORE_WRITE, 1, 2, -ENOSPC);
	serve_all(n, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_FALSE(test, asked_now(n));
	KUNIT_EXPECT_TRUE(test, fake_until(n->w, asked_now, n, 5000));
	/* It leaves while another try is due. */
	fake_fail(n->w, FAKE_STORE_WRITE, 1, 1, -ENOSPC);
	set_promisc(n, 1);
	KUNIT_EXPECT_TRUE(test, fake_run(n->w));
	set_promisc(n, -1);
	nf_down(n);
}

/* Down, changed, up: the backend hears of it then. */
static void front_down_and_up(struct kunit *test)
{
	struct nf_peer *n = front_up(test, true);
	struct told t;

	serve_all(n, XEN_NETIF_RSP_OKAY);
	rtnl_lock();
	dev_close(n->x->dev);
	rtnl_unlock();
	serve_all(n, XEN_NETIF_RSP_OKAY);
	join(n->x->dev, 1, 4);
	t = serve_all(n, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, t.adds, 0);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, dev_open(n->x->dev, NULL), 0);
	rtnl_unlock();
	t = serve_all(n, XEN_NETIF_RSP_OKAY);
	KUNIT_EXPECT_GE(test, t.adds, 4);
	KUNIT_EXPECT_EQ(test, asked(n), 1);
	nf_down(n);
}

/* One answer too many is a fault, whatever it answers. */
static void front_answered_twice(struct kunit *test)
{
	struct nf_peer *n = front_up(test, true);
	struct told t = serve(n, 1, XEN_NETIF_RSP_OKAY);

	KUNIT_ASSERT_EQ(test, t.adds, 1);
	nf_answer(n, t.id, XEN_NETIF_RSP_OKAY);
	nf_push_tx(n);
	KUNIT_EXPECT_TRUE(test, fake_run(n->w));
	KUNIT_EXPECT_EQ(test, nf_faults(n, XPV_FAULT_ID), 1);
	KUNIT_EXPECT_TRUE(test, test_bit(XNF_BROKEN, &n->x->flags));
	join(n->x->dev, 1, 4);
	nf_down(n);
}

/* ------------------------------------------------------------------ */
/* With the real backend                                               */
/* ------------------------------------------------------------------ */

struct both {
	struct kunit *test;
	struct fake_world *w;
	struct fake_pair *p;
	struct xnf *x;
	struct xnb_vif *vif;
	unsigned int queues;
};

static void both_open(struct both *b, struct net_device *dev)
{
	rtnl_lock();
	dev->priv_flags |= IFF_NO_ADDRCONF;
	KUNIT_EXPECT_EQ(b->test, dev_open(dev, NULL), 0);
	rtnl_unlock();
}

static void both_back(struct both *b)
{
	KUNIT_ASSERT_TRUE(b->test, fake_run(b->w));
	b->vif = fake_end(b->p, XPV_BACK)->priv;
	KUNIT_ASSERT_NOT_NULL(b->test, b->vif);
	KUNIT_ASSERT_TRUE(b->test, b->vif->connected);
	both_open(b, b->vif->dev);
	KUNIT_EXPECT_TRUE(b->test, fake_run(b->w));
}

static struct both *both_new(struct kunit *test)
{
	struct both *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->test = test;
	b->queues = xnf_max_queues;
	xnf_max_queues = 1;
	b->w = fake_world_create(test);
	b->p = fake_pair_create(b->w, "vif", 0);
	fake_set(b->p, XPV_BACK, "hotplug-status", "connected");
	KUNIT_ASSERT_EQ(test, fake_probe(b->p, XPV_BACK), 0);
	KUNIT_ASSERT_EQ(test, fake_probe(b->p, XPV_FRONT), 0);
	both_back(b);
	b->x = fake_end(b->p, XPV_FRONT)->priv;
	both_open(b, b->x->dev);
	KUNIT_EXPECT_TRUE(test, fake_run(b->w));
	return b;
}

static void both_end(struct both *b)
{
	fake_remove(b->p, XPV_FRONT);
	KUNIT_EXPECT_TRUE(b->test, fake_run(b->w));
	fake_remove(b->p, XPV_BACK);
	KUNIT_EXPECT_TRUE(b->test, fake_run(b->w));
	fake_check_clean(b->w);
	xnf_max_queues = b->queues;
}

static u64 received(const struct both *b)
{
	return READ_ONCE(b->x->q[0].stats.rx_packets);
}

/* Does a frame of the host to this address reach the guest? */
static bool arrives(struct both *b, const u8 *dest)
{
	struct sk_buff *skb = net_frame(b->test, b->vif->dev, 60, 0);
	u64 before = received(b);

	ether_addr_copy(skb->data, dest);
	dev_queue_xmit(skb);
	KUNIT_EXPECT_TRUE(b->test, fake_run(b->w));
	return received(b) != before;
}

/* Every group that the stack wants arrives. Return: so does another. */
static bool all_wanted_arrive(struct both *b)
{
	u8 addr[100][ETH_ALEN];
	struct netdev_hw_addr *ha;
	unsigned int i, n = 0;

	KUNIT_EXPECT_TRUE(b->test, fake_run(b->w));
	netif_addr_lock_bh(b->x->dev);
	netdev_for_each_mc_addr(ha, b->x->dev)
		if (n < ARRAY_SIZE(addr))
			ether_addr_copy(addr[n++], ha->addr);
	netif_addr_unlock_bh(b->x->dev);
	KUNIT_EXPECT_GT(b->test, n, 0);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_TRUE_MSG(b->test, arrives(b, addr[i]), "%pM", addr[i]);
	return arrives(b, net_group(9999));
}

static void both_follow(struct kunit *test)
{
	struct both *b = both_new(test);

	KUNIT_EXPECT_FALSE(test, all_wanted_arrive(b));
	KUNIT_EXPECT_FALSE(test, arrives(b, net_group(7)));
	join(b->x->dev, 7, 1);
	KUNIT_EXPECT_TRUE(test, fake_run(b->w));
	KUNIT_EXPECT_TRUE(test, arrives(b, net_group(7)));
	leave(b->x->dev, 7, 1);
	KUNIT_EXPECT_TRUE(test, fake_run(b->w));
	KUNIT_EXPECT_FALSE(test, arrives(b, net_group(7)));
	/* More than the backend takes, and back. */
	join(b->x->dev, 0, 80);
	KUNIT_EXPECT_TRUE(test, all_wanted_arrive(b));
	leave(b->x->dev, 0, 70);
	KUNIT_EXPECT_FALSE(test, all_wanted_arrive(b));
	KUNIT_EXPECT_EQ(test, b->x->q[0].stats.mcast_refused, 0);
	both_end(b);
}

/* Somebody else has taken most of the places: the fallback, and back. */
static void both_no_room(struct kunit *test)
{
	struct both *b = both_new(test);
	unsigned int i;

	local_bh_disable();
	for (i = 0; i < XNB_MCAST_MAX - netdev_mc_count(b->x->dev); i++)
		xnb_mcast_add(&b->vif->mcast, net_group(500 + i));
	local_bh_enable();
	join(b->x->dev, 1, 1);
	KUNIT_EXPECT_TRUE(test, all_wanted_arrive(b));
	KUNIT_EXPECT_EQ(test, b->x->q[0].stats.mcast_refused, 1);
	local_bh_disable();
	xnb_mcast_del(&b->vif->mcast, net_group(500));
	xnb_mcast_del(&b->vif->mcast, net_group(501));
	local_bh_enable();
	join(b->x->dev, 2, 1);
	KUNIT_EXPECT_FALSE(test, all_wanted_arrive(b));
	both_end(b);
}

/* The guest wakes up elsewhere: the new backend hears of all groups. */
static void both_resume(struct kunit *test)
{
	struct both *b = both_new(test);
	unsigned int i;

	join(b->x->dev, 1, 5);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, all_wanted_arrive(b));
		join(b->x->dev, 20 + i, 1);
		KUNIT_EXPECT_EQ(test, fake_resume(b->p), 0);
		fake_set(b->p, XPV_BACK, "hotplug-status", "connected");
		both_back(b);
	}
	KUNIT_EXPECT_FALSE(test, all_wanted_arrive(b));
	both_end(b);
}

/* A backend that has lost its list says Connected again. */
static void both_list_lost(struct kunit *test)
{
	struct both *b = both_new(test);

	KUNIT_EXPECT_FALSE(test, all_wanted_arrive(b));
	memset(b->vif->mcast.addr, 0, sizeof(b->vif->mcast.addr));
	fake_state_set(b->p, XPV_BACK, XenbusStateConnected);
	KUNIT_EXPECT_FALSE(test, all_wanted_arrive(b));
	KUNIT_EXPECT_GE(test, b->x->q[0].stats.mcast_switches, 3);
	both_end(b);
}

static struct kunit_case netmcast_front_cases[] = {
	KUNIT_CASE(front_asks_when_listed),
	KUNIT_CASE(front_static_form),
	KUNIT_CASE(front_refused),
	KUNIT_CASE(front_wants_all),
	KUNIT_CASE(front_too_many),
	KUNIT_CASE(front_ring_full),
	KUNIT_CASE(front_ring_short),
	KUNIT_CASE(front_store_fails),
	KUNIT_CASE(front_down_and_up),
	KUNIT_CASE(front_answered_twice),
	KUNIT_CASE(both_follow),
	KUNIT_CASE(both_no_room),
	KUNIT_CASE(both_resume),
	KUNIT_CASE(both_list_lost),
	{}
};

static struct kunit_suite netmcast_front_suite = {
	.name = "xpv_netmcast_front",
	.test_cases = netmcast_front_cases,
};

kunit_test_suite(netmcast_front_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * The real netfront and the real netback face each other on the fake Xen:
 * connect, packets both ways with their bytes checked, reconnect, leave.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include "../../drivers/netback/netback.h"
#include "../../drivers/netfront/netfront.h"
#include "fake_netguest.h"

enum { FRONT, BACK, ENDS };

/* One end: its net device and what arrived at it. */
struct end {
	struct net_device *dev;
	struct sk_buff_head got;
	struct packet_type tap;
};

struct pair {
	struct kunit *test;
	struct fake_world *w;
	struct fake_pair *p;
	struct end end[ENDS];
	unsigned int back_queues;
	unsigned int front_queues;
	bool split;
};

/* ------------------------------------------------------------------ */
/* Fixture                                                             */
/* ------------------------------------------------------------------ */

static int end_tap(struct sk_buff *skb, struct net_device *dev,
		   struct packet_type *pt, struct net_device *orig_dev)
{
	struct end *e = pt->af_packet_priv;
	struct sk_buff *mine = skb_copy(skb, GFP_ATOMIC);

	kfree_skb(skb);
	if (!mine)
		return 0;
	skb_push(mine, mine->data - skb_mac_header(mine));
	skb_queue_tail(&e->got, mine);
	return 0;
}

static struct net_device *find_dev(struct device *parent)
{
	struct net_device *dev, *found = NULL;

	rtnl_lock();
	for_each_netdev(&init_net, dev)
		if (dev->dev.parent == parent)
			found = dev;
	rtnl_unlock();
	return found;
}

static void end_up(struct pair *x, unsigned int i)
{
	struct end *e = &x->end[i];

	e->dev = find_dev(fake_end(x->p, i == FRONT ? XPV_FRONT : XPV_BACK)->dev);
	KUNIT_ASSERT_NOT_NULL(x->test, e->dev);
	skb_queue_head_init(&e->got);
	e->tap = (struct packet_type) {
		.type = htons(ETH_P_ALL),
		.dev = e->dev,
		.func = end_tap,
		.af_packet_priv = e,
		.ignore_outgoing = true,
	};
	dev_add_pack(&e->tap);
	rtnl_lock();
	e->dev->priv_flags |= IFF_NO_ADDRCONF;
	KUNIT_EXPECT_EQ(x->test, dev_open(e->dev, NULL), 0);
	rtnl_unlock();
}

static void end_down(struct end *e)
{
	if (!e->dev)
		return;
	dev_remove_pack(&e->tap);
	skb_queue_purge(&e->got);
	e->dev = NULL;
}

static void pair_up(struct pair *x)
{
	struct kunit *test = x->test;

	KUNIT_ASSERT_EQ(test, fake_probe(x->p, XPV_BACK), 0);
	KUNIT_ASSERT_EQ(test, fake_probe(x->p, XPV_FRONT), 0);
	KUNIT_ASSERT_TRUE(test, fake_run(x->w));
	KUNIT_ASSERT_EQ(test, fake_state(x->p, XPV_BACK), XenbusStateConnected);
	KUNIT_ASSERT_EQ(test, fake_state(x->p, XPV_FRONT), XenbusStateConnected);
	end_up(x, BACK);
	end_up(x, FRONT);
	KUNIT_ASSERT_TRUE(test, fake_run(x->w));
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(x->end[BACK].dev));
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(x->end[FRONT].dev));
}

static struct pair *pair_new(struct kunit *test, unsigned int queues, bool split)
{
	struct pair *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, x);
	x->test = test;
	x->back_queues = xnb_max_queues;
	x->front_queues = xnf_max_queues;
	x->split = xnb_split;
	xnb_max_queues = queues;
	xnf_max_queues = queues;
	xnb_split = split;
	x->w = fake_world_create(test);
	x->p = fake_pair_create(x->w, "vif", 0);
	fake_set(x->p, XPV_BACK, "hotplug-status", "connected");
	pair_up(x);
	return x;
}

static void pair_end(struct pair *x)
{
	end_down(&x->end[FRONT]);
	end_down(&x->end[BACK]);
	fake_remove(x->p, XPV_FRONT);
	KUNIT_EXPECT_TRUE(x->test, fake_run(x->w));
	fake_remove(x->p, XPV_BACK);
	KUNIT_EXPECT_TRUE(x->test, fake_run(x->w));
	fake_check_clean(x->w);
	xnb_max_queues = x->back_queues;
	xnf_max_queues = x->front_queues;
	xnb_split = x->split;
}

static struct xnb_vif *vif(struct pair *x)
{
	return fake_end(x->p, XPV_BACK)->priv;
}

/* ------------------------------------------------------------------ */
/* Traffic                                                             */
/* ------------------------------------------------------------------ */

/* Payload bytes from @at on of a frame that net_frame() made; Return: bytes. */
static unsigned int check_payload(struct kunit *test, const struct sk_buff *skb,
				  unsigned int at)
{
	unsigned int i;

	for (i = HOST_HEADERS; i < skb->len; i++, at++) {
		if (skb->data[i] == (u8)(at * 3 + (at >> 8)))
			continue;
		KUNIT_FAIL(test, "byte %u of %u differs", i, skb->len);
		break;
	}
	return skb->len - HOST_HEADERS;
}

/*
 * One frame from @from arrives at the other end, whole, or as the segments or
 * merged packets that the receiving stack made of it.
 */
static void cross(struct pair *x, unsigned int from, unsigned int len,
		  unsigned int gso)
{
	struct end *to = &x->end[!from];
	unsigned int at = HOST_HEADERS;
	struct sk_buff *skb;

	KUNIT_ASSERT_EQ(x->test, dev_queue_xmit(net_frame(x->test,
							  x->end[from].dev, len,
							  gso)), NET_XMIT_SUCCESS);
	KUNIT_EXPECT_TRUE(x->test, fake_run(x->w));
	while ((skb = skb_dequeue(&to->got))) {
		if (gso)
			KUNIT_EXPECT_EQ(x->test, skb_shinfo(skb)->gso_size, gso);
		at += check_payload(x->test, skb, at);
		kfree_skb(skb);
	}
	KUNIT_EXPECT_EQ_MSG(x->test, at, len, "from end %u, %u bytes, gso %u",
			    from, len, gso);
}

static void set_mtu(struct pair *x, int mtu)
{
	rtnl_lock();
	KUNIT_EXPECT_EQ(x->test, dev_set_mtu(x->end[FRONT].dev, mtu), 0);
	KUNIT_EXPECT_EQ(x->test, dev_set_mtu(x->end[BACK].dev, mtu), 0);
	rtnl_unlock();
}

static void all_sizes(struct pair *x)
{
	static const unsigned int len[] = { 60, 64, 255, 256, 257, 1514, 4095,
					    4096, 4097, 9014, 40000, 65000 };
	unsigned int i, from;

	set_mtu(x, 65500);
	for (i = 0; i < ARRAY_SIZE(len); i++) {
		for (from = FRONT; from < ENDS; from++) {
			cross(x, from, len[i], 0);
			if (len[i] > 3000)
				cross(x, from, len[i], 1448);
		}
	}
	set_mtu(x, 1500);
}

static void traffic(struct kunit *test, unsigned int queues, bool split)
{
	struct pair *x = pair_new(test, queues, split);

	KUNIT_EXPECT_EQ(test, vif(x)->num_queues, queues);
	KUNIT_EXPECT_EQ(test, vif(x)->feat.split, split);
	all_sizes(x);
	pair_end(x);
}

static void pair_one_queue_split(struct kunit *test)
{
	traffic(test, 1, true);
}

static void pair_one_queue_shared(struct kunit *test)
{
	traffic(test, 1, false);
}

static void pair_two_queues_split(struct kunit *test)
{
	traffic(test, 2, true);
}

static void pair_two_queues_shared(struct kunit *test)
{
	traffic(test, 2, false);
}

/* More than a ring holds, both ways at once, in order and without loss. */
static void pair_burst(struct kunit *test)
{
	struct pair *x = pair_new(test, 1, true);
	unsigned int i, from, n[ENDS] = { };
	struct sk_buff *skb;

	for (i = 0; i < 600; i++) {
		for (from = FRONT; from < ENDS; from++)
			dev_queue_xmit(net_frame(test, x->end[from].dev,
						 200 + i, 0));
		if (i % 100 == 99)
			KUNIT_EXPECT_TRUE(test, fake_run(x->w));
	}
	for (from = FRONT; from < ENDS; from++) {
		while ((skb = skb_dequeue(&x->end[!from].got))) {
			n[from] += skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;
			kfree_skb(skb);
		}
		KUNIT_EXPECT_EQ(test, n[from], 600);
	}
	pair_end(x);
}

/* ------------------------------------------------------------------ */
/* Life                                                                */
/* ------------------------------------------------------------------ */

/* Guest's driver goes and comes back while the backend stays. */
static void pair_front_reloads(struct kunit *test)
{
	struct pair *x = pair_new(test, 1, true);
	unsigned int i;

	for (i = 0; i < 5; i++) {
		cross(x, FRONT, 1000, 0);
		cross(x, BACK, 1000, 0);
		end_down(&x->end[FRONT]);
		fake_remove(x->p, XPV_FRONT);
		KUNIT_EXPECT_TRUE(test, fake_run(x->w));
		KUNIT_EXPECT_FALSE(test, netif_carrier_ok(x->end[BACK].dev));
		KUNIT_EXPECT_EQ(test, fake_use(x->w).maps, 0);
		fake_state_set(x->p, XPV_FRONT, XenbusStateInitialising);
		KUNIT_ASSERT_EQ(test, fake_probe(x->p, XPV_FRONT), 0);
		KUNIT_ASSERT_TRUE(test, fake_run(x->w));
		KUNIT_ASSERT_EQ(test, fake_state(x->p, XPV_BACK),
				XenbusStateConnected);
		end_up(x, FRONT);
	}
	pair_end(x);
}

/* The guest wakes up elsewhere: new domain, new backend, same net device. */
static void pair_resume(struct kunit *test)
{
	struct pair *x = pair_new(test, 1, true);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		cross(x, FRONT, 1000, 0);
		end_down(&x->end[BACK]);
		KUNIT_EXPECT_EQ(test, fake_resume(x->p), 0);
		fake_set(x->p, XPV_BACK, "hotplug-status", "connected");
		KUNIT_ASSERT_TRUE(test, fake_run(x->w));
		KUNIT_ASSERT_EQ(test, fake_state(x->p, XPV_BACK),
				XenbusStateConnected);
		end_up(x, BACK);
		KUNIT_ASSERT_TRUE(test, fake_run(x->w));
		skb_queue_purge(&x->end[BACK].got);
		cross(x, FRONT, 2000, 0);
		cross(x, BACK, 2000, 0);
	}
	pair_end(x);
}

static void pair_detach(struct kunit *test)
{
	struct pair *x = pair_new(test, 1, true);

	cross(x, FRONT, 1000, 0);
	end_down(&x->end[FRONT]);
	end_down(&x->end[BACK]);
	fake_detach(x->p);
	KUNIT_EXPECT_TRUE(test, fake_run(x->w));
	KUNIT_EXPECT_FALSE(test, fake_bound(x->p, XPV_BACK));
	KUNIT_EXPECT_EQ(test, fake_state(x->p, XPV_BACK), XenbusStateClosed);
	KUNIT_EXPECT_EQ(test, fake_state(x->p, XPV_FRONT), XenbusStateClosed);
	/* Nothing was taken back while the backend still had it mapped. */
	KUNIT_EXPECT_EQ(test, fake_calls(x->w, FAKE_ABANDON), 0);
	pair_end(x);
}

/* Grants fail in both directions for a while; afterwards all is well. */
static void pair_copies_fail(struct kunit *test)
{
	struct pair *x;
	unsigned int i;

	/* Mapped pages need no copies that could fail. */
	xnf_statics = false;
	x = pair_new(test, 1, true);
	fake_fail_op(x->w, FAKE_COPY, 1, FAKE_ALL, -EIO);
	for (i = 0; i < 5; i++) {
		dev_queue_xmit(net_frame(test, x->end[FRONT].dev, 1000, 0));
		dev_queue_xmit(net_frame(test, x->end[BACK].dev, 1000, 0));
		KUNIT_EXPECT_TRUE(test, fake_run(x->w));
	}
	xnf_statics = true;
	fake_fail_op(x->w, FAKE_COPY, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&x->end[FRONT].got), 0);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&x->end[BACK].got), 0);
	cross(x, FRONT, 1000, 0);
	cross(x, BACK, 1000, 0);
	pair_end(x);
}

/* Neither end makes the other believe in spurious events. */
static void pair_no_spurious_events(struct kunit *test)
{
	struct pair *x = pair_new(test, 1, true);
	u64 spurious, eois;
	unsigned int i;

	cross(x, FRONT, 1000, 0);
	cross(x, BACK, 1000, 0);
	spurious = fake_calls(x->w, FAKE_EOI_SPURIOUS);
	eois = fake_calls(x->w, FAKE_EOI);
	for (i = 0; i < 50; i++) {
		cross(x, FRONT, 1000, 0);
		cross(x, BACK, 1000, 0);
	}
	spurious = fake_calls(x->w, FAKE_EOI_SPURIOUS) - spurious;
	eois = fake_calls(x->w, FAKE_EOI) - eois;
	KUNIT_EXPECT_GE(test, eois, 50);
	KUNIT_EXPECT_LE(test, spurious * 10, eois);
	pair_end(x);
}

/* ------------------------------------------------------------------ */
/* Static grants                                                       */
/* ------------------------------------------------------------------ */

static u64 back_count(struct pair *x, size_t offset)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < vif(x)->max_queues; i++)
		sum += *(u64 *)((u8 *)&vif(x)->queues[i].stats + offset);
	return sum;
}

/* Both ends send until only pages that stay mapped are posted. */
static void static_warm_up(struct pair *x)
{
	unsigned int i;

	KUNIT_EXPECT_TRUE(x->test, fake_run(x->w));
	for (i = 0; i < 2 * XNF_RING; i++)
		cross(x, BACK, 1000, 0);
}

/* Grant operations of any kind so far, on both ends. */
static u64 grant_ops(struct pair *x)
{
	return fake_ops(x->w, FAKE_COPY) + fake_calls(x->w, FAKE_GRANT) +
	       fake_calls(x->w, FAKE_UNGRANT);
}

/* In the long run no packet costs a grant operation. */
static void pair_static_grants(struct kunit *test)
{
	static const unsigned int len[] = { 60, 256, 257, 1514, 2048, 2049,
					    4097, 9014, 65000 };
	struct pair *x = pair_new(test, 2, true);
	struct xnf *f = fake_end(x->p, XPV_FRONT)->priv;
	u64 ops, tx, rx;
	unsigned int i;

	static_warm_up(x);
	KUNIT_EXPECT_EQ(test, f->q[0].stats.static_pages, XNF_STATIC_PAGES);
	KUNIT_EXPECT_EQ(test, f->q[1].stats.static_pages, XNF_STATIC_PAGES);
	set_mtu(x, 65500);
	for (i = 0; i < 64; i++)
		cross(x, BACK, 65000, 1448);
	for (i = 0; i < ARRAY_SIZE(len); i++) {
		ops = grant_ops(x);
		tx = back_count(x, offsetof(struct xnb_stats, tx_static_copies));
		rx = back_count(x, offsetof(struct xnb_stats, rx_static_copies));
		cross(x, BACK, len[i], 0);
		if (len[i] > 1514)
			cross(x, BACK, len[i], 700);
		KUNIT_EXPECT_EQ_MSG(test, grant_ops(x), ops, "rx %u", len[i]);
		KUNIT_EXPECT_GT(test, back_count(x, offsetof(struct xnb_stats,
							     rx_static_copies)), rx);
		cross(x, FRONT, len[i], 0);
		if (len[i] > 1514)
			cross(x, FRONT, len[i], 700);
		KUNIT_EXPECT_EQ_MSG(test, grant_ops(x), ops, "tx %u", len[i]);
		KUNIT_EXPECT_GT(test, back_count(x, offsetof(struct xnb_stats,
							     tx_static_copies)), tx);
	}
	all_sizes(x);
	pair_end(x);
}

/* What either end cannot or does not want: traffic goes on without. */
static void static_without(struct kunit *test, bool front, unsigned int back,
			   unsigned int pages)
{
	bool front_was = xnf_statics;
	unsigned int back_was = xnb_statics;
	struct pair *x;
	struct xnf *f;

	xnf_statics = front;
	xnb_statics = back;
	x = pair_new(test, 1, true);
	f = fake_end(x->p, XPV_FRONT)->priv;
	static_warm_up(x);
	KUNIT_EXPECT_EQ(test, f->q[0].stats.static_pages, pages);
	all_sizes(x);
	pair_end(x);
	xnf_statics = front_was;
	xnb_statics = back_was;
}

static void pair_static_front_off(struct kunit *test)
{
	static_without(test, false, XNB_STATICS_MAX, 0);
}

static void pair_static_back_off(struct kunit *test)
{
	static_without(test, true, 0, 0);
}

static void pair_static_no_room(struct kunit *test)
{
	static_without(test, true, XNF_COPY_PAGES - 1, 0);
}

static void pair_static_room_for_small(struct kunit *test)
{
	static_without(test, true, XNF_COPY_PAGES, XNF_COPY_PAGES);
}

static void pair_static_room_for_rx(struct kunit *test)
{
	static_without(test, true, XNF_COPY_PAGES + XNF_RING,
		       XNF_COPY_PAGES + XNF_RING);
}

/* Mapping, granting and memory fail at every step; packets pass all the same. */
static void static_fails(struct kunit *test, enum fake_call call)
{
	struct pair *x = pair_new(test, 1, true);
	unsigned int n;

	for (n = 1; n < 8; n++) {
		end_down(&x->end[FRONT]);
		fake_remove(x->p, XPV_FRONT);
		KUNIT_EXPECT_TRUE(test, fake_run(x->w));
		KUNIT_EXPECT_EQ(test, fake_use(x->w).maps, 0);
		fake_state_set(x->p, XPV_FRONT, XenbusStateInitialising);
		/* Not those that connecting itself needs. */
		fake_hold_events(x->w, true);
		KUNIT_ASSERT_EQ(test, fake_probe(x->p, XPV_FRONT), 0);
		fake_fail(x->w, call, n, 1, -ENOMEM);
		fake_fail_op(x->w, call, 1 + n * 50, 1, -EIO);
		fake_hold_events(x->w, false);
		KUNIT_ASSERT_TRUE(test, fake_run(x->w));
		fake_fail(x->w, call, 0, 0, 0);
		fake_fail_op(x->w, call, 0, 0, 0);
		if (fake_state(x->p, XPV_BACK) != XenbusStateConnected)
			continue;
		end_up(x, FRONT);
		cross(x, FRONT, 1000, 0);
		cross(x, BACK, 1000, 0);
		cross(x, BACK, 200, 0);
	}
	pair_end(x);
}

static void pair_static_map_fails(struct kunit *test)
{
	static_fails(test, FAKE_MAP);
}

static void pair_static_pages_fail(struct kunit *test)
{
	static_fails(test, FAKE_PAGES_GET);
}

static struct kunit_case netpair_cases[] = {
	KUNIT_CASE(pair_static_grants),
	KUNIT_CASE(pair_static_front_off),
	KUNIT_CASE(pair_static_back_off),
	KUNIT_CASE(pair_static_no_room),
	KUNIT_CASE(pair_static_room_for_small),
	KUNIT_CASE(pair_static_room_for_rx),
	KUNIT_CASE(pair_static_map_fails),
	KUNIT_CASE(pair_static_pages_fail),
	KUNIT_CASE(pair_one_queue_split),
	KUNIT_CASE(pair_one_queue_shared),
	KUNIT_CASE(pair_two_queues_split),
	KUNIT_CASE(pair_two_queues_shared),
	KUNIT_CASE(pair_burst),
	KUNIT_CASE(pair_front_reloads),
	KUNIT_CASE(pair_resume),
	KUNIT_CASE(pair_detach),
	KUNIT_CASE(pair_copies_fail),
	KUNIT_CASE(pair_no_spurious_events),
	{}
};

static struct kunit_suite netpair_suite = {
	.name = "xpv_netpair",
	.test_cases = netpair_cases,
};

kunit_test_suite(netpair_suite);

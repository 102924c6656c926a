// SPDX-License-Identifier: GPL-2.0
/*
 * The guest that the suites of netback play; see fake_netguest.h.
 */
#include <linux/etherdevice.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/tcp.h>
#include "fake_netguest.h"

u8 guest_pattern(unsigned int page, unsigned int off)
{
	return page * 37 + off * 5 + (off >> 8);
}

/* ------------------------------------------------------------------ */
/* Host side                                                           */
/* ------------------------------------------------------------------ */

static int tap(struct sk_buff *skb, struct net_device *dev,
	       struct packet_type *pt, struct net_device *orig_dev)
{
	struct guest *g = pt->af_packet_priv;
	struct sk_buff *mine = skb_copy(skb, GFP_ATOMIC);

	kfree_skb(skb);
	if (!mine)
		return 0;
	skb_push(mine, mine->data - skb_mac_header(mine));
	skb_queue_tail(&g->got, mine);
	return 0;
}

static void vif_up(struct guest *g)
{
	g->tap = (struct packet_type) {
		.type = htons(ETH_P_ALL),
		.dev = g->vif->dev,
		.func = tap,
		.af_packet_priv = g,
		.ignore_outgoing = true,
	};
	dev_add_pack(&g->tap);
	rtnl_lock();
	g->vif->dev->priv_flags |= IFF_NO_ADDRCONF;
	KUNIT_EXPECT_EQ(g->test, dev_open(g->vif->dev, NULL), 0);
	rtnl_unlock();
}

void host_headers(u8 *at, unsigned int len)
{
	struct ethhdr *eth = (void *)at;
	struct iphdr *ip = (void *)(at + 14);
	struct tcphdr *tcp = (void *)(at + 34);

	memset(at, 0, HOST_HEADERS);
	eth_broadcast_addr(eth->h_dest);
	eth->h_source[0] = 2;
	eth->h_proto = htons(ETH_P_IP);
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->protocol = IPPROTO_TCP;
	ip->tot_len = htons(len - 14);
	ip->saddr = htonl(0x0a000001);
	ip->daddr = htonl(0x0a000002);
	ip_send_check(ip);
	tcp->doff = 5;
	tcp->source = htons(1234);
	tcp->dest = htons(4321);
	tcp->check = ~tcp_v4_check(len - 34, ip->saddr, ip->daddr, 0);
}

struct sk_buff *net_frame(struct kunit *test, struct net_device *dev,
			  unsigned int len, unsigned int gso)
{
	unsigned int lin = min(len, 256U), i;
	struct sk_buff *skb = alloc_skb_with_frags(lin, len - lin, 0, &i,
						   GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put(skb, lin);
	skb->data_len = len - lin;
	skb->len = len;
	for (i = 0; i < len; i++) {
		u8 byte = i * 3 + (i >> 8);

		KUNIT_ASSERT_EQ(test, skb_store_bits(skb, i, &byte, 1), 0);
	}
	skb->dev = dev;
	skb_reset_mac_header(skb);
	skb->protocol = htons(ETH_P_802_3);
	if (len < HOST_HEADERS)
		return skb;
	host_headers(skb->data, len);
	skb->protocol = htons(ETH_P_IP);
	skb_set_network_header(skb, 14);
	skb_set_transport_header(skb, 34);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	if (gso) {
		skb_shinfo(skb)->gso_size = gso;
		skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
		skb_shinfo(skb)->gso_segs = DIV_ROUND_UP(len - 54, gso);
	}
	return skb;
}

const u8 *net_group(unsigned int n)
{
	static u8 addr[ETH_ALEN];

	addr[0] = 0x01;
	addr[2] = 0x5e;
	addr[3] = 0x42;
	addr[4] = n >> 8;
	addr[5] = n;
	return addr;
}

void host_send(struct guest *g, unsigned int len, unsigned int gso)
{
	dev_queue_xmit(net_frame(g->test, g->vif->dev, len, gso));
	KUNIT_EXPECT_TRUE(g->test, fake_run(g->w));
}

u64 host_sum(struct guest *g, const char *name)
{
	unsigned int i, k;
	u64 sum = 0;

	for (i = 0; i < xnb_stat_count; i++) {
		if (strcmp(xnb_stat_table[i].name, name))
			continue;
		for (k = 0; k < g->vif->max_queues; k++)
			sum += xpv_stat_get(&g->vif->queues[k].stats,
					    &xnb_stat_table[i]);
		return sum;
	}
	KUNIT_FAIL(g->test, "no counter %s", name);
	return 0;
}

/* ------------------------------------------------------------------ */
/* Sharing                                                             */
/* ------------------------------------------------------------------ */

static void guest_event(struct xpv_evt *e, struct guest_queue *q)
{
	xpv_evt_got(e);
	q->events++;
	xpv_evt_work(e);
	xpv_evt_done(e);
}

static void guest_tx_event(void *arg)
{
	struct guest_queue *q = arg;

	guest_event(&q->tx_evt, q);
}

static void guest_rx_event(void *arg)
{
	struct guest_queue *q = arg;

	guest_event(&q->rx_evt, q);
}

static void queue_key(struct guest *g, unsigned int i, const char *name, u32 val)
{
	char key[64];

	if (g->nq > 1)
		snprintf(key, sizeof(key), "queue-%u/%s", i, name);
	else
		snprintf(key, sizeof(key), "%s", name);
	fake_set(g->p, XPV_FRONT, key, "%u", val);
}

static void share_queue(struct guest *g, unsigned int i, bool split)
{
	struct guest_queue *q = &g->q[i];
	struct kunit *test = g->test;
	unsigned int k, b;

	q->g = g;
	q->split = split;
	KUNIT_ASSERT_EQ(test, hyp_ring_share(g->d, &q->tx_mem, 1), 0);
	KUNIT_ASSERT_EQ(test, hyp_ring_share(g->d, &q->rx_mem, 1), 0);
	xpv_front_init(&q->tx, &q->tx_mem, sizeof(struct xen_netif_tx_request));
	xpv_front_init(&q->rx, &q->rx_mem, sizeof(struct xen_netif_rx_request));
	q->tx_evt = (struct xpv_evt) { .fn = guest_tx_event, .arg = q };
	q->rx_evt = (struct xpv_evt) { .fn = guest_rx_event, .arg = q };
	KUNIT_ASSERT_EQ(test, hyp_evt_listen(g->d, &q->tx_evt, "guest-tx"), 0);
	queue_key(g, i, "tx-ring-ref", q->tx_mem.gref[0]);
	queue_key(g, i, "rx-ring-ref", q->rx_mem.gref[0]);
	if (split) {
		KUNIT_ASSERT_EQ(test, hyp_evt_listen(g->d, &q->rx_evt,
						     "guest-rx"), 0);
		queue_key(g, i, "event-channel-tx", q->tx_evt.port);
		queue_key(g, i, "event-channel-rx", q->rx_evt.port);
	} else {
		queue_key(g, i, "event-channel", q->tx_evt.port);
	}
	for (k = 0; k < GUEST_TX_PAGES; k++) {
		q->page[k] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, q->page[k]);
		for (b = 0; b < XPV_PAGE_SIZE; b++)
			((u8 *)page_address(q->page[k]))[b] =
				guest_pattern(k, b);
		q->gref[k] = fake_grant_page(g->d, q->page[k], true);
	}
}

static void set_keys(struct guest *g)
{
	static const char *const on[] = {
		"request-rx-copy", "feature-rx-notify", "feature-sg",
		"feature-gso-tcpv4", "feature-gso-tcpv6",
		"feature-ipv6-csum-offload",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(on); i++)
		fake_set(g->p, XPV_FRONT, on[i], "1");
	if (g->nq > 1)
		fake_set(g->p, XPV_FRONT, "multi-queue-num-queues", "%u",
			 g->nq);
	else
		fake_del(g->p, XPV_FRONT, "multi-queue-num-queues");
}

void guest_share(struct guest *g, unsigned int nq, bool split)
{
	unsigned int i;

	g->nq = nq;
	set_keys(g);
	for (i = 0; i < nq; i++)
		share_queue(g, i, split);
}

static void unshare_queue(struct guest *g, struct guest_queue *q)
{
	unsigned int k;

	hyp_evt_close(&q->tx_evt);
	hyp_evt_close(&q->rx_evt);
	hyp_ring_unshare(g->d, &q->tx_mem);
	hyp_ring_unshare(g->d, &q->rx_mem);
	for (k = 0; k < GUEST_TX_PAGES; k++) {
		if (!q->page[k])
			continue;
		KUNIT_EXPECT_TRUE(g->test, fake_grant_end(q->gref[k]));
		__free_page(q->page[k]);
		q->page[k] = NULL;
	}
	for (k = 0; k < XNB_RING_SLOTS; k++) {
		if (!q->rx_page[k])
			continue;
		KUNIT_EXPECT_TRUE(g->test, fake_grant_end(q->rx_gref[k]));
		__free_page(q->rx_page[k]);
		q->rx_page[k] = NULL;
	}
}

void guest_unshare(struct guest *g)
{
	static const char *const keys[] = {
		"tx-ring-ref", "rx-ring-ref", "event-channel",
		"event-channel-tx", "event-channel-rx", "queue-0", "queue-1",
	};
	unsigned int i;

	for (i = 0; i < g->nq; i++)
		unshare_queue(g, &g->q[i]);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		fake_del(g->p, XPV_FRONT, keys[i]);
	g->nq = 0;
}

enum xenbus_state guest_state(struct guest *g, enum xenbus_state s)
{
	fake_state_set(g->p, XPV_FRONT, s);
	KUNIT_EXPECT_TRUE(g->test, fake_run(g->w));
	return fake_state(g->p, XPV_BACK);
}

void guest_again(struct guest *g)
{
	KUNIT_EXPECT_EQ(g->test, guest_state(g, XenbusStateClosed),
			XenbusStateClosed);
	KUNIT_EXPECT_EQ(g->test, guest_state(g, XenbusStateInitialising),
			XenbusStateInitWait);
}

void guest_connect(struct guest *g, unsigned int nq, bool split)
{
	guest_share(g, nq, split);
	KUNIT_ASSERT_EQ(g->test, guest_state(g, XenbusStateConnected),
			XenbusStateConnected);
	KUNIT_ASSERT_TRUE(g->test, g->vif->connected);
	KUNIT_ASSERT_EQ(g->test, g->vif->num_queues, nq);
}

struct guest *guest_new(struct kunit *test)
{
	struct guest *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, g);
	g->test = test;
	skb_queue_head_init(&g->got);
	g->max_queues = xnb_max_queues;
	xnb_max_queues = 2 * GUEST_QUEUES;
	g->w = fake_world_create(test);
	g->p = fake_pair_create(g->w, "vif", 0);
	g->d = fake_end(g->p, XPV_FRONT);
	fake_set(g->p, XPV_BACK, "hotplug-status", "connected");
	KUNIT_ASSERT_EQ(test, fake_probe(g->p, XPV_BACK), 0);
	KUNIT_ASSERT_TRUE(test, fake_run(g->w));
	KUNIT_ASSERT_EQ(test, fake_state(g->p, XPV_BACK), XenbusStateInitWait);
	g->vif = fake_end(g->p, XPV_BACK)->priv;
	vif_up(g);
	return g;
}

void guest_untap(struct guest *g)
{
	if (g->tap.dev)
		dev_remove_pack(&g->tap);
	g->tap.dev = NULL;
}

void guest_end(struct guest *g)
{
	guest_untap(g);
	skb_queue_purge(&g->got);
	fake_remove(g->p, XPV_BACK);
	guest_unshare(g);
	KUNIT_EXPECT_TRUE(g->test, fake_run(g->w));
	fake_check_clean(g->w);
	xnb_max_queues = g->max_queues;
}

/* ------------------------------------------------------------------ */
/* Rings                                                               */
/* ------------------------------------------------------------------ */

void guest_put(struct guest_queue *q, unsigned int page, u16 off, u16 size,
	       u16 flags)
{
	struct xen_netif_tx_request r = {
		.gref = q->gref[page],
		.offset = off,
		.flags = flags,
		.id = 40000 + page,
		.size = size,
	};

	xpv_front_put(&q->tx, &r, sizeof(r));
}

void guest_put_gso(struct guest_queue *q, u8 type, u16 size)
{
	union xnb_tx_raw raw = { };

	raw.extra.type = XEN_NETIF_EXTRA_TYPE_GSO;
	raw.extra.u.gso.type = type;
	raw.extra.u.gso.size = size;
	xpv_front_put(&q->tx, &raw, sizeof(raw));
}

void guest_push(struct guest *g, struct guest_queue *q)
{
	if (xpv_front_push(&q->tx))
		hyp_evt_notify(&q->tx_evt);
	KUNIT_EXPECT_TRUE(g->test, fake_run(g->w));
}

struct guest_rsp guest_rsp(struct guest_queue *q)
{
	struct guest_rsp sum = { };
	struct xen_netif_tx_response rsp;
	int n = xpv_front_pending(&q->tx);

	KUNIT_EXPECT_GE(q->g->test, n, 0);
	for (; n > 0; n--) {
		xpv_front_get(&q->tx, &rsp, sizeof(rsp));
		sum.n++;
		sum.ok += rsp.status == XEN_NETIF_RSP_OKAY;
		sum.error += rsp.status == XEN_NETIF_RSP_ERROR;
		sum.null += rsp.status == XEN_NETIF_RSP_NULL;
		sum.dropped += rsp.status == XEN_NETIF_RSP_DROPPED;
		if (rsp.status != XEN_NETIF_RSP_NULL)
			KUNIT_EXPECT_GE(q->g->test, rsp.id, 40000);
	}
	xpv_front_arm(&q->tx, 1);
	return sum;
}

void guest_expect_rsp(struct guest *g, struct guest_queue *q, unsigned int ok,
		      unsigned int error, unsigned int null)
{
	struct guest_rsp r = guest_rsp(q);

	KUNIT_EXPECT_EQ(g->test, r.n, ok + error + null);
	KUNIT_EXPECT_EQ(g->test, r.ok, ok);
	KUNIT_EXPECT_EQ(g->test, r.error, error);
	KUNIT_EXPECT_EQ(g->test, r.null, null);
}

void guest_post(struct guest *g, struct guest_queue *q, unsigned int n)
{
	for (; n; n--) {
		u16 id = q->rx.req_prod % XNB_RING_SLOTS;
		struct xen_netif_rx_request r = { .id = id };

		if (!q->rx_page[id]) {
			q->rx_page[id] = alloc_page(GFP_KERNEL);
			KUNIT_ASSERT_NOT_NULL(g->test, q->rx_page[id]);
			q->rx_gref[id] = fake_grant_page(g->d, q->rx_page[id],
							 false);
		}
		r.gref = q->rx_gref[id];
		KUNIT_ASSERT_GT(g->test, xpv_front_free(&q->rx), 0);
		xpv_front_put(&q->rx, &r, sizeof(r));
	}
	if (xpv_front_push(&q->rx))
		hyp_evt_notify(q->split ? &q->rx_evt : &q->tx_evt);
	KUNIT_EXPECT_TRUE(g->test, fake_run(g->w));
}

int guest_receive(struct guest_queue *q, u8 *buf, u16 *flags, u16 *gso_size)
{
	int left = xpv_front_pending(&q->rx);
	union xnb_rx_rsp rsp;
	int len = 0, err = 0;
	bool extra = false;
	u32 idx;

	KUNIT_EXPECT_GE(q->g->test, left, 0);
	*gso_size = 0;
	*flags = 0;
	while (left-- > 0) {
		idx = xpv_front_get(&q->rx, &rsp, sizeof(rsp));
		if (extra) {
			extra = false;
			*gso_size = rsp.extra.u.gso.size;
			if (!(*flags & XEN_NETRXF_more_data))
				break;
			continue;
		}
		KUNIT_EXPECT_EQ(q->g->test, rsp.rsp.id, idx % XNB_RING_SLOTS);
		if (rsp.rsp.status < 0) {
			err = rsp.rsp.status;
		} else {
			memcpy(buf + len, page_address(q->rx_page[rsp.rsp.id]),
			       rsp.rsp.status);
			len += rsp.rsp.status;
		}
		if (!*flags)
			*flags = rsp.rsp.flags | 0x8000;
		extra = rsp.rsp.flags & XEN_NETRXF_extra_info;
		if (!extra && !(rsp.rsp.flags & XEN_NETRXF_more_data))
			break;
	}
	*flags &= 0x7fff;
	xpv_front_arm(&q->rx, 1);
	return err ?: len;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A backend played by the test: it joins netfront's rings through the fake and
 * writes whatever a case wants on them.
 */
#ifndef XPV_NETFRONT_PEER_H
#define XPV_NETFRONT_PEER_H

#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include "../../drivers/netfront/netfront.h"
#include "fake_hyp.h"

#define NF_QUEUES	4

struct nf_queue {
	struct xpv_ring_mem tx_mem;
	struct xpv_ring_mem rx_mem;
	struct xpv_back tx;
	struct xpv_back rx;
	struct xpv_evt tx_evt;
	struct xpv_evt rx_evt;
	unsigned int events;
};

struct nf_peer {
	struct kunit *test;
	struct fake_world *w;
	struct fake_pair *p;
	struct xpv_dev *d;
	struct xnf *x;
	unsigned int nq;
	struct nf_queue q[NF_QUEUES];
	struct sk_buff_head got;
};

/*
 * Keys of a backend with everything; a case changes some before nf_probe().
 * A case that wants several in a row gives each a handle of its own.
 */
static inline struct nf_peer *nf_create_at(struct kunit *test,
					   struct fake_world *w,
					   unsigned int handle)
{
	static const char * const on[] = {
		"feature-rx-copy", "feature-sg", "feature-gso-tcpv4",
		"feature-gso-tcpv6", "feature-ipv6-csum-offload",
		"feature-split-event-channels",
	};
	struct nf_peer *n = kunit_kzalloc(test, sizeof(*n), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, n);
	n->test = test;
	n->w = w;
	n->p = fake_pair_create(w, "vif", handle);
	n->d = fake_end(n->p, XPV_BACK);
	n->nq = 1;
	skb_queue_head_init(&n->got);
	for (i = 0; i < ARRAY_SIZE(on); i++)
		fake_set(n->p, XPV_BACK, on[i], "1");
	return n;
}

static inline struct nf_peer *nf_create(struct kunit *test)
{
	return nf_create_at(test, fake_world_create(test), 0);
}

/* The backend offers itself, the frontend appears and publishes its rings. */
static inline void nf_probe(struct nf_peer *n)
{
	fake_state_set(n->p, XPV_BACK, XenbusStateInitWait);
	KUNIT_ASSERT_EQ(n->test, fake_probe(n->p, XPV_FRONT), 0);
	KUNIT_ASSERT_TRUE(n->test, fake_run(n->w));
	n->x = fake_end(n->p, XPV_FRONT)->priv;
}

static inline void nf_event(void *arg)
{
	struct xpv_evt *e = arg;

	xpv_evt_got(e);
	xpv_evt_work(e);
	xpv_evt_done(e);
}

static inline long long nf_key(struct nf_peer *n, unsigned int i,
			       const char *name)
{
	char key[64];

	if (n->nq > 1)
		snprintf(key, sizeof(key), "queue-%u/%s", i, name);
	else
		strscpy(key, name, sizeof(key));
	return fake_get_num(n->p, XPV_FRONT, key, -1);
}

static inline void nf_map(struct nf_peer *n, struct xpv_ring_mem *m,
			  long long ref)
{
	*m = (struct xpv_ring_mem) { .npages = 1, .gref = { ref } };
	KUNIT_ASSERT_EQ(n->test, hyp_ring_map(n->d, m), 0);
}

static inline void nf_bind(struct nf_peer *n, struct xpv_evt *e, long long port)
{
	*e = (struct xpv_evt) { .fn = nf_event, .arg = e };
	KUNIT_ASSERT_EQ(n->test, hyp_evt_bind(n->d, e, port, "test"), 0);
}

/* Map rings, bind ports, Connected; the interface comes up. */
static inline void nf_join(struct nf_peer *n)
{
	unsigned int i;

	for (i = 0; i < n->nq; i++) {
		struct nf_queue *q = &n->q[i];

		nf_map(n, &q->tx_mem, nf_key(n, i, "tx-ring-ref"));
		nf_map(n, &q->rx_mem, nf_key(n, i, "rx-ring-ref"));
		KUNIT_ASSERT_EQ(n->test, xpv_back_attach(&q->tx, &q->tx_mem, 12), 0);
		KUNIT_ASSERT_EQ(n->test, xpv_back_attach(&q->rx, &q->rx_mem, 8), 0);
		if (nf_key(n, i, "event-channel") >= 0) {
			nf_bind(n, &q->rx_evt, nf_key(n, i, "event-channel"));
		} else {
			nf_bind(n, &q->rx_evt, nf_key(n, i, "event-channel-rx"));
			nf_bind(n, &q->tx_evt, nf_key(n, i, "event-channel-tx"));
		}
	}
	fake_state_set(n->p, XPV_BACK, XenbusStateConnected);
	KUNIT_ASSERT_TRUE(n->test, fake_run(n->w));
}

static inline void nf_unjoin(struct nf_peer *n)
{
	unsigned int i;

	for (i = 0; i < n->nq; i++) {
		hyp_evt_close(&n->q[i].tx_evt);
		hyp_evt_close(&n->q[i].rx_evt);
		hyp_ring_unmap(n->d, &n->q[i].tx_mem);
		hyp_ring_unmap(n->d, &n->q[i].rx_mem);
	}
}

static inline rx_handler_result_t nf_catch(struct sk_buff **pskb)
{
	struct nf_peer *n = rcu_dereference(pskb[0]->dev->rx_handler_data);

	__skb_queue_tail(&n->got, *pskb);
	return RX_HANDLER_CONSUMED;
}

/* ip link set up, with all received packets kept for the case. */
static inline void nf_open(struct nf_peer *n)
{
	rtnl_lock();
	/* Its own packets would only disturb. */
	__in6_dev_get(n->x->dev)->cnf.disable_ipv6 = 1;
	KUNIT_ASSERT_EQ(n->test, netdev_rx_handler_register(n->x->dev, nf_catch, n), 0);
	KUNIT_ASSERT_EQ(n->test, dev_open(n->x->dev, NULL), 0);
	rtnl_unlock();
	KUNIT_ASSERT_TRUE(n->test, fake_run(n->w));
}

/* No copies of small packets: most cases want them to wait for a response. */
static inline struct nf_peer *nf_up(struct kunit *test)
{
	struct nf_peer *n = nf_create(test);

	nf_probe(n);
	n->x->tx_copybreak = 0;
	KUNIT_ASSERT_EQ(test, fake_state(n->p, XPV_FRONT), XenbusStateConnected);
	nf_join(n);
	nf_open(n);
	KUNIT_ASSERT_TRUE(test, netif_carrier_ok(n->x->dev));
	return n;
}

/* The frontend leaves, whatever happened; nothing may be left behind. */
static inline void nf_down(struct nf_peer *n)
{
	__skb_queue_purge(&n->got);
	nf_unjoin(n);
	fake_remove(n->p, XPV_FRONT);
	fake_run(n->w);
	fake_check_clean(n->w);
}

static inline u64 nf_faults(struct nf_peer *n, enum xpv_fault why)
{
	return atomic64_read(&n->x->faults.count[why]);
}

static inline struct xnf_stats *nf_stats(struct nf_peer *n)
{
	return &n->x->q[0].stats;
}

/* A packet of @len bytes, the same in every place. */
static inline struct sk_buff *nf_skb(struct nf_peer *n, unsigned int len)
{
	struct sk_buff *skb = alloc_skb(len + 64, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(n->test, skb);
	skb_reserve(skb, 64);
	memset(skb_put(skb, len), 0x5a, len);
	return skb;
}

static inline netdev_tx_t nf_send(struct nf_peer *n, struct sk_buff *skb, bool more)
{
	struct netdev_queue *txq = netdev_get_tx_queue(n->x->dev, 0);
	netdev_tx_t rc;

	skb->dev = n->x->dev;
	skb_set_queue_mapping(skb, 0);
	local_bh_disable();
	__netif_tx_lock(txq, smp_processor_id());
	rc = netdev_start_xmit(skb, n->x->dev, txq, more);
	__netif_tx_unlock(txq);
	local_bh_enable();
	return rc;
}

/* Take one Tx request. Return: false when there is none. */
static inline bool nf_take(struct nf_peer *n, struct xen_netif_tx_request *req)
{
	struct xpv_back *r = &n->q[0].tx;

	if (xpv_back_pending(r) <= 0)
		return false;
	xpv_back_get(r, req, sizeof(*req));
	return true;
}

static inline void nf_answer(struct nf_peer *n, u16 id, s16 status)
{
	struct xen_netif_tx_response rsp = { .id = id, .status = status };

	xpv_back_put(&n->q[0].tx, &rsp, sizeof(rsp));
}

static inline struct xpv_evt *nf_tx_evt(struct nf_peer *n)
{
	return n->q[0].tx_evt.irq ? &n->q[0].tx_evt : &n->q[0].rx_evt;
}

/* Publish Tx responses. Return: the frontend wanted an event, and got it. */
static inline bool nf_push_tx(struct nf_peer *n)
{
	bool wanted = xpv_back_push(&n->q[0].tx);

	if (wanted) {
		hyp_evt_notify(nf_tx_evt(n));
		fake_run(n->w);
	}
	return wanted;
}

static inline bool nf_push_rx(struct nf_peer *n)
{
	bool wanted = xpv_back_push(&n->q[0].rx);

	if (wanted) {
		hyp_evt_notify(&n->q[0].rx_evt);
		fake_run(n->w);
	}
	return wanted;
}

/* Copy @len bytes into a posted buffer, as netback does. */
static inline void nf_write(struct nf_peer *n, grant_ref_t ref, unsigned int off,
			    const void *data, unsigned int len)
{
	struct xpv_copy op = {
		.page = virt_to_page(data),
		.page_off = offset_in_page(data),
		.gref = ref,
		.gref_off = off,
		.len = len,
		.to_peer = true,
	};
	struct gnttab_copy raw;

	hyp_copy(n->d, &op, &raw, 1);
	KUNIT_EXPECT_EQ(n->test, op.status, 0);
}

/* Fill the next Rx slot with any response; the buffer gets @len bytes. */
static inline grant_ref_t nf_deliver(struct nf_peer *n, const union xnf_rx_slot *s,
				     const void *data, unsigned int len)
{
	struct xpv_back *r = &n->q[0].rx;
	struct xen_netif_rx_request req;

	if (xpv_back_pending(r) <= 0)
		return XPV_GREF_NONE;
	xpv_back_get(r, &req, sizeof(req));
	if (len)
		nf_write(n, req.gref, s->rsp.offset, data, len);
	xpv_back_put(r, s, sizeof(*s));
	return req.gref;
}

#endif /* XPV_NETFRONT_PEER_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Making and undoing a connection. "Tx" is the guest's transmit.
 *
 * Decides what is offered, whether the keys of a frontend make sense, and in
 * which order rings, events, NAPI and carrier come and go.  Undoing works from
 * every half-made state and twice, so a failed connect and a disconnect are the
 * same code.  It does not decide when: main.c does, with the device's lock
 * held, in process context.
 */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <xpv/negotiate.h>
#include "netback.h"

/* ------------------------------------------------------------------ */
/* Keys                                                                */
/* ------------------------------------------------------------------ */

/* xnb_offer() - write what we can do, in one transaction. 0 or errno. */
int xnb_offer(struct xnb_vif *vif)
{
	static const char *const yes[] = {
		"feature-sg", "feature-gso-tcpv4", "feature-gso-tcpv6",
		"feature-ipv6-csum-offload", "feature-rx-copy",
		"feature-ctrl-ring", "feature-multicast-control",
		"feature-dynamic-multicast-control",
	};
	struct xpv_kvs l;
	unsigned int i;

	xpv_kvs_init(&l);
	for (i = 0; i < ARRAY_SIZE(yes); i++)
		xpv_kvs_set(&l, XPV_QUEUE_FLAT, yes[i], 1);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "feature-rx-flip", 0);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "feature-split-event-channels",
		    READ_ONCE(xnb_split));
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "multi-queue-max-queues",
		    vif->max_queues);
	return xpv_kvs_commit(&l, vif->d);
}

static u32 peer_key(struct xnb_vif *vif, int queue, const struct xpv_key *k)
{
	u32 val;

	/* A bad value has been reported and reads as absent. */
	xpv_key_read(vif->d, XPV_PEER, queue, k, &val);
	return val;
}

static bool peer_flag(struct xnb_vif *vif, const char *name)
{
	const struct xpv_key k = XPV_KEY_FLAG(name);

	return peer_key(vif, XPV_QUEUE_FLAT, &k);
}

/* Both keys or none: half a control ring is no reason to stay apart. */
static void read_ctrl_keys(struct xnb_vif *vif, struct xnb_features *f)
{
	static const struct xpv_key ref = {
		.name = "ctrl-ring-ref", .min = 1, .max = U32_MAX,
	};
	static const struct xpv_key port = {
		.name = "event-channel-ctrl", .min = 1, .max = U32_MAX,
	};

	f->ctrl_ref = peer_key(vif, XPV_QUEUE_FLAT, &ref);
	f->ctrl_port = peer_key(vif, XPV_QUEUE_FLAT, &port);
	if (!f->ctrl_port)
		f->ctrl_ref = 0;
}

/*
 * xnb_read_features() - what the frontend wants
 *
 * Return: 0; or errno after telling the operator.
 */
int xnb_read_features(struct xnb_vif *vif, struct xnb_features *f)
{
	const struct xpv_key queues = {
		.name = "multi-queue-num-queues",
		.min = 1,
		.max = vif->max_queues,
		.absent = 1,
	};
	int err;

	memset(f, 0, sizeof(*f));
	if (!peer_flag(vif, "request-rx-copy")) {
		hyp_error(vif->d, -EOPNOTSUPP,
			  "request-rx-copy is not 1: other modes do not exist any more");
		return -EOPNOTSUPP;
	}
	err = xpv_key_read(vif->d, XPV_PEER, XPV_QUEUE_FLAT, &queues,
			   &f->queues);
	if (err)
		return err;
	f->sg = peer_flag(vif, "feature-sg");
	/* Segmented packets take several slots. */
	f->gso4 = f->sg && peer_flag(vif, "feature-gso-tcpv4");
	f->gso6 = f->sg && peer_flag(vif, "feature-gso-tcpv6");
	f->csum4 = !peer_flag(vif, "feature-no-csum-offload");
	f->csum6 = peer_flag(vif, "feature-ipv6-csum-offload");
	f->rx_notify = peer_flag(vif, "feature-rx-notify");
	f->mcast = peer_flag(vif, "request-multicast-control");
	read_ctrl_keys(vif, f);
	return 0;
}

/* xnb_mcast_read() - the frontend's wish to have multicast filtered changed. */
void xnb_mcast_read(struct xnb_vif *vif)
{
	if (vif->connected)
		xnb_mcast_ask(&vif->mcast,
			      peer_flag(vif, "request-multicast-control"));
}

/* Keys of one queue: rings and channels; equal ports mean a shared channel. */
struct queue_keys {
	u32 tx_ref;
	u32 rx_ref;
	u32 tx_port;
	u32 rx_port;
};

static int read_queue_keys(struct xnb_vif *vif, int queue, struct queue_keys *k)
{
	static const struct xpv_key tx_ref = {
		.name = "tx-ring-ref", .min = 1, .max = U32_MAX, .required = true,
	};
	static const struct xpv_key rx_ref = {
		.name = "rx-ring-ref", .min = 1, .max = U32_MAX, .required = true,
	};
	static const struct xpv_key tx_port = {
		.name = "event-channel-tx", .max = U32_MAX,
	};
	static const struct xpv_key rx_port = {
		.name = "event-channel-rx", .max = U32_MAX,
	};
	static const struct xpv_key port = {
		.name = "event-channel", .min = 1, .max = U32_MAX,
		.required = true,
	};
	int err;

	err = xpv_key_read(vif->d, XPV_PEER, queue, &tx_ref, &k->tx_ref);
	if (!err)
		err = xpv_key_read(vif->d, XPV_PEER, queue, &rx_ref, &k->rx_ref);
	if (err)
		return err;
	k->tx_port = peer_key(vif, queue, &tx_port);
	k->rx_port = peer_key(vif, queue, &rx_port);
	if (k->tx_port && k->rx_port)
		return 0;
	err = xpv_key_read(vif->d, XPV_PEER, queue, &port, &k->tx_port);
	k->rx_port = k->tx_port;
	return err;
}

/* ------------------------------------------------------------------ */
/* Rate                                                                */
/* ------------------------------------------------------------------ */

static void rate_apply(struct xnb_queue *q)
{
	xnb_credit_set(&q->credit, q->vif->rate_bytes, q->vif->rate_usec,
		       get_jiffies_64());
}

/* The limit belongs to NAPI, so NAPI is stopped for the moment of a change. */
static void rate_change(struct xnb_queue *q)
{
	if (!q->napi_on) {
		rate_apply(q);
		return;
	}
	napi_disable(&q->napi);
	timer_delete_sync(&q->credit_timer);
	q->tx_throttled = false;
	rate_apply(q);
	napi_enable(&q->napi);
	local_bh_disable();
	napi_schedule(&q->napi);
	local_bh_enable();
}

/* xnb_rate_read() - the toolstack's "rate" key, at start and when written. */
void xnb_rate_read(struct xnb_vif *vif)
{
	char *text = hyp_store_read(vif->d, XPV_OWN, "rate");
	u64 bytes, usec;
	unsigned int i;

	if (xnb_rate_parse(IS_ERR(text) ? NULL : text, &bytes, &usec))
		hyp_error(vif->d, -EINVAL,
			  "rate is not \"bytes,usec\" with both above 0: no limit");
	if (!IS_ERR(text))
		kfree(text);
	if (bytes == vif->rate_bytes && usec == vif->rate_usec)
		return;
	vif->rate_bytes = bytes;
	vif->rate_usec = usec;
	for (i = 0; i < vif->max_queues; i++)
		rate_change(&vif->queues[i]);
}

/* ------------------------------------------------------------------ */
/* Events                                                              */
/* ------------------------------------------------------------------ */

static void tx_event(void *arg)
{
	struct xnb_queue *q = arg;

	xpv_evt_got(&q->tx_evt);
	q->stats.tx_events_received++;
	napi_schedule(&q->napi);
}

static void rx_event(void *arg)
{
	struct xnb_queue *q = arg;

	xpv_evt_got(&q->rx_evt_mem);
	q->stats.rx_events_received++;
	napi_schedule(&q->napi);
}

/* Binding makes an event of its own, which is no fault of the peer. */
static int bind_event(struct xpv_dev *d, struct xpv_evt *e, evtchn_port_t remote,
		      const char *name)
{
	int err = hyp_evt_bind(d, e, remote, name);

	if (!err)
		xpv_evt_stale(e);
	return err;
}

static int bind_events(struct xnb_queue *q, const struct queue_keys *k)
{
	struct xpv_dev *d = q->vif->d;
	char name[sizeof(q->name) + 4];
	int err;

	q->tx_evt = (struct xpv_evt) { .fn = tx_event, .arg = q };
	q->rx_evt_mem = (struct xpv_evt) { .fn = rx_event, .arg = q };
	if (k->tx_port == k->rx_port) {
		q->rx_evt = &q->tx_evt;
		return bind_event(d, &q->tx_evt, k->tx_port, q->name);
	}
	q->rx_evt = &q->rx_evt_mem;
	snprintf(name, sizeof(name), "%s-tx", q->name);
	err = bind_event(d, &q->tx_evt, k->tx_port, name);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s-rx", q->name);
	return bind_event(d, &q->rx_evt_mem, k->rx_port, name);
}

/*
 * xnb_broken() - the peer broke the rules: nothing of it is trusted any more
 *
 * Any context.  The queue does nothing from now on; a work item disconnects.
 */
void xnb_broken(struct xnb_queue *q, enum xpv_fault why, const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	xpv_peer_fault(q->vif->d, &q->vif->faults, why, "%pV", &vaf);
	va_end(args);
	WRITE_ONCE(q->broken, true);
	xpv_evt_dead(&q->tx_evt);
	xpv_evt_dead(&q->rx_evt_mem);
	queue_work(xnb_wq, &q->vif->broken_work);
}

/* ------------------------------------------------------------------ */
/* One queue                                                           */
/* ------------------------------------------------------------------ */

/*
 * Pages of @order, at most @n of them kept.  Large ones all go through the
 * pool's ring: what NAPI would keep beside it is too much memory in that size.
 * NULL without memory.
 */
static struct page_pool *queue_pool(struct xnb_queue *q, unsigned int order,
				    unsigned int n)
{
	struct page_pool_params pp = {
		.flags = order ? XPV_PP_FLAG_FRAG : 0,
		.order = order,
		.pool_size = n,
		.nid = NUMA_NO_NODE,
	};
	struct page_pool *pool;

	xpv_page_pool_owner(&pp, q->vif->dev, order ? NULL : &q->napi);
	pool = page_pool_create(&pp);
	return IS_ERR(pool) ? NULL : pool;
}

static int queue_alloc(struct xnb_queue *q)
{
	q->tx_raw = kcalloc(XNB_RING_SLOTS, sizeof(*q->tx_raw), GFP_KERNEL);
	q->tx_item = kcalloc(XNB_BATCH, sizeof(*q->tx_item), GFP_KERNEL);
	q->rx_req = kcalloc(XNB_RING_SLOTS, sizeof(*q->rx_req), GFP_KERNEL);
	q->rx_item = kcalloc(XNB_BATCH, sizeof(*q->rx_item), GFP_KERNEL);
	if (!q->tx_raw || !q->tx_item || !q->rx_req || !q->rx_item)
		return -ENOMEM;
	q->pool = queue_pool(q, 0, XNB_RING_SLOTS);
	q->big = queue_pool(q, get_order(XNB_TX_BIG), XNB_TX_BIG_POOL);
	if (!q->pool || !q->big)
		return -ENOMEM;
	return xpv_copy_batch_init(&q->tx_batch, q->vif->d, XNB_TX_BATCH_OPS) ?:
	       xpv_copy_batch_init(&q->rx_batch, q->vif->d, XNB_RX_BATCH_OPS) ?:
	       xnb_static_init(q) ?:
	       xnb_static_rest_init(&q->tx_rest, XNB_TX_BATCH_OPS) ?:
	       xnb_static_rest_init(&q->rx_rest, XNB_RX_BATCH_OPS);
}

static int map_ring(struct xnb_queue *q, struct xpv_ring_mem *m,
		    struct xpv_back *r, u32 ref, u32 slot_size)
{
	int err;

	m->npages = 1;
	m->gref[0] = ref;
	err = hyp_ring_map(q->vif->d, m);
	return err ?: xpv_back_attach(r, m, slot_size);
}

static void queue_reset(struct xnb_queue *q)
{
	q->broken = false;
	q->tx_raw_pos = 0;
	q->tx_raw_n = 0;
	q->tx_n = 0;
	q->tx_more = false;
	q->tx_promised = false;
	q->tx_throttled = false;
	q->rx_short = 0;
	q->rx_hungry = 0;
	q->rx_stalled = false;
	q->rx_seen = 0;
	q->rx_flushed = 0;
	rate_apply(q);
}

/* On failure xnb_disconnect() undoes what was done. */
static int queue_connect(struct xnb_queue *q, const struct queue_keys *k)
{
	struct xpv_dev *d = q->vif->d;
	int err;

	queue_reset(q);
	err = queue_alloc(q);
	if (err) {
		hyp_error(d, err, "queue %u: no memory", q->id);
		return err;
	}
	err = map_ring(q, &q->tx_mem, &q->tx, k->tx_ref,
		       sizeof(struct xen_netif_tx_request));
	if (err) {
		hyp_error(d, err, "queue %u: tx-ring-ref %u", q->id, k->tx_ref);
		return err;
	}
	/* Answers in it are another backend's, who had the multicast list. */
	q->vif->mcast.lost |= q->tx.rsp_prod;
	err = map_ring(q, &q->rx_mem, &q->rx, k->rx_ref,
		       sizeof(struct xen_netif_rx_request));
	if (err) {
		hyp_error(d, err, "queue %u: rx-ring-ref %u", q->id, k->rx_ref);
		return err;
	}
	err = bind_events(q, k);
	if (err)
		hyp_error(d, err, "queue %u: event channel %u or %u", q->id,
			  k->tx_port, k->rx_port);
	return err;
}

static void queue_disconnect(struct xnb_queue *q)
{
	cancel_work_sync(&q->rx_work);
	if (q->napi_on)
		napi_disable(&q->napi);
	q->napi_on = false;
	/* NAPI starts the timers; they and the events only schedule NAPI. */
	xpv_hold_stop(&q->tx_hold);
	timer_delete_sync(&q->credit_timer);
	timer_delete_sync(&q->rx_timer);
	/* Whoever notified the guest has ended. */
	hyp_evt_close(&q->tx_evt);
	hyp_evt_close(&q->rx_evt_mem);
	hyp_ring_unmap(q->vif->d, &q->tx_mem);
	hyp_ring_unmap(q->vif->d, &q->rx_mem);
	xpv_copy_batch_exit(&q->tx_batch);
	xpv_copy_batch_exit(&q->rx_batch);
	xnb_static_rest_exit(&q->tx_rest);
	xnb_static_rest_exit(&q->rx_rest);
	xnb_static_exit(q);
	if (q->pool)
		page_pool_destroy(q->pool);
	q->pool = NULL;
	if (q->big)
		page_pool_destroy(q->big);
	q->big = NULL;
	kfree(q->tx_raw);
	kfree(q->tx_item);
	kfree(q->rx_req);
	kfree(q->rx_item);
	q->tx_raw = NULL;
	q->tx_item = NULL;
	q->rx_req = NULL;
	q->rx_item = NULL;
}

/* ------------------------------------------------------------------ */
/* All of it                                                           */
/* ------------------------------------------------------------------ */

static void queue_set_live(struct xnb_queue *q, bool live)
{
	struct netdev_queue *txq = xnb_txq(q);

	__netif_tx_lock_bh(txq);
	if (!live && q->live) {
		xnb_rx_purge(q);
		netdev_tx_reset_queue(txq);
	}
	q->live = live;
	__netif_tx_unlock_bh(txq);
}

/* Tell the net stack; from here on packets come. */
static int link_up(struct xnb_vif *vif, const struct xnb_features *f)
{
	struct net_device *dev = vif->dev;
	int err;

	rtnl_lock();
	err = netif_set_real_num_queues(dev, f->queues, f->queues);
	if (err) {
		hyp_error(vif->d, err, "setting %u queues", f->queues);
		goto out;
	}
	vif->feat = *f;
	if (!f->sg && dev->mtu > ETH_DATA_LEN)
		dev_set_mtu(dev, ETH_DATA_LEN);
	netdev_update_features(dev);
	netif_tx_wake_all_queues(dev);
	netif_carrier_on(dev);
out:
	rtnl_unlock();
	return err;
}

static void start_queues(struct xnb_vif *vif, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct xnb_queue *q = &vif->queues[i];

		napi_enable(&q->napi);
		q->napi_on = true;
		queue_set_live(q, true);
	}
}

/* Requests and events may have come while NAPI was off: look once. */
static void kick_queues(struct xnb_vif *vif)
{
	unsigned int i;

	local_bh_disable();
	for (i = 0; i < vif->num_queues; i++)
		napi_schedule(&vif->queues[i].napi);
	local_bh_enable();
}

static int connect_queues(struct xnb_vif *vif, struct xnb_features *f)
{
	struct queue_keys k;
	unsigned int i;
	int err;

	for (i = 0; i < f->queues; i++) {
		err = read_queue_keys(vif, f->queues > 1 ? (int)i :
				      XPV_QUEUE_FLAT, &k);
		if (err)
			return err;
		f->split = k.tx_port != k.rx_port;
		err = queue_connect(&vif->queues[i], &k);
		if (err)
			return err;
	}
	return 0;
}

/*
 * xnb_connect() - read the frontend's keys and go live
 *
 * Return: 0; or errno, then the operator knows and nothing is left connected.
 */
int xnb_connect(struct xnb_vif *vif)
{
	struct xnb_features f;
	int err;

	xnb_disconnect(vif);
	err = xnb_read_features(vif, &f);
	if (err)
		return err;
	err = connect_queues(vif, &f) ?: xnb_ctrl_open(vif, &f);
	if (!err) {
		xnb_mcast_ask(&vif->mcast, f.mcast);
		start_queues(vif, f.queues);
		err = link_up(vif, &f);
	}
	if (err) {
		xnb_disconnect(vif);
		return err;
	}
	vif->num_queues = f.queues;
	vif->connected = true;
	kick_queues(vif);
	xnb_ctrl_start(vif);
	xnb_info(vif, "connected: domain %u, %u queue(s), %s events, sg %d, gso v4 %d v6 %d, csum v4 %d v6 %d, rx-notify %d, mtu %u\n",
		 vif->d->peer, f.queues, f.split ? "split" : "shared", f.sg,
		 f.gso4, f.gso6, f.csum4, f.csum6, f.rx_notify, vif->dev->mtu);
	return 0;
}

/*
 * xnb_disconnect() - from any state, also half connected, also twice
 *
 * First nothing new comes from the stack, then nothing from the peer, then
 * nothing runs, then memory goes.
 */
void xnb_disconnect(struct xnb_vif *vif)
{
	unsigned int i;

	rtnl_lock();
	netif_carrier_off(vif->dev);
	netif_tx_disable(vif->dev);
	/* The next frontend may take more: any MTU can be set again. */
	vif->feat.sg = true;
	rtnl_unlock();
	xnb_ctrl_close(vif);
	for (i = 0; i < vif->max_queues; i++)
		queue_set_live(&vif->queues[i], false);
	for (i = 0; i < vif->max_queues; i++)
		queue_disconnect(&vif->queues[i]);
	xnb_mcast_clear(&vif->mcast);
	if (vif->connected)
		xnb_info(vif, "disconnected\n");
	atomic_set(&vif->stalled, 0);
	vif->num_queues = 0;
	vif->connected = false;
	vif->published = false;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Connecting: what both ends can do, the queues, and the way up and down.
 *
 * Decides features from the backend's keys, how many queues there are, and
 * the one order in which things start and stop.  Must not wait for the peer.
 *
 * Called with xnf.lock held, from the xenwatch thread, the break work or
 * remove.  What the net stack sees changes under rtnl.
 */
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include "netfront.h"

enum {
	XNF_KEY_RX_COPY,
	XNF_KEY_SG,
	XNF_KEY_GSO4,
	XNF_KEY_GSO6,
	XNF_KEY_NO_CSUM4,
	XNF_KEY_CSUM6,
	XNF_KEY_SPLIT,
	XNF_KEY_CTRL,
	XNF_KEY_MCAST,
	XNF_KEY_DYN_MCAST,
	XNF_KEY_QUEUES,
	XNF_KEY_COUNT,
};

/* What a backend may say of itself. */
static const struct xpv_key xnf_keys[XNF_KEY_COUNT] = {
	[XNF_KEY_RX_COPY] = XPV_KEY_FLAG("feature-rx-copy"),
	[XNF_KEY_SG] = XPV_KEY_FLAG("feature-sg"),
	[XNF_KEY_GSO4] = XPV_KEY_FLAG("feature-gso-tcpv4"),
	[XNF_KEY_GSO6] = XPV_KEY_FLAG("feature-gso-tcpv6"),
	[XNF_KEY_NO_CSUM4] = XPV_KEY_FLAG("feature-no-csum-offload"),
	[XNF_KEY_CSUM6] = XPV_KEY_FLAG("feature-ipv6-csum-offload"),
	[XNF_KEY_SPLIT] = XPV_KEY_FLAG("feature-split-event-channels"),
	[XNF_KEY_CTRL] = XPV_KEY_FLAG("feature-ctrl-ring"),
	[XNF_KEY_MCAST] = XPV_KEY_FLAG("feature-multicast-control"),
	[XNF_KEY_DYN_MCAST] = XPV_KEY_FLAG("feature-dynamic-multicast-control"),
	/* Absent, and 0 as well, mean that it knows one queue only. */
	[XNF_KEY_QUEUES] = {
		.name = "multi-queue-max-queues",
		.max = XNF_QUEUES_MAX,
		.clamp = true,
	},
};

/* What most drivers use at most, and so may have left behind. */
#define XNF_QUEUES_USUAL	8U

/* Keys of a queue; a layout that is not used must leave none behind. */
static const char * const xnf_queue_keys[] = {
	"tx-ring-ref",
	"rx-ring-ref",
	"event-channel",
	"event-channel-tx",
	"event-channel-rx",
};

int xnf_negotiate(struct xnf *x, struct xnf_caps *caps)
{
	u32 v[XNF_KEY_COUNT];
	unsigned int i;
	int err;

	for (i = 0; i < XNF_KEY_COUNT; i++) {
		err = xpv_key_read(x->d, XPV_PEER, XPV_QUEUE_FLAT, &xnf_keys[i],
				   &v[i]);
		/* A key that makes no sense counts as absent. */
		if (err && err != -EINVAL && err != -ERANGE && err != -ENOENT)
			return err;
	}
	if (!v[XNF_KEY_RX_COPY])
		return -EOPNOTSUPP;
	*caps = (struct xnf_caps) {
		.sg = v[XNF_KEY_SG],
		.csum4 = !v[XNF_KEY_NO_CSUM4],
		.csum6 = v[XNF_KEY_CSUM6],
		.gso4 = v[XNF_KEY_SG] && v[XNF_KEY_GSO4],
		.gso6 = v[XNF_KEY_SG] && v[XNF_KEY_GSO6],
		.split = v[XNF_KEY_SPLIT],
		.multi = v[XNF_KEY_QUEUES],
		.ctrl = v[XNF_KEY_CTRL],
		/* The static form cannot be left in time, see mcast.c. */
		.mcast = v[XNF_KEY_MCAST] && v[XNF_KEY_DYN_MCAST],
		.queues = clamp(v[XNF_KEY_QUEUES], 1U, x->max_q),
	};
	return 0;
}

/* ------------------------------------------------------------------ */
/* Queues                                                              */
/* ------------------------------------------------------------------ */

static void xnf_tx_event(void *arg)
{
	struct xnf_queue *q = arg;

	xpv_evt_got(&q->tx_evt);
	q->stats.tx_events_received++;
	napi_schedule_irqoff(&q->tx_napi);
}

static void xnf_rx_event(void *arg)
{
	struct xnf_queue *q = arg;

	xpv_evt_got(&q->rx_evt);
	q->stats.rx_events_received++;
	napi_schedule_irqoff(&q->rx_napi);
}

static int xnf_evt_open(struct xnf_queue *q, struct xpv_evt *e,
			void (*fn)(void *arg), const char *what)
{
	char name[IFNAMSIZ + 16];

	*e = (struct xpv_evt) { .fn = fn, .arg = q };
	snprintf(name, sizeof(name), "%s-q%u%s", netdev_name(q->x->dev), q->id,
		 what);
	return hyp_evt_listen(q->x->d, e, name);
}

static void xnf_queue_exit(struct xnf_queue *q)
{
	hyp_evt_close(&q->tx_evt);
	hyp_evt_close(&q->rx_evt);
	xnf_tx_exit(q);
	xnf_rx_exit(q);
}

static int xnf_queue_init(struct xnf_queue *q, bool split)
{
	int err;

	q->split = split;
	err = xnf_tx_init(q);
	if (!err)
		err = xnf_rx_init(q);
	if (!err)
		err = xnf_evt_open(q, &q->rx_evt, xnf_rx_event, split ? "-rx" : "");
	if (!err && split)
		err = xnf_evt_open(q, &q->tx_evt, xnf_tx_event, "-tx");
	if (err)
		xnf_queue_exit(q);
	return err;
}

static void xnf_queues_exit(struct xnf *x, unsigned int n)
{
	while (n)
		xnf_queue_exit(&x->q[--n]);
}

static int xnf_queues_init(struct xnf *x, unsigned int n, bool split)
{
	unsigned int i;
	int err;

	for (i = 0; i < n; i++) {
		err = xnf_queue_init(&x->q[i], split);
		if (err) {
			xnf_queues_exit(x, i);
			return err;
		}
	}
	return 0;
}

/* Posted before the peer learns of the ring, so no event is due yet. */
static void xnf_queues_fill(struct xnf *x, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		local_bh_disable();
		xnf_rx_refill(&x->q[i]);
		local_bh_enable();
	}
}

/* ------------------------------------------------------------------ */
/* Publishing                                                          */
/* ------------------------------------------------------------------ */

static void xnf_publish_queue(struct xpv_kvs *l, const struct xnf_queue *q,
			      int where)
{
	xpv_kvs_set(l, where, "tx-ring-ref", q->tx.mem.gref[0]);
	xpv_kvs_set(l, where, "rx-ring-ref", q->rx.mem.gref[0]);
	if (q->split) {
		xpv_kvs_set(l, where, "event-channel-tx", q->tx_evt.port);
		xpv_kvs_set(l, where, "event-channel-rx", q->rx_evt.port);
		xpv_kvs_del(l, where, "event-channel");
	} else {
		xpv_kvs_set(l, where, "event-channel", q->rx_evt.port);
		xpv_kvs_del(l, where, "event-channel-tx");
		xpv_kvs_del(l, where, "event-channel-rx");
	}
}

/* Keys of an earlier connection, of ours or of firmware, that would mislead. */
static void xnf_unpublish_rest(struct xpv_kvs *l, const struct xnf *x,
			       unsigned int n)
{
	unsigned int i;
	char dir[24];

	if (n > 1)
		for (i = 0; i < ARRAY_SIZE(xnf_queue_keys); i++)
			xpv_kvs_del(l, XPV_QUEUE_FLAT, xnf_queue_keys[i]);
	for (i = n > 1 ? n : 0; i < max(x->max_q, XNF_QUEUES_USUAL); i++) {
		snprintf(dir, sizeof(dir), "queue-%u", i);
		xpv_kvs_del(l, XPV_QUEUE_FLAT, dir);
	}
}

static void xnf_publish_ctrl(struct xpv_kvs *l, const struct xnf *x)
{
	if (x->ctrl.mem.addr) {
		xpv_kvs_set(l, XPV_QUEUE_FLAT, "ctrl-ring-ref", x->ctrl.mem.gref[0]);
		xpv_kvs_set(l, XPV_QUEUE_FLAT, "event-channel-ctrl", x->ctrl.evt.port);
	} else {
		xpv_kvs_del(l, XPV_QUEUE_FLAT, "ctrl-ring-ref");
		xpv_kvs_del(l, XPV_QUEUE_FLAT, "event-channel-ctrl");
	}
}

static int xnf_publish(struct xnf *x, const struct xnf_caps *caps, unsigned int n)
{
	struct xpv_kvs l;
	unsigned int i;

	xpv_kvs_init(&l);
	xnf_unpublish_rest(&l, x, n);
	for (i = 0; i < n; i++)
		xnf_publish_queue(&l, &x->q[i], n > 1 ? (int)i : XPV_QUEUE_FLAT);
	if (caps->multi)
		xpv_kvs_set(&l, XPV_QUEUE_FLAT, "multi-queue-num-queues", n);
	else
		xpv_kvs_del(&l, XPV_QUEUE_FLAT, "multi-queue-num-queues");
	xnf_publish_ctrl(&l, x);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "request-rx-copy", 1);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "feature-rx-notify", 1);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "feature-sg", 1);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "feature-gso-tcpv4", 1);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "feature-gso-tcpv6", 1);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "feature-ipv6-csum-offload", 1);
	/* Firmware that could not do checksums may have left this one. */
	xpv_kvs_del(&l, XPV_QUEUE_FLAT, "feature-no-csum-offload");
	/* Asked for when the list is complete. */
	xpv_kvs_del(&l, XPV_QUEUE_FLAT, "request-multicast-control");
	return xpv_kvs_commit(&l, x->d);
}

/*
 * Quotas of grants, event channels and store nodes are shared with other
 * devices: when they do not suffice for all queues, half of them may do.
 */
static int xnf_make_queues(struct xnf *x, struct xnf_caps *caps)
{
	unsigned int n = caps->queues;
	int err;

	for (; n; n /= 2) {
		err = xnf_queues_init(x, n, caps->split);
		if (!err) {
			xnf_queues_fill(x, n);
			err = xnf_publish(x, caps, n);
			if (!err)
				break;
			xnf_queues_exit(x, n);
		}
		if (err != -ENOSPC || n == 1)
			return err;
		netdev_info(x->dev, "no room for %u queues, trying %u\n", n, n / 2);
	}
	caps->queues = n;
	return 0;
}

/* ------------------------------------------------------------------ */
/* Up and down                                                         */
/* ------------------------------------------------------------------ */

static void xnf_set_up(struct xnf_queue *q, bool up)
{
	struct netdev_queue *txq = xnf_txq(q);

	__netif_tx_lock_bh(txq);
	WRITE_ONCE(q->up, up);
	__netif_tx_unlock_bh(txq);
}

/* rtnl held. What the stack may hand us from now on. */
static int xnf_apply_caps(struct xnf *x, const struct xnf_caps *caps)
{
	struct net_device *dev = x->dev;
	int err;

	err = netif_set_real_num_tx_queues(dev, caps->queues);
	if (!err)
		err = netif_set_real_num_rx_queues(dev, caps->queues);
	if (err)
		return err;
	x->caps = *caps;
	x->nq = caps->queues;
	dev->max_mtu = caps->sg ? XNF_MTU_SG : ETH_DATA_LEN;
	if (dev->mtu > dev->max_mtu) {
		netdev_info(dev, "mtu %u is above the backend's limit, now %u\n",
			    dev->mtu, dev->max_mtu);
		dev_set_mtu(dev, dev->max_mtu);
	}
	netdev_update_features(dev);
	return 0;
}

int xnf_connect(struct xnf *x)
{
	struct xnf_caps caps;
	int err;

	xnf_disconnect(x);
	err = xnf_negotiate(x, &caps);
	if (err)
		return err;
	if (caps.ctrl)
		xnf_ctrl_open(x);
	err = xnf_make_queues(x, &caps);
	if (err) {
		xnf_ctrl_close(x);
		return err;
	}
	rtnl_lock();
	err = xnf_apply_caps(x, &caps);
	rtnl_unlock();
	if (err) {
		xnf_ctrl_close(x);
		xnf_queues_exit(x, caps.queues);
		return err;
	}
	x->connected = true;
	netdev_info(x->dev,
		    "%u queue%s, %s event channels, sg %d, csum v4 %d v6 %d, gso v4 %d v6 %d, mtu up to %u%s\n",
		    caps.queues, caps.queues > 1 ? "s" : "",
		    caps.split ? "split" : "single", caps.sg, caps.csum4,
		    caps.csum6, caps.gso4, caps.gso6, x->dev->max_mtu,
		    x->trusted ? "" : ", backend not trusted");
	return 0;
}

void xnf_rx_due(struct xpv_hold *h)
{
	napi_schedule(&container_of(h, struct xnf_queue, rx.hold)->rx_napi);
}

void xnf_napi_on(struct xnf *x)
{
	unsigned int i;

	for (i = 0; i < x->nq; i++) {
		struct xnf_queue *q = &x->q[i];

		if (q->napi_on)
			continue;
		q->napi_on = true;
		napi_enable(&q->tx_napi);
		napi_enable(&q->rx_napi);
		/* Events that came before found the NAPIs disabled. */
		local_bh_disable();
		napi_schedule(&q->tx_napi);
		napi_schedule(&q->rx_napi);
		local_bh_enable();
	}
}

void xnf_napi_off(struct xnf *x)
{
	unsigned int i;

	netif_tx_disable(x->dev);
	for (i = 0; i < x->max_q; i++) {
		struct xnf_queue *q = &x->q[i];

		if (!q->napi_on)
			continue;
		q->napi_on = false;
		napi_disable(&q->tx_napi);
		napi_disable(&q->rx_napi);
		xpv_hold_stop(&q->rx.hold);
	}
}

void xnf_start(struct xnf *x)
{
	unsigned int i;

	if (!x->connected || x->stopped || test_bit(XNF_BROKEN, &x->flags))
		return;
	if (x->live) {
		/* It may have been loaded again, and has lost its list then. */
		xnf_mcast_start(x);
		return;
	}
	rtnl_lock();
	x->live = true;
	for (i = 0; i < x->nq; i++)
		xnf_set_up(&x->q[i], true);
	if (netif_running(x->dev)) {
		xnf_napi_on(x);
		netif_tx_wake_all_queues(x->dev);
	}
	xnf_mcast_start(x);
	netif_carrier_on(x->dev);
	rtnl_unlock();
	netdev_notify_peers(x->dev);
	/* A backend answers only once it is connected. */
	if (x->ctrl.mem.addr && READ_ONCE(xnf_statics))
		schedule_work(&x->ctrl.work);
}

/*
 * The one order for every way down: messages, senders, NAPIs, then what they
 * used.  The NAPIs go before the event channels, because they end events.
 */
void xnf_halt(struct xnf *x)
{
	unsigned int i;

	if (!x->connected || x->stopped)
		return;
	xnf_ctrl_halt(x);
	rtnl_lock();
	x->live = false;
	netif_carrier_off(x->dev);
	for (i = 0; i < x->nq; i++)
		xnf_set_up(&x->q[i], false);
	xnf_napi_off(x);
	rtnl_unlock();
	xnf_mcast_halt(x);
	x->stopped = true;
}

void xnf_disconnect(struct xnf *x)
{
	if (!x->connected)
		return;
	xnf_halt(x);
	xnf_ctrl_close(x);
	xnf_queues_exit(x, x->nq);
	x->connected = false;
	x->stopped = false;
}

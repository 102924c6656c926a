// SPDX-License-Identifier: GPL-2.0
/*
 * xpv-netfront: the module, the bus callbacks and the netdev operations.
 *
 * Decides what a change of the backend's state leads to, and how a device
 * leaves: in order when the backend answers, within a bounded time when it does
 * not, and for good when it broke the rules.  Touches no ring.
 *
 * The bus calls from the xenwatch thread, except for remove by unbinding and
 * resume; the net stack calls under rtnl.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include "netfront.h"

unsigned int xnf_max_queues;
module_param_named(max_queues, xnf_max_queues, uint, 0444);
MODULE_PARM_DESC(max_queues,
		 "Most queues of one interface, 1 to 32 (0 = number of CPUs, at most 8; default 0)");

static bool trusted = true;
module_param(trusted, bool, 0644);
MODULE_PARM_DESC(trusted,
		 "Backends may see what lies beside a packet in its page; read at probe (default Y)");

static unsigned int rx_copybreak = XNF_COPYBREAK;
module_param(rx_copybreak, uint, 0644);
MODULE_PARM_DESC(rx_copybreak,
		 "Received frames up to so many bytes are copied, 0 to 4096; ethtool --set-tunable changes it later (default 256)");

module_param_named(static_grants, xnf_statics, bool, 0644);
MODULE_PARM_DESC(static_grants,
		 "Let backends keep pages mapped, 400 for each queue; read at connect (default Y)");

unsigned int xnf_close_ms = 2500;

static unsigned int xnf_queue_limit(void)
{
	if (!xnf_max_queues)
		return clamp(num_online_cpus(), 1U, 8U);
	return min_t(unsigned int, xnf_max_queues, XNF_QUEUES_MAX);
}

/* ------------------------------------------------------------------ */
/* Netdev operations                                                   */
/* ------------------------------------------------------------------ */

static int xnf_open(struct net_device *dev)
{
	struct xnf *x = netdev_priv(dev);

	if (x->live)
		xnf_napi_on(x);
	netif_tx_start_all_queues(dev);
	return 0;
}

static int xnf_stop(struct net_device *dev)
{
	xnf_napi_off(netdev_priv(dev));
	return 0;
}

static netdev_features_t xnf_fix_features(struct net_device *dev,
					  netdev_features_t f)
{
	const struct xnf *x = netdev_priv(dev);

	if (!x->caps.sg)
		f &= ~NETIF_F_SG;
	if (!x->caps.csum4)
		f &= ~NETIF_F_IP_CSUM;
	if (!x->caps.csum6)
		f &= ~NETIF_F_IPV6_CSUM;
	if (!x->caps.gso4)
		f &= ~NETIF_F_TSO;
	if (!x->caps.gso6)
		f &= ~NETIF_F_TSO6;
	return f;
}

static void xnf_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *to)
{
	const struct xnf *x = netdev_priv(dev);
	unsigned int i;

	for (i = 0; i < x->max_q; i++) {
		const struct xnf_stats *s = &x->q[i].stats;

		to->tx_packets += READ_ONCE(s->tx_packets);
		to->tx_bytes += READ_ONCE(s->tx_bytes);
		to->tx_dropped += READ_ONCE(s->tx_dropped);
		to->tx_errors += READ_ONCE(s->tx_errors);
		to->rx_packets += READ_ONCE(s->rx_packets);
		to->rx_bytes += READ_ONCE(s->rx_bytes);
		to->rx_dropped += READ_ONCE(s->rx_dropped);
		to->rx_errors += READ_ONCE(s->rx_errors);
	}
}

static const struct net_device_ops xnf_netdev_ops = {
	.ndo_open = xnf_open,
	.ndo_stop = xnf_stop,
	.ndo_start_xmit = xnf_xmit,
	.ndo_set_rx_mode = xnf_set_rx_mode,
	.ndo_fix_features = xnf_fix_features,
	.ndo_get_stats64 = xnf_get_stats64,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

/* ------------------------------------------------------------------ */
/* A peer that broke the rules                                         */
/* ------------------------------------------------------------------ */

void xnf_break(struct xnf *x)
{
	unsigned int i;

	if (test_and_set_bit(XNF_BROKEN, &x->flags))
		return;
	netif_carrier_off(x->dev);
	for (i = 0; i < x->max_q; i++) {
		WRITE_ONCE(x->q[i].up, false);
		xpv_evt_dead(&x->q[i].tx_evt);
		xpv_evt_dead(&x->q[i].rx_evt);
	}
	schedule_work(&x->break_work);
}

static void xnf_break_work(struct work_struct *w)
{
	struct xnf *x = container_of(w, struct xnf, break_work);

	mutex_lock(&x->lock);
	xnf_halt(x);
	if (!test_bit(XNF_REMOVING, &x->flags)) {
		hyp_fatal(x->d, -EPROTO,
			  "the backend broke the protocol; the interface stays off");
		x->state = XenbusStateClosing;
	}
	mutex_unlock(&x->lock);
}

/* ------------------------------------------------------------------ */
/* States                                                              */
/* ------------------------------------------------------------------ */

static void xnf_set_state(struct xnf *x, enum xenbus_state state)
{
	hyp_state_set(x->d, state);
	x->state = state;
}

static void xnf_do_connect(struct xnf *x)
{
	int err;

	if (test_bit(XNF_BROKEN, &x->flags))
		return;
	err = xnf_connect(x);
	if (!err) {
		xnf_set_state(x, XenbusStateConnected);
		return;
	}
	if (err == -EOPNOTSUPP)
		hyp_fatal(x->d, err, "the backend lacks feature-rx-copy=1");
	else
		hyp_fatal(x->d, err, "connecting");
	x->state = XenbusStateClosing;
}

static bool xnf_peer_closed(enum xenbus_state peer)
{
	return peer == XenbusStateUnknown || peer == XenbusStateClosed;
}

/*
 * A toolstack may have written the backend's "Closing": it still maps rings and
 * pages then, and unmaps them when it hears of us.  So they stay until it is
 * closed, or is gone, or the next connect or remove.
 */
static void xnf_do_close(struct xnf *x, enum xenbus_state peer)
{
	xnf_halt(x);
	if (xnf_peer_closed(peer))
		xnf_disconnect(x);
	hyp_closed(x->d);
	x->state = XenbusStateClosed;
}

static void xnf_peer_changed(struct xpv_dev *d, enum xenbus_state peer)
{
	struct xnf *x = d->priv;

	mutex_lock(&x->lock);
	if (test_bit(XNF_REMOVING, &x->flags))
		goto out;
	switch (xpv_front_next(x->state, peer)) {
	case XPV_FRONT_CONNECT:
		xnf_do_connect(x);
		break;
	case XPV_FRONT_START:
	case XPV_FRONT_REFRESH:
		xnf_start(x);
		break;
	case XPV_FRONT_CLOSE:
	case XPV_FRONT_GONE:
		xnf_do_close(x, peer);
		break;
	case XPV_FRONT_NOTHING:
		if (x->stopped && xnf_peer_closed(peer))
			xnf_disconnect(x);
		break;
	}
out:
	mutex_unlock(&x->lock);
}

/* ------------------------------------------------------------------ */
/* Probe, remove, resume                                               */
/* ------------------------------------------------------------------ */

/* The toolstack writes the address into both directories. */
static int xnf_read_mac(struct xpv_dev *d, u8 *mac)
{
	static const enum xpv_side sides[] = { XPV_OWN, XPV_PEER };
	unsigned int i;
	bool ok = false;
	char *text;

	for (i = 0; !ok && i < ARRAY_SIZE(sides); i++) {
		text = hyp_store_read(d, sides[i], "mac");
		if (IS_ERR(text))
			continue;
		ok = mac_pton(strim(text), mac) && is_valid_ether_addr(mac);
		kfree(text);
	}
	return ok ? 0 : -ENOENT;
}

static bool xnf_read_trusted(struct xpv_dev *d)
{
	static const struct xpv_key key = {
		.name = "trusted",
		.max = 1,
		.absent = 1,
		.clamp = true,
	};
	u32 v;

	/* A value that makes no sense must not turn the protection off. */
	if (xpv_key_read(d, XPV_OWN, XPV_QUEUE_FLAT, &key, &v))
		return false;
	return v && trusted;
}

static int xnf_queues_alloc(struct xnf *x)
{
	unsigned int i;

	x->q = kvcalloc(x->max_q, sizeof(*x->q), GFP_KERNEL);
	if (!x->q)
		return -ENOMEM;
	for (i = 0; i < x->max_q; i++) {
		struct xnf_queue *q = &x->q[i];

		q->x = x;
		q->id = i;
		xpv_hold_init(&q->rx.hold, &x->rx_hold, xnf_rx_due);
		netif_napi_add_tx(x->dev, &q->tx_napi, xnf_tx_poll);
		netif_napi_add(x->dev, &q->rx_napi, xnf_rx_poll);
	}
	return 0;
}

static void xnf_netdev_setup(struct net_device *dev, struct xpv_dev *d)
{
	SET_NETDEV_DEV(dev, d->dev);
	dev->netdev_ops = &xnf_netdev_ops;
	dev->ethtool_ops = &xnf_ethtool_ops;
	/* Before the backend has said what it can do, everything is possible. */
	dev->hw_features = NETIF_F_SG | NETIF_F_IP_CSUM | NETIF_F_IPV6_CSUM |
			   NETIF_F_TSO | NETIF_F_TSO6;
	dev->features = dev->hw_features | NETIF_F_RXCSUM;
	/* Slots in flight are counted in the skb, so it must be ours alone. */
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = XNF_MTU_SG;
	netif_set_tso_max_size(dev, XPV_NET_MAX_FRAME);
	netif_carrier_off(dev);
}

static void xnf_free(struct xnf *x)
{
	unsigned int i;

	for (i = 0; x->q && i < x->max_q; i++) {
		netif_napi_del(&x->q[i].tx_napi);
		netif_napi_del(&x->q[i].rx_napi);
	}
	kvfree(x->q);
	free_netdev(x->dev);
}

static struct xnf *xnf_alloc(struct xpv_dev *d)
{
	unsigned int n = xnf_queue_limit();
	struct net_device *dev;
	struct xnf *x;

	dev = alloc_etherdev_mqs(sizeof(*x), n, n);
	if (!dev)
		return NULL;
	x = netdev_priv(dev);
	x->dev = dev;
	x->d = d;
	x->nq = 1;
	x->max_q = n;
	x->state = XenbusStateInitialising;
	x->copybreak = min_t(u32, rx_copybreak, XPV_PAGE_SIZE);
	x->tx_copybreak = XNF_COPY;
	x->rx_hold = (struct xpv_hold_conf)XPV_HOLD_DEFAULT;
	x->trusted = xnf_read_trusted(d);
	x->caps = (struct xnf_caps) {
		.sg = true, .csum4 = true, .csum6 = true,
		.gso4 = true, .gso6 = true,
	};
	mutex_init(&x->lock);
	INIT_WORK(&x->break_work, xnf_break_work);
	xnf_ctrl_init(x);
	xnf_mcast_init(x);
	xpv_faults_init(&x->faults);
	xnf_netdev_setup(dev, d);
	if (!xnf_queues_alloc(x))
		return x;
	free_netdev(dev);
	return NULL;
}

static int xnf_probe(struct xpv_dev *d)
{
	u8 mac[ETH_ALEN];
	struct xnf *x;
	int err;

	err = xnf_read_mac(d, mac);
	if (err) {
		hyp_error(d, err, "key mac is missing or no unicast address on both ends");
		return err;
	}
	x = xnf_alloc(d);
	if (!x)
		return -ENOMEM;
	eth_hw_addr_set(x->dev, mac);
	d->priv = x;
	err = register_netdev(x->dev);
	if (err) {
		hyp_error(d, err, "registering the net device");
		d->priv = NULL;
		xnf_free(x);
		return err;
	}
	/* A backend that served another driver starts over at this. */
	hyp_state_set(d, XenbusStateInitialising);
	return 0;
}

/* Bounded, by looking: the xenwatch thread may be the one that waits here. */
static void xnf_wait_peer(struct xpv_dev *d, bool (*ready)(enum xenbus_state))
{
	unsigned long end = jiffies + msecs_to_jiffies(xnf_close_ms);
	unsigned int step = 5;

	while (!d->vanished && !ready(hyp_state_get(d, XPV_PEER)) &&
	       time_before(jiffies, end)) {
		msleep(step);
		step = min(step * 2, 100U);
	}
}

/* It has let go of rings and pages. */
static bool xnf_peer_let_go(enum xenbus_state peer)
{
	return peer != XenbusStateConnected &&
	       peer != XenbusStateReconfiguring &&
	       peer != XenbusStateReconfigured;
}

/* Tell the backend and give it time to unmap; then leave, whatever it did. */
static void xnf_leave(struct xnf *x)
{
	bool told = !x->d->vanished && x->state == XenbusStateConnected;

	rtnl_lock();
	netif_carrier_off(x->dev);
	netif_tx_disable(x->dev);
	rtnl_unlock();
	if (told) {
		xnf_set_state(x, XenbusStateClosing);
		xnf_wait_peer(x->d, xnf_peer_let_go);
	}
	mutex_lock(&x->lock);
	if (told)
		xnf_disconnect(x);
	xnf_do_close(x, XenbusStateClosing);
	mutex_unlock(&x->lock);
	if (told || x->stopped)
		xnf_wait_peer(x->d, xnf_peer_closed);
	mutex_lock(&x->lock);
	xnf_disconnect(x);
	mutex_unlock(&x->lock);
}

static void xnf_remove(struct xpv_dev *d)
{
	struct xnf *x = d->priv;

	if (!x)
		return;
	mutex_lock(&x->lock);
	set_bit(XNF_REMOVING, &x->flags);
	mutex_unlock(&x->lock);
	xnf_leave(x);
	cancel_work_sync(&x->break_work);
	unregister_netdev(x->dev);
	d->priv = NULL;
	xnf_free(x);
}

/*
 * A new host: rings and grants of the old one mean nothing, and the new
 * backend is not to blame for what the old one did.
 */
static int xnf_resume(struct xpv_dev *d)
{
	struct xnf *x = d->priv;

	mutex_lock(&x->lock);
	xnf_disconnect(x);
	clear_bit(XNF_BROKEN, &x->flags);
	xnf_set_state(x, XenbusStateInitialising);
	mutex_unlock(&x->lock);
	return 0;
}

const struct xpv_driver xnf_driver = {
	.name = "xpv-netfront",
	.type = "vif",
	.end = XPV_FRONT,
	.probe = xnf_probe,
	.remove = xnf_remove,
	.peer_changed = xnf_peer_changed,
	.resume = xnf_resume,
};

static int __init xnf_init(void)
{
	return hyp_driver_register(&xnf_driver, THIS_MODULE);
}
module_init(xnf_init);

static void __exit xnf_exit(void)
{
	hyp_driver_unregister(&xnf_driver);
}
module_exit(xnf_exit);

MODULE_DESCRIPTION("Xen network frontend");
MODULE_AUTHOR("The xpv project");
MODULE_LICENSE("GPL");
#ifdef XPV_VERSION
MODULE_VERSION(XPV_VERSION);
#endif
MODULE_ALIAS("xen:vif");
MODULE_ALIAS("xennet");
XPV_USES_CORE();

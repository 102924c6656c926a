// SPDX-License-Identifier: GPL-2.0
/*
 * The net device vifD.H: made at probe, gone at remove, whatever the frontend
 * does in between.  Decides name, address, features and MTU limits.
 *
 * "Tx" is the guest's transmit, so the counters of the net device are the other
 * way round.  All of it is process context; the callbacks run under RTNL.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include "netback.h"

/* The largest MTU: a frame of 65535 bytes with header and VLAN tag. */
#define XNB_MAX_MTU	(ETH_MAX_MTU - VLAN_ETH_HLEN)

/* At most this many lines of one vif in one interval. */
#define XNB_LOG_BURST		10
#define XNB_LOG_INTERVAL	(60 * HZ)

/* Offloads that we can pass on when the frontend takes them. */
#define XNB_FEATURES	(NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_IP_CSUM | \
			 NETIF_F_IPV6_CSUM | NETIF_F_TSO | NETIF_F_TSO6)

/*
 * Up and down is a matter of the host alone: the connection to the guest stays.
 * While the device is down, what the guest sends is answered and dropped.
 */
static int xnb_open(struct net_device *dev)
{
	netif_tx_start_all_queues(dev);
	return 0;
}

static int xnb_stop(struct net_device *dev)
{
	struct xnb_vif *vif = netdev_priv(dev);
	unsigned int i;

	netif_tx_disable(dev);
	for (i = 0; i < vif->max_queues; i++) {
		struct netdev_queue *txq = netdev_get_tx_queue(dev, i);

		__netif_tx_lock_bh(txq);
		if (vif->queues[i].live && !vif->queues[i].rx_stalled)
			xnb_rx_purge(&vif->queues[i]);
		__netif_tx_unlock_bh(txq);
	}
	return 0;
}

static int xnb_change_mtu(struct net_device *dev, int mtu)
{
	struct xnb_vif *vif = netdev_priv(dev);

	if (mtu > ETH_DATA_LEN && !vif->feat.sg)
		return -EINVAL;
	WRITE_ONCE(dev->mtu, mtu);
	return 0;
}

/* Scatter-gather stays on in any case: we copy, whatever the guest can take. */
static netdev_features_t xnb_fix_features(struct net_device *dev,
					  netdev_features_t features)
{
	const struct xnb_features *f = &((struct xnb_vif *)netdev_priv(dev))->feat;

	if (!f->csum4)
		features &= ~NETIF_F_IP_CSUM;
	if (!f->csum6)
		features &= ~NETIF_F_IPV6_CSUM;
	if (!f->gso4 || !f->csum4)
		features &= ~NETIF_F_TSO;
	if (!f->gso6 || !f->csum6)
		features &= ~NETIF_F_TSO6;
	return features;
}

static const struct net_device_ops xnb_netdev_ops = {
	.ndo_open = xnb_open,
	.ndo_stop = xnb_stop,
	.ndo_start_xmit = xnb_start_xmit,
	.ndo_change_mtu = xnb_change_mtu,
	.ndo_fix_features = xnb_fix_features,
	.ndo_get_stats64 = xnb_get_stats64,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static void queue_init(struct xnb_vif *vif, unsigned int id)
{
	struct xnb_queue *q = &vif->queues[id];

	q->vif = vif;
	q->id = id;
	q->rx_evt = &q->tx_evt;
	snprintf(q->name, sizeof(q->name), "%s-q%u", vif->dev->name, id);
	__skb_queue_head_init(&q->rx_pending);
	xpv_hold_init(&q->tx_hold, &vif->tx_hold, xnb_tx_due);
	timer_setup(&q->credit_timer, xnb_credit_timeout, 0);
	timer_setup(&q->rx_timer, xnb_rx_timeout, 0);
	INIT_WORK(&q->rx_work, xnb_rx_work);
	xa_init(&q->mapped);
	netdev_queue_set_dql_min_limit(xnb_txq(q), XNB_RX_STREAM_BYTES);
	netif_napi_add(vif->dev, &q->napi, xnb_poll);
}

static void netdev_init(struct net_device *dev, struct device *parent)
{
	/*
	 * The largest address that is not a group: a bridge does not take it
	 * for its own.
	 */
	static const u8 addr[ETH_ALEN] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff };

	SET_NETDEV_DEV(dev, parent);
	dev->netdev_ops = &xnb_netdev_ops;
	dev->ethtool_ops = &xnb_ethtool_ops;
	dev->hw_features = XNB_FEATURES;
	dev->features = XNB_FEATURES | NETIF_F_RXCSUM;
	/* Packets wait in a list of ours and carry our notes. */
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = XNB_MAX_MTU;
	eth_hw_addr_set(dev, addr);
	netif_carrier_off(dev);
}

/*
 * xnb_vif_create() - net device with all its queues, none of them live
 *
 * Return: vif or ERR_PTR.
 */
struct xnb_vif *xnb_vif_create(struct xpv_dev *d, unsigned int handle)
{
	unsigned int max = clamp(READ_ONCE(xnb_max_queues), 1U, XNB_QUEUES_MAX);
	struct net_device *dev;
	struct xnb_vif *vif;
	char name[IFNAMSIZ];
	unsigned int i;
	int err = -ENOMEM;

	snprintf(name, sizeof(name), "vif%u.%u", d->peer, handle);
	dev = alloc_netdev_mqs(sizeof(*vif), name, NET_NAME_UNKNOWN,
			       ether_setup, max, max);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	netdev_init(dev, d->dev);
	vif = netdev_priv(dev);
	vif->d = d;
	vif->dev = dev;
	vif->handle = handle;
	vif->max_queues = max;
	vif->tx_hold = (struct xpv_hold_conf)XPV_HOLD_DEFAULT;
	vif->state = XenbusStateInitialising;
	vif->rate_bytes = U64_MAX;
	/* Until a frontend says otherwise, an MTU above 1500 may be set. */
	vif->feat.sg = true;
	mutex_init(&vif->lock);
	atomic_set(&vif->stalled, 0);
	xnb_ctrl_init(vif);
	xnb_mcast_init(&vif->mcast);
	xpv_faults_init(&vif->faults);
	ratelimit_state_init(&vif->log_rs, XNB_LOG_INTERVAL, XNB_LOG_BURST);
	ratelimit_set_flags(&vif->log_rs, RATELIMIT_MSG_ON_RELEASE);
	vif->queues = kvcalloc(max, sizeof(*vif->queues), GFP_KERNEL);
	if (!vif->queues)
		goto free;
	for (i = 0; i < max; i++)
		queue_init(vif, i);
	err = register_netdev(dev);
	if (!err)
		return vif;
free:
	kvfree(vif->queues);
	free_netdev(dev);
	return ERR_PTR(err);
}

/* xnb_vif_destroy() - after xnb_disconnect(); no one refers to the vif. */
void xnb_vif_destroy(struct xnb_vif *vif)
{
	struct xnb_queue *queues = vif->queues;

	unregister_netdev(vif->dev);
	kfree(vif->script);
	/* Takes the NAPI contexts in the queues off their list. */
	free_netdev(vif->dev);
	kvfree(queues);
}

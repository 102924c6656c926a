// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator can see of a vif: counters, queues, link.
 *
 * "Tx" is the guest's transmit.  Reads counters only, from any context; queues
 * live as long as the net device, so there is nothing to wait for.
 */
#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include "netback.h"

#define ROW(f, h)	XPV_STAT(struct xnb_stats, f, h)

const struct xpv_stat xnb_stat_table[] = {
	ROW(static_maps, "pages of the guest mapped to stay"),
	ROW(mcast_add, "addresses added to the multicast list"),
	ROW(mcast_del, "addresses taken off it"),
	ROW(mcast_refused, "addresses that the list had no room for"),
	ROW(tx_packets, "frames from the guest, copied without error"),
	ROW(tx_bytes, "their bytes"),
	ROW(tx_slots, "Tx slots answered, extra infos included"),
	ROW(tx_gso_packets, "frames from the guest that carry segmentation data"),
	ROW(tx_batches, "batches of copies for Tx"),
	ROW(tx_hypercalls, "of these, with a hypercall"),
	ROW(tx_copies, "copies for Tx, by the hypervisor or from mapped pages"),
	ROW(tx_static_copies, "of these, from pages that stay mapped"),
	ROW(tx_errors, "frames refused: malformed, or their grants failed"),
	ROW(tx_dropped, "frames dropped: no memory, or the device is down"),
	ROW(tx_csum_fixups, "segmented frames that did not say their checksum is blank"),
	ROW(tx_throttled, "times that the rate limit stopped the queue"),
	ROW(tx_events_received, "events from the guest on the Tx (or shared) channel"),
	ROW(tx_events_spurious, "of these, events without work"),
	ROW(tx_events_sent, "events sent for Tx responses"),
	ROW(tx_events_suppressed, "batches of Tx responses the guest wanted no event for"),
	ROW(rx_packets, "frames given to the guest"),
	ROW(rx_bytes, "their bytes"),
	ROW(rx_slots, "Rx slots filled, extra infos included"),
	ROW(rx_gso_packets, "frames for the guest that carry segmentation data"),
	ROW(rx_batches, "batches of copies for Rx"),
	ROW(rx_hypercalls, "of these, with a hypercall"),
	ROW(rx_copies, "copies for Rx, by the hypervisor or to mapped pages"),
	ROW(rx_static_copies, "of these, to pages that stay mapped"),
	ROW(rx_errors, "frames lost because a grant of the guest failed"),
	ROW(rx_refused, "frames that the guest cannot take"),
	ROW(rx_mcast_filtered, "multicast frames that the guest does not want"),
	ROW(rx_queue_drops, "frames dropped: queue full, stalled or disconnected"),
	ROW(rx_expired, "frames dropped after waiting too long for Rx slots"),
	ROW(rx_shortages, "times that the guest had too few Rx slots posted"),
	ROW(rx_stalls, "times that the guest took nothing for the stall time"),
	ROW(rx_events_received, "events from the guest on the Rx channel"),
	ROW(rx_events_spurious, "of these, events without work"),
	ROW(rx_events_sent, "events sent for Rx responses"),
	ROW(rx_events_suppressed, "batches of Rx responses the guest wanted no event for"),
};

const unsigned int xnb_stat_count = ARRAY_SIZE(xnb_stat_table);

static u64 sum(const struct xnb_vif *vif, const struct xpv_stat *s)
{
	u64 val = 0;
	unsigned int i;

	for (i = 0; i < vif->max_queues; i++)
		val += xpv_stat_get(&vif->queues[i].stats, s);
	return val;
}

/* The host's point of view: what the guest transmits is received here. */
void xnb_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *s)
{
	struct xnb_vif *vif = netdev_priv(dev);
	unsigned int i;

	for (i = 0; i < vif->max_queues; i++) {
		const struct xnb_stats *q = &vif->queues[i].stats;

		s->rx_packets += READ_ONCE(q->tx_packets);
		s->rx_bytes += READ_ONCE(q->tx_bytes);
		s->rx_errors += READ_ONCE(q->tx_errors);
		s->rx_dropped += READ_ONCE(q->tx_dropped);
		s->tx_packets += READ_ONCE(q->rx_packets);
		s->tx_bytes += READ_ONCE(q->rx_bytes);
		s->tx_errors += READ_ONCE(q->rx_errors);
		s->tx_dropped += READ_ONCE(q->rx_refused) +
				 READ_ONCE(q->rx_queue_drops) +
				 READ_ONCE(q->rx_expired);
	}
}

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct xnb_vif *vif = netdev_priv(dev);

	strscpy(info->driver, "xpv-netback", sizeof(info->driver));
#ifdef XPV_VERSION
	strscpy(info->version, XPV_VERSION, sizeof(info->version));
#endif
	strscpy(info->bus_info, dev_name(vif->d->dev), sizeof(info->bus_info));
}

/* Rows: sums over all queues, faults by reason, then each queue in use. */
static int get_sset_count(struct net_device *dev, int set)
{
	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return xnb_stat_count * (1 + dev->real_num_tx_queues) + XPV_FAULT_COUNT;
}

static void get_strings(struct net_device *dev, u32 set, u8 *data)
{
	unsigned int i, k;

	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < xnb_stat_count; i++)
		ethtool_sprintf(&data, "%s", xnb_stat_table[i].name);
	for (i = 0; i < XPV_FAULT_COUNT; i++)
		ethtool_sprintf(&data, "fault_%s", xpv_fault_name(i));
	for (k = 0; k < dev->real_num_tx_queues; k++)
		for (i = 0; i < xnb_stat_count; i++)
			ethtool_sprintf(&data, "q%u_%s", k,
					xnb_stat_table[i].name);
}

static void get_stats(struct net_device *dev, struct ethtool_stats *stats,
		      u64 *data)
{
	struct xnb_vif *vif = netdev_priv(dev);
	unsigned int i, k;

	for (i = 0; i < xnb_stat_count; i++)
		*data++ = sum(vif, &xnb_stat_table[i]);
	for (i = 0; i < XPV_FAULT_COUNT; i++)
		*data++ = atomic64_read(&vif->faults.count[i]);
	for (k = 0; k < dev->real_num_tx_queues; k++)
		for (i = 0; i < xnb_stat_count; i++)
			*data++ = xpv_stat_get(&vif->queues[k].stats,
					       &xnb_stat_table[i]);
}

static void get_channels(struct net_device *dev, struct ethtool_channels *ch)
{
	struct xnb_vif *vif = netdev_priv(dev);

	ch->max_combined = vif->max_queues;
	ch->combined_count = dev->real_num_tx_queues;
}

static int get_coalesce(struct net_device *dev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack)
{
	struct xnb_vif *vif = netdev_priv(dev);

	xpv_hold_get_coalesce(&vif->tx_hold, ec);
	return 0;
}

static int set_coalesce(struct net_device *dev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack)
{
	struct xnb_vif *vif = netdev_priv(dev);

	return xpv_hold_set_coalesce(&vif->tx_hold, ec, extack);
}

const struct ethtool_ops xnb_ethtool_ops = {
	.supported_coalesce_params = XPV_HOLD_COALESCE,
	.get_coalesce = get_coalesce,
	.set_coalesce = set_coalesce,
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_stats,
	.get_channels = get_channels,
};

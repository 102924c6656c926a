// SPDX-License-Identifier: GPL-2.0
/*
 * ethtool: counters and settings for people.
 *
 * The counter table is the only list of them.  Everything here is called under
 * rtnl and only reads, except for the copy limits.
 */
#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include "netfront.h"

#define XNF_STAT(f, h)	XPV_STAT(struct xnf_stats, f, h)

const struct xpv_stat xnf_stat_table[] = {
	XNF_STAT(static_pages, "pages offered to the backend to keep mapped"),
	XNF_STAT(tx_packets, "packets queued to the backend"),
	XNF_STAT(tx_bytes, "bytes in them"),
	XNF_STAT(tx_slots, "data slots they took"),
	XNF_STAT(tx_batches, "times the ring was published"),
	XNF_STAT(tx_events_sent, "publications with an event"),
	XNF_STAT(tx_events_suppressed, "publications without one"),
	XNF_STAT(tx_events_received, "events of completions"),
	XNF_STAT(tx_events_spurious, "of these, with nothing to do"),
	XNF_STAT(tx_copied, "small packets that needed no grant and no event"),
	XNF_STAT(tx_staged, "larger packets copied, to pages that the backend keeps mapped"),
	XNF_STAT(tx_linearized, "packets copied to fit the slots or hide data"),
	XNF_STAT(tx_queue_stops, "times the ring was full"),
	XNF_STAT(tx_reaped_by_sender, "completions that needed no event"),
	XNF_STAT(tx_dropped, "packets dropped here"),
	XNF_STAT(tx_errors, "slots the backend failed"),
	XNF_STAT(tx_abandoned, "pages the backend kept"),
	XNF_STAT(mcast_add, "groups that the backend was told of"),
	XNF_STAT(mcast_del, "groups that it was told to forget"),
	XNF_STAT(mcast_refused, "groups that it did not take"),
	XNF_STAT(mcast_switches, "times that filtering began or ended"),
	XNF_STAT(rx_packets, "packets given to the stack"),
	XNF_STAT(rx_bytes, "bytes in them"),
	XNF_STAT(rx_slots, "slots the backend used"),
	XNF_STAT(rx_batches, "times buffers were published"),
	XNF_STAT(rx_events_sent, "publications with an event"),
	XNF_STAT(rx_events_suppressed, "publications without one"),
	XNF_STAT(rx_events_received, "events of packets, or all with one channel"),
	XNF_STAT(rx_events_spurious, "of these, with nothing to do"),
	XNF_STAT(rx_copied, "packets copied out of their page"),
	XNF_STAT(rx_static_slots, "slots in pages that the backend keeps mapped"),
	XNF_STAT(rx_recycled, "pages posted again with their grant"),
	XNF_STAT(rx_refill_fail, "times no page could be had"),
	XNF_STAT(rx_gso_packets, "packets that are several segments"),
	XNF_STAT(rx_gso_checksum_fixup, "of these, without a checksum flag"),
	XNF_STAT(rx_dropped, "packets dropped for lack of memory"),
	XNF_STAT(rx_errors, "packets dropped as malformed or failed"),
	XNF_STAT(rx_abandoned, "pages the backend kept"),
};

const unsigned int xnf_stat_count = ARRAY_SIZE(xnf_stat_table);

static void xnf_get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, "xpv-netfront", sizeof(info->driver));
#ifdef XPV_VERSION
	strscpy(info->version, XPV_VERSION, sizeof(info->version));
#endif
	strscpy(info->bus_info, dev_name(dev->dev.parent), sizeof(info->bus_info));
}

/* Sums first, then each queue, then the peer's faults. */
static int xnf_get_sset_count(struct net_device *dev, int set)
{
	const struct xnf *x = netdev_priv(dev);

	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return xnf_stat_count * (1 + x->nq) + XPV_FAULT_COUNT;
}

static void xnf_get_strings(struct net_device *dev, u32 set, u8 *data)
{
	const struct xnf *x = netdev_priv(dev);
	unsigned int i, k;

	if (set != ETH_SS_STATS)
		return;
	for (k = 0; k < xnf_stat_count; k++)
		ethtool_sprintf(&data, "%s", xnf_stat_table[k].name);
	for (i = 0; i < x->nq; i++)
		for (k = 0; k < xnf_stat_count; k++)
			ethtool_sprintf(&data, "q%u_%s", i, xnf_stat_table[k].name);
	for (k = 0; k < XPV_FAULT_COUNT; k++)
		ethtool_sprintf(&data, "peer_fault_%s", xpv_fault_name(k));
}

static void xnf_get_stats(struct net_device *dev, struct ethtool_stats *stats,
			  u64 *data)
{
	const struct xnf *x = netdev_priv(dev);
	unsigned int i, k;

	for (k = 0; k < xnf_stat_count; k++, data++)
		for (*data = 0, i = 0; i < x->max_q; i++)
			*data += xpv_stat_get(&x->q[i].stats, &xnf_stat_table[k]);
	for (i = 0; i < x->nq; i++)
		for (k = 0; k < xnf_stat_count; k++)
			*data++ = xpv_stat_get(&x->q[i].stats, &xnf_stat_table[k]);
	for (k = 0; k < XPV_FAULT_COUNT; k++)
		*data++ = atomic64_read(&x->faults.count[k]);
}

static void xnf_get_channels(struct net_device *dev, struct ethtool_channels *ch)
{
	const struct xnf *x = netdev_priv(dev);

	ch->max_combined = x->max_q;
	ch->combined_count = x->nq;
}

static void xnf_get_ringparam(struct net_device *dev, struct ethtool_ringparam *r,
			      struct kernel_ethtool_ringparam *kr,
			      struct netlink_ext_ack *extack)
{
	r->rx_max_pending = XNF_RING;
	r->tx_max_pending = XNF_RING;
	r->rx_pending = XNF_RING;
	r->tx_pending = XNF_RING;
}

static int xnf_get_tunable(struct net_device *dev,
			   const struct ethtool_tunable *t, void *data)
{
	const struct xnf *x = netdev_priv(dev);

	if (t->id == ETHTOOL_RX_COPYBREAK)
		*(u32 *)data = x->copybreak;
	else if (t->id == ETHTOOL_TX_COPYBREAK)
		*(u32 *)data = x->tx_copybreak;
	else
		return -EOPNOTSUPP;
	return 0;
}

static int xnf_set_tunable(struct net_device *dev,
			   const struct ethtool_tunable *t, const void *data)
{
	struct xnf *x = netdev_priv(dev);
	u32 v = *(const u32 *)data;

	if (t->id == ETHTOOL_RX_COPYBREAK) {
		if (v > XPV_PAGE_SIZE)
			return -ERANGE;
		WRITE_ONCE(x->copybreak, v);
		return 0;
	}
	if (t->id != ETHTOOL_TX_COPYBREAK)
		return -EOPNOTSUPP;
	if (v > XNF_COPY)
		return -ERANGE;
	WRITE_ONCE(x->tx_copybreak, v);
	return 0;
}

static int xnf_get_coalesce(struct net_device *dev, struct ethtool_coalesce *ec,
			    struct kernel_ethtool_coalesce *kec,
			    struct netlink_ext_ack *extack)
{
	const struct xnf *x = netdev_priv(dev);

	xpv_hold_get_coalesce(&x->rx_hold, ec);
	return 0;
}

static int xnf_set_coalesce(struct net_device *dev, struct ethtool_coalesce *ec,
			    struct kernel_ethtool_coalesce *kec,
			    struct netlink_ext_ack *extack)
{
	struct xnf *x = netdev_priv(dev);

	return xpv_hold_set_coalesce(&x->rx_hold, ec, extack);
}

const struct ethtool_ops xnf_ethtool_ops = {
	.supported_coalesce_params = XPV_HOLD_COALESCE,
	.get_coalesce = xnf_get_coalesce,
	.set_coalesce = xnf_set_coalesce,
	.get_drvinfo = xnf_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_sset_count = xnf_get_sset_count,
	.get_strings = xnf_get_strings,
	.get_ethtool_stats = xnf_get_stats,
	.get_channels = xnf_get_channels,
	.get_ringparam = xnf_get_ringparam,
	.get_tunable = xnf_get_tunable,
	.set_tunable = xnf_set_tunable,
	.get_ts_info = ethtool_op_get_ts_info,
};

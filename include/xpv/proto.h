/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Protocol elements that the kernel's copies of the Xen headers lack.
 *
 * Source: Xen's public/io/netif.h (static grants, since Xen 4.10) and
 * public/io/blkif.h (wording of Xen 4.20).  Values only; what they mean to our
 * drivers stands in docs/protocol.md.
 */
#ifndef XPV_PROTO_H
#define XPV_PROTO_H

#include <linux/build_bug.h>
#include <linux/types.h>

/* netif.h: control ring messages for grants that stay mapped. */
#ifndef XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE
#define XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE	8
#define XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING		9
#define XEN_NETIF_CTRL_TYPE_DEL_GREF_MAPPING		10
#endif

/**
 * struct xpv_net_gref - entry of the list page of ADD/DEL_GREF_MAPPING
 * @ref: grant reference
 * @flags: XPV_NET_GREF_READONLY or 0
 * @status: written by the backend for DEL, XEN_NETIF_CTRL_STATUS_*
 */
struct xpv_net_gref {
	u32 ref;
	u16 flags;
	u16 status;
};

static_assert(sizeof(struct xpv_net_gref) == 8);

#define XPV_NET_GREF_READONLY	1

/* netif.h: entries of one list, which starts its page. */
#define XPV_NET_GREF_LIST	(4096 / sizeof(struct xpv_net_gref))

/* netif.h: slots a frontend may use for one packet and expect it to pass. */
#define XPV_NET_SLOTS_MIN	18

/* netif.h: largest frame, from the 16-bit size field. */
#define XPV_NET_MAX_FRAME	65535

/* blkif.h: every sector number and count on the wire is in this unit. */
#define XPV_BLK_SECTOR_SHIFT	9
#define XPV_BLK_SECTORS_PER_PAGE	8

#endif /* XPV_PROTO_H */

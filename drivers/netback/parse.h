/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xpv-netback, the pure half: packets as the guest describes them, where their
 * bytes go, what an skb costs in Rx slots and copies, and the rate limit.
 *
 * Works on private copies; parse.c says more.  "Tx" is the guest's transmit.
 */
#ifndef XPV_NETBACK_PARSE_H
#define XPV_NETBACK_PARSE_H

#include <linux/if_ether.h>
#include <linux/skbuff.h>
#include <xen/interface/io/netif.h>
#include <xpv/batch.h>
#include <xpv/proto.h>
#include <xpv/stats.h>

/** XNB_RING_SLOTS - slots of either ring: what fits a page. */
#define XNB_RING_SLOTS		256

/* ------------------------------------------------------------------ */
/* Guest Tx: parsed packets                                            */
/* ------------------------------------------------------------------ */

/** XNB_TX_SLOTS - data slots of a packet that passes: first one + 18. */
#define XNB_TX_SLOTS		(1 + XPV_NET_SLOTS_MIN)

/** XNB_TX_EXTRAS - extra infos of one packet: one of each known type. */
#define XNB_TX_EXTRAS		(XEN_NETIF_EXTRA_TYPE_MAX - 1)

/** XNB_TX_LINEAR - frames up to this size are copied into the skb's head. */
#define XNB_TX_LINEAR		1600

/** XNB_TX_HEAD - bytes of a larger frame that are copied into the head. */
#define XNB_TX_HEAD		128

/**
 * XNB_TX_OPS - most copies of one packet
 *
 * One a slot, one more where the head ends, one where the head crosses a page
 * (XNB_TX_LINEAR is less than a page), one at the end of each page of ours.
 */
#define XNB_TX_OPS		(XNB_TX_SLOTS + 2 + MAX_SKB_FRAGS)

/** XNB_TX_BATCH_OPS - room of a Tx batch: all slots of a ring and one packet. */
#define XNB_TX_BATCH_OPS	(XNB_RING_SLOTS + XNB_TX_OPS)

/** XNB_GSO_MIN - smallest segment a TCP with all its options can ask for. */
#define XNB_GSO_MIN		8

/** union xnb_tx_raw - private copy of one Tx slot. */
union xnb_tx_raw {
	struct xen_netif_tx_request req;
	struct xen_netif_extra_info extra;
};

/**
 * struct xnb_tx_slot - data of one slot, checked
 * @gref: where it is
 * @off: from the start of the granted page
 * @len: bytes, may be 0; @off + @len <= 4096
 */
struct xnb_tx_slot {
	grant_ref_t gref;
	u16 off;
	u16 len;
};

/**
 * struct xnb_tx_pkt - one packet as the guest describes it
 * @slot: data slots; their lengths add up to @len
 * @nslots: data slots used, empty ones included
 * @nextras: extra info slots, directly after the first slot
 * @nraw: slots to answer: data slots, also those too many, and extras
 * @len: bytes of the frame
 * @flags: XEN_NETTXF_* of the first slot
 * @gso_size: segment size, 0 without segmentation
 * @gso_type: XEN_NETIF_GSO_TYPE_*
 * @mcast: XEN_NETIF_EXTRA_TYPE_MCAST_ADD or _DEL, or 0 for a packet
 * @group: the address it names
 * @why: reason when the packet is refused
 */
struct xnb_tx_pkt {
	struct xnb_tx_slot slot[XNB_TX_SLOTS];
	unsigned int nslots;
	unsigned int nextras;
	unsigned int nraw;
	unsigned int len;
	u16 flags;
	u16 gso_size;
	u8 gso_type;
	u8 mcast;
	u8 group[ETH_ALEN];
	enum xpv_fault why;
};

/** enum xnb_verdict - what to do with the slots at hand. */
enum xnb_verdict {
	XNB_WAIT,	/* the packet's last slot is not there yet */
	XNB_PACKET,	/* good so far */
	XNB_MCAST,	/* no packet but a change of the multicast list */
	XNB_DROP,	/* answer all its slots with an error */
	XNB_FATAL,	/* nothing after this can be trusted */
};

/**
 * xnb_tx_parse() - the next packet from private copies of slots
 * @raw: slots in ring order
 * @avail: how many; 0 gives XNB_WAIT
 * @fatal_slots: data slots after the first from which on the guest is hostile
 * @p: result; for XNB_DROP only @nraw, @nextras and @why count, for XNB_FATAL
 *     only @why
 */
enum xnb_verdict xnb_tx_parse(const union xnb_tx_raw *raw, unsigned int avail,
			      unsigned int fatal_slots, struct xnb_tx_pkt *p);

/** XNB_TX_BIG - bytes of a large piece of memory: fewer, larger fragments. */
#define XNB_TX_BIG		32768

/** XNB_TX_BIG_POOL - large pieces that a queue keeps while none is in use. */
#define XNB_TX_BIG_POOL		64

/**
 * struct xnb_tx_layout - where the bytes of a packet go
 * @head_len: bytes in the skb's head, at least 14 for every packet that parses
 * @npieces: pieces of memory used after that
 * @off: where the first one begins; the others begin at 0
 * @bytes: in each piece, never 0
 */
struct xnb_tx_layout {
	unsigned int head_len;
	unsigned int npieces;
	unsigned int off;
	u16 bytes[MAX_SKB_FRAGS];
};

/**
 * xnb_tx_layout() - cut the packet into pieces of memory
 * @p: packet
 * @l: result
 * @size: of a piece: XNB_TX_BIG, or a page when there are no larger ones
 *
 * In large pieces the first byte is placed so that the pages of the guest that
 * follow it begin at pages of ours: then each of them is one copy.
 */
void xnb_tx_layout(const struct xnb_tx_pkt *p, struct xnb_tx_layout *l,
		   unsigned int size);

/** struct xnb_tx_place - memory: @off from @page, may lie beyond its end. */
struct xnb_tx_place {
	struct page *page;
	unsigned int off;
};

/**
 * xnb_tx_plan() - copies of one packet
 * @b: batch with room for XNB_TX_OPS
 * @p: packet
 * @l: its layout
 * @head: page of the skb's head
 * @head_off: offset of the data from @head, may lie beyond its end
 * @to: @l->npieces places for bytes to go
 *
 * Return: operations added.
 */
unsigned int xnb_tx_plan(struct xpv_copy_batch *b, const struct xnb_tx_pkt *p,
			 const struct xnb_tx_layout *l, struct page *head,
			 unsigned int head_off, const struct xnb_tx_place *to);

/* ------------------------------------------------------------------ */
/* Guest Rx: plans                                                     */
/* ------------------------------------------------------------------ */

/** XNB_RX_MAX_FRAME - largest IP packet with Ethernet header and VLAN tag. */
#define XNB_RX_MAX_FRAME	(65535 + 18)

/** XNB_RX_BATCH_OPS - room of an Rx batch. */
#define XNB_RX_BATCH_OPS	256

/** XNB_RX_STREAM_BYTES - most bytes of a stream that wait for the work item. */
#define XNB_RX_STREAM_BYTES	(256 * 1024)

/** XNB_RX_QUEUE_BYTES - most bytes that wait for slots in one queue. */
#define XNB_RX_QUEUE_BYTES	(512 * 1024)

/** xnb_rx_slots() - exactly the Rx slots that @skb takes. */
unsigned int xnb_rx_slots(const struct sk_buff *skb);

/**
 * xnb_rx_ops() - upper bound of the copies that @skb takes
 *
 * Return: bound, or UINT_MAX for skbs that must be made linear first.
 */
unsigned int xnb_rx_ops(const struct sk_buff *skb);

/**
 * xnb_rx_plan() - copies of one skb into the guest's pages
 * @b: batch with room for xnb_rx_ops()
 * @skb: packet
 * @req: xnb_rx_slots() requests
 *
 * Return: operations added.
 */
unsigned int xnb_rx_plan(struct xpv_copy_batch *b, const struct sk_buff *skb,
			 const struct xen_netif_rx_request *req);

/** union xnb_rx_rsp - an Rx slot as we write it. */
union xnb_rx_rsp {
	struct xen_netif_rx_response rsp;
	struct xen_netif_extra_info extra;
};

/**
 * xnb_rx_response() - slot @i of the packet's answer
 * @skb: packet
 * @req: its requests
 * @i: 0 .. xnb_rx_slots() - 1
 * @ok: its copies worked
 * @out: complete slot
 */
void xnb_rx_response(const struct sk_buff *skb,
		     const struct xen_netif_rx_request *req, unsigned int i,
		     bool ok, union xnb_rx_rsp *out);

/* ------------------------------------------------------------------ */
/* Rate                                                                */
/* ------------------------------------------------------------------ */

/** XNB_BURST_MIN - a queue may always save up two of the largest frames. */
#define XNB_BURST_MIN		131072

/**
 * struct xnb_credit - guest Tx bytes a queue may pass
 * @bytes: each period; U64_MAX is no limit
 * @period: jiffies, at least 1
 * @left: bytes that may pass now
 * @start: jiffies when the running period began
 */
struct xnb_credit {
	u64 bytes;
	u64 period;
	u64 left;
	u64 start;
};

/** xnb_rate_parse() - "bytes,usec". 0 or -EINVAL; NULL or empty is no limit. */
int xnb_rate_parse(const char *text, u64 *bytes, u64 *usec);

/** xnb_credit_set() - new limit, full credit. */
void xnb_credit_set(struct xnb_credit *c, u64 bytes, u64 usec, u64 now);

/** xnb_credit_take() - may @len bytes pass at @now? Then they are paid. */
bool xnb_credit_take(struct xnb_credit *c, unsigned int len, u64 now);

#endif /* XPV_NETBACK_PARSE_H */

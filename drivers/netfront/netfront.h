/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xpv-netfront: what its files share.
 *
 *	main.c		module, bus callbacks, netdev operations, breaking off
 *	connect.c	features, queues, publishing, going live and down again
 *	plan.c		packets of the guest: into which slots each is cut
 *	tx.c		packets of the guest: queue, publish, complete
 *	rx.c		packets for the guest: parse, deliver, refill
 *	rxskb.c		packets for the guest: from pages to skbs
 *	ctrl.c		control ring: messages to the backend
 *	static.c	pages that the backend keeps mapped
 *	mcast.c		groups that the guest wants to receive: to the backend
 *	mclist.c	the same: which of them it has to be told of
 *	ethtool.c	counters and settings for people
 *
 * Locks, outer first: xnf.lock (state, store), rtnl (queues installed, NAPI on
 * or off), the netdev queue's Tx lock (Tx ring and its tables).  The Rx ring
 * belongs to the Rx NAPI, or to whoever has it disabled.
 */
#ifndef XPV_NETFRONT_H
#define XPV_NETFRONT_H

#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <xen/interface/xen.h>
#include <xen/interface/io/netif.h>
#include <xpv/compat.h>
#include <xpv/event.h>
#include <xpv/gref.h>
#include <xpv/hold.h>
#include <xpv/hyp.h>
#include <xpv/negotiate.h>
#include <xpv/proto.h>
#include <xpv/ring.h>
#include <xpv/stats.h>
#include "mcast.h"
#include "static.h"

/* netif.h fixes both rings to one page, which makes 256 slots. */
#define XNF_RING		256

/* Data slots of one Tx packet, and room for one with its extra info. */
#define XNF_TX_SLOTS		XPV_NET_SLOTS_MIN
#define XNF_TX_ROOM		(XNF_TX_SLOTS + 1)

/* Data slots of one Rx packet: what the stock frontend takes. */
#define XNF_RX_SEGS		(XPV_NET_SLOTS_MIN + 1)
/* Extra infos of one Rx packet; netif.h knows five types. */
#define XNF_RX_EXTRAS		5
/* Headers copied into the linear part of a large Rx packet, at most. */
#define XNF_RX_HEAD		128

/* Memory for packets that are copied, and how many pieces a queue keeps. */
#define XNF_RX_BIG		32768
#define XNF_RX_BIG_POOL		64

#define XNF_QUEUES_MAX		32
#define XNF_MTU_SG		(XPV_NET_MAX_FRAME - 18)
#define XNF_COPYBREAK		256

/*
 * Small Tx packets are copied into pages that stay granted: one place of
 * XNF_COPY bytes for each id. Where the backend keeps pages mapped there is one
 * of XNF_STAGE bytes as well, for one piece of a larger packet.  A packet up to
 * XNF_WHOLE bytes is copied as a whole and done with at once.
 */
#define XNF_COPY		256
#define XNF_COPY_PAGES		(XNF_RING * XNF_COPY / XPV_PAGE_SIZE)
#define XNF_STAGE		XPV_PAGE_SIZE
#define XNF_STAGE_PAGES		(XNF_RING * XNF_STAGE / XPV_PAGE_SIZE)
#define XNF_WHOLE		2048

/* Pages of a queue that a backend may keep mapped: small Tx, Rx, larger Tx. */
#define XNF_STATIC_PAGES	(XNF_COPY_PAGES + XNF_RING + XNF_STAGE_PAGES)

/**
 * struct xnf_stats - counters of one queue, named as people see them
 *
 * The first group is written under the Tx lock, the second by the Rx NAPI, the
 * last by the interrupt handler and the NAPI that ends the event.
 */
struct xnf_stats {
	u64 tx_packets;
	u64 tx_bytes;
	u64 tx_slots;
	u64 tx_batches;
	u64 tx_events_sent;
	u64 tx_events_suppressed;
	u64 tx_copied;
	u64 tx_staged;
	u64 tx_linearized;
	u64 tx_queue_stops;
	u64 tx_reaped_by_sender;
	u64 tx_dropped;
	u64 tx_errors;
	u64 tx_abandoned;
	u64 mcast_add;
	u64 mcast_del;
	u64 mcast_refused;
	u64 mcast_switches;

	u64 rx_packets ____cacheline_aligned;
	u64 rx_bytes;
	u64 rx_slots;
	u64 rx_batches;
	u64 rx_events_sent;
	u64 rx_events_suppressed;
	u64 rx_copied;
	u64 rx_static_slots;
	u64 rx_recycled;
	u64 rx_refill_fail;
	u64 rx_gso_packets;
	u64 rx_gso_checksum_fixup;
	u64 rx_dropped;
	u64 rx_errors;
	u64 rx_abandoned;

	u64 static_pages ____cacheline_aligned;

	u64 tx_events_received ____cacheline_aligned;
	u64 tx_events_spurious;
	u64 rx_events_received;
	u64 rx_events_spurious;
};

extern const struct xpv_stat xnf_stat_table[];
extern const unsigned int xnf_stat_count;

/** struct xnf_piece - part of a packet that lies in one page */
struct xnf_piece {
	struct page *page;
	u16 off;
	u16 len;
};

/** enum xnf_mem - who owns the memory behind a Tx slot */
enum xnf_mem {
	XNF_MEM_HEAD,	/* the skb's linear part, not always counted pages */
	XNF_MEM_FRAG,	/* a page of the skb that has a reference count */
	XNF_MEM_BOUNCE,	/* a page of ours */
	XNF_MEM_COPY,	/* the id's small place in pages that stay granted */
	XNF_MEM_STAGE,	/* its large one in pages that stay mapped */
	XNF_MEM_MCAST,	/* none: a change of the multicast list */
};

/**
 * struct xnf_tx_plan - one packet, ready to be written to the ring
 * @n: data slots
 * @nhead: how many of them lie in the linear part
 * @bounce: the pieces are pages of ours
 * @flags: of the first slot, without more_data
 * @gso_type: XEN_NETIF_GSO_TYPE_*, NONE without an extra info
 * @gso_size: payload of a segment
 * @piece: the slots
 */
struct xnf_tx_plan {
	unsigned int n;
	unsigned int nhead;
	bool bounce;
	u8 gso_type;
	u16 flags;
	u16 gso_size;
	struct xnf_piece piece[XNF_TX_SLOTS];
};

/**
 * struct xnf_tx_slot - what an id in flight stands for
 * @skb: packet, NULL when it was copied as a whole and is done with
 * @page: its part of the packet
 * @gref: the grant, not for COPY and STAGE
 * @mem: who owns the memory
 */
struct xnf_tx_slot {
	struct sk_buff *skb;
	struct page *page;
	grant_ref_t gref;
	enum xnf_mem mem;
};

/**
 * struct xnf_tx_cb - kept in the skb while slots of it are in flight
 * @left: slots without a response
 * @stuck: the peer keeps a part that has no reference count of its own, so the
 *         skb may never be freed
 */
struct xnf_tx_cb {
	u16 left;
	bool stuck;
};

static inline struct xnf_tx_cb *xnf_tx_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct xnf_tx_cb) > sizeof(skb->cb));
	return (struct xnf_tx_cb *)skb->cb;
}

/**
 * struct xnf_tx - Tx side of a queue
 * @ring: ring end
 * @ids: which slots are in flight
 * @grefs: free references
 * @mem: ring page
 * @slot: by id
 * @extras: extra infos in flight
 * @held: packets in flight whose skb waits for the response
 * @mcast: changes of the multicast list wait for a response
 * @copy: pages with a place for each id, granted as long as the queue exists
 * @stage: the same with larger places, there while the backend maps them
 */
struct xnf_tx {
	struct xpv_front ring;
	struct xpv_ids ids;
	struct xpv_gref_pool grefs;
	struct xpv_ring_mem mem;
	struct xnf_tx_slot *slot;
	u32 extras;
	u32 held;
	bool mcast;
	struct xnf_fixed copy;
	struct xnf_fixed stage;
};

/** struct xnf_tx_done - packets whose last response came in */
struct xnf_tx_done {
	struct sk_buff_head list;
	unsigned int packets;
	unsigned int bytes;
};

struct xnf_rx_seg {
	struct xnf_rx_buf buf;
	u16 off;
	u16 len;
};

/** union xnf_rx_slot - a slot as pulled from the Rx ring */
union xnf_rx_slot {
	struct xen_netif_rx_response rsp;
	struct xen_netif_extra_info extra;
};

/** enum xnf_rx_state - what the next slot of the Rx ring is */
enum xnf_rx_state {
	XNF_RX_FIRST,
	XNF_RX_EXTRA,
	XNF_RX_DATA,
};

/* Answer of xnf_rx_parse(), bits. */
#define XNF_RX_KEEP	1	/* the slot's buffer became the last segment */
#define XNF_RX_END	2	/* the packet is complete */

/* No fault found so far. */
#define XNF_NO_FAULT	XPV_FAULT_COUNT

/**
 * struct xnf_rx_pkt - a packet being put together
 * @state: which slot comes next; survives between polls
 * @fault: first rule the peer broke in it
 * @failed: the peer says it could not deliver
 * @more: data slots follow the extra infos
 * @nseg: segments
 * @nextra: extra infos seen
 * @flags: of the first slot
 * @gso_type: from the extra info
 * @gso_size: from the extra info, 0 without
 * @len: bytes in all segments
 * @seg: data
 */
struct xnf_rx_pkt {
	enum xnf_rx_state state;
	enum xpv_fault fault;
	bool failed;
	bool more;
	u8 nseg;
	u8 nextra;
	u8 gso_type;
	u16 flags;
	u16 gso_size;
	u32 len;
	struct xnf_rx_seg seg[XNF_RX_SEGS];
};

/**
 * struct xnf_rx - Rx side of a queue
 * @ring: ring end
 * @grefs: free references
 * @mem: ring page
 * @pool: where pages come from and return to
 * @buf: posted buffers by slot, then the stack of spare ones
 * @spare: granted buffers to be posted again
 * @nspare: how many
 * @big: memory for packets that are copied
 * @fixed: pages that the peer keeps mapped; once on, only such are posted
 * @pkt: packet whose slots are coming in
 * @refill: runs only after an allocation failed
 * @hold: when the next event is wanted
 * @taken: slots taken since the NAPI rested last
 */
struct xnf_rx {
	struct xpv_front ring;
	struct xpv_gref_pool grefs;
	struct xpv_ring_mem mem;
	struct page_pool *pool;
	struct xnf_rx_buf *buf;
	struct xnf_rx_buf *spare;
	unsigned int nspare;
	struct page_pool *big;
	struct xnf_fixed fixed;
	struct xnf_rx_pkt pkt;
	struct timer_list refill;
	struct xpv_hold hold;
	unsigned int taken;
};

/**
 * struct xnf_queue - one ring pair; lives as long as the device
 * @x: device
 * @id: number
 * @up: packets may be sent; changes under the Tx lock
 * @split: Tx has an event channel of its own
 * @napi_on: both NAPIs are enabled; rtnl
 * @tx_napi: completes Tx
 * @rx_napi: owns Rx, and completes Tx when there is one event channel
 * @tx_evt: Tx events, unused when there is one channel
 * @rx_evt: Rx events, or all
 * @tx: Tx side
 * @rx: Rx side
 * @stats: counters, never reset
 */
struct xnf_queue {
	struct xnf *x;
	unsigned int id;
	bool up;
	bool split;
	bool napi_on;
	struct napi_struct tx_napi;
	struct napi_struct rx_napi;
	struct xpv_evt tx_evt;
	struct xpv_evt rx_evt;
	struct xnf_tx tx ____cacheline_aligned;
	struct xnf_rx rx ____cacheline_aligned;
	struct xnf_stats stats ____cacheline_aligned;
};

/** struct xnf_caps - what both ends can do */
struct xnf_caps {
	bool sg;
	bool csum4;
	bool csum6;
	bool gso4;
	bool gso6;
	bool split;
	bool multi;
	bool ctrl;
	bool mcast;
	u32 queues;
};

/* Bits of struct xnf.flags. */
enum {
	XNF_BROKEN,	/* the peer broke a rule that ends the connection */
	XNF_REMOVING,	/* no connect any more */
};

/**
 * struct xnf - one vif
 * @dev: net device
 * @d: bus device
 * @lock: guards @state and everything that connects or disconnects
 * @state: our state in the store
 * @flags: bits, any context
 * @connected: queues exist and are published
 * @live: the peer is connected as well, packets flow; rtnl
 * @trusted: the peer may see what lies beside a packet in its page
 * @copybreak: Rx frames up to here are copied
 * @tx_copybreak: Tx packets up to here are copied, at most XNF_COPY
 * @rx_hold: settings of ethtool -C
 * @caps: negotiated
 * @ctrl: control ring
 * @mcast: multicast control
 * @nq: queues in use, at least 1; rtnl
 * @max_q: queues there are
 * @q: queues
 * @faults: the peer's
 * @break_work: leaves a peer that broke the rules
 */
struct xnf {
	struct net_device *dev;
	struct xpv_dev *d;
	struct mutex lock; /* state, connect and disconnect */
	enum xenbus_state state;
	unsigned long flags;
	bool connected; /* rings and pages are shared */
	bool stopped; /* connected, but nothing moves any more */
	bool live;
	bool trusted;
	u32 copybreak;
	u32 tx_copybreak;
	struct xpv_hold_conf rx_hold;
	struct xnf_caps caps;
	struct xnf_ctrl ctrl;
	struct xnf_mcast mcast;
	unsigned int nq;
	unsigned int max_q;
	struct xnf_queue *q;
	struct xpv_faults faults;
	struct work_struct break_work;
};

/* Where the Tx side's events come from. */
static inline struct xpv_evt *xnf_tx_evt(struct xnf_queue *q)
{
	return q->split ? &q->tx_evt : &q->rx_evt;
}

static inline struct netdev_queue *xnf_txq(const struct xnf_queue *q)
{
	return netdev_get_tx_queue(q->x->dev, q->id);
}

/* main.c */

/* Module parameter max_queues; 0 stands for the default. */
extern unsigned int xnf_max_queues;
/* How long remove waits for the peer in each of its two steps. */
extern unsigned int xnf_close_ms;
extern const struct xpv_driver xnf_driver;

/** xnf_break() - the peer's fault ends the connection. Any context. */
void xnf_break(struct xnf *x);

/* connect.c */

/** xnf_negotiate() - read what the backend offers. 0, -EOPNOTSUPP or errno. */
int xnf_negotiate(struct xnf *x, struct xnf_caps *caps);

/** xnf_connect() - make queues and publish them; xnf.lock held. 0 or errno. */
int xnf_connect(struct xnf *x);

/** xnf_start() - the peer is connected: packets may flow; xnf.lock held. */
void xnf_start(struct xnf *x);

/** xnf_halt() - end all traffic in any state; xnf.lock held. */
void xnf_halt(struct xnf *x);

/**
 * xnf_disconnect() - stop, and take rings and pages back; xnf.lock held
 *
 * The backend should have let go of them: what it still maps is lost to us
 * until the kernel finds, a few pages a second, that it has.
 */
void xnf_disconnect(struct xnf *x);

/** xnf_rx_due() - held-off packets waited long enough; wakes the Rx NAPI. */
void xnf_rx_due(struct xpv_hold *h);

/** xnf_napi_on() - let the queues' NAPIs run; rtnl held, device live. */
void xnf_napi_on(struct xnf *x);

/** xnf_napi_off() - stop senders and NAPIs; rtnl held. */
void xnf_napi_off(struct xnf *x);

/* plan.c */

/** xnf_tx_pieces() - cut a packet at page borders: slots, or -E2BIG. */
int xnf_tx_pieces(const struct sk_buff *skb, struct xnf_tx_plan *plan);

/**
 * xnf_tx_prepare() - decide how a packet goes out
 * @x: device
 * @skb: packet
 * @plan: filled
 *
 * Return: 0; -EMSGSIZE, -EOPNOTSUPP or -ENOMEM when it cannot, then nothing is
 * held.
 */
int xnf_tx_prepare(struct xnf *x, struct sk_buff *skb, struct xnf_tx_plan *plan);

/**
 * xnf_tx_offload() - flags and extra info that a packet needs
 * @caps: what the peer of this moment can take
 * @skb: packet; its checksum is filled in when the peer cannot
 * @plan: @flags, @gso_type and @gso_size are set
 *
 * Return: 0 or -EOPNOTSUPP.
 */
int xnf_tx_offload(const struct xnf_caps *caps, struct sk_buff *skb,
		   struct xnf_tx_plan *plan);

/* tx.c */

/** xnf_tx_queue() - write a planned packet to the ring; it fits. Tx lock. */
void xnf_tx_queue(struct xnf_queue *q, struct sk_buff *skb,
		  const struct xnf_tx_plan *plan);

/**
 * xnf_tx_reap() - take all responses that wait; Tx lock
 *
 * Return: how many, or -EPROTO when the peer broke a rule and the device is
 * being left.
 */
int xnf_tx_reap(struct xnf_queue *q, struct xnf_tx_done *done);

/** xnf_tx_mcast() - changes of the multicast list go out now. Tx lock. */
void xnf_tx_mcast(struct xnf_queue *q);

netdev_tx_t xnf_xmit(struct sk_buff *skb, struct net_device *dev);
int xnf_tx_poll(struct napi_struct *napi, int budget);

/** xnf_tx_complete() - reap, arm, wake, free. Return: go on, more waits. */
bool xnf_tx_complete(struct xnf_queue *q, int budget);

int xnf_tx_init(struct xnf_queue *q);

/** xnf_tx_exit() - drop what is in flight, free all; twice does no harm. */
void xnf_tx_exit(struct xnf_queue *q);

/* rx.c */

/** xnf_rx_parse() - one more slot of a packet. Return: XNF_RX_* bits. Pure. */
unsigned int xnf_rx_parse(struct xnf_rx_pkt *p, const union xnf_rx_slot *s);

/** xnf_rx_headlen() - bytes of @data that are headers, at most XNF_RX_HEAD. */
unsigned int xnf_rx_headlen(const u8 *data, unsigned int len);

/**
 * xnf_rx_offload() - checksum and segmentation state of a received packet
 * @skb: after eth_type_trans()
 * @p: its slots
 * @fixed: set when a checksum flag was missing
 *
 * Return: 0 or -EPROTO when they make no sense.
 */
int xnf_rx_offload(struct sk_buff *skb, const struct xnf_rx_pkt *p, bool *fixed);

/* rxskb.c */

/** xnf_rx_spare() - a buffer that comes back with its grant. */
void xnf_rx_spare(struct xnf_queue *q, const struct xnf_rx_buf *buf);

/** xnf_rx_put_back() - all buffers of a packet, their grants untouched. */
void xnf_rx_put_back(struct xnf_queue *q, struct xnf_rx_pkt *p);

/** xnf_rx_revoke() - take a page from the peer. Return: it is ours alone. */
bool xnf_rx_revoke(struct xnf_queue *q, const struct xnf_rx_buf *buf);

/**
 * xnf_rx_build() - an skb with the data of @p, which has none afterwards
 *
 * Return: NULL without memory, or when the peer keeps a page.
 */
struct sk_buff *xnf_rx_build(struct xnf_queue *q, struct xnf_rx_pkt *p);

/* rx.c again */

/** xnf_rx_refill() - keep the ring full, one push. Rx NAPI or alone. */
void xnf_rx_refill(struct xnf_queue *q);

int xnf_rx_poll(struct napi_struct *napi, int budget);
int xnf_rx_init(struct xnf_queue *q);
void xnf_rx_exit(struct xnf_queue *q);

/** xnf_evt_done() - xpv_evt_done() that counts spurious events. */
static inline void xnf_evt_done(struct xpv_evt *e, u64 *spurious)
{
	if (test_bit(XPV_EVT_OWED, &e->flags) &&
	    !test_bit(XPV_EVT_WORK, &e->flags) &&
	    !test_bit(XPV_EVT_STALE, &e->flags))
		WRITE_ONCE(*spurious, *spurious + 1);
	xpv_evt_done(e);
}

/* ethtool.c */
extern const struct ethtool_ops xnf_ethtool_ops;

#endif /* XPV_NETFRONT_H */

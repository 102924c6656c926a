/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xpv-netback: the host's end of a Xen virtual network interface.
 *
 * "Tx" is the GUEST's transmit, so it arrives here; "Rx" is what the guest
 * receives, so it leaves through ndo_start_xmit.
 *
 *	main.c		the bus: probe, remove, states, uevent, hotplug-status
 *	connect.c	keys, rings, events, carrier, rate: making and undoing a
 *			connection
 *	netdev.c	the net device vifD.H
 *	parse.c		pure: slots -> packet -> copy plan, both directions
 *	tx.c		NAPI: guest to host
 *	rx.c		transmit path: host to guest
 *	ethtool.c	counters
 *
 * Queues live as long as the net device, so a reader of counters never meets
 * freed memory; what a connection needs is attached to them and detached again.
 */
#ifndef XPV_NETBACK_H
#define XPV_NETBACK_H

#include <linux/if_ether.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <xen/interface/io/netif.h>
#include <xpv/batch.h>
#include <xpv/compat.h>
#include <xpv/event.h>
#include <xpv/hold.h>
#include <xpv/hyp.h>
#include <xpv/proto.h>
#include <xpv/ring.h>
#include <xpv/stats.h>

/** XNB_RING_SLOTS - slots of either ring: what fits a page. */
#define XNB_RING_SLOTS		256

/** XNB_QUEUES_MAX - most ring pairs of one vif. */
#define XNB_QUEUES_MAX		64U

/** XNB_BATCH - packets of one batch. */
#define XNB_BATCH		64

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
 * (XNB_TX_LINEAR is less than a page), one at the end of each packed page.
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
	enum xpv_fault why;
};

/** enum xnb_verdict - what to do with the slots at hand. */
enum xnb_verdict {
	XNB_WAIT,	/* the packet's last slot is not there yet */
	XNB_PACKET,	/* good so far */
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

/**
 * struct xnb_tx_layout - where the bytes of a packet go
 * @head_len: bytes in the skb's head, at least 14 for every packet that parses
 * @npages: pages used after that
 * @bytes: in each page, from its start, never 0
 */
struct xnb_tx_layout {
	unsigned int head_len;
	unsigned int npages;
	u16 bytes[MAX_SKB_FRAGS];
};

/** xnb_tx_layout() - one page a slot if that fits an skb, else packed pages. */
void xnb_tx_layout(const struct xnb_tx_pkt *p, struct xnb_tx_layout *l);

/**
 * xnb_tx_plan() - copies of one packet
 * @b: batch with room for XNB_TX_OPS
 * @p: packet
 * @l: its layout
 * @head: page of the skb's head
 * @head_off: offset of the data from @head, may lie beyond its end
 * @page: @l->npages pages
 *
 * Return: operations added.
 */
unsigned int xnb_tx_plan(struct xpv_copy_batch *b, const struct xnb_tx_pkt *p,
			 const struct xnb_tx_layout *l, struct page *head,
			 unsigned int head_off, struct page *const *page);

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

/* ------------------------------------------------------------------ */
/* Queues and devices                                                  */
/* ------------------------------------------------------------------ */

/**
 * struct xnb_stats - counters of one queue
 *
 * tx_* are written by NAPI, rx_* under the Tx lock of the net device's queue,
 * *_events_received by the interrupt handler.  What each means stands in the
 * table in ethtool.c.
 */
struct xnb_stats {
	u64 tx_packets;
	u64 tx_bytes;
	u64 tx_slots;
	u64 tx_gso_packets;
	u64 tx_batches;
	u64 tx_copies;
	u64 tx_errors;
	u64 tx_dropped;
	u64 tx_csum_fixups;
	u64 tx_throttled;
	u64 tx_events_received;
	u64 tx_events_spurious;
	u64 tx_events_sent;
	u64 tx_events_suppressed;
	u64 rx_packets;
	u64 rx_bytes;
	u64 rx_slots;
	u64 rx_gso_packets;
	u64 rx_batches;
	u64 rx_copies;
	u64 rx_errors;
	u64 rx_refused;
	u64 rx_queue_drops;
	u64 rx_expired;
	u64 rx_shortages;
	u64 rx_stalls;
	u64 rx_events_received;
	u64 rx_events_spurious;
	u64 rx_events_sent;
	u64 rx_events_suppressed;
};

extern const struct xpv_stat xnb_stat_table[];
extern const unsigned int xnb_stat_count;

/**
 * struct xnb_tx_item - one packet of the running Tx batch
 * @skb: NULL when it is dropped already
 * @raw: first slot, index into tx_raw
 * @nraw: slots to answer
 * @nextras: of those, extras
 * @op: first copy
 * @nops: copies
 * @flags: XEN_NETTXF_* of the first slot
 * @status: XEN_NETIF_RSP_*
 */
struct xnb_tx_item {
	struct sk_buff *skb;
	u16 raw;
	u16 nraw;
	u16 nextras;
	u16 op;
	u16 nops;
	u16 flags;
	s16 status;
};

/**
 * struct xnb_rx_item - one packet of the running Rx batch
 * @skb: packet, still owned by the queue
 * @req: its first request, index into rx_req
 * @nslots: requests
 * @op: first copy
 * @nops: copies
 */
struct xnb_rx_item {
	struct sk_buff *skb;
	u16 req;
	u16 nslots;
	u16 op;
	u16 nops;
};

/** struct xnb_rx_cb - our note in skb->cb while a packet waits for slots. */
struct xnb_rx_cb {
	unsigned long queued;
};

#define XNB_RX_CB(skb)	((struct xnb_rx_cb *)(skb)->cb)

struct xnb_vif;

/**
 * struct xnb_queue - one ring pair
 * @vif: its device
 * @id: number of this queue
 * @napi: guest Tx, and waking the guest Rx side; enabled while connected
 * @tx_evt: event channel of Tx, or of both
 * @rx_evt_mem: event channel of Rx when split
 * @rx_evt: the one that Rx uses
 * @broken: the peer broke the rules; set from any context, never cleared while
 *          connected
 * @name: for interrupts, vifD.H-qN
 * @stats: counters
 *
 * Owned by NAPI while connected:
 * @tx_mem: ring pages
 * @tx: ring end
 * @tx_raw: slots taken from the ring and not answered yet
 * @tx_raw_pos: first that is not part of a batch
 * @tx_raw_n: how many
 * @tx_item: packets of the running batch
 * @tx_n: how many
 * @tx_batch: copies of the running batch
 * @tx_more: a batch ended with complete packets left
 * @tx_promised: arming found more requests, so the next pull must too
 * @tx_hold: when the next Tx event is wanted
 * @tx_taken: slots taken since NAPI rested last
 * @tx_throttled: credit is used up, the timer is running
 * @pool: pages for large frames
 * @credit: rate limit
 * @credit_timer: schedules NAPI when a new period begins
 *
 * @napi_on: NAPI is enabled; belongs to connect and disconnect
 *
 * Guarded by the Tx lock of the net device's queue:
 * @live: connected; the only thing looked at when not
 * @rx_mem: ring pages
 * @rx: ring end
 * @rx_pending: packets for the guest
 * @rx_pending_bytes: their bytes, at most XNB_RX_QUEUE_BYTES
 * @rx_req: requests taken for the running batch
 * @rx_item: packets of the running batch
 * @rx_batch: copies of the running batch
 * @rx_short: slots the head packet lacks, 0 when it does not wait
 * @rx_seen: request producer at the last look, to tell honest events
 * @rx_hungry: jiffies when a packet first lacked its slots, 0 when one has got
 *             them since
 * @rx_stalled: the guest has not taken anything for the stall time
 * @rx_flushed: time of the last batch, ns
 * @rx_work: makes the next batch of a stream
 * @rx_timer: schedules NAPI to look after waiting packets
 */
struct xnb_queue {
	struct xnb_vif *vif;
	unsigned int id;
	struct napi_struct napi;
	struct xpv_evt tx_evt;
	struct xpv_evt rx_evt_mem;
	struct xpv_evt *rx_evt;
	bool broken;
	char name[IFNAMSIZ + 8];

	struct xpv_ring_mem tx_mem;
	struct xpv_back tx;
	union xnb_tx_raw *tx_raw;
	unsigned int tx_raw_pos;
	unsigned int tx_raw_n;
	struct xnb_tx_item *tx_item;
	unsigned int tx_n;
	struct xpv_copy_batch tx_batch;
	bool tx_more;
	bool tx_promised;
	struct xpv_hold tx_hold;
	unsigned int tx_taken;
	bool tx_throttled;
	bool napi_on;
	struct page_pool *pool;
	struct xnb_credit credit;
	struct timer_list credit_timer;

	bool live ____cacheline_aligned_in_smp;
	struct xpv_ring_mem rx_mem;
	struct xpv_back rx;
	struct sk_buff_head rx_pending;
	unsigned int rx_pending_bytes;
	struct xen_netif_rx_request *rx_req;
	struct xnb_rx_item *rx_item;
	struct xpv_copy_batch rx_batch;
	unsigned int rx_short;
	u32 rx_seen;
	unsigned long rx_hungry;
	bool rx_stalled;
	u64 rx_flushed;
	struct work_struct rx_work;
	struct timer_list rx_timer;

	struct xnb_stats stats ____cacheline_aligned_in_smp;
};

/**
 * struct xnb_features - what the frontend asked for
 * @sg: takes packets of several slots
 * @gso4: takes TCPv4 segmentation
 * @gso6: takes TCPv6 segmentation
 * @csum4: takes blank IPv4 checksums
 * @csum6: takes blank IPv6 checksums
 * @rx_notify: sends an event when it posts Rx slots
 * @split: has an event channel for each direction
 * @queues: ring pairs
 */
struct xnb_features {
	bool sg;
	bool gso4;
	bool gso6;
	bool csum4;
	bool csum6;
	bool rx_notify;
	bool split;
	unsigned int queues;
};

/**
 * struct xnb_vif - one virtual interface; the net device's private part
 * @d: the bus' device
 * @dev: net device
 * @handle: number of the interface in its domain
 * @script: hotplug script of the toolstack or NULL
 * @feat: of the current or last connection; written under RTNL
 * @tx_hold: settings of ethtool -C for guest Tx
 * @faults: what the peer did wrong
 * @log_rs: limits the lines that a guest can cause
 * @max_queues: entries of @queues
 * @queues: all queues, live or not
 * @stalled: queues whose guest takes nothing
 *
 * Guarded by @lock (taken before RTNL):
 * @lock: state of the device
 * @state: our state; the store may lag behind while the script runs
 * @num_queues: queues of the current connection
 * @connected: rings are mapped
 * @published: the store shows Connected
 * @leaving: remove has begun
 * @rate_bytes: rate limit
 * @rate_usec: rate limit
 *
 * @hotplug_watch: on hotplug-status
 * @rate_watch: on rate
 * @broken_work: leaves a peer that broke the rules
 */
struct xnb_vif {
	struct xpv_dev *d;
	struct net_device *dev;
	unsigned int handle;
	char *script;
	struct xnb_features feat;
	struct xpv_hold_conf tx_hold;
	struct xpv_faults faults;
	struct ratelimit_state log_rs;
	unsigned int max_queues;
	struct xnb_queue *queues;
	atomic_t stalled;

	struct mutex lock;	/* state of the device, see above */
	enum xenbus_state state;
	unsigned int num_queues;
	bool connected;
	bool published;
	bool leaving;
	u64 rate_bytes;
	u64 rate_usec;

	struct xpv_watch hotplug_watch;
	struct xpv_watch rate_watch;
	struct work_struct broken_work;
};

/* main.c */
extern unsigned int xnb_max_queues;
extern unsigned int xnb_fatal_slots;
extern unsigned int xnb_rx_drain_msecs;
extern unsigned int xnb_rx_stall_msecs;
extern bool xnb_split;
extern struct workqueue_struct *xnb_wq;

/* connect.c: process context, vif->lock held */
int xnb_offer(struct xnb_vif *vif);
int xnb_connect(struct xnb_vif *vif);
void xnb_disconnect(struct xnb_vif *vif);
void xnb_rate_read(struct xnb_vif *vif);
int xnb_read_features(struct xnb_vif *vif, struct xnb_features *f);

/* connect.c: any context */
__printf(3, 4)
void xnb_broken(struct xnb_queue *q, enum xpv_fault why, const char *fmt, ...);

/* netdev.c: process context */
struct xnb_vif *xnb_vif_create(struct xpv_dev *d, unsigned int handle);
void xnb_vif_destroy(struct xnb_vif *vif);

/* tx.c: NAPI, or BH disabled */
int xnb_poll(struct napi_struct *napi, int budget);
void xnb_credit_timeout(struct timer_list *t);
void xnb_tx_due(struct xpv_hold *h);

/* rx.c: start_xmit and purge with the queue's Tx lock held; kick and look take it */
netdev_tx_t xnb_start_xmit(struct sk_buff *skb, struct net_device *dev);
void xnb_rx_purge(struct xnb_queue *q);
void xnb_rx_kick(struct xnb_queue *q);
void xnb_rx_look(struct xnb_queue *q);
void xnb_rx_timeout(struct timer_list *t);
void xnb_rx_work(struct work_struct *w);

/* ethtool.c */
extern const struct ethtool_ops xnb_ethtool_ops;
void xnb_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *s);

/* A line that the guest can bring about as often as it likes. */
#define xnb_info(vif, ...)						\
do {									\
	struct xnb_vif *vif_ = (vif);					\
									\
	if (__ratelimit(&vif_->log_rs))					\
		netdev_info(vif_->dev, __VA_ARGS__);			\
} while (0)

static inline struct netdev_queue *xnb_txq(const struct xnb_queue *q)
{
	return netdev_get_tx_queue(q->vif->dev, q->id);
}

#endif /* XPV_NETBACK_H */

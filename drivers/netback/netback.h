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
 *	parse.c		pure: slots -> packet -> copy plan, both directions (parse.h)
 *	tx.c		NAPI: guest to host
 *	rx.c		transmit path: host to guest
 *	ctrl.c		control ring: messages of the frontend
 *	static.c	pages of the guest that stay mapped, and their messages
 *	mcast.c		groups that the guest wants to receive
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
#include <linux/xarray.h>
#include <xen/interface/io/netif.h>
#include <xpv/batch.h>
#include <xpv/compat.h>
#include <xpv/event.h>
#include <xpv/hold.h>
#include <xpv/hyp.h>
#include <xpv/proto.h>
#include <xpv/ring.h>
#include <xpv/stats.h>
#include "mcast.h"
#include "parse.h"

/** XNB_QUEUES_MAX - most ring pairs of one vif. */
#define XNB_QUEUES_MAX		64U

/** XNB_BATCH - packets of one batch. */
#define XNB_BATCH		64

/* ------------------------------------------------------------------ */
/* Queues and devices                                                  */
/* ------------------------------------------------------------------ */

/**
 * struct xnb_stats - counters of one queue
 *
 * tx_* and mcast_* are written by NAPI, rx_* under the Tx lock of the net device's queue,
 * *_events_received by the interrupt handler.  What each means stands in the
 * table in ethtool.c.
 */
struct xnb_stats {
	u64 static_maps;
	u64 mcast_add;
	u64 mcast_del;
	u64 mcast_refused;
	u64 tx_packets;
	u64 tx_bytes;
	u64 tx_slots;
	u64 tx_gso_packets;
	u64 tx_batches;
	u64 tx_hypercalls;
	u64 tx_copies;
	u64 tx_static_copies;
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
	u64 rx_hypercalls;
	u64 rx_copies;
	u64 rx_static_copies;
	u64 rx_errors;
	u64 rx_refused;
	u64 rx_mcast_filtered;
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

/** XNB_STATICS_MAX - most pages of one queue that stay mapped. */
#define XNB_STATICS_MAX		1024U

/** XNB_QUICK - places of the table that is looked at first. */
#define XNB_QUICK		1024

struct xnb_static;

/**
 * struct xnb_static_rest - copies of a batch whose pages are not mapped
 * @op: the copies, to be run together
 * @at: which of the batch they are
 */
struct xnb_static_rest {
	struct xpv_copy *op;
	u16 *at;
};

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
 * @tx_rest: scratch of them
 * @tx_more: a batch ended with complete packets left
 * @tx_promised: arming found more requests, so the next pull must too
 * @tx_hold: when the next Tx event is wanted
 * @tx_taken: slots taken since NAPI rested last
 * @tx_throttled: credit is used up, the timer is running
 * @pool: pages for large frames
 * @big: larger pieces for them
 * @credit: rate limit
 * @credit_timer: schedules NAPI when a new period begins
 *
 * @napi_on: NAPI is enabled; belongs to connect and disconnect
 *
 * Changed by the control ring's work item, read under RCU:
 * @mapped: mapped pages by grant reference, see static.c
 * @quick: most of them, by the low bits of the reference
 * @nmapped: how many
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
 * @rx_rest: scratch of them
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
	struct xnb_static_rest tx_rest;
	bool tx_more;
	bool tx_promised;
	struct xpv_hold tx_hold;
	unsigned int tx_taken;
	bool tx_throttled;
	bool napi_on;
	struct page_pool *pool;
	struct page_pool *big;
	struct xnb_credit credit;
	struct timer_list credit_timer;
	struct xarray mapped;
	struct xnb_static **quick;
	unsigned int nmapped;

	bool live ____cacheline_aligned_in_smp;
	struct xpv_ring_mem rx_mem;
	struct xpv_back rx;
	struct sk_buff_head rx_pending;
	unsigned int rx_pending_bytes;
	struct xen_netif_rx_request *rx_req;
	struct xnb_rx_item *rx_item;
	struct xpv_copy_batch rx_batch;
	struct xnb_static_rest rx_rest;
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
 * @ctrl_ref: control ring, 0 without
 * @ctrl_port: its event channel
 * @mcast: wants to receive the groups of its list only; may change at any time
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
	u32 ctrl_ref;
	u32 ctrl_port;
	bool mcast;
};

/**
 * struct xnb_ctrl - the control ring
 * @mem: ring page
 * @ring: ring end, owned by @work
 * @evt: event channel
 * @work: takes requests
 * @promised: arming found more requests, so the next look must too
 * @closing: @work does nothing any more
 * @queues: ring pairs that messages can name
 */
struct xnb_ctrl {
	struct xpv_ring_mem mem;
	struct xpv_back ring;
	struct xpv_evt evt;
	struct work_struct work;
	bool promised;
	bool closing;
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
 * @ctrl: control ring; opened and closed with @lock held
 * @mcast: groups that the guest wants to receive
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
 * @mcast_watch: on the frontend's request-multicast-control
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
	struct xnb_ctrl ctrl;
	struct xnb_mcast mcast;

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
	struct xpv_watch mcast_watch;
	struct work_struct broken_work;
};

/* main.c */
extern unsigned int xnb_max_queues;
extern unsigned int xnb_fatal_slots;
extern unsigned int xnb_rx_drain_msecs;
extern unsigned int xnb_rx_stall_msecs;
extern bool xnb_split;
extern unsigned int xnb_statics;
extern struct workqueue_struct *xnb_wq;

/* connect.c: process context, vif->lock held */
int xnb_offer(struct xnb_vif *vif);
int xnb_connect(struct xnb_vif *vif);
void xnb_disconnect(struct xnb_vif *vif);
void xnb_rate_read(struct xnb_vif *vif);
void xnb_mcast_read(struct xnb_vif *vif);
int xnb_read_features(struct xnb_vif *vif, struct xnb_features *f);

/* connect.c: any context */
__printf(3, 4)
void xnb_broken(struct xnb_queue *q, enum xpv_fault why, const char *fmt, ...);

/* ctrl.c: process context; all but init with vif->lock held */
void xnb_ctrl_init(struct xnb_vif *vif);
int xnb_ctrl_open(struct xnb_vif *vif, const struct xnb_features *f);
void xnb_ctrl_start(struct xnb_vif *vif);
void xnb_ctrl_close(struct xnb_vif *vif);

/* ctrl.c: process context, one at a time */
void xnb_ctrl_answer(struct xnb_vif *vif,
		     const struct xen_netif_ctrl_request *req,
		     struct xen_netif_ctrl_response *rsp);

/* static.c: messages of the control ring */
u32 xnb_static_size(struct xnb_vif *vif, const u32 *arg, u32 *out);
u32 xnb_static_add(struct xnb_vif *vif, const u32 *arg, u32 *out);
u32 xnb_static_del(struct xnb_vif *vif, const u32 *arg, u32 *out);

/* static.c: process context, data paths and control ring stopped */
int xnb_static_init(struct xnb_queue *q);
int xnb_static_rest_init(struct xnb_static_rest *rest, unsigned int max);
void xnb_static_rest_exit(struct xnb_static_rest *rest);
void xnb_static_exit(struct xnb_queue *q);

/**
 * xnb_static_run() - carry out a batch, with a hypercall for what is not mapped
 * @q: queue
 * @b: batch of this queue; every status is set
 * @rest: scratch with room for all of it
 *
 * Any context. Return: copies that needed no grant operation.
 */
unsigned int xnb_static_run(struct xnb_queue *q, struct xpv_copy_batch *b,
			    struct xnb_static_rest *rest);

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

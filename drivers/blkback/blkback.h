/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xpv-blkback: the host's end of a Xen virtual block device.
 *
 *	main.c		the bus: probe, remove, states, the physical-device watch;
 *			one work item per device does everything that may wait
 *	connect.c	keys of both sides, rings: making and undoing a connection
 *	disk.c		the block device: open, close, limits, resize
 *	request.c	(and request.h) pure: slot bytes -> checked request -> response bytes
 *	grants.c	persistent grants (cache by reference) and private pages
 *	io.c		the thread of a ring: pull, plan, run, submit
 *	poll.c		how long the thread looks at its ring before it sleeps
 *	settle.c	completions: copy to the guest, responses, one notify
 *	sysfs.c		counters and attributes
 *
 * The life of a request: the thread copies its slot (pull), checks it (parse),
 * finds memory for each segment: a cached persistent grant or a private page
 * (plan), runs all maps and all copies of the batch in one hypercall each
 * (run), and submits one bio a request.  When the bio completes, whoever is
 * there settles it: the thread when it is running, else the completing context.
 *
 * Contexts: a ring's thread owns the consumer side, the todo list, the cache
 * and the submit batch.  rsp_lock owns the producer side and the settle batch;
 * it is taken with interrupts off, in any context.
 */
#ifndef XPV_BLKBACK_H
#define XPV_BLKBACK_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <xen/interface/io/blkif.h>
#include <xpv/batch.h>
#include <xpv/compat.h>
#include <xpv/event.h>
#include <xpv/hold.h>
#include <xpv/hyp.h>
#include <xpv/negotiate.h>
#include <xpv/proto.h>
#include <xpv/ring.h>
#include <xpv/stats.h>
#include "request.h"

/** XBB_BATCH - most requests of one batch. */
#define XBB_BATCH		64

/** XBB_BATCH_SEGS - most segments of one batch; any single request fits. */
#define XBB_BATCH_SEGS		512

/** XBB_POOL_MAX - most private pages of one ring in use: 16 MiB. */
#define XBB_POOL_MAX		4096

/**
 * XBB_INLINE_PAGES - most pages copied to the guest by a completing context
 *
 * A larger read is left to the thread, so that an interrupt never copies more.
 */
#define XBB_INLINE_PAGES	16

/** XBB_DISCARD_CHUNK - most sectors discarded by one bio: 1 GiB. */
#define XBB_DISCARD_CHUNK	BIT(21)

/** XBB_HASH_BITS - buckets of the persistent-grant cache. */
#define XBB_HASH_BITS		10

/** XBB_EVICT_AGE - a cached grant younger than this is never pushed out. */
#define XBB_EVICT_AGE		HZ

/* ------------------------------------------------------------------ */
/* grants.c                                                            */
/* ------------------------------------------------------------------ */

/**
 * struct xbb_pgrant - one persistent grant
 * @hash: by @gref
 * @lru: oldest first; or on the list of those to be unmapped
 * @page: mapped here
 * @gref: the guest's reference
 * @handle: of the mapping
 * @users: segments using it now; dropped in any context
 * @used: jiffies of the last look-up
 * @err: why it could not be mapped
 */
struct xbb_pgrant {
	struct hlist_node hash;
	struct list_head lru;
	struct page *page;
	grant_ref_t gref;
	grant_handle_t handle;
	atomic_t users;
	unsigned long used;
	int err;
};

/**
 * struct xbb_cache - the persistent grants of one ring
 * @d: device
 * @bucket: hash table
 * @lru: all entries, oldest first
 * @dead: entries to be unmapped by the next run
 * @fresh: entries to be mapped by the next run
 * @op: operations of a run
 * @count: entries on @lru
 * @nfresh: entries of @fresh
 * @ndead: entries on @dead
 * @hits: look-ups that found an entry
 * @misses: look-ups that did not
 * @maps: pages mapped
 * @unmaps: pages unmapped
 *
 * Owned by the ring's thread; only xbb_pgrant.users is touched by others.
 */
struct xbb_cache {
	struct xpv_dev *d;
	struct hlist_head *bucket;
	struct list_head lru;
	struct list_head dead;
	struct xbb_pgrant **fresh;
	struct xpv_map *op;
	unsigned int count;
	unsigned int nfresh;
	unsigned int ndead;
	u64 hits;
	u64 misses;
	u64 maps;
	u64 unmaps;
};

int xbb_cache_init(struct xbb_cache *c, struct xpv_dev *d);

/** xbb_cache_exit() - unmap and free all; no entry has a user. Twice is fine. */
void xbb_cache_exit(struct xbb_cache *c);

/**
 * xbb_cache_get() - an entry for a reference, with one more user
 * @c: cache
 * @gref: reference
 * @budget: most entries
 * @now: jiffies
 *
 * A new entry has no valid page contents before xbb_cache_run().
 * Return: entry, or NULL: not cached and no room; use a private page.
 */
struct xbb_pgrant *xbb_cache_get(struct xbb_cache *c, grant_ref_t gref,
				 unsigned int budget, unsigned long now);

/** xbb_cache_run() - unmap the dead, map the fresh: a hypercall each. */
void xbb_cache_run(struct xbb_cache *c);

/** xbb_cache_put() - a segment is done with it. Any context. */
static inline void xbb_cache_put(struct xbb_pgrant *e)
{
	atomic_dec(&e->users);
}

/** xbb_cache_drop() - the same for an entry with @err; the thread only. */
void xbb_cache_drop(struct xbb_cache *c, struct xbb_pgrant *e);

/** xbb_cache_age() - unmap what was not used since @before and has no user. */
void xbb_cache_age(struct xbb_cache *c, unsigned long before);

/**
 * struct xbb_pool - private pages of one ring
 * @lock: taken in any context
 * @free: cached pages, linked by their lru
 * @nfree: how many
 * @out: in use
 * @touched: something was taken since the last xbb_pool_shrink()
 */
struct xbb_pool {
	spinlock_t lock; /* free pages and their numbers */
	struct list_head free;
	unsigned int nfree;
	unsigned int out;
	bool touched;
};

void xbb_pool_init(struct xbb_pool *p);
void xbb_pool_exit(struct xbb_pool *p);

/** xbb_pool_get() - @n pages, all or none. Return: 0 or -ENOMEM. May sleep. */
int xbb_pool_get(struct xbb_pool *p, unsigned int n, struct list_head *pages);

/** xbb_pool_put() - @n pages back, of which @keep in all are kept. Any context. */
void xbb_pool_put(struct xbb_pool *p, unsigned int n, struct list_head *pages,
		  unsigned int keep);

/** xbb_pool_shrink() - free cached pages unless some were taken lately. */
void xbb_pool_shrink(struct xbb_pool *p);

/* ------------------------------------------------------------------ */
/* Rings                                                               */
/* ------------------------------------------------------------------ */

/**
 * struct xbb_stats - counters of one ring
 *
 * The first group is written by the thread, the second under rsp_lock.
 */
struct xbb_stats {
	u64 events;
	u64 batches;
	u64 requests;
	u64 indirect;
	u64 bad_requests;
	u64 starved;
	u64 write_copies;
	u64 write_copy_calls;
	u64 pgrant_hits;
	u64 pgrant_misses;
	u64 maps;
	u64 unmaps;
	u64 poll_hits;
	u64 poll_misses;

	u64 reads;
	u64 read_sectors;
	u64 writes;
	u64 write_sectors;
	u64 flushes;
	u64 discards;
	u64 errors;
	u64 read_copies;
	u64 read_copy_calls;
	u64 responses;
	u64 pushes;
	u64 notifies;
};

struct xbb_ring;

/**
 * struct xbb_req - one request in work
 * @node: on one of the lists of finished requests
 * @list: on the ring's todo list or in a batch
 * @ring: its ring
 * @ask: what was asked
 * @seg: segments, @direct_seg or @big
 * @bv: their memory, one entry a segment
 * @big: memory for the segments of an indirect request
 * @list_page: the list of segments on its way
 * @err: 0 or errno to answer with
 * @op_first: first copy operation in the batch
 * @op_n: how many
 * @npriv: segments in private pages
 * @left: sectors of a discard still to submit
 * @planned: segments have memory
 * @live: @bio was initialised
 */
struct xbb_req {
	struct llist_node node;
	struct list_head list;
	struct xbb_ring *ring;
	struct xbb_ask ask;
	struct xbb_seg *seg;
	struct bio_vec *bv;
	void *big;
	struct page *list_page;
	int err;
	u16 op_first;
	u16 op_n;
	u16 npriv;
	u64 left;
	bool planned;
	bool live;
	struct bio bio;
	struct bio_vec direct_bv[XBB_DIRECT_SEGS];
	struct xbb_seg direct_seg[XBB_DIRECT_SEGS];
};

/**
 * struct xbb_poll - looks at a ring before its thread sleeps
 * @window: how long, ns, 0 is not at all
 * @vain: looks of full width in a row that met nothing
 * @penalty: sleeps until the next look may be tried
 * @requests: pulled when the last one began
 */
struct xbb_poll {
	u32 window;
	u32 vain;
	u32 penalty;
	u64 requests;
};

/**
 * xbb_poll_slept() - learn from a sleep of @slept ns; pure
 * @p: looks
 * @most: widest window, ns; 0 switches them off
 * @slept: how long
 */
void xbb_poll_slept(struct xbb_poll *p, u32 most, u64 slept);

struct xbb_dev;

/**
 * struct xbb_ring - one ring
 * @b: device
 * @id: number
 * @thread: consumer, NULL when stopped
 * @wq: the thread sleeps here
 * @kick: an event or a completion the thread waits for came
 * @busy: the thread is not about to sleep; completions may be left to it
 * @waiting: the thread wants to be woken by every completion
 * @starved: the todo list waits for memory; the thread's
 * @broken: the peer's index makes no sense; nothing is read or written any more
 * @evt: event channel
 * @mem: ring pages
 * @ring: our end; consumer index is the thread's, producer index rsp_lock's
 * @hold: when the thread wants to be woken next
 * @taken: requests pulled since it rested last; the thread's
 * @poll: looks before sleeping; the thread's
 * @todo: pulled, waiting for memory; the thread's
 * @ntodo: how many
 * @copy: copies of a batch; the thread's
 * @cache: persistent grants; the thread's
 * @pool: private pages
 * @idle: free requests the thread has at hand
 * @next_tick: jiffies of the next look for old grants and pages
 * @done: finished, to be settled by anybody
 * @done_thread: finished, for the thread only
 * @unused: free requests on their way to @idle
 * @rsp_lock: settling
 * @rsp_copy: copies to the guest, under @rsp_lock
 * @inflight: requests pulled and not answered
 * @st: counters
 * @req: all requests, as many as the ring has slots
 */
struct xbb_ring {
	struct xbb_dev *b;
	unsigned int id;
	struct task_struct *thread;
	wait_queue_head_t wq;
	bool kick;
	bool busy;
	bool waiting;
	bool starved;
	bool broken;
	struct xpv_evt evt;
	struct xpv_ring_mem mem;
	struct xpv_back ring;
	struct xpv_hold hold;
	unsigned int taken;
	struct xbb_poll poll;
	struct list_head todo;
	unsigned int ntodo;
	struct xpv_copy_batch copy;
	struct xbb_cache cache;
	struct xbb_pool pool;
	struct llist_node *idle;
	unsigned long next_tick;

	struct llist_head done ____cacheline_aligned_in_smp;
	struct llist_head done_thread;
	struct llist_head unused;
	spinlock_t rsp_lock; /* settling */
	struct xpv_copy_batch rsp_copy;
	atomic_t inflight;

	struct xbb_stats st;
	struct xbb_req *req;
};

/** xbb_ring_kick() - the thread is to look at everything. Any context. */
static inline void xbb_ring_kick(struct xbb_ring *r)
{
	WRITE_ONCE(r->kick, true);
	wake_up(&r->wq);
}

/* io.c */

/** xbb_ring_fn() - the thread; ends when asked to and all is answered. */
int xbb_ring_fn(void *arg);

/** xbb_ring_event() - event handler. Hard interrupt context. */
void xbb_ring_event(void *arg);

/** xbb_ring_due() - held-off requests have waited long enough. */
void xbb_ring_due(struct xpv_hold *h);

/** xbb_ring_tick() - have an idle thread look for old grants and pages. */
void xbb_ring_tick(struct xbb_ring *r);

/* poll.c */

/** xbb_doze() - sleep until there is work, or memory may have come back. */
void xbb_doze(struct xbb_ring *r, bool stop);

/** xbb_poll() - look for a while. Return: there is work, do not sleep. */
bool xbb_poll(struct xbb_ring *r);

/* settle.c */

/** xbb_req_done() - a request is finished, well or not. Any context. */
void xbb_req_done(struct xbb_req *req);

/** xbb_reap() - settle what is on ring->done. Any context. */
void xbb_reap(struct xbb_ring *r);

/** xbb_req_release() - give back everything a request holds. Any context. */
void xbb_req_release(struct xbb_req *req);

/* ------------------------------------------------------------------ */
/* Devices                                                             */
/* ------------------------------------------------------------------ */

/**
 * struct xbb_disk - the block device behind a vbd
 * @h: open handle; h.bdev is NULL while there is none
 * @dev: its number
 * @readonly: opened so
 * @shared: others on this host may have it open, too
 * @discard_on: the toolstack allows discards
 * @sectors: capacity as told to the frontend
 * @limits: for xbb_check(), but for the capacity
 */
struct xbb_disk {
	struct xpv_bdev h;
	dev_t dev;
	bool readonly;
	bool shared;
	bool discard_on;
	u64 sectors;
	struct xbb_limits limits;
};

/* Bits of struct xbb_dev.flags. */
enum {
	XBB_LOOK,		/* a key or the peer's state changed */
	XBB_FAULT,		/* a ring is broken */
	XBB_TICK,		/* idle rings may have memory to give back */
	XBB_GONE,		/* remove() has begun */
};

/**
 * struct xbb_dev - one vbd
 * @d: device of the bus
 * @state: ours, as the work item last wrote it
 * @flags: XBB_*
 * @work: does everything that may wait; the only one to change what follows
 * @poll: looks for a change of capacity and for idle memory now and then
 * @watch: on physical-device
 * @disk: block device
 * @abi: layout of the rings
 * @persistent: grants stay mapped
 * @order: pages of a ring, as a power of two
 * @nrings: rings in @ring
 * @ring: connected rings, NULL when there are none
 * @stats_lock: guards @ring and @nrings against readers of counters
 * @total: counters of rings that are gone
 * @faults: what the peer did wrong
 * @sysfs: folder of counters
 * @attr_device: physical_device
 * @attr_mode: mode
 */
struct xbb_dev {
	struct xpv_dev *d;
	enum xenbus_state state;
	unsigned long flags;
	struct work_struct work;
	struct delayed_work poll;
	struct xpv_watch watch;
	struct xbb_disk disk;
	enum xbb_abi abi;
	bool persistent;
	unsigned int order;
	unsigned int nrings;
	struct xbb_ring **ring;
	spinlock_t stats_lock; /* rings against readers of counters */
	struct xbb_stats total;
	struct xpv_faults faults;
	struct xpv_sysfs *sysfs;
	struct device_attribute attr_device;
	struct device_attribute attr_mode;
};

/* main.c: module parameters and the workqueue. */
extern unsigned int xbb_max_queues;
extern unsigned int xbb_max_order;
extern unsigned int xbb_max_buffer_pages;
extern unsigned int xbb_max_pgrants;
extern unsigned int xbb_pgrant_seconds;
extern bool xbb_feature_persistent;
extern struct xpv_hold_conf xbb_hold;
extern unsigned int xbb_poll_usecs;

/** xbb_queue() - have the work item look at faults and capacity. Any context. */
void xbb_queue(struct xbb_dev *b);

/* disk.c; all in the work item, but for xbb_disk_limits(). */

/** xbb_disk_update() - open, close or keep, as the toolstack's keys say. */
void xbb_disk_update(struct xbb_dev *b, bool connected);

/** xbb_disk_close() - close it if open. */
void xbb_disk_close(struct xbb_dev *b);

/** xbb_disk_parse() - "major:minor" in hexadecimal. Return: 0 or -EINVAL. */
int xbb_disk_parse(const char *text, dev_t *dev);

/** xbb_disk_limits() - limits with the capacity of this moment. Any context. */
void xbb_disk_limits(const struct xbb_disk *disk, struct xbb_limits *l);

/** xbb_disk_keys() - what the frontend must know about the disk. */
void xbb_disk_keys(struct xbb_dev *b, struct xpv_kvs *kvs);

/** xbb_disk_resized() - tell the frontend if the capacity changed. */
void xbb_disk_resized(struct xbb_dev *b);

/* connect.c; all in the work item or in remove. */

/** xbb_offer() - write what we can do. Return: 0 or errno. */
int xbb_offer(struct xbb_dev *b);

/** xbb_connect() - read the frontend's keys, start the rings, tell it. */
int xbb_connect(struct xbb_dev *b);

/** xbb_disconnect() - answer all requests, stop and free the rings. */
void xbb_disconnect(struct xbb_dev *b);

/* sysfs.c */
int xbb_sysfs_add(struct xbb_dev *b);
void xbb_sysfs_remove(struct xbb_dev *b);
extern const struct xpv_stat xbb_stat_table[];
extern const unsigned int xbb_stat_count;

#endif /* XPV_BLKBACK_H */

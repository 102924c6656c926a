/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xpv-blkfront: a virtual disk of a guest, served by a backend elsewhere.
 *
 *	main.c		probe, states, resume, remove
 *	life.c		disk appears and goes, all I/O fails
 *	connect.c	keys in, rings and keys out, what the backend's keys mean
 *	disk.c		names, minors, gendisk, limits, size
 *	grants.c	grant references, the pages behind them, copies
 *	queue.c		request -> plan -> ring
 *	complete.c	answers -> completion
 *
 * Locks, outermost first:
 *	xbf_dev.lock	mutex: rings and states, taken by the xenwatch thread,
 *			so nobody holds it while waiting for I/O or for a peer
 *	xbf_dev.users_lock  open count and "is removed"
 *	xbf_ring.lock	everything of one ring, taken with interrupts off
 */
#ifndef XPV_BLKFRONT_H
#define XPV_BLKFRONT_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <xen/interface/io/blkif.h>
#include <xpv/event.h>
#include <xpv/gref.h>
#include <xpv/hold.h>
#include <xpv/hyp.h>
#include <xpv/negotiate.h>
#include <xpv/proto.h>
#include <xpv/ring.h>
#include <xpv/stats.h>

/* Pages in one ring request without and with a list page of its own. */
#define XBF_SEGS_DIRECT		BLKIF_MAX_SEGMENTS_PER_REQUEST
#define XBF_SEGS_MAX		256U
#define XBF_SEGS_PER_LIST	\
	(XPV_PAGE_SIZE / sizeof(struct blkif_request_segment))
static_assert(XBF_SEGS_MAX <= XBF_SEGS_PER_LIST);

#define XBF_QUEUES_MAX		8
#define XBF_RING_ORDER_MAX	4
static_assert((1 << XBF_RING_ORDER_MAX) == XPV_RING_MAX_PAGES);

/*
 * Grants of one ring.  The number that Linux backends keep mapped for a ring by
 * default, so that every page we reuse stays mapped over there.
 */
#define XBF_GRANTS		1056U

/* Requests of at most so many pages are filled without dropping the lock. */
#define XBF_FILL_LOCKED		4U

/* Pages that one interrupt copies itself; more is left to a softirq. */
#define XBF_COPY_IN_IRQ		64U

/* ------------------------------------------------------------------ */
/* grants.c                                                            */
/* ------------------------------------------------------------------ */

/**
 * struct xbf_grant - one grant reference and the page it shares
 * @next: in a list of the pool or of a request
 * @page: page of ours, kept with its grant; or the data page of a request
 * @ref: reference, XPV_GREF_NONE once it was lost to a peer that kept it
 * @first: first 512-byte sector of the page in use
 * @last: last one
 */
struct xbf_grant {
	struct xbf_grant *next;
	struct page *page;
	grant_ref_t ref;
	u8 first;
	u8 last;
};

/**
 * struct xbf_grants - a list with its end, so that it moves in one step
 * @head: first, NULL when empty
 * @tail: last, undefined when empty
 * @n: how many
 */
struct xbf_grants {
	struct xbf_grant *head;
	struct xbf_grant *tail;
	unsigned int n;
};

/**
 * struct xbf_pool - all grants of one ring
 * @all: array behind the lists, NULL before init
 * @size: entries of @all
 * @ready: have a zeroed or used page of ours, granted for good; last in first
 *         out, since the backend keeps the newest ones mapped
 * @bare: grant nothing
 *
 * Under the ring's lock.
 */
struct xbf_pool {
	struct xbf_grant *all;
	unsigned int size;
	struct xbf_grants ready;
	struct xbf_grants bare;
};

int xbf_pool_init(struct xbf_pool *p, unsigned int n);
int xbf_pool_fill(struct xbf_pool *p, struct xpv_dev *d, unsigned int n);
void xbf_pool_exit(struct xbf_pool *p);
bool xbf_pool_take(struct xbf_pool *p, unsigned int n, bool pages,
		   struct xbf_grants *to);
void xbf_pool_put(struct xbf_pool *p, struct xbf_grants *from, bool pages);
bool xbf_pool_unpage(struct xbf_pool *p, unsigned int n);
int xbf_grants_page(struct xbf_grants *l, struct xpv_dev *d, gfp_t gfp);
void xbf_grants_span(struct xbf_grants *l, unsigned int bytes);
int xbf_grants_plain(struct xbf_grants *l, struct xpv_dev *d,
		     struct request *rq);
unsigned int xbf_grants_revoke(struct xbf_grants *l);
void xbf_grants_copy(const struct xbf_grants *l, struct request *rq,
		     bool to_grants);

/* ------------------------------------------------------------------ */
/* connect.c                                                           */
/* ------------------------------------------------------------------ */

/**
 * struct xbf_offer - what the backend allows for rings
 * @queues: most queues
 * @order: largest ring order
 * @old_key: it knows only the deprecated spelling, num-ring-pages
 */
struct xbf_offer {
	u32 queues;
	u32 order;
	bool old_key;
};

/**
 * struct xbf_info - what the backend says about the disk
 * @sectors: size in units of 512 bytes
 * @sector_size: logical block size
 * @physical: physical block size
 * @flags: VDISK_*
 * @segs: feature-max-indirect-segments
 * @granularity: of discard, bytes, 0 = not said
 * @alignment: of discard, bytes
 */
struct xbf_info {
	u64 sectors;
	u32 sector_size;
	u32 physical;
	u32 flags;
	u32 segs;
	u32 flush;
	u32 barrier;
	u32 persistent;
	u32 discard;
	u32 granularity;
	u32 alignment;
	u32 secure;
};

/**
 * struct xbf_limits - what a ring request and a block layer request may hold
 * @segs: pages in one ring request
 * @copy: data goes through pages of ours
 * @flush_op: BLKIF_OP_FLUSH_DISKCACHE, BLKIF_OP_WRITE_BARRIER or 0
 * @barrier: the barrier may stand in when the flush is refused
 * @discard: offered and not refused since
 * @secure: the same for secure erase
 */
struct xbf_limits {
	u16 segs;
	u8 flush_op;
	bool copy;
	bool barrier;
	bool discard;
	bool secure;
};

struct xbf_dev;

void xbf_limits_choose(const struct xbf_info *info, bool trusted,
		       struct xbf_limits *l);
int xbf_info_check(struct xbf_info *info);
void xbf_offer_choose(u32 order, u32 pages, struct xbf_offer *o);
int xbf_connect(struct xbf_dev *x);
int xbf_info_read(struct xbf_dev *x, struct xbf_info *info);
int xbf_grants_setup(struct xbf_dev *x, bool fixed);
void xbf_rings_free(struct xbf_dev *x);

/* ------------------------------------------------------------------ */
/* disk.c                                                              */
/* ------------------------------------------------------------------ */

#define XBF_EXT_SHIFT	28

/**
 * struct xbf_name - where a disk appears in the guest
 * @name: e.g. "xvda" or, for a disk given as a partition, "xvda1"
 * @minor: first minor
 * @minors: how many
 */
struct xbf_name {
	char name[DISK_NAME_LEN];
	int minor;
	int minors;
};

int xbf_name_from_vdev(u32 vdev, struct xbf_name *n);
int xbf_minors_take(struct xbf_dev *x);
void xbf_minors_put(struct xbf_dev *x);
int xbf_disk_create(struct xbf_dev *x, const struct xbf_info *info);
int xbf_disk_update(struct xbf_dev *x, const struct xbf_info *info);
void xbf_disk_limits(struct xbf_dev *x);
void xbf_disk_destroy(struct xbf_dev *x);

/* ------------------------------------------------------------------ */
/* queue.c                                                             */
/* ------------------------------------------------------------------ */

/**
 * struct xbf_stats - counters of one ring
 *
 * Written under its lock, but for those of received events and timer wakes,
 * which belong to their handlers.
 */
struct xbf_stats {
	u64 requests;
	u64 listed;
	u64 ring_requests;
	u64 segments;
	u64 bytes;
	u64 batches;
	u64 events_sent;
	u64 events_suppressed;
	u64 events_received;
	u64 events_spurious;
	u64 timer_wakes;
	u64 indirect;
	u64 persistent_hits;
	u64 persistent_misses;
	u64 bounces;
	u64 flushes;
	u64 discards;
	u64 stalls;
	u64 errors;
	u64 requeues;
	u64 faults;
};

extern const struct xpv_stat xbf_stat_table[];
extern const unsigned int xbf_stat_count;

/** enum xbf_slot - what a request id stands for now. */
enum xbf_slot {
	XBF_SLOT_FREE,
	XBF_SLOT_FILLING,	/* not yet on the ring: no answer may come */
	XBF_SLOT_SENT,
	XBF_SLOT_ANSWERED,
};

/**
 * struct xbf_shadow - our private half of one request on the ring
 * @rq: request it belongs to
 * @next: id of the request's next part
 * @op: operation on the wire, without the indirect wrapper
 * @slot: enum xbf_slot
 */
struct xbf_shadow {
	struct request *rq;
	u16 next;
	u8 op;
	u8 slot;
};

/**
 * struct xbf_req - our part of a struct request
 * @data: one grant a page of data, in order
 * @lists: one grant a list page
 * @next: next finished one, private to the interrupt
 * @order: link of the list in which requests are issued again
 * @seq: issue order within the ring
 * @ring: ring it is on
 * @id: of its first part
 * @parts: how many ring requests carry it
 * @waiting: parts without answer
 * @op: operation on the wire
 * @status: worst answer so far
 * @copy: data goes through pages of ours
 * @again: to be issued once more, not completed
 */
struct xbf_req {
	struct xbf_grants data;
	struct xbf_grants lists;
	struct request *next;
	struct list_head order;
	u64 seq;
	struct xbf_ring *ring;
	u16 id;
	u16 parts;
	u16 waiting;
	u8 op;
	blk_status_t status;
	bool copy;
	bool again;
};

/**
 * struct xbf_ring - one ring with its event channel
 * @lock: guards all but @evt and @mem
 * @front: ring end
 * @ids: request ids, as many as the ring has slots
 * @shadow: by id
 * @pool: grants
 * @seq: last issue order
 * @hold: when the next event is wanted
 * @finishing: requests answered but not yet given back
 * @down: takes no requests: not yet live, broken or being torn down
 * @starved: a request waits for room
 */
struct xbf_ring {
	spinlock_t lock; /* as above */
	struct xpv_front front;
	struct xpv_ids ids;
	struct xbf_shadow *shadow;
	struct xbf_pool pool;
	u64 seq;
	struct xpv_hold hold;
	unsigned int finishing;
	bool down;
	bool starved;
	struct xbf_stats stats;
	struct xpv_evt evt;
	struct xpv_ring_mem mem;
	struct xbf_dev *x;
	unsigned int nr;
};

/**
 * struct xbf_plan - how a read or write becomes ring requests
 * @pages: pages of data
 * @parts: ring requests
 * @lists: list pages of all parts
 * @copy: through pages of ours
 */
struct xbf_plan {
	u16 pages;
	u16 parts;
	u16 lists;
	bool copy;
};

/** enum xbf_revoke - feature that an answer takes away. */
enum xbf_revoke {
	XBF_REVOKE_NONE,
	XBF_REVOKE_FLUSH,
	XBF_REVOKE_TO_BARRIER,
	XBF_REVOKE_DISCARD,
	XBF_REVOKE_SECURE,
};

/** struct xbf_verdict - what one answer means. */
struct xbf_verdict {
	blk_status_t status;
	enum xbf_revoke revoke;
};

extern const struct blk_mq_ops xbf_mq_ops;

static inline struct xbf_req *xbf_req(struct request *rq)
{
	return blk_mq_rq_to_pdu(rq);
}

/** xbf_count() - add to a counter; nobody else writes it now. */
static inline void xbf_count(u64 *counter, u64 n)
{
	/* Readers hold no lock but see whole values. */
	WRITE_ONCE(*counter, *counter + n);
}

void xbf_plan_rw(const struct xbf_limits *l, unsigned int bytes,
		 unsigned int segs, bool copy, struct xbf_plan *p);
void xbf_build_rw(struct blkif_request *req, u8 op, u64 id, u16 handle,
		  u64 sector, const struct xbf_grant *g, unsigned int n);
void xbf_build_list(struct blkif_request_segment *seg, const struct xbf_grant *g,
		    unsigned int n);
void xbf_build_indirect(struct blkif_request *req, u8 op, u64 id, u16 handle,
			u64 sector, grant_ref_t list, unsigned int n);
void xbf_build_discard(struct blkif_request *req, u64 id, u64 sector,
		       u64 sectors, bool secure);

/* ------------------------------------------------------------------ */
/* complete.c                                                          */
/* ------------------------------------------------------------------ */

int xbf_check_answer(const struct xbf_ring *r, const struct blkif_response *rsp,
		     enum xpv_fault *why);
struct xbf_verdict xbf_judge(const struct xbf_limits *l, u8 op, bool secure,
			     s16 status);
void xbf_release(struct xbf_ring *r, struct request *rq);
bool xbf_unstall(struct xbf_ring *r);
void xbf_complete_rq(struct request *rq);
void xbf_ring_event(void *arg);
void xbf_ring_due(struct xpv_hold *h);
void xbf_ring_halt(struct xbf_ring *r);
void xbf_ring_collect(struct xbf_ring *r, struct list_head *out);

/* ------------------------------------------------------------------ */
/* main.c, life.c                                                      */
/* ------------------------------------------------------------------ */

/* Bits of struct xbf_dev.todo. */
enum {
	XBF_TODO_ADD,		/* make the disk visible */
	XBF_TODO_LIMITS,	/* tell the block layer about a lost feature */
	XBF_TODO_SIZE,		/* tell people of a new size */
	XBF_TODO_CLOSE,		/* remove the disk, then the connection */
};

/**
 * struct xbf_dev - one vbd
 * @d: bus device; not to be touched once @removed
 * @ref: held by the bus device and by the visible disk
 * @lock: states and rings
 * @state: our state as last written
 * @vdev: number from the toolstack
 * @name: name and minors
 * @minors: link in the table of minors
 * @trusted: the backend may see whatever shares a page with data
 * @info: what the backend said last
 * @lim: what follows from it
 * @max_sectors: largest request the block layer was ever allowed
 * @rings: @nr_rings of them, NULL when not connected
 * @order: ring order
 * @nr_hw: hardware queues of the disk, which may differ from @nr_rings
 * @set: tags
 * @disk: NULL before the first connect
 * @added: it is visible
 * @quiet: its queue is quiesced
 * @size_told: jiffies when people last heard of a new size
 * @dead: all I/O fails from now on
 * @broken: the peer broke the rules
 * @users_lock: guards @users, @closing, @removed
 * @users: openers
 * @closing: no new openers; close with the last one
 * @removed: @d is going away
 * @answered: the peer answered our Closing
 * @close_until: when to stop waiting for that
 * @todo: for @life
 * @life: work that may wait for I/O
 * @kill: fails all I/O; never waits for any
 * @old: counters of rings that are gone
 */
struct xbf_dev {
	struct xpv_dev *d;
	struct kref ref;
	struct mutex lock; /* states and rings */
	enum xenbus_state state;
	u32 vdev;
	struct xbf_name name;
	struct list_head minors;
	bool trusted;
	struct xbf_info info;
	struct xbf_limits lim;
	unsigned int max_sectors;
	struct xbf_ring *rings;
	unsigned int nr_rings;
	unsigned int order;
	unsigned int nr_hw;
	struct blk_mq_tag_set set;
	struct gendisk *disk;
	bool added;
	bool quiet;
	unsigned long size_told;
	bool dead;
	bool broken;
	spinlock_t users_lock; /* as above */
	unsigned int users;
	bool closing;
	bool removed;
	bool answered;
	unsigned long close_until;
	unsigned long todo;
	struct delayed_work life;
	struct delayed_work kill;
	struct xpv_sysfs *sysfs;
	struct xpv_faults faults;
	struct xbf_stats old;
};

extern unsigned int xbf_max_segs;
extern unsigned int xbf_max_queues;
extern unsigned int xbf_max_ring_order;
extern bool xbf_persistent;
extern struct xpv_hold_conf xbf_hold;
extern struct workqueue_struct *xbf_workqueue;

static inline void xbf_set_state(struct xbf_dev *x, enum xenbus_state state)
{
	x->state = state;
	hyp_state_set(x->d, state);
}

bool xbf_user_get(struct xbf_dev *x);
void xbf_user_put(struct xbf_dev *x);
void xbf_todo(struct xbf_dev *x, unsigned int what, unsigned long delay);
void xbf_break(struct xbf_dev *x);
void xbf_size_changed(struct xbf_dev *x);
void xbf_let_go(struct xbf_dev *x, enum xenbus_state peer);
void xbf_ref_put(struct xbf_dev *x);
void xbf_go(struct xbf_dev *x);
void xbf_stop(struct xbf_dev *x, struct list_head *list);
void xbf_fail_all(struct xbf_dev *x);
void xbf_make_invisible(struct xbf_dev *x);
void xbf_kill_work(struct work_struct *work);
void xbf_life_work(struct work_struct *work);

#endif /* XPV_BLKFRONT_H */

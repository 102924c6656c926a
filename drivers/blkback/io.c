// SPDX-License-Identifier: GPL-2.0
/*
 * The thread of one ring of xpv-blkback: from slots to bios.
 *
 * Decides when requests are taken from the ring and how many make a batch.  A
 * batch costs at most one hypercall of each kind (list pages, unmap, map, copy)
 * and one plug.  A request that finds no memory waits at the head of the todo
 * list, and nothing more is pulled until it got some: the ring itself is the
 * queue, so a guest can make us hold no more than a ring's worth.
 *
 * Event and notify rules: the ring is armed, and the event ended, only when
 * everything was pulled; how far ahead is up to include/xpv/hold.h.  A thread
 * that is short of memory keeps the event, so the guest sends no other.
 */
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "blkback.h"

/* How often old grants and pages are looked for at most. */
#define TICK		(2 * HZ)

void xbb_ring_event(void *arg)
{
	struct xbb_ring *r = arg;

	xpv_evt_got(&r->evt);
	r->st.events++;
	xbb_ring_kick(r);
}

void xbb_ring_due(struct xpv_hold *h)
{
	xbb_ring_kick(container_of(h, struct xbb_ring, hold));
}

void xbb_ring_tick(struct xbb_ring *r)
{
	if (!READ_ONCE(r->cache.count) && !READ_ONCE(r->pool.nfree))
		return;
	xbb_ring_kick(r);
}

/* ------------------------------------------------------------------ */
/* Pull and parse                                                      */
/* ------------------------------------------------------------------ */

static void refuse(struct xbb_req *req, int err)
{
	struct xbb_ring *r = req->ring;
	const struct xbb_ask *a = &req->ask;

	r->st.bad_requests++;
	xpv_peer_fault(r->b->d, &r->b->faults, a->why,
		       "ring %u: operation %u, %u segments, sector %llu, %llu sectors of %llu",
		       r->id, a->wire_op, a->nsegs, a->sector, a->nr_sectors,
		       (u64)bdev_nr_sectors(r->b->disk.h.bdev));
	req->err = err;
	xbb_req_done(req);
}

static void ring_fault(struct xbb_ring *r)
{
	struct xbb_dev *b = r->b;

	WRITE_ONCE(r->broken, true);
	xpv_evt_dead(&r->evt);
	xpv_peer_fault(b->d, &b->faults, XPV_FAULT_INDEX,
		       "ring %u: producer index beyond %u slots", r->id,
		       r->ring.size);
	set_bit(XBB_FAULT, &b->flags);
	xbb_queue(b);
}

static struct xbb_req *req_get(struct xbb_ring *r)
{
	struct llist_node *node;

	if (!r->idle)
		r->idle = llist_del_all(&r->unused);
	node = r->idle;
	if (!node)
		return NULL;
	r->idle = node->next;
	return llist_entry(node, struct xbb_req, node);
}

static void pull_one(struct xbb_ring *r, struct xbb_req *req)
{
	u8 raw[XBB_SLOT_MAX];
	int err;

	if (r->b->abi == XBB_ABI_32)
		xpv_back_get(&r->ring, raw, 108);
	else
		xpv_back_get(&r->ring, raw, XBB_SLOT_MAX);
	req->seg = req->direct_seg;
	req->bv = req->direct_bv;
	req->big = NULL;
	req->list_page = NULL;
	req->err = 0;
	req->op_n = 0;
	req->npriv = 0;
	req->left = 0;
	req->planned = false;
	req->live = false;
	err = xbb_parse(raw, r->b->abi, &req->ask, req->seg);
	if (err) {
		refuse(req, err);
		return;
	}
	list_add_tail(&req->list, &r->todo);
	r->ntodo++;
}

/*
 * The index is compared with the responses given so far, which another context
 * may be giving now: hence the lock.
 */
static int ring_pending(struct xbb_ring *r)
{
	int n;

	spin_lock_irq(&r->rsp_lock);
	n = xpv_back_pending(&r->ring);
	spin_unlock_irq(&r->rsp_lock);
	return n;
}

/* Return: requests taken. */
static unsigned int pull(struct xbb_ring *r)
{
	unsigned int i, room = XBB_BATCH - r->ntodo;
	struct xbb_req *req;
	int n;

	if (r->broken || r->starved)
		return 0;
	n = ring_pending(r);
	if (n < 0) {
		ring_fault(r);
		return 0;
	}
	n = min_t(unsigned int, n, room);
	for (i = 0; i < n; i++) {
		req = req_get(r);
		if (!req)
			break;
		atomic_inc(&r->inflight);
		pull_one(r, req);
	}
	if (!i)
		return 0;
	xpv_evt_work(&r->evt);
	r->taken += i;
	r->st.requests += i;
	r->st.batches++;
	return i;
}

/* ------------------------------------------------------------------ */
/* Lists of indirect requests                                          */
/* ------------------------------------------------------------------ */

static int list_plan(struct xbb_ring *r, struct xbb_req *req)
{
	size_t nsegs = req->ask.nsegs;
	LIST_HEAD(pages);

	req->big = kmalloc(nsegs * (sizeof(*req->bv) + sizeof(*req->seg)),
			   GFP_NOIO | __GFP_NOWARN);
	if (!req->big)
		return -ENOMEM;
	if (xbb_pool_get(&r->pool, 1, &pages)) {
		kfree(req->big);
		req->big = NULL;
		return -ENOMEM;
	}
	req->bv = req->big;
	req->seg = (struct xbb_seg *)(req->bv + nsegs);
	req->list_page = list_first_entry(&pages, struct page, lru);
	req->op_first = r->copy.n;
	req->op_n = 1;
	xpv_copy_add(&r->copy, req->list_page, 0, req->ask.list_gref, 0,
		     nsegs * sizeof(struct blkif_request_segment), false);
	return 0;
}

static void list_settle(struct xbb_ring *r, struct xbb_req *req)
{
	LIST_HEAD(pages);
	int err = xpv_copy_status(&r->copy, req->op_first, req->op_n);

	req->op_n = 0;
	if (!err)
		xbb_parse_list(page_address(req->list_page), req->seg,
			       req->ask.nsegs);
	list_add(&req->list_page->lru, &pages);
	req->list_page = NULL;
	xbb_pool_put(&r->pool, 1, &pages, xbb_max_buffer_pages);
	if (!err)
		return;
	list_del(&req->list);
	r->ntodo--;
	req->ask.why = XPV_FAULT_GRANT;
	refuse(req, -EIO);
}

/* One hypercall for the lists of all requests that came together. */
static void fetch_lists(struct xbb_ring *r)
{
	struct xbb_req *req, *next;

	list_for_each_entry(req, &r->todo, list) {
		if (!req->ask.indirect || req->big)
			continue;
		if (list_plan(r, req)) {
			r->starved = true;
			break;
		}
		r->st.indirect++;
	}
	if (!r->copy.n)
		return;
	xpv_copy_run(&r->copy);
	list_for_each_entry_safe(req, next, &r->todo, list)
		if (req->list_page)
			list_settle(r, req);
	xpv_copy_reset(&r->copy);
}

/* ------------------------------------------------------------------ */
/* Plan                                                                */
/* ------------------------------------------------------------------ */

static bool is_write(const struct xbb_ask *a)
{
	return a->op == BLKIF_OP_WRITE || a->op == BLKIF_OP_FLUSH_DISKCACHE;
}

/* Cached grants first. Return: segments that need a private page. */
static unsigned int plan_grants(struct xbb_ring *r, struct xbb_req *req)
{
	unsigned int i, budget = READ_ONCE(xbb_max_pgrants);
	unsigned long now = jiffies;
	unsigned int npriv = 0;

	for (i = 0; i < req->ask.nsegs; i++) {
		struct xbb_seg *s = &req->seg[i];

		if (r->b->persistent)
			s->pg = xbb_cache_get(&r->cache, s->gref, budget, now);
		if (!s->pg)
			npriv++;
	}
	return npriv;
}

static void unplan_grants(struct xbb_req *req)
{
	unsigned int i;

	for (i = 0; i < req->ask.nsegs; i++) {
		if (req->seg[i].pg)
			xbb_cache_put(req->seg[i].pg);
		req->seg[i].pg = NULL;
	}
}

/*
 * Memory for every segment.  Data keeps its place in the page, so a segment is
 * one copy operation.  Return: 0; -ENOMEM, then the request is as before.
 */
static int plan_memory(struct xbb_ring *r, struct xbb_req *req)
{
	struct page *page;
	LIST_HEAD(pages);
	unsigned int i;

	req->npriv = plan_grants(r, req);
	if (req->npriv && xbb_pool_get(&r->pool, req->npriv, &pages)) {
		unplan_grants(req);
		return -ENOMEM;
	}
	req->op_first = r->copy.n;
	for (i = 0; i < req->ask.nsegs; i++) {
		struct xbb_seg *s = &req->seg[i];
		unsigned int off = s->first << XPV_BLK_SECTOR_SHIFT;
		unsigned int len = (s->last - s->first + 1) <<
				   XPV_BLK_SECTOR_SHIFT;

		if (s->pg) {
			page = s->pg->page;
		} else {
			page = list_first_entry(&pages, struct page, lru);
			list_del(&page->lru);
			if (is_write(&req->ask))
				xpv_copy_add(&r->copy, page, off, s->gref, off,
					     len, false);
		}
		bvec_set_page(&req->bv[i], page, len, off);
	}
	req->op_n = r->copy.n - req->op_first;
	req->planned = true;
	return 0;
}

/* Move requests from the todo list to @batch as far as memory goes. */
static void plan(struct xbb_ring *r, struct list_head *batch)
{
	struct xbb_limits limits;
	struct xbb_req *req, *next;
	unsigned int segs = 0;
	int err;

	xbb_disk_limits(&r->b->disk, &limits);
	if (limits.sectors != READ_ONCE(r->b->disk.sectors))
		xbb_queue(r->b);
	list_for_each_entry_safe(req, next, &r->todo, list) {
		segs += req->ask.nsegs;
		if (segs > XBB_BATCH_SEGS ||
		    (req->ask.indirect && !req->big))
			break;
		err = xbb_check(&req->ask, req->seg, &limits);
		if (!err && plan_memory(r, req)) {
			r->starved = true;
			break;
		}
		r->ntodo--;
		if (!err) {
			list_move_tail(&req->list, batch);
		} else {
			list_del(&req->list);
			refuse(req, err);
		}
	}
}

/* ------------------------------------------------------------------ */
/* Run and settle the batch's grants                                   */
/* ------------------------------------------------------------------ */

static int grants_error(const struct xbb_req *req)
{
	unsigned int i;

	for (i = 0; i < req->ask.nsegs; i++)
		if (req->seg[i].pg && req->seg[i].pg->err)
			return req->seg[i].pg->err;
	return 0;
}

/* Some of its grants may not be mapped: only the thread can let go of them. */
static void fail_planned(struct xbb_ring *r, struct xbb_req *req)
{
	unsigned int i;

	for (i = 0; i < req->ask.nsegs; i++) {
		if (!req->seg[i].pg)
			continue;
		xbb_cache_drop(&r->cache, req->seg[i].pg);
		req->seg[i].pg = NULL;
		req->bv[i].bv_page = NULL;
	}
	list_del(&req->list);
	req->ask.why = XPV_FAULT_GRANT;
	refuse(req, -EIO);
}

static void run(struct xbb_ring *r, struct list_head *batch)
{
	struct xbb_req *req, *next;
	bool fresh = r->cache.nfresh;
	int err;

	xbb_cache_run(&r->cache);
	if (r->copy.n) {
		xpv_copy_run(&r->copy);
		r->st.write_copies += r->copy.n;
		r->st.write_copy_calls++;
	} else if (!fresh) {
		return;
	}
	list_for_each_entry_safe(req, next, batch, list) {
		err = xpv_copy_status(&r->copy, req->op_first, req->op_n);
		if (!err && fresh)
			err = grants_error(req);
		req->op_n = 0;
		if (err)
			fail_planned(r, req);
	}
	xpv_copy_reset(&r->copy);
}

/* ------------------------------------------------------------------ */
/* Submit                                                              */
/* ------------------------------------------------------------------ */

static void end_io(struct bio *bio)
{
	struct xbb_req *req = container_of(bio, struct xbb_req, bio);

	if (bio->bi_status)
		req->err = bio->bi_status == BLK_STS_NOTSUPP ? -EOPNOTSUPP : -EIO;
	xbb_req_done(req);
}

static blk_opf_t bio_flags(const struct xbb_ask *a)
{
	switch (a->op) {
	case BLKIF_OP_READ:
		return REQ_OP_READ;
	case BLKIF_OP_WRITE:
		return REQ_OP_WRITE | REQ_SYNC | REQ_IDLE;
	case BLKIF_OP_DISCARD:
		return a->secure ? REQ_OP_SECURE_ERASE : REQ_OP_DISCARD;
	default:
		/* Data of a flush, if there is any, is part of the promise. */
		return REQ_OP_WRITE | REQ_SYNC | REQ_PREFLUSH |
		       (a->nsegs ? REQ_FUA : 0);
	}
}

/* The next piece of a discard; pieces end at multiples of the largest one. */
static void discard_piece(struct xbb_req *req, struct bio *bio)
{
	u64 sector = req->ask.sector + req->ask.nr_sectors - req->left;
	u64 n = XBB_DISCARD_CHUNK - (sector & (XBB_DISCARD_CHUNK - 1));

	n = min(n, req->left);
	req->left -= n;
	bio->bi_iter.bi_sector = sector;
	bio->bi_iter.bi_size = n << SECTOR_SHIFT;
}

static void submit_one(struct xbb_req *req)
{
	const struct xbb_ask *a = &req->ask;
	struct bio *bio = &req->bio;

	if (req->live)
		bio_uninit(bio);
	bio_init(bio, req->ring->b->disk.h.bdev, a->nsegs ? req->bv : NULL,
		 a->nsegs, bio_flags(a));
	req->live = true;
	bio->bi_end_io = end_io;
	if (a->op == BLKIF_OP_DISCARD) {
		discard_piece(req, bio);
	} else {
		/* One entry a segment: see what they were made from later. */
		bio->bi_vcnt = a->nsegs;
		bio->bi_iter.bi_sector = a->nsegs ? a->sector : 0;
		bio->bi_iter.bi_size = a->nr_sectors << SECTOR_SHIFT;
	}
	/* The request may be gone when this returns. */
	submit_bio(bio);
}

static void submit(struct list_head *batch)
{
	struct xbb_req *req, *next;
	struct blk_plug plug;

	blk_start_plug(&plug);
	list_for_each_entry_safe(req, next, batch, list) {
		if (req->ask.op == BLKIF_OP_DISCARD)
			req->left = req->ask.nr_sectors;
		submit_one(req);
	}
	blk_finish_plug(&plug);
}

/* ------------------------------------------------------------------ */
/* The thread                                                          */
/* ------------------------------------------------------------------ */

static void issue(struct xbb_ring *r)
{
	LIST_HEAD(batch);

	if (list_empty(&r->todo))
		return;
	r->starved = false;
	fetch_lists(r);
	plan(r, &batch);
	run(r, &batch);
	submit(&batch);
	if (r->starved)
		r->st.starved++;
	r->st.pgrant_hits = r->cache.hits;
	r->st.pgrant_misses = r->cache.misses;
	r->st.maps = r->cache.maps;
	r->st.unmaps = r->cache.unmaps;
}

/* Finished in the wrong context: discards to go on with, large reads. */
static void done_thread(struct xbb_ring *r, bool stop)
{
	struct llist_node *node = llist_del_all(&r->done_thread);
	struct xbb_req *req, *next;

	llist_for_each_entry_safe(req, next, node, node) {
		if (req->left && !req->err && !stop) {
			submit_one(req);
			continue;
		}
		if (req->left && !req->err)
			req->err = -EIO;
		req->left = 0;
		llist_add(&req->node, &r->done);
	}
}

static void tick(struct xbb_ring *r)
{
	unsigned long age = READ_ONCE(xbb_pgrant_seconds) * HZ;

	if (time_before(jiffies, r->next_tick))
		return;
	r->next_tick = jiffies + TICK;
	xbb_cache_age(&r->cache, jiffies - age);
	xbb_pool_shrink(&r->pool);
}

/* Return: true when more was found while arming. */
static bool rest(struct xbb_ring *r)
{
	u32 ahead, possible;

	if (r->broken || r->starved)
		return false;
	possible = r->ring.size - min_t(u32, atomic_read(&r->inflight), r->ring.size);
	ahead = xpv_hold_rest(&r->hold, r->taken, possible);
	r->taken = 0;
	if (xpv_back_doze(&r->ring, ahead)) {
		xpv_evt_stale(&r->evt);
		return true;
	}
	xpv_evt_done(&r->evt);
	xpv_hold_sleep(&r->hold, ahead);
	return false;
}

int xbb_ring_fn(void *arg)
{
	struct xbb_ring *r = arg;
	unsigned int noio = memalloc_noio_save();
	bool stop;

	for (;;) {
		unsigned int n;

		stop = kthread_should_stop();
		WRITE_ONCE(r->busy, true);
		WRITE_ONCE(r->kick, false);
		n = stop ? 0 : pull(r);
		issue(r);
		done_thread(r, stop);
		xbb_reap(r);
		tick(r);
		if (n || (!list_empty(&r->todo) && !r->starved)) {
			cond_resched();
			continue;
		}
		if (!stop && xbb_poll(r))
			continue;
		WRITE_ONCE(r->waiting, stop || r->starved);
		/* Pairs with llist_add() in xbb_req_done(). */
		smp_store_mb(r->busy, false);
		xbb_reap(r);
		if (stop && !atomic_read(&r->inflight))
			break;
		if (!stop && rest(r))
			continue;
		xbb_doze(r, stop);
	}
	memalloc_noio_restore(noio);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The way down: struct request -> plan -> ring.
 *
 * Decides how a request is cut into ring requests and when the backend is told.
 * It never connects, never waits and never touches the store.  Called by blk-mq
 * in process context, from several CPUs at a time.
 *
 * A request passes four steps.  Reserve takes ids and grants, under the ring's
 * lock; fill shares or copies the data, without it unless the request is
 * small; emit writes the slots; the last one of a batch pushes.
 */
#include <linux/blk-mq.h>
#include <xpv/compat.h>
#include "blkfront.h"

/* ------------------------------------------------------------------ */
/* Plan and build: pure                                                */
/* ------------------------------------------------------------------ */

/**
 * xbf_plan_rw() - cut a read or write
 * @l: limits
 * @bytes: size of the request, not 0
 * @segs: pieces when its own pages are shared
 * @copy: it must be copied
 * @p: result
 *
 * A request made under larger limits than today's is copied as well: packed
 * pages can be cut anywhere without losing the sector alignment.
 */
void xbf_plan_rw(const struct xbf_limits *l, unsigned int bytes,
		 unsigned int segs, bool copy, struct xbf_plan *p)
{
	unsigned int rest;

	p->copy = copy || l->copy || segs > l->segs;
	p->pages = p->copy ? DIV_ROUND_UP(bytes, XPV_PAGE_SIZE) : segs;
	p->parts = DIV_ROUND_UP(p->pages, l->segs);
	rest = p->pages - (p->parts - 1) * l->segs;
	p->lists = (p->parts - 1) * (l->segs > XBF_SEGS_DIRECT) +
		   (rest > XBF_SEGS_DIRECT);
}

static void build_segment(struct blkif_request_segment *seg,
			  const struct xbf_grant *g)
{
	seg->gref = g->ref;
	seg->first_sect = g->first;
	seg->last_sect = g->last;
}

/** xbf_build_rw() - ring request with @n pages in itself; zeroed by caller. */
void xbf_build_rw(struct blkif_request *req, u8 op, u64 id, u16 handle,
		  u64 sector, const struct xbf_grant *g, unsigned int n)
{
	unsigned int i;

	req->operation = op;
	req->u.rw.nr_segments = n;
	req->u.rw.handle = handle;
	req->u.rw.id = id;
	req->u.rw.sector_number = sector;
	for (i = 0; i < n; i++, g = g->next)
		build_segment(&req->u.rw.seg[i], g);
}

/** xbf_build_list() - fill a list page, never to be read back. */
void xbf_build_list(struct blkif_request_segment *seg, const struct xbf_grant *g,
		    unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++, g = g->next)
		build_segment(&seg[i], g);
}

/** xbf_build_indirect() - ring request whose @n pages stand in a list page. */
void xbf_build_indirect(struct blkif_request *req, u8 op, u64 id, u16 handle,
			u64 sector, grant_ref_t list, unsigned int n)
{
	req->operation = BLKIF_OP_INDIRECT;
	req->u.indirect.indirect_op = op;
	req->u.indirect.nr_segments = n;
	req->u.indirect.id = id;
	req->u.indirect.sector_number = sector;
	req->u.indirect.handle = handle;
	req->u.indirect.indirect_grefs[0] = list;
}

/** xbf_build_discard() - ring request for a discard; zeroed by the caller. */
void xbf_build_discard(struct blkif_request *req, u64 id, u64 sector,
		       u64 sectors, bool secure)
{
	req->operation = BLKIF_OP_DISCARD;
	req->u.discard.flag = secure ? BLKIF_DISCARD_SECURE : 0;
	req->u.discard.id = id;
	req->u.discard.sector_number = sector;
	req->u.discard.nr_sectors = sectors;
}

/* ------------------------------------------------------------------ */
/* Reserve and release, under the lock                                 */
/* ------------------------------------------------------------------ */

static bool reserve_grants(struct xbf_ring *r, struct xbf_req *q,
			   const struct xbf_plan *p)
{
	unsigned int both = p->pages + p->lists;

	if (p->copy) {
		unsigned int hits = min(r->pool.ready.n, both);

		if (r->pool.bare.n + r->pool.ready.n < both)
			return false;
		xbf_count(&r->stats.persistent_hits, hits);
		xbf_count(&r->stats.persistent_misses, both - hits);
	} else if (r->pool.bare.n < both && !xbf_pool_unpage(&r->pool, both)) {
		return false;
	}
	return xbf_pool_take(&r->pool, p->lists, true, &q->lists) &&
	       xbf_pool_take(&r->pool, p->pages, p->copy, &q->data);
}

static void take_ids(struct xbf_ring *r, struct request *rq,
		     unsigned int parts)
{
	struct xbf_req *q = xbf_req(rq);
	u16 *link = &q->id;

	q->parts = parts;
	q->waiting = parts;
	while (parts--) {
		int id = xpv_ids_get(&r->ids);
		struct xbf_shadow *sh = &r->shadow[id];

		sh->rq = rq;
		sh->op = q->op;
		sh->slot = XBF_SLOT_FILLING;
		*link = id;
		link = &sh->next;
	}
}

static bool reserve(struct xbf_ring *r, struct request *rq,
		    const struct xbf_plan *p)
{
	struct xbf_req *q = xbf_req(rq);

	q->data = (struct xbf_grants) {};
	q->lists = (struct xbf_grants) {};
	q->ring = r;
	q->status = BLK_STS_OK;
	q->copy = p->copy;
	q->again = false;
	if (r->ids.nfree < p->parts)
		return false;
	if (!reserve_grants(r, q, p)) {
		xbf_pool_put(&r->pool, &q->lists, true);
		return false;
	}
	take_ids(r, rq, p->parts);
	return true;
}

/* ------------------------------------------------------------------ */
/* Fill and emit                                                       */
/* ------------------------------------------------------------------ */

/*
 * Return: 0; -ENOMEM: try again later; -EOPNOTSUPP: copy it instead. On error
 * nothing of the request is shared.
 */
static int fill(struct xbf_ring *r, struct request *rq)
{
	struct xpv_dev *d = r->x->d;
	struct xbf_req *q = xbf_req(rq);
	int n;

	if (xbf_grants_page(&q->lists, d, GFP_NOWAIT))
		return -ENOMEM;
	if (!q->copy) {
		n = xbf_grants_plain(&q->data, d, rq);
		if (n < 0)
			xbf_grants_revoke(&q->data);
		return min(n, 0);
	}
	if (xbf_grants_page(&q->data, d, GFP_NOWAIT))
		return -ENOMEM;
	xbf_grants_span(&q->data, blk_rq_bytes(rq));
	if (rq_data_dir(rq) == WRITE)
		xbf_grants_copy(&q->data, rq, true);
	return 0;
}

static void put_slot(struct xbf_ring *r, u16 id,
		     const struct blkif_request *req)
{
	r->shadow[id].slot = XBF_SLOT_SENT;
	xpv_front_put(&r->front, req, sizeof(*req));
	xbf_count(&r->stats.ring_requests, 1);
}

/* Pages really used: pieces that touched became one. */
static unsigned int used_grants(const struct xbf_grants *l)
{
	const struct xbf_grant *g = l->head;
	unsigned int n = 0;

	while (n < l->n && g->page) {
		g = g->next;
		n++;
	}
	return n;
}

static void emit_rw(struct xbf_ring *r, struct request *rq)
{
	struct xbf_dev *x = r->x;
	struct xbf_req *q = xbf_req(rq);
	const struct xbf_grant *g = q->data.head, *list = q->lists.head;
	unsigned int left = q->copy ? q->data.n : used_grants(&q->data);
	u64 sector = blk_rq_pos(rq);
	u16 id = q->id;

	xbf_count(&r->stats.segments, left);
	xbf_count(&r->stats.bytes, blk_rq_bytes(rq));
	while (left) {
		unsigned int n = min_t(unsigned int, left, x->lim.segs);
		struct blkif_request req = {};

		if (n > XBF_SEGS_DIRECT) {
			xbf_build_list(page_address(list->page), g, n);
			xbf_build_indirect(&req, q->op, id, x->vdev, sector,
					   list->ref, n);
			list = list->next;
			xbf_count(&r->stats.indirect, 1);
		} else {
			xbf_build_rw(&req, q->op, id, x->vdev, sector, g, n);
		}
		left -= n;
		/* Only packed pages are cut, so all but the last are full. */
		sector += n * XPV_BLK_SECTORS_PER_PAGE;
		while (n--)
			g = g->next;
		put_slot(r, id, &req);
		id = r->shadow[id].next;
	}
}

static void emit_other(struct xbf_ring *r, struct request *rq)
{
	struct xbf_req *q = xbf_req(rq);
	struct blkif_request req = {};

	if (q->op == BLKIF_OP_DISCARD) {
		xbf_count(&r->stats.discards, 1);
		xbf_build_discard(&req, q->id, blk_rq_pos(rq),
				  blk_rq_sectors(rq),
				  req_op(rq) == REQ_OP_SECURE_ERASE);
	} else {
		xbf_count(&r->stats.flushes, 1);
		xbf_build_rw(&req, q->op, q->id, r->x->vdev, 0, NULL, 0);
	}
	put_slot(r, q->id, &req);
}

static bool push(struct xbf_ring *r)
{
	bool notify;

	if (r->front.req_prod == r->front.req_pushed)
		return false;
	notify = xpv_front_push(&r->front);
	xbf_count(&r->stats.batches, 1);
	xbf_count(notify ? &r->stats.events_sent : &r->stats.events_suppressed, 1);
	return notify;
}

/* ------------------------------------------------------------------ */
/* blk-mq: requests                                                    */
/* ------------------------------------------------------------------ */

/* A reconnect may bring fewer rings than the disk has hardware queues. */
static struct xbf_ring *ring_of(struct blk_mq_hw_ctx *hctx)
{
	struct xbf_dev *x = hctx->queue->queuedata;

	return &x->rings[hctx->queue_num % x->nr_rings];
}

/*
 * No room; whoever releases runs the queues.  A release may come before the
 * block layer has put the request back on its list and find nothing there, so
 * the block layer is told to try again by itself, too, a little later.
 */
static blk_status_t stall(struct xbf_ring *r)
{
	r->starved = true;
	xbf_count(&r->stats.stalls, 1);
	return BLK_STS_RESOURCE;
}

/*
 * Data is shared or copied with the lock held only if it is little.
 *
 * Return: as fill(), with the lock held again. On error the request holds
 * nothing any more.
 */
static int fill_unlocked(struct xbf_ring *r, struct request *rq)
	__must_hold(&r->lock)
{
	struct xbf_req *q = xbf_req(rq);
	int err;

	if (q->data.n <= XBF_FILL_LOCKED) {
		err = fill(r, rq);
	} else {
		spin_unlock_irq(&r->lock);
		err = fill(r, rq);
		spin_lock_irq(&r->lock);
		if (unlikely(r->down && !err)) {
			if (!q->copy)
				xbf_grants_revoke(&q->data);
			err = -ENOMEM;
		}
	}
	if (unlikely(err))
		xbf_release(r, rq);
	return err;
}

/* Return: BLK_STS_AGAIN when it must be copied instead, else as queue_rq(). */
static blk_status_t issue_locked(struct xbf_ring *r, struct request *rq,
				 const struct xbf_plan *p, bool *gave_back)
	__must_hold(&r->lock)
{
	int err;

	if (unlikely(r->down))
		return BLK_STS_RESOURCE;
	if (unlikely(!reserve(r, rq, p)))
		return stall(r);
	if (p->pages) {
		err = fill_unlocked(r, rq);
		if (unlikely(err)) {
			*gave_back = true;
			if (err != -EOPNOTSUPP)
				return BLK_STS_RESOURCE;
			xbf_count(&r->stats.bounces, 1);
			return BLK_STS_AGAIN;
		}
	}
	blk_mq_start_request(rq);
	xbf_req(rq)->seq = r->seq++;
	xbf_count(&r->stats.requests, 1);
	if (p->pages)
		emit_rw(r, rq);
	else
		emit_other(r, rq);
	return BLK_STS_OK;
}

static blk_status_t issue(struct xbf_ring *r, struct blk_mq_hw_ctx *hctx,
			  const struct blk_mq_queue_data *bd,
			  const struct xbf_plan *p)
{
	bool notify = false, kick = false, gave_back = false;
	blk_status_t ret;

	spin_lock_irq(&r->lock);
	ret = issue_locked(r, bd->rq, p, &gave_back);
	/* Another queue may wait for what this request held in vain. */
	if (unlikely(gave_back))
		kick = xbf_unstall(r);
	/*
	 * Without room what is filled goes out first, or there might be nothing
	 * to wait for.
	 */
	if ((bd->last || ret == BLK_STS_RESOURCE) && !r->down)
		notify = push(r);
	spin_unlock_irq(&r->lock);
	if (notify)
		hyp_evt_notify(&r->evt);
	if (unlikely(kick))
		blk_mq_run_hw_queues(hctx->queue, true);
	return ret;
}

static blk_status_t queue_rw(struct xbf_ring *r, struct blk_mq_hw_ctx *hctx,
			     const struct blk_mq_queue_data *bd)
{
	struct request *rq = bd->rq;
	struct xbf_plan p;
	blk_status_t ret;

	xbf_plan_rw(&r->x->lim, blk_rq_bytes(rq),
		    blk_rq_nr_phys_segments(rq), false, &p);
	ret = issue(r, hctx, bd, &p);
	if (likely(ret != BLK_STS_AGAIN))
		return ret;
	xbf_plan_rw(&r->x->lim, blk_rq_bytes(rq), 1, true, &p);
	return issue(r, hctx, bd, &p);
}

static blk_status_t xbf_queue_rq(struct blk_mq_hw_ctx *hctx,
				 const struct blk_mq_queue_data *bd)
{
	struct xbf_dev *x = hctx->queue->queuedata;
	struct request *rq = bd->rq;
	struct xbf_req *q = xbf_req(rq);
	struct xbf_plan none = { .parts = 1 };

	/* Set with the queue quiesced, before the rings go. */
	if (unlikely(x->dead))
		return BLK_STS_IOERR;
	/* Issued again after a reconnect it must not be merged. */
	rq->rq_flags |= RQF_DONTPREP;
	switch (req_op(rq)) {
	case REQ_OP_READ:
		q->op = BLKIF_OP_READ;
		return queue_rw(ring_of(hctx), hctx, bd);
	case REQ_OP_WRITE:
		q->op = BLKIF_OP_WRITE;
		return queue_rw(ring_of(hctx), hctx, bd);
	case REQ_OP_FLUSH:
		q->op = READ_ONCE(x->lim.flush_op);
		/* Refused by the backend since it was queued: no success. */
		if (!q->op)
			return BLK_STS_NOTSUPP;
		break;
	case REQ_OP_DISCARD:
		q->op = BLKIF_OP_DISCARD;
		if (!READ_ONCE(x->lim.discard))
			return BLK_STS_NOTSUPP;
		break;
	case REQ_OP_SECURE_ERASE:
		q->op = BLKIF_OP_DISCARD;
		if (!READ_ONCE(x->lim.secure))
			return BLK_STS_NOTSUPP;
		break;
	default:
		return BLK_STS_NOTSUPP;
	}
	return issue(ring_of(hctx), hctx, bd, &none);
}

/*
 * One read or write of a list.
 *
 * Return: it is on its way; if not, it holds nothing and may be issued by
 * itself, which also says why it could not be.
 */
static bool issue_listed(struct xbf_ring *r, struct request *rq, bool *gave_back)
	__must_hold(&r->lock)
{
	struct xbf_plan p;
	blk_status_t ret;

	if (req_op(rq) == REQ_OP_READ)
		xbf_req(rq)->op = BLKIF_OP_READ;
	else if (req_op(rq) == REQ_OP_WRITE)
		xbf_req(rq)->op = BLKIF_OP_WRITE;
	else
		return false;
	rq->rq_flags |= RQF_DONTPREP;
	xbf_plan_rw(&r->x->lim, blk_rq_bytes(rq), blk_rq_nr_phys_segments(rq),
		    false, &p);
	ret = issue_locked(r, rq, &p, gave_back);
	if (unlikely(ret == BLK_STS_AGAIN)) {
		xbf_plan_rw(&r->x->lim, blk_rq_bytes(rq), 1, true, &p);
		ret = issue_locked(r, rq, &p, gave_back);
	}
	return ret == BLK_STS_OK;
}

/*
 * What stands first in @list and goes to @r: one lock, one push, one event.
 *
 * Return: the rest is for other rings.
 */
static bool issue_list(struct xbf_ring *r, xpv_rq_list *list)
{
	bool notify = false, kick = false, gave_back = false, others = false;
	struct request *rq;

	spin_lock_irq(&r->lock);
	while ((rq = rq_list_pop(list))) {
		others = ring_of(rq->mq_hctx) != r;
		if (others || !issue_listed(r, rq, &gave_back)) {
			xpv_rq_list_put_back(list, rq);
			break;
		}
		xbf_count(&r->stats.listed, 1);
	}
	if (unlikely(gave_back))
		kick = xbf_unstall(r);
	if (!r->down)
		notify = push(r);
	spin_unlock_irq(&r->lock);
	if (notify)
		hyp_evt_notify(&r->evt);
	if (unlikely(kick))
		blk_mq_run_hw_queues(r->x->disk->queue, true);
	return others;
}

/* A plugged batch. What is left in @list is issued one by one. */
static void xbf_queue_rqs(xpv_rq_list *list)
{
	struct request *rq;
	bool others = true;

	while (others && (rq = rq_list_pop(list))) {
		struct xbf_ring *r = ring_of(rq->mq_hctx);

		xpv_rq_list_put_back(list, rq);
		others = !r->x->dead && issue_list(r, list);
	}
}

static void xbf_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	struct xbf_dev *x = hctx->queue->queuedata;
	struct xbf_ring *r;
	bool notify = false;

	if (x->dead)
		return;
	r = ring_of(hctx);
	spin_lock_irq(&r->lock);
	if (!r->down)
		notify = push(r);
	spin_unlock_irq(&r->lock);
	if (notify)
		hyp_evt_notify(&r->evt);
}

const struct blk_mq_ops xbf_mq_ops = {
	.queue_rq = xbf_queue_rq,
	.queue_rqs = xbf_queue_rqs,
	.commit_rqs = xbf_commit_rqs,
	.complete = xbf_complete_rq,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * Completions of xpv-blkback: data to the guest, responses, one notify.
 *
 * Decides who settles a finished request.  It goes on a list without a lock;
 * while the ring's thread is running it will come by and take all of the list,
 * otherwise the completing context does it right here, without a switch to the
 * thread.  Work that an interrupt should not do goes to the thread.
 *
 * Called from bio completions in any context and from the thread.  Nothing here
 * sleeps.  A ring is freed only after a grace period, so that a completion can
 * still look at it after the last response.
 */
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "blkback.h"

void xbb_req_release(struct xbb_req *req)
{
	struct xbb_ring *r = req->ring;
	LIST_HEAD(pages);
	unsigned int i, n = 0;

	for (i = 0; req->planned && i < req->ask.nsegs; i++) {
		struct page *page = req->bv[i].bv_page;

		if (req->seg[i].pg) {
			xbb_cache_put(req->seg[i].pg);
		} else if (page) {
			list_add(&page->lru, &pages);
			n++;
		}
	}
	if (n)
		xbb_pool_put(&r->pool, n, &pages, READ_ONCE(xbb_max_buffer_pages));
	if (req->live)
		bio_uninit(&req->bio);
	kfree(req->big);
	req->planned = false;
	req->live = false;
	req->big = NULL;
}

/* Only what the disk has written is copied. Return: false for lack of room. */
static bool plan_copy(struct xbb_ring *r, struct xbb_req *req)
{
	struct xpv_copy_batch *b = &r->rsp_copy;
	unsigned int i;

	req->op_first = b->n;
	req->op_n = 0;
	if (req->err || req->ask.op != BLKIF_OP_READ || !req->npriv)
		return true;
	if (req->npriv > xpv_copy_room(b))
		return false;
	for (i = 0; i < req->ask.nsegs; i++) {
		const struct bio_vec *bv = &req->bv[i];

		if (req->seg[i].pg)
			continue;
		xpv_copy_add(b, bv->bv_page, bv->bv_offset, req->seg[i].gref,
			     bv->bv_offset, bv->bv_len, true);
	}
	req->op_n = b->n - req->op_first;
	return true;
}

static void count(struct xbb_stats *st, const struct xbb_req *req)
{
	if (req->err)
		st->errors++;
	switch (req->ask.op) {
	case BLKIF_OP_READ:
		st->reads++;
		st->read_sectors += req->ask.nr_sectors;
		break;
	case BLKIF_OP_WRITE:
		st->writes++;
		st->write_sectors += req->ask.nr_sectors;
		break;
	case BLKIF_OP_FLUSH_DISKCACHE:
		st->flushes++;
		break;
	case BLKIF_OP_DISCARD:
		st->discards++;
		break;
	}
}

static void respond(struct xbb_ring *r, const struct xbb_req *req)
{
	u8 out[16];

	if (READ_ONCE(r->broken))
		return;
	if (xbb_response(out, r->b->abi, &req->ask, req->err) == sizeof(out))
		xpv_back_put(&r->ring, out, 16);
	else
		xpv_back_put(&r->ring, out, 12);
	r->st.responses++;
}

static void finish(struct xbb_ring *r, struct xbb_req *req)
{
	if (req->op_n && xpv_copy_status(&r->rsp_copy, req->op_first, req->op_n)) {
		req->err = -EIO;
		xpv_peer_fault(r->b->d, &r->b->faults, XPV_FAULT_GRANT,
			       "ring %u: data of a read at sector %llu could not be copied",
			       r->id, req->ask.sector);
	}
	count(&r->st, req);
	respond(r, req);
	xbb_req_release(req);
	llist_add(&req->node, &r->unused);
	atomic_dec(&r->inflight);
}

/* Under rsp_lock. Return: true when the guest wants an event. */
static bool settle(struct xbb_ring *r, struct llist_node *node)
{
	struct llist_node *end;
	struct xbb_req *req;

	while (node) {
		for (end = node; end; end = end->next)
			if (!plan_copy(r, llist_entry(end, struct xbb_req, node)))
				break;
		if (r->rsp_copy.n) {
			xpv_copy_run(&r->rsp_copy);
			r->st.read_copies += r->rsp_copy.n;
			r->st.read_copy_calls++;
		}
		while (node != end) {
			req = llist_entry(node, struct xbb_req, node);
			/* The request is reused once it is finished. */
			node = node->next;
			finish(r, req);
		}
		xpv_copy_reset(&r->rsp_copy);
	}
	if (READ_ONCE(r->broken))
		return false;
	r->st.pushes++;
	return xpv_back_push(&r->ring);
}

void xbb_reap(struct xbb_ring *r)
{
	struct llist_node *node;
	unsigned long flags;
	bool notify;

	while (!llist_empty(&r->done)) {
		/* Whoever holds the lock looks at the list again after it. */
		if (!spin_trylock_irqsave(&r->rsp_lock, flags))
			return;
		node = llist_reverse_order(llist_del_all(&r->done));
		notify = node && settle(r, node);
		if (notify)
			r->st.notifies++;
		spin_unlock_irqrestore(&r->rsp_lock, flags);
		if (notify)
			hyp_evt_notify(&r->evt);
		if (READ_ONCE(r->waiting))
			xbb_ring_kick(r);
		/* Lock before list: pairs with llist_add() in xbb_req_done(). */
		smp_mb();
	}
}

/*
 * A thread that sleeps in the middle of its work, for a tag of the disk or for
 * memory, will not come by soon.
 */
static bool thread_comes_by(const struct xbb_ring *r)
{
	struct task_struct *t = READ_ONCE(r->thread);

	return READ_ONCE(r->busy) && t && task_is_running(t);
}

void xbb_req_done(struct xbb_req *req)
{
	struct xbb_ring *r = req->ring;
	bool big = req->left || (!req->err && req->ask.op == BLKIF_OP_READ &&
				 req->npriv > XBB_INLINE_PAGES);

	rcu_read_lock();
	if (big) {
		llist_add(&req->node, &r->done_thread);
		if (!thread_comes_by(r))
			wake_up(&r->wq);
	} else {
		/* A full barrier: pairs with smp_store_mb() in xbb_ring_fn(). */
		llist_add(&req->node, &r->done);
		if (!thread_comes_by(r))
			xbb_reap(r);
	}
	rcu_read_unlock();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The way up: responses -> completion, and the end of a ring's requests.
 *
 * Decides what an answer means and which requests are over.  It never issues,
 * connects or touches the store.  Called by the event handler (hard interrupt),
 * by blk-mq's softirq, and by main.c with the queue quiesced.
 *
 * Take copies each response once and checks it, under the ring's lock; settle
 * revokes or copies out, without it; release returns ids and grants; then the
 * block layer hears of it.
 */
#include <linux/blk-mq.h>
#include <linux/delay.h>
#include <linux/list_sort.h>
#include <xpv/compat.h>
#include "blkfront.h"

#define S(f, h)	XPV_STAT(struct xbf_stats, f, h)

const struct xpv_stat xbf_stat_table[] = {
	S(requests, "block layer requests sent"),
	S(listed, "of these, sent in lists"),
	S(ring_requests, "ring requests sent"),
	S(segments, "pages of data in them"),
	S(bytes, "bytes read and written"),
	S(batches, "times the producer index was published"),
	S(events_sent, "events sent to the backend"),
	S(events_suppressed, "batches the backend wanted no event for"),
	S(events_received, "events from the backend"),
	S(events_spurious, "events that found no response"),
	S(timer_wakes, "looks at held-off responses without an event"),
	S(indirect, "ring requests with a list page"),
	S(persistent_hits, "pages reused with their grant"),
	S(persistent_misses, "pages that had to be granted first"),
	S(bounces, "requests copied that could not be shared"),
	S(flushes, "flushes sent"),
	S(discards, "discards sent"),
	S(stalls, "times a queue waited for room"),
	S(errors, "requests answered with an error"),
	S(requeues, "requests issued again after a reconnect"),
	S(faults, "times the backend broke the rules"),
};

const unsigned int xbf_stat_count = ARRAY_SIZE(xbf_stat_table);

#undef S

/* ------------------------------------------------------------------ */
/* Answers: pure                                                       */
/* ------------------------------------------------------------------ */

/**
 * xbf_check_answer() - may this response be ours?
 * @r: ring
 * @rsp: private copy of the response
 * @why: set on error
 *
 * Some backends echo the wrapper of an indirect request, some what is in it.
 * Return: its id, or -EPROTO.
 */
int xbf_check_answer(const struct xbf_ring *r, const struct blkif_response *rsp,
		     enum xpv_fault *why)
{
	const struct xbf_shadow *sh;

	*why = XPV_FAULT_ID;
	if (!xpv_ids_busy(&r->ids, rsp->id))
		return -EPROTO;
	sh = &r->shadow[rsp->id];
	if (sh->slot != XBF_SLOT_SENT)
		return -EPROTO;
	*why = XPV_FAULT_OP;
	if (rsp->operation != sh->op &&
	    !(rsp->operation == BLKIF_OP_INDIRECT &&
	      (sh->op == BLKIF_OP_READ || sh->op == BLKIF_OP_WRITE)))
		return -EPROTO;
	return rsp->id;
}

/**
 * xbf_judge() - what an answer means
 * @l: limits
 * @op: operation on the wire
 * @secure: it was a secure erase
 * @status: as the backend sent it
 *
 * An error never becomes a success.  "Not supported" takes a feature away for
 * flush, barrier and discard only: some backends give it for a write to a
 * read-only disk.
 */
struct xbf_verdict xbf_judge(const struct xbf_limits *l, u8 op, bool secure,
			     s16 status)
{
	struct xbf_verdict v = { .status = BLK_STS_IOERR };

	if (status == BLKIF_RSP_OKAY)
		v.status = BLK_STS_OK;
	if (status != BLKIF_RSP_EOPNOTSUPP)
		return v;
	switch (op) {
	case BLKIF_OP_FLUSH_DISKCACHE:
		v.status = BLK_STS_NOTSUPP;
		/* Or sent before another answer made us switch. */
		v.revoke = l->barrier || l->flush_op == BLKIF_OP_WRITE_BARRIER ?
			   XBF_REVOKE_TO_BARRIER : XBF_REVOKE_FLUSH;
		break;
	case BLKIF_OP_WRITE_BARRIER:
		v.status = BLK_STS_NOTSUPP;
		v.revoke = XBF_REVOKE_FLUSH;
		break;
	case BLKIF_OP_DISCARD:
		v.status = BLK_STS_NOTSUPP;
		v.revoke = secure ? XBF_REVOKE_SECURE : XBF_REVOKE_DISCARD;
		break;
	}
	return v;
}

/* ------------------------------------------------------------------ */
/* Take: under the lock                                                */
/* ------------------------------------------------------------------ */

/** struct finished - requests whose last answer came, in order. */
struct finished {
	struct request *head;
	struct request **tail;
};

/* The peer broke the rules: the ring stands still until it is torn down. */
static void ring_fault(struct xbf_ring *r)
{
	xbf_count(&r->stats.faults, 1);
	r->down = true;
	xpv_evt_dead(&r->evt);
	xbf_break(r->x);
}

/* Answers on several rings may come at once: say it when it changes. */
static void revoke(struct xbf_dev *x, enum xbf_revoke what)
{
	struct xbf_limits *l = &x->lim;
	const char *text = NULL;

	switch (what) {
	case XBF_REVOKE_TO_BARRIER:
		if (READ_ONCE(l->flush_op) != BLKIF_OP_WRITE_BARRIER)
			text = "flush refused by the backend, using barriers";
		WRITE_ONCE(l->flush_op, BLKIF_OP_WRITE_BARRIER);
		WRITE_ONCE(l->barrier, false);
		break;
	case XBF_REVOKE_FLUSH:
		if (READ_ONCE(l->flush_op))
			text = "flush refused by the backend, writes may be lost with its power";
		WRITE_ONCE(l->flush_op, 0);
		break;
	case XBF_REVOKE_DISCARD:
		if (READ_ONCE(l->discard))
			text = "discard refused by the backend";
		WRITE_ONCE(l->discard, false);
		fallthrough;
	case XBF_REVOKE_SECURE:
		if (!text && READ_ONCE(l->secure))
			text = "secure erase refused by the backend";
		WRITE_ONCE(l->secure, false);
		break;
	case XBF_REVOKE_NONE:
		return;
	}
	if (!text)
		return;
	dev_warn(x->d->dev, "%s\n", text);
	xbf_todo(x, XBF_TODO_LIMITS, 0);
}

static int take_answer(struct xbf_ring *r, const struct blkif_response *rsp,
		       struct finished *f)
{
	struct xbf_dev *x = r->x;
	struct xbf_verdict v;
	struct request *rq;
	struct xbf_req *q;
	enum xpv_fault why;
	int id;

	id = xbf_check_answer(r, rsp, &why);
	if (id < 0) {
		xpv_peer_fault(x->d, &x->faults, why,
			       "response id %llu operation %u on ring %u",
			       rsp->id, rsp->operation, r->nr);
		return id;
	}
	r->shadow[id].slot = XBF_SLOT_ANSWERED;
	rq = r->shadow[id].rq;
	q = xbf_req(rq);
	if (unlikely(rsp->status != BLKIF_RSP_OKAY)) {
		xbf_count(&r->stats.errors, 1);
		v = xbf_judge(&x->lim, q->op, req_op(rq) == REQ_OP_SECURE_ERASE,
			      rsp->status);
		revoke(x, v.revoke);
		q->again = v.revoke == XBF_REVOKE_TO_BARRIER;
		q->status = v.status;
	}
	if (--q->waiting)
		return 0;
	q->next = NULL;
	*f->tail = rq;
	f->tail = &q->next;
	r->finishing++;
	return 0;
}

/*
 * All that is there. It ends: nobody issues meanwhile, and more answers than
 * requests are an error.
 *
 * Return: how many, or -EPROTO.
 */
static int take(struct xbf_ring *r, struct finished *f)
{
	struct blkif_response rsp;
	bool promised = false;
	int total = 0;
	u32 ahead;
	int n, i;

	for (;;) {
		n = xpv_front_pending(&r->front);
		if (unlikely(n < 0 || (!n && promised))) {
			xpv_peer_fault(r->x->d, &r->x->faults, XPV_FAULT_INDEX,
				       "response producer of ring %u: %s, %u requests in flight",
				       r->nr, n ? "too far ahead" : "went back",
				       xpv_front_inflight(&r->front));
			return -EPROTO;
		}
		total += n;
		for (i = 0; i < n; i++) {
			xpv_front_get(&r->front, &rsp, sizeof(rsp));
			if (unlikely(take_answer(r, &rsp, f)))
				return -EPROTO;
		}
		ahead = xpv_hold_rest(&r->hold, n, r->front.size);
		promised = xpv_front_doze(&r->front, ahead);
		if (!promised) {
			xpv_hold_sleep(&r->hold, ahead);
			return total;
		}
		xpv_evt_stale(&r->evt);
	}
}

/** xbf_release() - ids and grants of a request are free again; under the lock. */
void xbf_release(struct xbf_ring *r, struct request *rq)
{
	struct xbf_req *q = xbf_req(rq);
	unsigned int i;
	u16 id = q->id;

	for (i = 0; i < q->parts; i++) {
		struct xbf_shadow *sh = &r->shadow[id];

		sh->slot = XBF_SLOT_FREE;
		sh->rq = NULL;
		xpv_ids_put(&r->ids, id);
		id = sh->next;
	}
	xbf_pool_put(&r->pool, &q->data, q->copy);
	xbf_pool_put(&r->pool, &q->lists, true);
}

/* ------------------------------------------------------------------ */
/* Settle and complete                                                 */
/* ------------------------------------------------------------------ */

/* Return: grants the backend still maps although it has answered. */
static unsigned int settle(struct request *rq)
{
	struct xbf_req *q = xbf_req(rq);
	unsigned int kept;

	if (!q->copy) {
		kept = xbf_grants_revoke(&q->data);
		/* It could still write there, so nobody may rely on the data. */
		if (unlikely(kept))
			q->status = BLK_STS_IOERR;
		return kept;
	}
	if (q->op == BLKIF_OP_READ && q->status == BLK_STS_OK)
		xbf_grants_copy(&q->data, rq, false);
	return 0;
}

static void kept_fault(struct xbf_ring *r, unsigned int kept)
{
	xpv_peer_fault(r->x->d, &r->x->faults, XPV_FAULT_BUSY,
		       "%u pages still mapped after the answer on ring %u",
		       kept, r->nr);
	ring_fault(r);
}

static void end_batch(struct io_comp_batch *iob)
{
	blk_mq_end_request_batch(iob);
}

static void end(struct request *rq, struct io_comp_batch *iob)
{
	struct xbf_req *q = xbf_req(rq);

	if (unlikely(q->again))
		blk_mq_requeue_request(rq, true);
	else if (!blk_mq_add_to_batch(rq, iob, q->status != BLK_STS_OK,
				      end_batch))
		blk_mq_end_request(rq, q->status);
}

/*
 * xbf_unstall() - something was released; the lock is held
 *
 * Return: somebody waits, run the queues.
 */
bool xbf_unstall(struct xbf_ring *r)
{
	bool was = r->starved;

	r->starved = false;
	return was;
}

/*
 * Is this one completed elsewhere: on the CPU that sent it, or in a softirq
 * when this interrupt has copied enough? Only blk-mq's single queue offers the
 * latter.
 */
static bool hand_over(struct xbf_dev *x, struct request *rq,
		      unsigned int *copied)
{
	struct xbf_req *q = xbf_req(rq);

	if (x->nr_hw > 1)
		return blk_mq_complete_request_remote(rq);
	if (q->copy && q->op == BLKIF_OP_READ)
		*copied += q->data.n;
	if (*copied <= XBF_COPY_IN_IRQ)
		return false;
	blk_mq_complete_request(rq);
	return true;
}

static void finish(struct xbf_ring *r, struct request *head)
{
	struct xbf_dev *x = r->x;
	DEFINE_IO_COMP_BATCH(iob);
	struct request *local = NULL, **tail = &local, *rq, *next;
	unsigned int copied = 0, kept = 0;
	unsigned long flags;
	bool kick;

	for (rq = head; rq; rq = next) {
		next = xbf_req(rq)->next;
		if (hand_over(x, rq, &copied))
			continue;
		kept += settle(rq);
		*tail = rq;
		tail = &xbf_req(rq)->next;
	}
	*tail = NULL;
	if (!local)
		return;
	spin_lock_irqsave(&r->lock, flags);
	for (rq = local; rq; rq = xbf_req(rq)->next) {
		xbf_release(r, rq);
		r->finishing--;
	}
	if (unlikely(kept))
		kept_fault(r, kept);
	kick = xbf_unstall(r);
	spin_unlock_irqrestore(&r->lock, flags);
	for (rq = local; rq; rq = next) {
		next = xbf_req(rq)->next;
		end(rq, &iob);
	}
	if (iob.complete)
		iob.complete(&iob);
	if (kick)
		blk_mq_run_hw_queues(x->disk->queue, true);
}

/** xbf_complete_rq() - blk-mq: complete one here. Softirq or hard interrupt. */
void xbf_complete_rq(struct request *rq)
{
	struct xbf_ring *r = xbf_req(rq)->ring;
	struct request_queue *queue = rq->q;
	unsigned int kept = settle(rq);
	unsigned long flags;
	bool kick;

	spin_lock_irqsave(&r->lock, flags);
	xbf_release(r, rq);
	if (unlikely(kept))
		kept_fault(r, kept);
	kick = xbf_unstall(r);
	/* Last: the ring may go once nothing is finishing. */
	r->finishing--;
	spin_unlock_irqrestore(&r->lock, flags);
	if (kick)
		blk_mq_run_hw_queues(queue, true);
	end(rq, NULL);
}

/*
 * Hard interrupt context. Return: answers taken, or negative when the ring is
 * down or has just become so.
 */
static int take_and_finish(struct xbf_ring *r)
{
	struct finished f = { .tail = &f.head };
	unsigned long flags;
	int n = -ENODEV;

	spin_lock_irqsave(&r->lock, flags);
	if (!r->down) {
		n = take(r, &f);
		if (n > 0)
			xpv_evt_work(&r->evt);
		else if (n < 0)
			ring_fault(r);
	}
	spin_unlock_irqrestore(&r->lock, flags);
	finish(r, f.head);
	return n;
}

/** xbf_ring_event() - event handler, hard interrupt context. */
void xbf_ring_event(void *arg)
{
	struct xbf_ring *r = arg;

	xpv_evt_got(&r->evt);
	xbf_count(&r->stats.events_received, 1);
	if (!take_and_finish(r))
		xbf_count(&r->stats.events_spurious, 1);
	xpv_evt_done(&r->evt);
}

/** xbf_ring_due() - answers may have waited long enough. Hard interrupt. */
void xbf_ring_due(struct xpv_hold *h)
{
	struct xbf_ring *r = container_of(h, struct xbf_ring, hold);

	xbf_count(&r->stats.timer_wakes, 1);
	take_and_finish(r);
}

/* ------------------------------------------------------------------ */
/* The end of a ring                                                   */
/* ------------------------------------------------------------------ */

/*
 * xbf_ring_halt() - no event, no completion, no new request after this
 *
 * The disk's queue is quiesced, so none is being filled. May sleep, but only
 * for our own softirqs.
 */
void xbf_ring_halt(struct xbf_ring *r)
{
	unsigned int left;

	spin_lock_irq(&r->lock);
	r->down = true;
	spin_unlock_irq(&r->lock);
	hyp_evt_close(&r->evt);
	for (;;) {
		spin_lock_irq(&r->lock);
		left = r->finishing;
		spin_unlock_irq(&r->lock);
		if (!left)
			return;
		usleep_range(100, 1000);
	}
}

static int by_seq(void *priv, const struct list_head *a,
		  const struct list_head *b)
{
	return list_entry(a, struct xbf_req, order)->seq >
	       list_entry(b, struct xbf_req, order)->seq;
}

/**
 * xbf_ring_collect() - requests without their last answer, in issue order
 * @r: halted ring
 * @out: appended to, linked by xbf_req.order
 *
 * Their ids and grants are back; pages the peer still maps are kept alive.
 */
void xbf_ring_collect(struct xbf_ring *r, struct list_head *out)
{
	LIST_HEAD(mine);
	unsigned int id;

	spin_lock_irq(&r->lock);
	for (id = 0; r->shadow && id < r->ids.size; id++) {
		struct request *rq = r->shadow[id].rq;
		struct xbf_req *q;

		if (!rq)
			continue;
		q = xbf_req(rq);
		if (!q->copy)
			xbf_grants_revoke(&q->data);
		xbf_release(r, rq);
		list_add_tail(&q->order, &mine);
	}
	r->starved = false;
	spin_unlock_irq(&r->lock);
	list_sort(NULL, &mine, by_seq);
	list_splice_tail(&mine, out);
}

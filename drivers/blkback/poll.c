// SPDX-License-Identifier: GPL-2.0
/*
 * How a ring's thread sleeps, and the short look at the ring before it does.
 *
 * Putting a processor to sleep and waking it up costs more than many a request
 * takes, on both ends.  So the thread of a ring that has just been at work looks
 * at it a little longer, without asking for events, if that has paid before.
 *
 * Decides how long.  The window opens when a request came so soon after the
 * thread had fallen asleep that a look of at most poll_usecs would have met it;
 * it closes with a few longer pauses, so an idle disk costs nothing, and it stays
 * closed for a while when looking did not help although requests do come: then
 * the guest may be waiting for the very processor that looks.
 *
 * Called by the ring's thread only.
 */
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include "blkback.h"

/* How soon memory is tried again when no completion says so before. */
#define STARVED_WAIT	max(HZ / 100, 1)

/* First width of a window. */
#define POLL_START	(10 * NSEC_PER_USEC)

/* So many looks of full width in vain in a row... */
#define POLL_VAIN	4

/* ...and none is taken for this number of sleeps. */
#define POLL_PENALTY	256

void xbb_poll_slept(struct xbb_poll *p, u32 most, u64 slept)
{
	if (p->penalty) {
		p->penalty--;
		return;
	}
	if (slept > most) {
		p->window = p->window > POLL_START ? p->window / 2 : 0;
		p->vain = 0;
		return;
	}
	if (p->window >= most && ++p->vain >= POLL_VAIN) {
		p->window = 0;
		p->vain = 0;
		p->penalty = POLL_PENALTY;
		return;
	}
	p->window = min_t(u32, max_t(u32, 2 * p->window, POLL_START), most);
}

void xbb_doze(struct xbb_ring *r, bool stop)
{
	long timeout = r->starved || stop ? STARVED_WAIT : MAX_SCHEDULE_TIMEOUT;
	u64 start = local_clock();

	wait_event_idle_timeout(r->wq,
				READ_ONCE(r->kick) ||
				!llist_empty(&r->done_thread) ||
				(!stop && kthread_should_stop()), timeout);
	xbb_poll_slept(&r->poll, min(READ_ONCE(xbb_poll_usecs), 1000U) * NSEC_PER_USEC,
		       local_clock() - start);
}

static bool work_waits(struct xbb_ring *r)
{
	return xpv_back_waits(&r->ring) || !llist_empty(&r->done_thread) ||
	       READ_ONCE(r->kick);
}

bool xbb_poll(struct xbb_ring *r)
{
	u64 until;

	if (!r->poll.window || r->broken || r->starved ||
	    r->st.requests == r->poll.requests)
		return false;
	/* Once for each time something was pulled, whatever the ring shows. */
	r->poll.requests = r->st.requests;
	until = local_clock() + r->poll.window;
	while (!need_resched() && !kthread_should_stop()) {
		if (work_waits(r)) {
			r->poll.vain = 0;
			r->st.poll_hits++;
			return true;
		}
		if (!llist_empty(&r->done)) {
			xbb_reap(r);
			until = local_clock() + r->poll.window;
		}
		if (local_clock() > until)
			break;
		cpu_relax();
	}
	r->st.poll_misses++;
	return false;
}

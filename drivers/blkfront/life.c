// SPDX-License-Identifier: GPL-2.0
/*
 * What may wait for I/O, and what ends it.
 *
 * Two pieces of work on a workqueue.  "Life" makes the disk visible and removes
 * it, and so may wait for requests.  "Kill" fails all requests, waits for none
 * and thereby bounds life.  Neither decides why: main.c and complete.c ask for
 * them, the last closer of a disk does, too.
 */
#include <linux/slab.h>
#include <xpv/compat.h>
#include "blkfront.h"

/* How long closing waits for the backend to unmap, looking how often. */
#define CLOSE_TIME	HZ
#define CLOSE_STEP	(HZ / 20)

/* ------------------------------------------------------------------ */
/* Users, references, work                                             */
/* ------------------------------------------------------------------ */

/** xbf_user_get() - somebody opens the disk. Return: false when it closes. */
bool xbf_user_get(struct xbf_dev *x)
{
	bool ok;

	spin_lock_irq(&x->users_lock);
	ok = !x->closing && !x->removed;
	x->users += ok;
	spin_unlock_irq(&x->users_lock);
	return ok;
}

/** xbf_user_put() - and closes it; the last one lets the peer have its way. */
void xbf_user_put(struct xbf_dev *x)
{
	bool close;

	spin_lock_irq(&x->users_lock);
	close = !--x->users && x->closing;
	spin_unlock_irq(&x->users_lock);
	if (close)
		xbf_todo(x, XBF_TODO_CLOSE, 0);
}

static void ref_release(struct kref *ref)
{
	kfree(container_of(ref, struct xbf_dev, ref));
}

/** xbf_ref_put() - bus device or disk no longer needs @x. */
void xbf_ref_put(struct xbf_dev *x)
{
	kref_put(&x->ref, ref_release);
}

/** xbf_todo() - have life() do something. Any context; not after removal. */
void xbf_todo(struct xbf_dev *x, unsigned int what, unsigned long delay)
{
	unsigned long flags;

	spin_lock_irqsave(&x->users_lock, flags);
	set_bit(what, &x->todo);
	if (!x->removed)
		mod_delayed_work(xbf_workqueue, &x->life, delay);
	spin_unlock_irqrestore(&x->users_lock, flags);
}

/** xbf_break() - the peer broke the rules. Any context. */
void xbf_break(struct xbf_dev *x)
{
	unsigned long flags;

	spin_lock_irqsave(&x->users_lock, flags);
	x->broken = true;
	if (!x->removed)
		mod_delayed_work(xbf_workqueue, &x->kill, 0);
	spin_unlock_irqrestore(&x->users_lock, flags);
}

/* ------------------------------------------------------------------ */
/* Stopping I/O, with the mutex held                                   */
/* ------------------------------------------------------------------ */

static void queue_quiet(struct xbf_dev *x)
{
	if (!x->disk || x->quiet)
		return;
	blk_mq_quiesce_queue(x->disk->queue);
	x->quiet = true;
}

/** xbf_go() - the queue runs again; the mutex is held. */
void xbf_go(struct xbf_dev *x)
{
	if (!x->disk || !x->quiet)
		return;
	x->quiet = false;
	blk_mq_unquiesce_queue(x->disk->queue);
	blk_mq_run_hw_queues(x->disk->queue, true);
	blk_mq_kick_requeue_list(x->disk->queue);
}

/*
 * xbf_stop() - no I/O until xbf_go(); the mutex is held
 *
 * What has no answer is appended to @list, in order of issue.
 */
void xbf_stop(struct xbf_dev *x, struct list_head *list)
{
	unsigned int i;

	queue_quiet(x);
	for (i = 0; x->rings && i < x->nr_rings; i++)
		xbf_ring_halt(&x->rings[i]);
	for (i = 0; x->rings && i < x->nr_rings; i++)
		xbf_ring_collect(&x->rings[i], list);
}

/** xbf_fail_all() - from now on every request fails; the mutex is held. */
void xbf_fail_all(struct xbf_dev *x)
{
	struct xbf_req *q, *next;
	LIST_HEAD(list);

	if (x->dead)
		return;
	xbf_stop(x, &list);
	x->dead = true;
	list_for_each_entry_safe(q, next, &list, order)
		blk_mq_end_request(blk_mq_rq_from_pdu(q), BLK_STS_IOERR);
	xbf_go(x);
}

/** xbf_kill_work() - fail all I/O, then close. */
void xbf_kill_work(struct work_struct *work)
{
	struct xbf_dev *x = container_of(to_delayed_work(work), struct xbf_dev,
					 kill);

	mutex_lock(&x->lock);
	if (!x->dead)
		dev_err(x->d->dev, "all requests fail from now on\n");
	xbf_fail_all(x);
	if (x->broken && x->state < XenbusStateClosing) {
		hyp_fatal(x->d, -EPROTO, "the backend broke the protocol, disk given up");
		x->state = XenbusStateClosing;
	}
	mutex_unlock(&x->lock);
	xbf_todo(x, XBF_TODO_CLOSE, 0);
}

/* ------------------------------------------------------------------ */
/* Life: may wait for I/O                                              */
/* ------------------------------------------------------------------ */

static void make_visible(struct xbf_dev *x)
{
	int err;

	if (x->added || !x->disk || x->dead)
		return;
	/* For the disk; its last closer may come after our removal. */
	kref_get(&x->ref);
	/* Reads the partition table. */
	err = device_add_disk(x->d->dev, x->disk, NULL);
	if (!err) {
		x->added = true;
		return;
	}
	xbf_ref_put(x);
	mutex_lock(&x->lock);
	hyp_fatal(x->d, err, "disk %s cannot be added", x->name.name);
	x->state = XenbusStateClosing;
	mutex_unlock(&x->lock);
}

/** xbf_make_invisible() - remove the disk; waits for I/O, not under the mutex. */
void xbf_make_invisible(struct xbf_dev *x)
{
	if (!x->added)
		return;
	/* Writes back, then waits for the last request. */
	del_gendisk(x->disk);
	x->added = false;
}

/* Whether closing goes on, whoever still has the disk open. */
static bool close_forced(struct xbf_dev *x)
{
	enum xenbus_state peer;

	if (x->dead || x->d->vanished)
		return true;
	peer = hyp_state_get(x->d, XPV_PEER);
	return peer == XenbusStateClosed || peer == XenbusStateUnknown;
}

/* No new users from now on. Return: false when there are some that may stay. */
static bool close_begin(struct xbf_dev *x)
{
	bool idle, news;

	spin_lock_irq(&x->users_lock);
	news = !x->closing;
	x->closing = true;
	idle = !x->users;
	spin_unlock_irq(&x->users_lock);
	if (idle || close_forced(x))
		return true;
	if (news)
		dev_info(x->d->dev, "%s in use, closes with its last user\n",
			 x->name.name);
	return false;
}

/*
 * Say Closing and give the backend a moment to finish; then Closed.  Some
 * backends unmap before they answer Closing, some only when they see Closed:
 * the rings stay until one says Closed itself, so that no page must be left to
 * it.
 */
static void close_end(struct xbf_dev *x)
{
	LIST_HEAD(none);

	mutex_lock(&x->lock);
	if (x->state < XenbusStateClosing) {
		xbf_set_state(x, XenbusStateClosing);
		x->close_until = jiffies + CLOSE_TIME;
	}
	if (x->rings && !x->answered && !close_forced(x) &&
	    time_before(jiffies, x->close_until)) {
		mutex_unlock(&x->lock);
		xbf_todo(x, XBF_TODO_CLOSE, CLOSE_STEP);
		return;
	}
	xbf_fail_all(x);
	xbf_disk_destroy(x);
	x->state = XenbusStateClosed;
	hyp_closed(x->d);
	xbf_let_go(x, hyp_state_get(x->d, XPV_PEER));
	mutex_unlock(&x->lock);
}

/** xbf_let_go() - after Closed: rings, unless @peer may have them mapped. */
void xbf_let_go(struct xbf_dev *x, enum xenbus_state peer)
{
	if (x->state == XenbusStateClosed && x->rings &&
	    (peer == XenbusStateClosed || peer <= XenbusStateInitWait))
		xbf_rings_free(x);
}

/* At most once a second: it makes a log line, and the peer is the one to ask. */
static bool size_due(const struct xbf_dev *x)
{
	return time_after_eq(jiffies, x->size_told + HZ);
}

/* Nothing that is pending sooner is put off. */
static void size_later(struct xbf_dev *x)
{
	unsigned long flags;

	spin_lock_irqsave(&x->users_lock, flags);
	set_bit(XBF_TODO_SIZE, &x->todo);
	if (!x->removed)
		queue_delayed_work(xbf_workqueue, &x->life, HZ);
	spin_unlock_irqrestore(&x->users_lock, flags);
}

/*
 * xbf_size_changed() - a size was read; the mutex is held
 *
 * It counts at once; people hear of it now or, after one of the last second,
 * a little later and then of the newest.
 */
void xbf_size_changed(struct xbf_dev *x)
{
	if (get_capacity(x->disk) == x->info.sectors)
		return;
	if (size_due(x)) {
		x->size_told = jiffies;
		set_capacity_and_notify(x->disk, x->info.sectors);
		return;
	}
	set_capacity(x->disk, x->info.sectors);
	size_later(x);
}

static void tell_size(struct xbf_dev *x)
{
	char resize[] = "RESIZE=1";
	char *env[2];

	mutex_lock(&x->lock);
	if (x->disk && !size_due(x)) {
		size_later(x);
	} else if (x->disk && x->added) {
		x->size_told = jiffies;
		env[0] = resize;
		env[1] = NULL;
		kobject_uevent_env(&disk_to_dev(x->disk)->kobj, KOBJ_CHANGE,
				   env);
	}
	mutex_unlock(&x->lock);
}

/** xbf_life_work() - what may wait for I/O, one thing after the other. */
void xbf_life_work(struct work_struct *work)
{
	struct xbf_dev *x = container_of(to_delayed_work(work), struct xbf_dev,
					 life);

	if (test_and_clear_bit(XBF_TODO_ADD, &x->todo))
		make_visible(x);
	if (test_and_clear_bit(XBF_TODO_LIMITS, &x->todo)) {
		mutex_lock(&x->lock);
		if (x->disk)
			xbf_disk_limits(x);
		mutex_unlock(&x->lock);
	}
	if (test_and_clear_bit(XBF_TODO_SIZE, &x->todo))
		tell_size(x);
	if (!test_and_clear_bit(XBF_TODO_CLOSE, &x->todo) ||
	    x->state == XenbusStateClosed)
		return;
	if (!close_begin(x))
		return;
	xbf_make_invisible(x);
	close_end(x);
}

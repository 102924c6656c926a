// SPDX-License-Identifier: GPL-2.0
/*
 * The fake's world: its threads, scripts of failures, counters and verdicts.
 *
 * Nothing here knows what is delivered or counted; that is in fake_store.c,
 * fake_bus.c, fake_grant.c and fake_event.c.  Suites call the functions of
 * fake_hyp.h in process context.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "fake_int.h"

/* fake_run() gives up after this long. */
#define RUN_LIMIT	(5 * HZ)

struct fake_world *fake_now;

/* ------------------------------------------------------------------ */
/* Blame, scripts, counters                                            */
/* ------------------------------------------------------------------ */

void fake_blame(struct fake_world *w, const char *fmt, ...)
{
	unsigned long flags;
	va_list args;

	va_start(args, fmt);
	spin_lock_irqsave(&w->lock, flags);
	if (!w->blamed++)
		vsnprintf(w->first_blame, sizeof(w->first_blame), fmt, args);
	spin_unlock_irqrestore(&w->lock, flags);
	va_end(args);
}

unsigned int fake_blamed(struct fake_world *w)
{
	unsigned int n = w->blamed;

	w->blamed = 0;
	return n;
}

static void blame_report(struct fake_world *w)
{
	if (w->blamed)
		KUNIT_FAIL(w->test, "%u misuses of the seam, first: %s",
			   w->blamed, w->first_blame);
	w->blamed = 0;
}

/* With w->lock held. */
static int script_step(struct fake_script *s)
{
	if (!s->count)
		return 0;
	if (s->skip) {
		s->skip--;
		return 0;
	}
	if (s->count != FAKE_ALL)
		s->count--;
	return s->err;
}

int fake_call(struct fake_world *w, enum fake_call call)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&w->lock, flags);
	w->activity++;
	w->calls[call]++;
	err = script_step(&w->script[call]);
	spin_unlock_irqrestore(&w->lock, flags);
	return err;
}

int fake_op(struct fake_world *w, enum fake_call call)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&w->lock, flags);
	w->ops[call]++;
	err = script_step(&w->op_script[call]);
	spin_unlock_irqrestore(&w->lock, flags);
	return err;
}

static void script_set(struct fake_world *w, struct fake_script *s,
		       unsigned int nth, unsigned int count, int err)
{
	unsigned long flags;

	spin_lock_irqsave(&w->lock, flags);
	*s = (struct fake_script) {
		.skip = nth ? nth - 1 : 0,
		.count = count,
		.err = err,
	};
	spin_unlock_irqrestore(&w->lock, flags);
}

void fake_fail(struct fake_world *w, enum fake_call call, unsigned int nth,
	       unsigned int count, int err)
{
	script_set(w, &w->script[call], nth, count, err);
}

void fake_fail_op(struct fake_world *w, enum fake_call call, unsigned int nth,
		  unsigned int count, int err)
{
	script_set(w, &w->op_script[call], nth, count, err);
}

u64 fake_calls(struct fake_world *w, enum fake_call call)
{
	return w->calls[call];
}

u64 fake_ops(struct fake_world *w, enum fake_call call)
{
	return w->ops[call];
}

struct fake_use fake_use(struct fake_world *w)
{
	struct fake_use u = {
		.rings = w->rings,
		.watches = w->store_watches,
		.leaked = w->leaked,
	};
	unsigned long flags;
	unsigned int i;

	fake_grant_sweep(w);
	spin_lock_irqsave(&w->lock, flags);
	fake_grant_count(w, &u);
	for (i = 1; i < FAKE_PORTS; i++)
		u.ports += w->port[i].e ? 1 : 0;
	spin_unlock_irqrestore(&w->lock, flags);
	return u;
}

void fake_check_clean(struct fake_world *w)
{
	struct fake_use u = fake_use(w);

	KUNIT_EXPECT_EQ_MSG(w->test, u.refs, 0, "grant references left");
	KUNIT_EXPECT_EQ_MSG(w->test, u.grants, 0, "grants left");
	KUNIT_EXPECT_EQ_MSG(w->test, u.maps, 0, "mappings left");
	KUNIT_EXPECT_EQ_MSG(w->test, u.rings, 0, "rings left");
	KUNIT_EXPECT_EQ_MSG(w->test, u.pages, 0, "pages left");
	KUNIT_EXPECT_EQ_MSG(w->test, u.ports, 0, "event channels left");
	KUNIT_EXPECT_EQ_MSG(w->test, u.watches, 0, "watches left");
	KUNIT_EXPECT_EQ_MSG(w->test, u.abandoned, 0, "abandoned grants left");
	KUNIT_EXPECT_EQ_MSG(w->test, u.leaked, 0, "pages leaked");
	blame_report(w);
}

/* ------------------------------------------------------------------ */
/* Threads                                                             */
/* ------------------------------------------------------------------ */

static void watch_deliver(struct fake_world *w)
{
	struct fake_watch *fw;

	mutex_lock(&w->watch_mutex);
	fw = fake_watch_next(w);
	if (fw)
		fw->fn(fw);
	w->watch_busy = false;
	mutex_unlock(&w->watch_mutex);
}

void fake_watch_kick(struct fake_world *w)
{
	WRITE_ONCE(w->watch_kick, true);
	wake_up(&w->watch_wq);
}

static int watch_thread(void *arg)
{
	struct fake_world *w = arg;

	while (!kthread_should_stop()) {
		wait_event_interruptible(w->watch_wq, kthread_should_stop() ||
					 READ_ONCE(w->watch_kick));
		WRITE_ONCE(w->watch_kick, false);
		while (fake_watch_waits(w))
			watch_deliver(w);
	}
	return 0;
}

static int event_thread(void *arg)
{
	struct fake_world *w = arg;

	while (!kthread_should_stop()) {
		/* The timeout is for delayed events. */
		wait_event_interruptible_timeout(w->event_wq,
						 kthread_should_stop() ||
						 fake_event_waits(w), 1);
		while (!kthread_should_stop() && fake_event_deliver(w))
			cond_resched();
	}
	return 0;
}

static bool busy(struct fake_world *w)
{
	return fake_watch_waits(w) || READ_ONCE(w->watch_busy) ||
	       fake_event_waits(w);
}

bool fake_run(struct fake_world *w)
{
	unsigned long end = jiffies + RUN_LIMIT;
	unsigned int calm = 0;
	u64 seen = READ_ONCE(w->activity);

	while (calm < 2 && time_before(jiffies, end)) {
		schedule_timeout_uninterruptible(1);
		calm = !busy(w) && seen == READ_ONCE(w->activity) ? calm + 1 : 0;
		seen = READ_ONCE(w->activity);
	}
	fake_grant_sweep(w);
	blame_report(w);
	return calm >= 2;
}

bool fake_until(struct fake_world *w, bool (*done)(void *arg), void *arg,
		unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	while (!done(arg)) {
		if (time_after(jiffies, end))
			return false;
		schedule_timeout_uninterruptible(1);
	}
	blame_report(w);
	return true;
}

void fake_hold_events(struct fake_world *w, bool on)
{
	WRITE_ONCE(w->hold_events, on);
	wake_up(&w->event_wq);
}

void fake_hold_watches(struct fake_world *w, bool on)
{
	WRITE_ONCE(w->hold_watches, on);
	fake_watch_kick(w);
}

void fake_delay_events(struct fake_world *w, unsigned int ms)
{
	WRITE_ONCE(w->event_delay, ms);
}

/* ------------------------------------------------------------------ */
/* Beginning and end                                                   */
/* ------------------------------------------------------------------ */

static void world_end(void *arg)
{
	struct fake_world *w = arg;
	struct fake_pair *p, *next;

	/* What a broken test left must not hang here. */
	memset(w->script, 0, sizeof(w->script));
	memset(w->op_script, 0, sizeof(w->op_script));
	fake_keep(w, false);
	fake_hold_events(w, false);
	fake_hold_watches(w, false);
	list_for_each_entry(p, &w->pairs, list) {
		fake_unbind(&p->dev[XPV_FRONT]);
		fake_unbind(&p->dev[XPV_BACK]);
	}
	if (!IS_ERR_OR_NULL(w->watch_task))
		kthread_stop(w->watch_task);
	if (!IS_ERR_OR_NULL(w->event_task))
		kthread_stop(w->event_task);
	list_for_each_entry_safe(p, next, &w->pairs, list)
		fake_pair_free(p);
	fake_grant_free(w);
	fake_store_free(w);
	blame_report(w);
	fake_now = NULL;
	kvfree(w);
}

struct fake_world *fake_world_create(struct kunit *test)
{
	struct fake_world *w;

	KUNIT_ASSERT_NULL_MSG(test, fake_now, "one world at a time");
	w = kvzalloc(sizeof(*w), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w);
	w->test = test;
	mutex_init(&w->watch_mutex);
	mutex_init(&w->store_mutex);
	spin_lock_init(&w->lock);
	init_waitqueue_head(&w->watch_wq);
	init_waitqueue_head(&w->event_wq);
	INIT_LIST_HEAD(&w->nodes);
	INIT_LIST_HEAD(&w->watches);
	INIT_LIST_HEAD(&w->pairs);
	fake_now = w;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, world_end, w), 0);
	KUNIT_ASSERT_EQ(test, fake_grant_setup(w), 0);
	w->watch_task = kthread_run(watch_thread, w, "fake-xenwatch");
	KUNIT_ASSERT_FALSE(test, IS_ERR(w->watch_task));
	w->event_task = kthread_run(event_thread, w, "fake-events");
	KUNIT_ASSERT_FALSE(test, IS_ERR(w->event_task));
	return w;
}

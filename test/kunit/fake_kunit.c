// SPDX-License-Identifier: GPL-2.0
/*
 * Suite xpv_fake: the fake hypervisor's store, event channels and bus.
 *
 * The pair suites take it for granted that the fake behaves like the real one
 * and notices misuse; here that is shown.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <xpv/event.h>
#include "fake_hyp.h"

struct ctx {
	struct fake_world *w;
	struct fake_pair *p;
	struct xpv_dev *front;
	struct xpv_dev *back;
};

static int fake_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	test->priv = c;
	c->w = fake_world_create(test);
	c->p = fake_pair_create(c->w, "vif", 0);
	c->front = fake_end(c->p, XPV_FRONT);
	c->back = fake_end(c->p, XPV_BACK);
	return 0;
}

/* ------------------------------------------------------------------ */
/* Store                                                               */
/* ------------------------------------------------------------------ */

static void store_write_then_read(struct kunit *test)
{
	static const struct xpv_kv kv[] = {
		{ "a", "1" }, { "queue-0/b", "two" }, { "absent", NULL },
	};
	struct ctx *c = test->priv;
	char *text;

	KUNIT_EXPECT_EQ(test, hyp_store_write(c->front, kv, 3), 0);
	text = hyp_store_read(c->back, XPV_PEER, "queue-0/b");
	KUNIT_ASSERT_FALSE(test, IS_ERR(text));
	KUNIT_EXPECT_STREQ(test, text, "two");
	kfree(text);
	KUNIT_EXPECT_EQ(test, fake_get_num(c->p, XPV_FRONT, "a", -1), 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR(hyp_store_read(c->front, XPV_OWN, "no")),
			-ENOENT);
}

static void store_write_retries_conflicts(struct kunit *test)
{
	static const struct xpv_kv kv[] = { { "a", "1" } };
	struct ctx *c = test->priv;

	fake_fail(c->w, FAKE_STORE_WRITE, 1, 99, -EAGAIN);
	KUNIT_EXPECT_EQ(test, hyp_store_write(c->front, kv, 1), 0);
	fake_fail(c->w, FAKE_STORE_WRITE, 1, FAKE_ALL, -EAGAIN);
	KUNIT_EXPECT_EQ(test, hyp_store_write(c->front, kv, 1), -EAGAIN);
	fake_fail(c->w, FAKE_STORE_WRITE, 1, 1, -ENOSPC);
	KUNIT_EXPECT_EQ(test, hyp_store_write(c->front, kv, 1), -ENOSPC);
}

static void store_write_after_node_is_gone(struct kunit *test)
{
	static const struct xpv_kv kv[] = { { "a", "1" } };
	struct ctx *c = test->priv;

	fake_vanish(c->p, XPV_FRONT);
	KUNIT_EXPECT_EQ(test, hyp_store_write(c->front, kv, 1), -ENODEV);
	KUNIT_EXPECT_NULL(test, fake_get(c->p, XPV_FRONT, "a"));
	hyp_state_set(c->front, XenbusStateConnected);
	KUNIT_EXPECT_EQ(test, fake_state(c->p, XPV_FRONT), XenbusStateUnknown);
}

static void state_set_skips_what_it_wrote_last(struct kunit *test)
{
	struct ctx *c = test->priv;

	hyp_state_set(c->front, XenbusStateConnected);
	fake_state_set(c->p, XPV_FRONT, XenbusStateClosing);
	hyp_state_set(c->front, XenbusStateConnected);
	KUNIT_EXPECT_EQ(test, hyp_state_get(c->front, XPV_OWN),
			XenbusStateClosing);
	KUNIT_EXPECT_EQ(test, hyp_state_get(c->back, XPV_PEER),
			XenbusStateClosing);
}

/* A watch that counts its calls. */
struct counting {
	struct xpv_watch w;
	unsigned int calls;
};

static void count_call(struct xpv_watch *w)
{
	container_of(w, struct counting, w)->calls++;
}

static void watch_fires_for_key_and_what_is_below(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct counting k = { .w.fn = count_call };

	KUNIT_ASSERT_EQ(test, hyp_store_watch(c->back, XPV_PEER, "rate", &k.w), 0);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, k.calls, 1);
	fake_set(c->p, XPV_FRONT, "rate", "1");
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, k.calls, 2);
	fake_set(c->p, XPV_FRONT, "rate/below", "1");
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, k.calls, 3);
	fake_set(c->p, XPV_FRONT, "rate2", "1");
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, k.calls, 3);
	fake_vanish(c->p, XPV_FRONT);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, k.calls, 4);
	hyp_store_unwatch(&k.w);
	hyp_store_unwatch(&k.w);
	fake_check_clean(c->w);
}

static void watch_merges_calls_that_wait(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct counting k = { .w.fn = count_call };
	unsigned int i;

	KUNIT_ASSERT_EQ(test, hyp_store_watch(c->back, XPV_OWN, "x", &k.w), 0);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	fake_hold_watches(c->w, true);
	for (i = 0; i < 10; i++)
		fake_set(c->p, XPV_BACK, "x", "%u", i);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, k.calls, 1);
	fake_hold_watches(c->w, false);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, k.calls, 2);
	hyp_store_unwatch(&k.w);
}

/* ------------------------------------------------------------------ */
/* Events                                                              */
/* ------------------------------------------------------------------ */

/* An event channel end that counts, and ends the event when told to. */
struct ear {
	struct xpv_evt e;
	unsigned int heard;
	bool in_irq;
	bool end_it;
};

static void ear_fn(void *arg)
{
	struct ear *ear = arg;

	ear->heard++;
	ear->in_irq = in_hardirq();
	xpv_evt_got(&ear->e);
	if (ear->end_it)
		xpv_evt_done(&ear->e);
}

static void ears_open(struct kunit *test, struct ear *f, struct ear *b)
{
	struct ctx *c = test->priv;

	*f = (struct ear) { .e.fn = ear_fn, .e.arg = f, .end_it = true };
	*b = (struct ear) { .e.fn = ear_fn, .e.arg = b, .end_it = true };
	KUNIT_ASSERT_EQ(test, hyp_evt_listen(c->front, &f->e, "f"), 0);
	KUNIT_ASSERT_EQ(test, hyp_evt_bind(c->back, &b->e, f->e.port, "b"), 0);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	/* Binding alone makes one. */
	KUNIT_EXPECT_EQ(test, b->heard, 1);
	KUNIT_EXPECT_EQ(test, f->heard, 0);
	b->heard = 0;
}

static void ears_close(struct kunit *test, struct ear *f, struct ear *b)
{
	struct ctx *c = test->priv;

	hyp_evt_close(&b->e);
	hyp_evt_close(&f->e);
	hyp_evt_close(&f->e);
	fake_check_clean(c->w);
}

static void event_reaches_the_other_end(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct ear f, b;

	ears_open(test, &f, &b);
	hyp_evt_notify(&f.e);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, b.heard, 1);
	KUNIT_EXPECT_TRUE(test, b.in_irq);
	hyp_evt_notify(&b.e);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, f.heard, 1);
	ears_close(test, &f, &b);
}

static void event_waits_for_the_eoi(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct ear f, b;

	ears_open(test, &f, &b);
	b.end_it = false;
	hyp_evt_notify(&f.e);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	hyp_evt_notify(&f.e);
	hyp_evt_notify(&f.e);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, b.heard, 1);
	b.end_it = true;
	xpv_evt_done(&b.e);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, b.heard, 2);
	ears_close(test, &f, &b);
}

static void event_lost_held_delayed(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct ear f, b;

	ears_open(test, &f, &b);
	fake_fail(c->w, FAKE_NOTIFY, 1, 1, -EIO);
	hyp_evt_notify(&f.e);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, b.heard, 0);
	fake_hold_events(c->w, true);
	hyp_evt_notify(&f.e);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, b.heard, 0);
	fake_hold_events(c->w, false);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, b.heard, 1);
	fake_delay_events(c->w, 200);
	hyp_evt_notify(&f.e);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, b.heard, 1);
	msleep(300);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, b.heard, 2);
	ears_close(test, &f, &b);
}

static void event_misuse_is_blamed(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct ear f, b;

	ears_open(test, &f, &b);
	hyp_evt_eoi(&b.e, false);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 1);
	hyp_evt_close(&f.e);
	hyp_evt_notify(&f.e);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 1);
	/* The peer closed: nobody hears, nobody is to blame. */
	hyp_evt_notify(&b.e);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->w), 0);
	hyp_evt_close(&b.e);
	fake_check_clean(c->w);
}

static void event_bind_to_a_wrong_port(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct ear f, b;

	ears_open(test, &f, &b);
	KUNIT_EXPECT_EQ(test, hyp_evt_bind(c->back, &(struct xpv_evt) {},
					   f.e.port, "x"), -EINVAL);
	KUNIT_EXPECT_EQ(test, hyp_evt_bind(c->back, &(struct xpv_evt) {}, 0,
					   "x"), -EINVAL);
	KUNIT_EXPECT_EQ(test, hyp_evt_bind(c->back, &(struct xpv_evt) {},
					   ~0U, "x"), -EINVAL);
	ears_close(test, &f, &b);
}

/* ------------------------------------------------------------------ */
/* Bus                                                                 */
/* ------------------------------------------------------------------ */

/* A backend driver that writes down what the bus asks of it. */
static struct {
	unsigned int probed, removed, changed, resumed;
	enum xenbus_state peer;
	bool vanished;
	int probe_err;
	enum xenbus_state close_at;	/* peer state at which it closes */
} seen;

static int probe_probe(struct xpv_dev *d)
{
	seen.probed++;
	if (!seen.probe_err)
		hyp_state_set(d, XenbusStateInitWait);
	return seen.probe_err;
}

static void probe_remove(struct xpv_dev *d)
{
	seen.removed++;
	seen.vanished = d->vanished;
}

static void probe_changed(struct xpv_dev *d, enum xenbus_state peer)
{
	seen.changed++;
	seen.peer = peer;
	if (seen.close_at && peer == seen.close_at)
		hyp_closed(d);
}

static int probe_resume(struct xpv_dev *d)
{
	seen.resumed++;
	return 0;
}

static struct xpv_driver probe_back = {
	.name = "probe-back", .type = "probe", .end = XPV_BACK,
	.probe = probe_probe, .remove = probe_remove,
	.peer_changed = probe_changed,
};

static struct xpv_driver probe_front = {
	.name = "probe-front", .type = "probe", .end = XPV_FRONT,
	.probe = probe_probe, .remove = probe_remove,
	.peer_changed = probe_changed, .resume = probe_resume,
};

static void probe_end(void *unused)
{
	hyp_driver_unregister(&probe_back);
	hyp_driver_unregister(&probe_front);
}

/* A pair of the drivers above, nothing bound yet. */
static struct fake_pair *probe_pair(struct kunit *test)
{
	struct ctx *c = test->priv;

	memset(&seen, 0, sizeof(seen));
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, probe_end, NULL), 0);
	KUNIT_ASSERT_EQ(test, hyp_driver_register(&probe_back, NULL), 0);
	KUNIT_ASSERT_EQ(test, hyp_driver_register(&probe_front, NULL), 0);
	return fake_pair_create(c->w, "probe", 3);
}

static void bus_tells_the_peer_state_once_and_on_change(struct kunit *test)
{
	struct fake_pair *p = probe_pair(test);
	struct ctx *c = test->priv;

	KUNIT_ASSERT_EQ(test, fake_probe(p, XPV_BACK), 0);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, seen.changed, 1);
	KUNIT_EXPECT_EQ(test, seen.peer, XenbusStateInitialising);
	fake_state_set(p, XPV_FRONT, XenbusStateConnected);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, seen.changed, 2);
	KUNIT_EXPECT_EQ(test, seen.peer, XenbusStateConnected);
	fake_remove(p, XPV_BACK);
	fake_state_set(p, XPV_FRONT, XenbusStateClosing);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, seen.changed, 2);
	KUNIT_EXPECT_EQ(test, seen.removed, 1);
	KUNIT_EXPECT_EQ(test, fake_state(p, XPV_BACK), XenbusStateClosed);
}

static void bus_probes_new_devices_only_when_initialising(struct kunit *test)
{
	struct fake_pair *p = probe_pair(test);

	fake_state_set(p, XPV_BACK, XenbusStateClosed);
	KUNIT_EXPECT_EQ(test, fake_probe(p, XPV_BACK), -EPERM);
	fake_state_set(p, XPV_BACK, XenbusStateInitialising);
	seen.probe_err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, fake_probe(p, XPV_BACK), -ENOMEM);
	KUNIT_EXPECT_FALSE(test, fake_bound(p, XPV_BACK));
	fake_remove(p, XPV_BACK);
	KUNIT_EXPECT_EQ(test, seen.removed, 0);
}

static void bus_rebinds_a_backend_that_allows_it(struct kunit *test)
{
	struct fake_pair *p = probe_pair(test);

	probe_back.allow_rebind = true;
	KUNIT_ASSERT_EQ(test, fake_probe(p, XPV_BACK), 0);
	fake_remove(p, XPV_BACK);
	probe_back.allow_rebind = false;
	KUNIT_EXPECT_EQ(test, fake_state(p, XPV_BACK), XenbusStateInitWait);
	KUNIT_EXPECT_EQ(test, fake_probe(p, XPV_BACK), 0);
}

static void bus_drops_a_closed_backend_that_is_offline(struct kunit *test)
{
	struct fake_pair *p = probe_pair(test);
	struct ctx *c = test->priv;

	seen.close_at = XenbusStateClosed;
	KUNIT_ASSERT_EQ(test, fake_probe(p, XPV_BACK), 0);
	fake_state_set(p, XPV_FRONT, XenbusStateClosed);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, fake_state(p, XPV_BACK), XenbusStateClosed);
	KUNIT_EXPECT_TRUE(test, fake_bound(p, XPV_BACK));
	/* Nothing to do for the driver; the toolstack waits for Closed. */
	fake_detach(p);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_FALSE(test, fake_bound(p, XPV_BACK));
	KUNIT_EXPECT_EQ(test, fake_state(p, XPV_BACK), XenbusStateClosed);
	KUNIT_EXPECT_EQ(test, seen.removed, 1);
}

static void bus_drops_a_backend_whose_peer_is_gone(struct kunit *test)
{
	struct fake_pair *p = probe_pair(test);
	struct ctx *c = test->priv;

	KUNIT_ASSERT_EQ(test, fake_probe(p, XPV_BACK), 0);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	fake_vanish(p, XPV_FRONT);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, seen.peer, XenbusStateUnknown);
	KUNIT_EXPECT_TRUE(test, fake_bound(p, XPV_BACK));
	hyp_closed(fake_end(p, XPV_BACK));
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_FALSE(test, fake_bound(p, XPV_BACK));
}

static void bus_removes_a_device_whose_node_is_gone(struct kunit *test)
{
	struct fake_pair *p = probe_pair(test);
	struct ctx *c = test->priv;

	KUNIT_ASSERT_EQ(test, fake_probe(p, XPV_FRONT), 0);
	fake_vanish(p, XPV_FRONT);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_FALSE(test, fake_bound(p, XPV_FRONT));
	KUNIT_EXPECT_TRUE(test, seen.vanished);
	KUNIT_EXPECT_EQ(test, fake_state(p, XPV_FRONT), XenbusStateUnknown);
}

static void bus_resumes_into_a_fresh_store(struct kunit *test)
{
	static const struct xpv_kv kv[] = { { "ring-ref", "8" } };
	struct fake_pair *p = probe_pair(test);
	struct ctx *c = test->priv;

	KUNIT_ASSERT_EQ(test, fake_probe(p, XPV_FRONT), 0);
	KUNIT_ASSERT_EQ(test, fake_probe(p, XPV_BACK), 0);
	KUNIT_EXPECT_EQ(test, hyp_store_write(fake_end(p, XPV_FRONT), kv, 1), 0);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, fake_resume(p), 0);
	KUNIT_EXPECT_TRUE(test, fake_run(c->w));
	KUNIT_EXPECT_EQ(test, seen.resumed, 1);
	KUNIT_EXPECT_EQ(test, seen.probed, 3);
	KUNIT_EXPECT_EQ(test, seen.removed, 1);
	KUNIT_EXPECT_NULL(test, fake_get(p, XPV_FRONT, "ring-ref"));
	KUNIT_EXPECT_NOT_NULL(test, fake_get(p, XPV_FRONT, "backend"));
}

static struct kunit_case fake_cases[] = {
	KUNIT_CASE(store_write_then_read),
	KUNIT_CASE(store_write_retries_conflicts),
	KUNIT_CASE(store_write_after_node_is_gone),
	KUNIT_CASE(state_set_skips_what_it_wrote_last),
	KUNIT_CASE(watch_fires_for_key_and_what_is_below),
	KUNIT_CASE(watch_merges_calls_that_wait),
	KUNIT_CASE(event_reaches_the_other_end),
	KUNIT_CASE(event_waits_for_the_eoi),
	KUNIT_CASE(event_lost_held_delayed),
	KUNIT_CASE(event_misuse_is_blamed),
	KUNIT_CASE(event_bind_to_a_wrong_port),
	KUNIT_CASE(bus_tells_the_peer_state_once_and_on_change),
	KUNIT_CASE(bus_probes_new_devices_only_when_initialising),
	KUNIT_CASE(bus_rebinds_a_backend_that_allows_it),
	KUNIT_CASE(bus_drops_a_closed_backend_that_is_offline),
	KUNIT_CASE(bus_drops_a_backend_whose_peer_is_gone),
	KUNIT_CASE(bus_removes_a_device_whose_node_is_gone),
	KUNIT_CASE(bus_resumes_into_a_fresh_store),
	{}
};

static struct kunit_suite fake_suite = {
	.name = "xpv_fake",
	.init = fake_init,
	.test_cases = fake_cases,
};

kunit_test_suite(fake_suite);

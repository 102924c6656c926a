// SPDX-License-Identifier: GPL-2.0
/*
 * xpv-blkback: the bus end of a block backend, and the module.
 *
 * Decides when to offer, connect, disconnect and leave.  The bus calls probe,
 * peer_changed and the watch in the one xenwatch thread, which serves all
 * devices of this host: they only queue the device's work item.  The work item
 * looks at both states as they are then and does what the table of
 * negotiate.h says, so several changes in a row may be taken as one.  Waiting
 * for slow storage happens there, and nobody else waits with it.
 */
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "blkback.h"

/*
 * Capacity and idle memory are looked at this often, when the processor is awake
 * anyway.
 */
#define POLL	HZ

/* States are followed this many steps before the work item queues itself. */
#define FOLLOW_MAX	4

unsigned int xbb_max_queues;
module_param_named(max_queues, xbb_max_queues, uint, 0444);
MODULE_PARM_DESC(max_queues, "Most rings of a device, 1 to 64 (default: online processors)");

unsigned int xbb_max_order = 4;
module_param_named(max_ring_page_order, xbb_max_order, uint, 0444);
MODULE_PARM_DESC(max_ring_page_order, "Most pages of a ring, as a power of two, 0 to 4 (default 4)");

unsigned int xbb_max_buffer_pages = 1024;
module_param_named(max_buffer_pages, xbb_max_buffer_pages, uint, 0644);
MODULE_PARM_DESC(max_buffer_pages, "Unused private pages a busy ring keeps, in 4 KiB pages, 0 to 4096 (default 1024)");

unsigned int xbb_max_pgrants = 1056;
module_param_named(max_persistent_grants, xbb_max_pgrants, uint, 0644);
MODULE_PARM_DESC(max_persistent_grants, "Grants of one ring that stay mapped, in pages (default 1056)");

unsigned int xbb_pgrant_seconds = 60;
module_param_named(persistent_grant_unused_seconds, xbb_pgrant_seconds, uint, 0644);
MODULE_PARM_DESC(persistent_grant_unused_seconds, "Seconds after which an unused persistent grant is unmapped (default 60)");

bool xbb_feature_persistent = true;
module_param_named(feature_persistent, xbb_feature_persistent, bool, 0644);
MODULE_PARM_DESC(feature_persistent, "Offer persistent grants to new connections (default Y)");

struct xpv_hold_conf xbb_hold = XPV_HOLD_DISK(XPV_HOLD_USECS_DEFAULT);
module_param_named(hold_usecs, xbb_hold.usecs, ushort, 0644);
MODULE_PARM_DESC(hold_usecs,
		 "Longest time under load before requests are looked at, 0 to 250 us, 0 = at once (default 100)");
module_param_named(hold_entries, xbb_hold.entries, ushort, 0644);
MODULE_PARM_DESC(hold_entries, "Most requests that may wait so, 1 to 128, up to 64 while adaptive (default 64)");
module_param_named(hold_adaptive, xbb_hold.adaptive, bool, 0644);
MODULE_PARM_DESC(hold_adaptive, "Both follow the load up to these limits (default Y)");

unsigned int xbb_poll_usecs = 100;
module_param_named(poll_usecs, xbb_poll_usecs, uint, 0644);
MODULE_PARM_DESC(poll_usecs,
		 "Longest look at a busy ring before its thread sleeps, 0 to 1000 us (default 100)");

static struct workqueue_struct *xbb_wq;

void xbb_queue(struct xbb_dev *b)
{
	if (!test_bit(XBB_GONE, &b->flags))
		queue_work(xbb_wq, &b->work);
}

/* Also look at the store: keys and states. */
static void look(struct xbb_dev *b)
{
	set_bit(XBB_LOOK, &b->flags);
	xbb_queue(b);
}

/* ------------------------------------------------------------------ */
/* States                                                              */
/* ------------------------------------------------------------------ */

static void set_state(struct xbb_dev *b, enum xenbus_state state)
{
	b->state = state;
	hyp_state_set(b->d, state);
}

static void fail(struct xbb_dev *b, int err, const char *what)
{
	xbb_disconnect(b);
	hyp_fatal(b->d, err, "%s", what);
	b->state = XenbusStateClosing;
}

static void offer(struct xbb_dev *b)
{
	xbb_disconnect(b);
	xbb_disk_update(b, false);
	if (xbb_offer(b))
		fail(b, -EIO, "offering features");
	else
		set_state(b, XenbusStateInitWait);
}

static void connect(struct xbb_dev *b)
{
	int err;

	/* No disk yet, or no medium: the watch brings us back. */
	if (!b->disk.h.bdev)
		return;
	/* Detached by the toolstack before it ever connected. */
	if (hyp_state_get(b->d, XPV_OWN) == XenbusStateClosing)
		return;
	err = xbb_connect(b);
	if (err)
		fail(b, err, "connecting");
	else
		set_state(b, XenbusStateConnected);
}

static void leave(struct xbb_dev *b)
{
	xbb_disconnect(b);
	/* Closed means that the hotplug script may take the disk away. */
	xbb_disk_close(b);
	b->state = XenbusStateClosed;
	hyp_closed(b->d);
}

/* One step. Return: true when another one may be due. */
static bool follow(struct xbb_dev *b)
{
	switch (xpv_back_next(b->state, hyp_state_get(b->d, XPV_PEER))) {
	case XPV_BACK_OFFER:
		offer(b);
		return true;
	case XPV_BACK_CONNECT:
		connect(b);
		return false;
	case XPV_BACK_DISCONNECT:
		xbb_disconnect(b);
		set_state(b, XenbusStateClosing);
		return false;
	case XPV_BACK_CLOSE:
	case XPV_BACK_REMOVE:
		leave(b);
		return false;
	case XPV_BACK_RECONFIGURE:
	case XPV_BACK_NOTHING:
		break;
	}
	return false;
}

static void look_at_store(struct xbb_dev *b)
{
	unsigned int i;

	if (b->state == XenbusStateInitWait || b->state == XenbusStateConnected)
		xbb_disk_update(b, b->ring);
	for (i = 0; i < FOLLOW_MAX && follow(b); i++)
		;
	if (i == FOLLOW_MAX)
		look(b);
}

static void look_at_rings(struct xbb_dev *b)
{
	unsigned int i;

	xbb_disk_resized(b);
	if (test_and_clear_bit(XBB_TICK, &b->flags))
		for (i = 0; i < b->nrings; i++)
			xbb_ring_tick(b->ring[i]);
	if (!test_bit(XBB_GONE, &b->flags))
		queue_delayed_work(xbb_wq, &b->poll, POLL);
}

static void work_fn(struct work_struct *work)
{
	struct xbb_dev *b = container_of(work, struct xbb_dev, work);

	if (test_and_clear_bit(XBB_FAULT, &b->flags) && b->ring)
		fail(b, -EPROTO, "the frontend's ring index makes no sense");
	if (test_and_clear_bit(XBB_LOOK, &b->flags))
		look_at_store(b);
	if (b->ring)
		look_at_rings(b);
}

static void poll_fn(struct work_struct *work)
{
	struct xbb_dev *b = container_of(to_delayed_work(work), struct xbb_dev,
					 poll);

	set_bit(XBB_TICK, &b->flags);
	xbb_queue(b);
}

/* ------------------------------------------------------------------ */
/* Bus                                                                 */
/* ------------------------------------------------------------------ */

static void disk_changed(struct xpv_watch *w)
{
	look(container_of(w, struct xbb_dev, watch));
}

static void peer_changed(struct xpv_dev *d, enum xenbus_state peer)
{
	look(d->priv);
}

static void remove(struct xpv_dev *d)
{
	struct xbb_dev *b = d->priv;

	set_bit(XBB_GONE, &b->flags);
	hyp_store_unwatch(&b->watch);
	/* Either may queue the other once more; none does after XBB_GONE. */
	cancel_work_sync(&b->work);
	cancel_delayed_work_sync(&b->poll);
	cancel_work_sync(&b->work);
	xbb_disconnect(b);
	xbb_disk_close(b);
	xbb_sysfs_remove(b);
	d->priv = NULL;
	kfree(b);
}

static int probe(struct xpv_dev *d)
{
	struct xbb_dev *b = kzalloc(sizeof(*b), GFP_KERNEL);
	int err;

	if (!b)
		return -ENOMEM;
	b->d = d;
	b->state = XenbusStateInitialising;
	b->watch.fn = disk_changed;
	INIT_WORK(&b->work, work_fn);
	INIT_DEFERRABLE_WORK(&b->poll, poll_fn);
	spin_lock_init(&b->stats_lock);
	xpv_faults_init(&b->faults);
	d->priv = b;

	err = xbb_sysfs_add(b) ?: xbb_offer(b);
	if (err)
		goto out;
	set_state(b, XenbusStateInitWait);
	/* Called once soon, which looks at the frontend, too. */
	err = hyp_store_watch(d, XPV_OWN, "physical-device", &b->watch);
	if (err) {
		hyp_error(d, err, "watching physical-device");
		goto out;
	}
	return 0;
out:
	remove(d);
	return err;
}

static const struct xpv_driver xbb_driver = {
	.name = "xpv-blkback",
	.type = "vbd",
	.end = XPV_BACK,
	.allow_rebind = true,
	.probe = probe,
	.remove = remove,
	.peer_changed = peer_changed,
};

/* Numbers out of their range are moved into it, and said so. */
static void check_param(const char *name, unsigned int *val, unsigned int min,
			unsigned int max)
{
	unsigned int want = *val;

	*val = clamp(want, min, max);
	if (*val != want)
		pr_warn("xpv-blkback: %s=%u is not within %u to %u, using %u\n",
			name, want, min, max, *val);
}

static int __init xbb_init(void)
{
	int err;

	if (!xbb_max_queues)
		xbb_max_queues = min(num_online_cpus(), 64U);
	check_param("max_queues", &xbb_max_queues, 1, 64);
	check_param("max_ring_page_order", &xbb_max_order, 0,
		    ilog2(XPV_RING_MAX_PAGES));
	check_param("max_buffer_pages", &xbb_max_buffer_pages, 0, XBB_POOL_MAX);

	xbb_wq = alloc_workqueue("xpv-blkback", WQ_UNBOUND, 0);
	if (!xbb_wq)
		return -ENOMEM;
	err = hyp_driver_register(&xbb_driver, THIS_MODULE);
	if (err)
		destroy_workqueue(xbb_wq);
	return err;
}
module_init(xbb_init);

static void __exit xbb_exit(void)
{
	hyp_driver_unregister(&xbb_driver);
	destroy_workqueue(xbb_wq);
}
module_exit(xbb_exit);

MODULE_DESCRIPTION("Xen block backend");
MODULE_LICENSE("GPL");
MODULE_ALIAS("xen-backend:vbd");
#ifdef XPV_VERSION
MODULE_VERSION(XPV_VERSION);
#endif
XPV_USES_CORE();

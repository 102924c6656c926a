// SPDX-License-Identifier: GPL-2.0
/*
 * A vbd as the bus sees it: probe, states, resume, remove, module parameters.
 *
 * Decides what a change of the backend's state leads to.  All but remove is
 * called from the xenwatch thread, which serves every device of the guest: it
 * must not wait, and leaves whatever may wait for I/O to life.c.
 */
#include <linux/delay.h>
#include <linux/major.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <xpv/compat.h>
#include "blkfront.h"

unsigned int xbf_max_segs = XBF_SEGS_MAX;
module_param_named(max_indirect_segments, xbf_max_segs, uint, 0444);
MODULE_PARM_DESC(max_indirect_segments,
		 "Most pages in one ring request, 11 to 256 (default 256)");

unsigned int xbf_max_queues;
module_param_named(max_queues, xbf_max_queues, uint, 0444);
MODULE_PARM_DESC(max_queues,
		 "Most rings of a disk, 1 to 8 (default 0: one per CPU, at most 4)");

unsigned int xbf_max_ring_order = XBF_RING_ORDER_MAX;
module_param_named(max_ring_page_order, xbf_max_ring_order, uint, 0444);
MODULE_PARM_DESC(max_ring_page_order,
		 "Largest ring size as a power of two of pages, 0 to 4 (default 4)");

bool xbf_persistent = true;
module_param_named(feature_persistent, xbf_persistent, bool, 0644);
MODULE_PARM_DESC(feature_persistent,
		 "Keep pages granted and copy, if the backend does; from the next connect on (default Y)");

struct xpv_hold_conf xbf_hold = XPV_HOLD_DISK(XPV_HOLD_USECS);
module_param_named(hold_usecs, xbf_hold.usecs, ushort, 0644);
MODULE_PARM_DESC(hold_usecs,
		 "Longest time under load before answers are looked at, 0 to 250 us, 0 = at once (default 250)");
module_param_named(hold_entries, xbf_hold.entries, ushort, 0644);
MODULE_PARM_DESC(hold_entries, "Most answers that may wait so, 1 to 128, up to 64 while adaptive (default 64)");
module_param_named(hold_adaptive, xbf_hold.adaptive, bool, 0644);
MODULE_PARM_DESC(hold_adaptive, "Both follow the load up to these limits (default Y)");

static bool trusted = true;
module_param(trusted, bool, 0644);
MODULE_PARM_DESC(trusted,
		 "Backends may see what shares a page with the data; for disks found from now on (default Y)");

/* How long remove lets a live backend finish, and then waits for it to unmap. */
#define DRAIN_TIME	(10 * HZ)
#define PART_TIME	HZ

struct workqueue_struct *xbf_workqueue;

/* ------------------------------------------------------------------ */
/* States                                                              */
/* ------------------------------------------------------------------ */

static void log_connected(struct xbf_dev *x)
{
	const struct xbf_info *i = &x->info;
	const struct xbf_limits *l = &x->lim;
	const char *flush = "none";

	if (l->flush_op)
		flush = l->flush_op == BLKIF_OP_WRITE_BARRIER ? "barrier" :
								"cache";
	dev_info(x->d->dev,
		 "%s: %llu sectors, blocks %u/%u%s, rings %u x %u, pages %u %s, flush %s, discard %s%s\n",
		 x->name.name, i->sectors, i->sector_size, i->physical,
		 i->flags & VDISK_READONLY ? " read-only" : "",
		 x->nr_rings, x->rings[0].front.size, l->segs,
		 l->copy ? (x->trusted ? "persistent" : "bounced") : "plain",
		 flush, l->discard ? "yes" : "no",
		 l->secure ? " secure" : "");
}

static void rings_live(struct xbf_dev *x)
{
	unsigned int i;

	for (i = 0; i < x->nr_rings; i++) {
		struct xbf_ring *r = &x->rings[i];

		spin_lock_irq(&r->lock);
		r->down = false;
		spin_unlock_irq(&r->lock);
	}
}

static int go_live(struct xbf_dev *x)
{
	struct xbf_info info;
	int err;

	err = xbf_info_read(x, &info);
	if (err)
		return err;
	xbf_limits_choose(&info, x->trusted, &x->lim);
	err = xbf_grants_setup(x, x->disk);
	if (err)
		return err;
	err = x->disk ? xbf_disk_update(x, &info) : xbf_disk_create(x, &info);
	if (err)
		return err;
	log_connected(x);
	rings_live(x);
	xbf_set_state(x, XenbusStateConnected);
	xbf_go(x);
	if (!x->added)
		xbf_todo(x, XBF_TODO_ADD, 0);
	return 0;
}

static void give_up(struct xbf_dev *x, int err, const char *what)
{
	hyp_fatal(x->d, err, "%s failed", what);
	x->state = XenbusStateClosing;
	xbf_fail_all(x);
	xbf_todo(x, XBF_TODO_CLOSE, 0);
}

static void refresh(struct xbf_dev *x)
{
	struct xbf_info info;

	/* Size and write protection change on the fly, nothing else does. */
	if (xbf_info_read(x, &info) || !x->disk)
		return;
	x->info.sectors = info.sectors;
	set_disk_ro(x->disk, info.flags & VDISK_READONLY);
	xbf_size_changed(x);
}

static void peer_changed(struct xpv_dev *d, enum xenbus_state peer)
{
	struct xbf_dev *x = d->priv;
	unsigned int noio;
	int err = 0;

	/* An allocation must not wait for a disk that waits for us. */
	noio = memalloc_noio_save();
	mutex_lock(&x->lock);
	xbf_let_go(x, peer);
	switch (xpv_front_next(x->state, peer)) {
	case XPV_FRONT_NOTHING:
		break;
	case XPV_FRONT_CONNECT:
		err = x->rings ? 0 : xbf_connect(x);
		if (err)
			give_up(x, err, "making and publishing rings");
		else
			xbf_set_state(x, XenbusStateInitialised);
		break;
	case XPV_FRONT_START:
		err = go_live(x);
		if (err)
			give_up(x, err, "connecting");
		break;
	case XPV_FRONT_REFRESH:
		refresh(x);
		break;
	case XPV_FRONT_CLOSE:
		x->answered = x->state == XenbusStateClosing;
		if (x->state == XenbusStateClosed)
			hyp_closed(d);
		else
			xbf_todo(x, XBF_TODO_CLOSE, 0);
		break;
	case XPV_FRONT_GONE:
		if (!x->dead)
			dev_warn(d->dev, "the backend is gone\n");
		xbf_fail_all(x);
		xbf_todo(x, XBF_TODO_CLOSE, 0);
		break;
	}
	mutex_unlock(&x->lock);
	memalloc_noio_restore(noio);
}

/* Rings and grants are dead; what had no answer is issued again, in order. */
static int resume(struct xpv_dev *d)
{
	struct xbf_dev *x = d->priv;
	struct xbf_req *q, *next;
	LIST_HEAD(list);

	mutex_lock(&x->lock);
	if (x->dead || x->state >= XenbusStateClosing) {
		xbf_fail_all(x);
		xbf_rings_free(x);
		mutex_unlock(&x->lock);
		return 0;
	}
	xbf_stop(x, &list);
	xpv_for_each_requeue(q, next, &list, order) {
		xbf_count(&x->old.requeues, 1);
		blk_mq_requeue_request(blk_mq_rq_from_pdu(q), false);
	}
	xbf_rings_free(x);
	xbf_set_state(x, XenbusStateInitialising);
	mutex_unlock(&x->lock);
	/* The new backend has not asked to close. */
	clear_bit(XBF_TODO_CLOSE, &x->todo);
	spin_lock_irq(&x->users_lock);
	x->closing = false;
	spin_unlock_irq(&x->users_lock);
	return 0;
}

/* ------------------------------------------------------------------ */
/* Probe and remove                                                    */
/* ------------------------------------------------------------------ */

static u64 read_stat(struct xpv_dev *d, const struct xpv_stat *s)
{
	struct xbf_dev *x = d->priv;
	unsigned int i;
	u64 sum;

	/* Rings come and go under the mutex. */
	mutex_lock(&x->lock);
	sum = xpv_stat_get(&x->old, s);
	for (i = 0; x->rings && i < x->nr_rings; i++)
		sum += xpv_stat_get(&x->rings[i].stats, s);
	mutex_unlock(&x->lock);
	return sum;
}

static int read_own(struct xpv_dev *d, const char *name, u32 absent,
		    bool required, u32 *val)
{
	const struct xpv_key key = {
		.name = name, .max = U32_MAX, .absent = absent,
		.required = required,
	};

	return xpv_key_read(d, XPV_OWN, XPV_QUEUE_FLAT, &key, val);
}

static int identify(struct xbf_dev *x)
{
	u32 key;
	int err;

	err = read_own(x->d, "virtual-device", U32_MAX, false, &x->vdev);
	if (!err && x->vdev == U32_MAX)
		err = read_own(x->d, "virtual-device-ext", 0, true, &x->vdev);
	if (err)
		return err;
	read_own(x->d, "trusted", 1, false, &key);
	x->trusted = key && READ_ONCE(trusted);
	err = xbf_name_from_vdev(x->vdev, &x->name);
	if (!err)
		err = xbf_minors_take(x);
	if (err)
		hyp_error(x->d, err, "virtual-device %u is no disk number, or its name is taken",
			  x->vdev);
	return err;
}

static int probe(struct xpv_dev *d)
{
	struct xbf_dev *x;
	int err;

	x = kzalloc(sizeof(*x), GFP_KERNEL);
	if (!x)
		return -ENOMEM;
	x->d = d;
	d->priv = x;
	kref_init(&x->ref);
	mutex_init(&x->lock);
	spin_lock_init(&x->users_lock);
	INIT_LIST_HEAD(&x->minors);
	x->size_told = jiffies - HZ;
	INIT_DELAYED_WORK(&x->life, xbf_life_work);
	INIT_DELAYED_WORK(&x->kill, xbf_kill_work);
	x->state = XenbusStateInitialising;
	xpv_faults_init(&x->faults);
	err = identify(x);
	if (err)
		goto err_put;
	x->sysfs = xpv_sysfs_add(d, xbf_stat_table, xbf_stat_count, read_stat);
	if (!IS_ERR(x->sysfs))
		return 0;
	err = PTR_ERR(x->sysfs);
	xbf_minors_put(x);
err_put:
	d->priv = NULL;
	xbf_ref_put(x);
	return err;
}

/*
 * Is there a backend that would finish what it has? If so ask it to let go of
 * our pages afterwards, too.
 */
static bool backend_alive(struct xbf_dev *x)
{
	return !x->dead && !x->broken && !x->d->vanished &&
	       x->state == XenbusStateConnected &&
	       hyp_state_get(x->d, XPV_PEER) == XenbusStateConnected;
}

static void part_in_peace(struct xbf_dev *x)
{
	unsigned long until = jiffies + PART_TIME;

	xbf_set_state(x, XenbusStateClosing);
	while (time_before(jiffies, until) &&
	       hyp_state_get(x->d, XPV_PEER) == XenbusStateConnected)
		msleep(20);
}

/* Valid in every state. */
static void remove(struct xpv_dev *d)
{
	struct xbf_dev *x = d->priv;
	bool alive;

	spin_lock_irq(&x->users_lock);
	x->removed = true;
	spin_unlock_irq(&x->users_lock);
	cancel_delayed_work_sync(&x->kill);
	alive = backend_alive(x);
	mutex_lock(&x->lock);
	if (!alive)
		xbf_fail_all(x);
	mutex_unlock(&x->lock);
	/* Bounds what follows if the backend stops answering. */
	if (alive)
		queue_delayed_work(xbf_workqueue, &x->kill, DRAIN_TIME);
	cancel_delayed_work_sync(&x->life);
	xbf_make_invisible(x);
	cancel_delayed_work_sync(&x->kill);
	if (alive)
		part_in_peace(x);
	mutex_lock(&x->lock);
	xbf_fail_all(x);
	xbf_rings_free(x);
	xbf_disk_destroy(x);
	mutex_unlock(&x->lock);
	xpv_sysfs_remove(x->sysfs);
	xbf_minors_put(x);
	d->priv = NULL;
	xbf_ref_put(x);
}

static const struct xpv_driver driver = {
	.name = "xpv-blkfront",
	.type = "vbd",
	.end = XPV_FRONT,
	.probe = probe,
	.remove = remove,
	.peer_changed = peer_changed,
	.resume = resume,
};

static void check_params(void)
{
	xbf_max_segs = clamp(xbf_max_segs, XBF_SEGS_DIRECT, XBF_SEGS_MAX);
	xbf_max_queues = min(xbf_max_queues, XBF_QUEUES_MAX);
	xbf_max_ring_order = min(xbf_max_ring_order, XBF_RING_ORDER_MAX);
}

static int __init xbf_init(void)
{
	int err;

	check_params();
	xbf_workqueue = alloc_workqueue("xpv-blkfront", WQ_UNBOUND, 0);
	if (!xbf_workqueue)
		return -ENOMEM;
	err = register_blkdev(XENVBD_MAJOR, "xvd");
	if (err) {
		pr_err("xpv-blkfront: block major %d is taken, by another frontend?\n",
		       XENVBD_MAJOR);
		goto err_queue;
	}
	err = hyp_driver_register(&driver, THIS_MODULE);
	if (!err)
		return 0;
	unregister_blkdev(XENVBD_MAJOR, "xvd");
err_queue:
	destroy_workqueue(xbf_workqueue);
	return err;
}

static void __exit xbf_exit(void)
{
	hyp_driver_unregister(&driver);
	unregister_blkdev(XENVBD_MAJOR, "xvd");
	destroy_workqueue(xbf_workqueue);
}

module_init(xbf_init);
module_exit(xbf_exit);

MODULE_DESCRIPTION("Xen virtual block device frontend");
MODULE_AUTHOR("The xpv project");
MODULE_LICENSE("GPL");
MODULE_ALIAS("xen:vbd");
MODULE_ALIAS_BLOCKDEV_MAJOR(XENVBD_MAJOR);
#ifdef XPV_VERSION
MODULE_VERSION(XPV_VERSION);
#endif
XPV_USES_CORE();

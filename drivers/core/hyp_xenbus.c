// SPDX-License-Identifier: GPL-2.0
/*
 * The seam on real Xen: the xenbus buses, the store and states.
 *
 * Wraps a struct xpv_driver into a xenbus driver and each xenbus device into a
 * struct xpv_dev.  Decides only what is a matter of the bus: when a backend's
 * device may leave, and that a node which has gone is never written again.
 *
 * Everything here runs in process context.  peer_changed and watches run in the
 * one xenwatch thread of the kernel, which every device shares.  A device
 * unregisters itself in that thread only, as the bus does, so that the two
 * cannot meet.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <xen/platform_pci.h>
#include <xen/xen.h>
#include <xpv/compat.h>
#include "hyp_xen.h"

/* Conflicting transactions in a row before we give up. */
#define STORE_RETRIES	100

/* ------------------------------------------------------------------ */
/* Store                                                               */
/* ------------------------------------------------------------------ */

static const char *side_path(const struct xpv_dev *d, enum xpv_side side)
{
	return side == XPV_OWN ? d->own_path : d->peer_path;
}

static bool has_vanished(struct xpv_dev *d)
{
	d->vanished = xpv_xenbus_vanished(to_xb(d));
	return d->vanished;
}

char *hyp_store_read(struct xpv_dev *d, enum xpv_side side, const char *key)
{
	return xenbus_read(XBT_NIL, side_path(d, side), key, NULL);
}
XPV_EXPORT(hyp_store_read);

static int store_change(struct xenbus_transaction t, const char *dir,
			const struct xpv_kv *kv)
{
	int err;

	if (kv->value)
		return xenbus_write(t, dir, kv->key, kv->value);
	err = xenbus_rm(t, dir, kv->key);
	return err == -ENOENT ? 0 : err;
}

/* One attempt; -EAGAIN when somebody else's changes came in between. */
static int store_attempt(struct xpv_dev *d, const struct xpv_kv *kv,
			 unsigned int n)
{
	struct xenbus_transaction t;
	unsigned int i;
	char *state;
	int err;

	err = xenbus_transaction_start(&t);
	if (err)
		return err;
	/* Writing below a removed directory would bring it back to life. */
	state = xenbus_read(t, d->own_path, "state", NULL);
	if (IS_ERR(state)) {
		err = PTR_ERR(state) == -ENOENT ? -ENODEV : PTR_ERR(state);
	} else {
		kfree(state);
		for (i = 0; i < n && !err; i++)
			err = store_change(t, d->own_path, &kv[i]);
	}
	if (err) {
		xenbus_transaction_end(t, 1);
		return err;
	}
	return xenbus_transaction_end(t, 0);
}

int hyp_store_write(struct xpv_dev *d, const struct xpv_kv *kv, unsigned int n)
{
	unsigned int tries;
	int err = -ENODEV;

	for (tries = 0; tries < STORE_RETRIES && !has_vanished(d); tries++) {
		err = store_attempt(d, kv, n);
		if (err != -EAGAIN)
			return err;
	}
	return err;
}
XPV_EXPORT(hyp_store_write);

/* The seam's part of a struct xpv_watch. */
struct hyp_watch {
	struct xenbus_watch xb;
	struct xpv_watch *w;
};

/* However fast a peer writes, one call waits at most. */
static bool watch_will_handle(struct xenbus_watch *xb, const char *path,
			      const char *token)
{
	return xb->nr_pending == 0;
}

static void watch_fired(struct xenbus_watch *xb, const char *path,
			const char *token)
{
	struct hyp_watch *hw = container_of(xb, struct hyp_watch, xb);

	hw->w->fn(hw->w);
}

int hyp_store_watch(struct xpv_dev *d, enum xpv_side side, const char *key,
		    struct xpv_watch *w)
{
	struct hyp_watch *hw;
	int err;

	w->hyp = NULL;
	hw = kzalloc(sizeof(*hw), GFP_KERNEL);
	if (!hw)
		return -ENOMEM;
	hw->w = w;
	hw->xb.will_handle = watch_will_handle;
	hw->xb.callback = watch_fired;
	hw->xb.node = kasprintf(GFP_KERNEL, "%s/%s", side_path(d, side), key);
	err = hw->xb.node ? register_xenbus_watch(&hw->xb) : -ENOMEM;
	if (err) {
		kfree(hw->xb.node);
		kfree(hw);
		return err;
	}
	w->hyp = hw;
	return 0;
}
XPV_EXPORT(hyp_store_watch);

void hyp_store_unwatch(struct xpv_watch *w)
{
	struct hyp_watch *hw = w->hyp;

	if (!hw)
		return;
	unregister_xenbus_watch(&hw->xb);
	kfree(hw->xb.node);
	kfree(hw);
	w->hyp = NULL;
}
XPV_EXPORT(hyp_store_unwatch);

/* ------------------------------------------------------------------ */
/* States and errors                                                   */
/* ------------------------------------------------------------------ */

void hyp_state_set(struct xpv_dev *d, enum xenbus_state state)
{
	if (has_vanished(d))
		return;
	if (state != XenbusStateClosed)
		to_hyp_dev(d)->closed = false;
	xenbus_switch_state(to_xb(d), state);
}
XPV_EXPORT(hyp_state_set);

enum xenbus_state hyp_state_get(struct xpv_dev *d, enum xpv_side side)
{
	return xpv_xenbus_read_state(to_xb(d), side_path(d, side));
}
XPV_EXPORT(hyp_state_get);

static void report(struct xpv_dev *d, int err, struct va_format *vaf)
{
	if (__ratelimit(&to_hyp_dev(d)->error_rs))
		xenbus_dev_error(to_xb(d), err, "%pV", vaf);
}

void hyp_error(struct xpv_dev *d, int err, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	report(d, err, &vaf);
	va_end(args);
}
XPV_EXPORT(hyp_error);

void hyp_fatal(struct xpv_dev *d, int err, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	report(d, err, &vaf);
	va_end(args);
	hyp_state_set(d, XenbusStateClosing);
}
XPV_EXPORT(hyp_fatal);

void hyp_closed(struct xpv_dev *d)
{
	struct hyp_dev *h = to_hyp_dev(d);

	if (d->drv->end == XPV_FRONT) {
		if (!has_vanished(d))
			xenbus_frontend_closed(h->xb);
		return;
	}
	/* First: writing the state wakes back_leave() through our own watch. */
	WRITE_ONCE(h->closed, true);
	hyp_state_set(d, XenbusStateClosed);
}
XPV_EXPORT(hyp_closed);

/* ------------------------------------------------------------------ */
/* Bus                                                                 */
/* ------------------------------------------------------------------ */

/* One registered driver. */
struct hyp_driver {
	struct xenbus_driver xb;
	struct xenbus_device_id ids[2];
	const struct xpv_driver *drv;
	struct list_head list;
};

static LIST_HEAD(drivers);
static DEFINE_MUTEX(drivers_lock);

static struct hyp_dev *xb_hyp_dev(const struct xenbus_device *xb)
{
	return dev_get_drvdata(&xb->dev);
}

/*
 * A closed backend leaves when the toolstack took it offline or the frontend's
 * node is gone.  Runs in the xenwatch thread; the device may be freed.
 */
static void back_leave(struct hyp_dev *h)
{
	static const struct xpv_kv closed = { "state", "6" };
	struct xpv_dev *d = &h->d;

	if (d->drv->end != XPV_BACK || !READ_ONCE(h->closed))
		return;
	if (xenbus_dev_is_online(h->xb) &&
	    hyp_state_get(d, XPV_PEER) != XenbusStateUnknown)
		return;
	/* The toolstack asked by writing Closing over our Closed: answer. */
	if (hyp_state_get(d, XPV_OWN) == XenbusStateClosing)
		hyp_store_write(d, &closed, 1);
	device_unregister(&h->xb->dev);
}

static void back_state_fired(struct xenbus_watch *xb, const char *path,
			     const char *token)
{
	back_leave(container_of(xb, struct hyp_dev, state_watch));
}

static void back_unwatch(struct hyp_dev *h)
{
	if (!h->state_watch.node)
		return;
	unregister_xenbus_watch(&h->state_watch);
	kfree(h->state_watch.node);
	h->state_watch.node = NULL;
}

static int back_watch(struct hyp_dev *h)
{
	int err;

	h->state_watch.will_handle = watch_will_handle;
	h->state_watch.callback = back_state_fired;
	h->state_watch.node = kasprintf(GFP_KERNEL, "%s/state", h->d.own_path);
	if (!h->state_watch.node)
		return -ENOMEM;
	err = register_xenbus_watch(&h->state_watch);
	if (err) {
		kfree(h->state_watch.node);
		h->state_watch.node = NULL;
	}
	return err;
}

/* Major number of Xen's own disks, and the mark of the newer numbering. */
#define VDEV_XVD_MAJOR	202
#define VDEV_EXTENDED	BIT(28)

/*
 * In an HVM guest a device may exist twice, and the emulated one has it: CD
 * drives always, disks with an IDE or SCSI number when the guest was told to
 * keep the emulated ones.
 */
static bool front_is_emulated(struct xenbus_device *xb)
{
	unsigned int vdev;
	bool emulated;
	char *type;

	if (!xen_hvm_domain() || strcmp(xb->devicetype, "vbd"))
		return false;
	vdev = xenbus_read_unsigned(xb->nodename, "virtual-device", 0);
	if (xen_has_pv_and_legacy_disk_devices() && !(vdev & VDEV_EXTENDED) &&
	    vdev >> 8 != VDEV_XVD_MAJOR)
		return true;
	type = xenbus_read(XBT_NIL, xb->nodename, "device-type", NULL);
	if (IS_ERR(type))
		return false;
	emulated = !strcmp(type, "cdrom");
	kfree(type);
	return emulated;
}

static int xb_probe(struct xenbus_device *xb, const struct xenbus_device_id *id)
{
	struct hyp_driver *hd = container_of(to_xenbus_driver(xb->dev.driver),
					     struct hyp_driver, xb);
	struct hyp_dev *h;
	int err;

	if (hd->drv->end == XPV_FRONT && front_is_emulated(xb))
		return -ENODEV;
	h = kzalloc(sizeof(*h), GFP_KERNEL);
	if (!h)
		return -ENOMEM;
	h->xb = xb;
	h->d.dev = &xb->dev;
	h->d.drv = hd->drv;
	h->d.own_path = xb->nodename;
	h->d.peer_path = xb->otherend;
	h->d.peer = xb->otherend_id;
	h->d.hyp = h;
	ratelimit_state_init(&h->error_rs, HYP_LOG_INTERVAL, HYP_LOG_BURST);
	ratelimit_set_flags(&h->error_rs, RATELIMIT_MSG_ON_RELEASE);
	dev_set_drvdata(&xb->dev, h);
	err = hd->drv->probe(&h->d);
	if (err)
		goto err_free;
	if (hd->drv->end == XPV_BACK) {
		err = back_watch(h);
		if (err)
			goto err_remove;
	}
	return 0;

err_remove:
	hd->drv->remove(&h->d);
err_free:
	dev_set_drvdata(&xb->dev, NULL);
	kfree(h);
	return err;
}

static void xb_remove(struct xenbus_device *xb)
{
	struct hyp_dev *h = xb_hyp_dev(xb);

	back_unwatch(h);
	has_vanished(&h->d);
	h->d.drv->remove(&h->d);
	dev_set_drvdata(&xb->dev, NULL);
	kfree(h);
}

static void xb_peer_changed(struct xenbus_device *xb, enum xenbus_state peer)
{
	struct hyp_dev *h = xb_hyp_dev(xb);

	has_vanished(&h->d);
	h->d.drv->peer_changed(&h->d, peer);
	/* Last: the device may be gone afterwards. */
	back_leave(h);
}

static int xb_resume(struct xenbus_device *xb)
{
	struct hyp_dev *h = xb_hyp_dev(xb);

	/* The bus has read both anew; the old path is freed. */
	h->d.peer_path = xb->otherend;
	h->d.peer = xb->otherend_id;
	return h->d.drv->resume ? h->d.drv->resume(&h->d) : 0;
}

/* May come before probe and after remove. */
static int xb_uevent(xpv_const_xenbus struct xenbus_device *xb,
		     struct kobj_uevent_env *env)
{
	struct hyp_dev *h = xb_hyp_dev(xb);

	if (!h || !h->d.drv->uevent)
		return 0;
	return h->d.drv->uevent(&h->d, env);
}

static bool front_allowed(const struct xpv_driver *drv)
{
	if (!strcmp(drv->type, "vif"))
		return xen_has_pv_nic_devices();
	if (!strcmp(drv->type, "vbd"))
		return xen_has_pv_disk_devices();
	return xen_has_pv_devices();
}

static int xb_register(struct hyp_driver *hd, struct module *owner)
{
	const char *mod_name = owner ? owner->name : hd->drv->name;

	if (hd->drv->end == XPV_FRONT)
		return __xenbus_register_frontend(&hd->xb, owner, mod_name);
	return __xenbus_register_backend(&hd->xb, owner, mod_name);
}

int hyp_driver_register(const struct xpv_driver *drv, struct module *owner)
{
	struct hyp_driver *hd;
	int err;

	if (!xen_domain())
		return -ENODEV;
	if (drv->end == XPV_FRONT && !front_allowed(drv))
		return -ENODEV;
	hd = kzalloc(sizeof(*hd), GFP_KERNEL);
	if (!hd)
		return -ENOMEM;
	hd->drv = drv;
	strscpy(hd->ids[0].devicetype, drv->type, sizeof(hd->ids[0].devicetype));
	hd->xb = (struct xenbus_driver) {
		.name = drv->name,
		.ids = hd->ids,
		.allow_rebind = drv->allow_rebind,
		.probe = xb_probe,
		.remove = xb_remove,
		.otherend_changed = xb_peer_changed,
		.resume = xb_resume,
		.uevent = xb_uevent,
	};
	err = xb_register(hd, owner);
	if (err) {
		kfree(hd);
		return err;
	}
	mutex_lock(&drivers_lock);
	list_add(&hd->list, &drivers);
	mutex_unlock(&drivers_lock);
	return 0;
}
XPV_EXPORT(hyp_driver_register);

void hyp_driver_unregister(const struct xpv_driver *drv)
{
	struct hyp_driver *hd, *found = NULL;

	mutex_lock(&drivers_lock);
	list_for_each_entry(hd, &drivers, list)
		if (hd->drv == drv)
			found = hd;
	if (found)
		list_del(&found->list);
	mutex_unlock(&drivers_lock);
	if (!found)
		return;
	xenbus_unregister_driver(&found->xb);
	kfree(found);
}
XPV_EXPORT(hyp_driver_unregister);

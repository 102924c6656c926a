// SPDX-License-Identifier: GPL-2.0
/*
 * The fake's bus: drivers, pairs of devices, and what a toolstack does.
 *
 * Follows the rules of the real buses: a new device must be Initialising, a
 * backend's device leaves when it is closed and offline or its frontend is
 * gone, a device whose own node disappears is removed.
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "fake_int.h"

#define MAX_DRIVERS	8

/* Registered while the kernel boots, before there is a world. */
static const struct xpv_driver *drivers[MAX_DRIVERS];

int hyp_driver_register(const struct xpv_driver *drv, struct module *owner)
{
	unsigned int i;

	for (i = 0; i < MAX_DRIVERS; i++) {
		if (drivers[i])
			continue;
		drivers[i] = drv;
		return 0;
	}
	return -ENOSPC;
}

void hyp_driver_unregister(const struct xpv_driver *drv)
{
	unsigned int i;

	for (i = 0; i < MAX_DRIVERS; i++)
		if (drivers[i] == drv)
			drivers[i] = NULL;
}

static const struct xpv_driver *fake_driver_find(const char *type, enum xpv_end end)
{
	unsigned int i;

	for (i = 0; i < MAX_DRIVERS; i++)
		if (drivers[i] && drivers[i]->end == end &&
		    !strcmp(drivers[i]->type, type))
			return drivers[i];
	return NULL;
}

/* ------------------------------------------------------------------ */
/* Devices                                                             */
/* ------------------------------------------------------------------ */

static bool node_absent(struct fake_dev *e)
{
	return fake_read_state(e->p->w, e->path) == XenbusStateUnknown;
}

static bool is_online(struct fake_dev *e)
{
	char *text = fake_read(e->p->w, e->path, "online");
	bool online = !IS_ERR(text) && !strcmp(text, "1");

	if (!IS_ERR(text))
		kfree(text);
	return online;
}

/* Unbinds once, whoever comes first: the bus or the test. */
void fake_unbind(struct fake_dev *e)
{
	struct fake_world *w = e->p->w;

	if (!xchg(&e->bound, false))
		return;
	fake_watch_del(w, &e->peer_watch);
	fake_watch_del(w, &e->own_watch);
	e->d.vanished = node_absent(e);
	e->d.drv->remove(&e->d);
	if (!e->d.drv->allow_rebind ||
	    fake_read_state(w, e->path) == XenbusStateClosing)
		hyp_state_set(&e->d, XenbusStateClosed);
	e->d.priv = NULL;
}

static void back_leave(struct fake_dev *e)
{
	struct fake_world *w = e->p->w;

	if (e->end != XPV_BACK || !e->bound || !e->closed)
		return;
	if (is_online(e) && fake_read_state(w, e->d.peer_path))
		return;
	if (fake_read_state(w, e->path) == XenbusStateClosing)
		fake_write(w, e->path, "state", "6", false);
	fake_unbind(e);
	e->known = false;
}

static void peer_fired(struct fake_watch *fw)
{
	struct fake_dev *e = container_of(fw, struct fake_dev, peer_watch);

	if (!e->bound)
		return;
	e->d.vanished = node_absent(e);
	e->d.drv->peer_changed(&e->d, fake_read_state(e->p->w, e->d.peer_path));
	back_leave(e);
}

static void own_fired(struct fake_watch *fw)
{
	struct fake_dev *e = container_of(fw, struct fake_dev, own_watch);

	if (!node_absent(e)) {
		back_leave(e);
		return;
	}
	fake_unbind(e);
	e->known = false;
}

static int end_watch(struct fake_dev *e)
{
	struct fake_world *w = e->p->w;
	int err;

	e->own_watch.fn = own_fired;
	e->peer_watch.fn = peer_fired;
	err = fake_watch_add(w, &e->own_watch, e->path, "state");
	if (err)
		return err;
	return fake_watch_add(w, &e->peer_watch, e->d.peer_path, "state");
}

int fake_probe(struct fake_pair *p, enum xpv_end end)
{
	struct fake_dev *e = &p->dev[end];
	const struct xpv_driver *drv = fake_driver_find(p->type, end);
	int err;

	if (!drv)
		return -ENOENT;
	if (e->bound)
		return -EBUSY;
	if (!e->known &&
	    fake_read_state(p->w, e->path) != XenbusStateInitialising)
		return -EPERM;
	if (!e->known)
		e->state = XenbusStateInitialising;
	e->known = true;
	e->closed = false;
	e->d.drv = drv;
	e->d.vanished = false;
	err = drv->probe(&e->d);
	if (err) {
		e->d.priv = NULL;
		return err;
	}
	e->bound = true;
	err = end_watch(e);
	if (err)
		fake_unbind(e);
	return err;
}

/* Waits for a callback that may be unbinding it right now. */
static void callbacks_done(struct fake_world *w)
{
	if (current == w->watch_task)
		return;
	mutex_lock(&w->watch_mutex);
	mutex_unlock(&w->watch_mutex);
}

void fake_remove(struct fake_pair *p, enum xpv_end end)
{
	fake_unbind(&p->dev[end]);
	callbacks_done(p->w);
}

bool fake_bound(struct fake_pair *p, enum xpv_end end)
{
	return READ_ONCE(p->dev[end].bound);
}

struct xpv_dev *fake_end(struct fake_pair *p, enum xpv_end end)
{
	return &p->dev[end].d;
}

/* ------------------------------------------------------------------ */
/* What the toolstack does                                             */
/* ------------------------------------------------------------------ */

void fake_detach(struct fake_pair *p)
{
	fake_set(p, XPV_BACK, "online", "0");
	fake_state_set(p, XPV_BACK, XenbusStateClosing);
}

void fake_vanish(struct fake_pair *p, enum xpv_end end)
{
	fake_rm(p->w, p->dev[end].path, "");
}

int fake_resume(struct fake_pair *p)
{
	struct fake_dev *front = &p->dev[XPV_FRONT];
	struct fake_dev *back = &p->dev[XPV_BACK];
	bool had_back = back->bound;
	int err = 0;

	fake_hold_watches(p->w, true);
	fake_remove(p, XPV_BACK);
	back->known = false;
	back->closed = false;
	fake_event_kill(p->w, &front->d);
	fake_rm_driver_keys(p->w, back->path);
	fake_rm_driver_keys(p->w, front->path);
	fake_state_set(p, XPV_BACK, XenbusStateInitialising);
	fake_state_set(p, XPV_FRONT, XenbusStateInitialising);
	back->state = XenbusStateInitialising;
	front->state = XenbusStateInitialising;
	if (front->bound && front->d.drv->resume)
		err = front->d.drv->resume(&front->d);
	fake_hold_watches(p->w, false);
	if (had_back)
		fake_probe(p, XPV_BACK);
	return err;
}

static int end_setup(struct fake_dev *e, struct fake_dev *other)
{
	struct fake_pair *p = e->p;
	bool front = e->end == XPV_FRONT;
	char name[32];

	e->path = front ?
		kasprintf(GFP_KERNEL, "/local/domain/%d/device/%s/%u",
			  FAKE_FRONT_DOM, p->type, p->handle) :
		kasprintf(GFP_KERNEL, "/local/domain/%d/backend/%s/%d/%u",
			  FAKE_BACK_DOM, p->type, FAKE_FRONT_DOM, p->handle);
	snprintf(name, sizeof(name), "fake-%s-%u-%s", p->type, p->handle,
		 front ? "front" : "back");
	e->root = root_device_register(name);
	if (!e->path || IS_ERR(e->root))
		return -ENOMEM;
	e->state = XenbusStateInitialising;
	e->d.dev = e->root;
	e->d.own_path = e->path;
	e->d.peer = front ? FAKE_BACK_DOM : FAKE_FRONT_DOM;
	other->d.peer_path = e->path;
	return 0;
}

static void common_keys(struct fake_pair *p)
{
	fake_set(p, XPV_FRONT, "backend", "%s", p->dev[XPV_BACK].path);
	fake_set(p, XPV_FRONT, "backend-id", "%d", FAKE_BACK_DOM);
	fake_set(p, XPV_BACK, "frontend", "%s", p->dev[XPV_FRONT].path);
	fake_set(p, XPV_BACK, "frontend-id", "%d", FAKE_FRONT_DOM);
	fake_set(p, XPV_BACK, "online", "1");
}

static void vif_keys(struct fake_pair *p)
{
	enum xpv_end end;

	for (end = XPV_FRONT; end <= XPV_BACK; end++) {
		fake_set(p, end, "handle", "%u", p->handle);
		fake_set(p, end, "mac", "00:16:3e:00:00:%02x", p->handle);
	}
	fake_set(p, XPV_BACK, "bridge", "xenbr0");
	fake_set(p, XPV_BACK, "script", "/etc/xen/scripts/vif-bridge");
	fake_set(p, XPV_BACK, "type", "vif");
}

static void vbd_keys(struct fake_pair *p)
{
	fake_set(p, XPV_FRONT, "virtual-device", "%u", 51712 + 16 * p->handle);
	fake_set(p, XPV_FRONT, "device-type", "disk");
	fake_set(p, XPV_BACK, "removable", "0");
	fake_set(p, XPV_BACK, "bootable", "1");
	fake_set(p, XPV_BACK, "dev", "xvd%c", 'a' + p->handle % 26);
	fake_set(p, XPV_BACK, "type", "phy");
	fake_set(p, XPV_BACK, "mode", "w");
	fake_set(p, XPV_BACK, "device-type", "disk");
	fake_set(p, XPV_BACK, "params", "/dev/ram0");
}

struct fake_pair *fake_pair_create(struct fake_world *w, const char *type,
				   unsigned int handle)
{
	struct fake_pair *p = kzalloc(sizeof(*p), GFP_KERNEL);
	enum xpv_end end;
	int err = 0;

	KUNIT_ASSERT_NOT_NULL(w->test, p);
	p->w = w;
	p->handle = handle;
	strscpy(p->type, type, sizeof(p->type));
	list_add_tail(&p->list, &w->pairs);
	for (end = XPV_FRONT; end <= XPV_BACK; end++) {
		p->dev[end].p = p;
		p->dev[end].end = end;
		err = err ?: end_setup(&p->dev[end], &p->dev[!end]);
	}
	KUNIT_ASSERT_EQ(w->test, err, 0);
	common_keys(p);
	if (!strcmp(type, "vif"))
		vif_keys(p);
	else
		vbd_keys(p);
	fake_state_set(p, XPV_BACK, XenbusStateInitialising);
	fake_state_set(p, XPV_FRONT, XenbusStateInitialising);
	return p;
}

void fake_pair_free(struct fake_pair *p)
{
	enum xpv_end end;

	for (end = XPV_FRONT; end <= XPV_BACK; end++) {
		struct fake_dev *e = &p->dev[end];

		if (!IS_ERR_OR_NULL(e->root))
			root_device_unregister(e->root);
		kfree(e->path);
		kfree(e->error);
	}
	list_del(&p->list);
	kfree(p);
}

/* ------------------------------------------------------------------ */
/* Keys, as a test sees them                                           */
/* ------------------------------------------------------------------ */

void fake_set(struct fake_pair *p, enum xpv_end end, const char *key,
	      const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = kvasprintf(GFP_KERNEL, fmt, args);
	va_end(args);
	if (text)
		fake_write(p->w, p->dev[end].path, key, text, false);
	kfree(text);
}

void fake_del(struct fake_pair *p, enum xpv_end end, const char *key)
{
	fake_rm(p->w, p->dev[end].path, key);
}

const char *fake_get(struct fake_pair *p, enum xpv_end end, const char *key)
{
	char *text = fake_read(p->w, p->dev[end].path, key);
	size_t size;
	char *copy;

	if (IS_ERR(text))
		return NULL;
	size = strlen(text) + 1;
	copy = kunit_kzalloc(p->w->test, size, GFP_KERNEL);
	if (copy)
		memcpy(copy, text, size);
	kfree(text);
	return copy;
}

long long fake_get_num(struct fake_pair *p, enum xpv_end end, const char *key,
		       long long absent)
{
	const char *text = fake_get(p, end, key);
	long long v;

	return text && !kstrtoll(text, 10, &v) ? v : absent;
}

enum xenbus_state fake_state(struct fake_pair *p, enum xpv_end end)
{
	return fake_read_state(p->w, p->dev[end].path);
}

void fake_state_set(struct fake_pair *p, enum xpv_end end,
		    enum xenbus_state state)
{
	fake_set(p, end, "state", "%d", state);
}

const char *fake_error(struct fake_pair *p, enum xpv_end end)
{
	return p->dev[end].error;
}

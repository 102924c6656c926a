// SPDX-License-Identifier: GPL-2.0
/*
 * The fake's store: nodes, watches, and the store part of hyp.h.
 *
 * Like the real one it fires a watch for every write to its node or below, and
 * when something above it is removed.  A transaction is one critical section;
 * conflicts come from the script of FAKE_STORE_WRITE.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "fake_int.h"

/* As hyp_xenbus.c. */
#define STORE_RETRIES	100

/* ------------------------------------------------------------------ */
/* Nodes                                                               */
/* ------------------------------------------------------------------ */

static char *join(const char *dir, const char *key)
{
	return *key ? kasprintf(GFP_KERNEL, "%s/%s", dir, key) :
		      kstrdup(dir, GFP_KERNEL);
}

/* Is @path @top itself or below it? */
static bool is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(path, top, len) &&
	       (path[len] == '\0' || path[len] == '/');
}

/* All below: with w->store_mutex held. */
static struct fake_node *node_find(struct fake_world *w, const char *path)
{
	struct fake_node *n;

	list_for_each_entry(n, &w->nodes, list)
		if (!strcmp(n->path, path))
			return n;
	return NULL;
}

static void node_free(struct fake_node *n)
{
	list_del(&n->list);
	kfree(n->path);
	kfree(n->value);
	kfree(n);
}

static void watch_fire(struct fake_world *w, const char *path, bool removed)
{
	struct fake_watch *fw;

	list_for_each_entry(fw, &w->watches, list)
		if (is_below(path, fw->path) ||
		    (removed && is_below(fw->path, path)))
			fw->pending = true;
	w->activity++;
	fake_watch_kick(w);
}

static int node_write(struct fake_world *w, const char *path, const char *value,
		      bool by_driver)
{
	char *copy = kstrdup(value, GFP_KERNEL);
	struct fake_node *n = node_find(w, path);

	if (copy && !n) {
		n = kzalloc(sizeof(*n), GFP_KERNEL);
		if (n) {
			n->path = kstrdup(path, GFP_KERNEL);
			n->by_driver = by_driver;
			list_add_tail(&n->list, &w->nodes);
		}
	}
	if (!copy || !n || !n->path) {
		kfree(copy);
		return -ENOMEM;
	}
	kfree(n->value);
	n->value = copy;
	watch_fire(w, path, false);
	return 0;
}

static void node_remove(struct fake_world *w, const char *path)
{
	struct fake_node *n, *next;
	bool found = false;

	list_for_each_entry_safe(n, next, &w->nodes, list) {
		if (!is_below(n->path, path))
			continue;
		node_free(n);
		found = true;
	}
	if (found)
		watch_fire(w, path, true);
}

/* ------------------------------------------------------------------ */
/* For the other files of the fake                                     */
/* ------------------------------------------------------------------ */

char *fake_read(struct fake_world *w, const char *dir, const char *key)
{
	char *path = join(dir, key);
	struct fake_node *n;
	char *value;

	if (!path)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&w->store_mutex);
	n = node_find(w, path);
	value = n ? kstrdup(n->value, GFP_KERNEL) : ERR_PTR(-ENOENT);
	mutex_unlock(&w->store_mutex);
	kfree(path);
	return value ?: ERR_PTR(-ENOMEM);
}

int fake_write(struct fake_world *w, const char *dir, const char *key,
	       const char *value, bool by_driver)
{
	char *path = join(dir, key);
	int err;

	if (!path)
		return -ENOMEM;
	mutex_lock(&w->store_mutex);
	err = node_write(w, path, value, by_driver);
	mutex_unlock(&w->store_mutex);
	kfree(path);
	return err;
}

void fake_rm(struct fake_world *w, const char *dir, const char *key)
{
	char *path = join(dir, key);

	if (!path)
		return;
	mutex_lock(&w->store_mutex);
	node_remove(w, path);
	mutex_unlock(&w->store_mutex);
	kfree(path);
}

void fake_rm_driver_keys(struct fake_world *w, const char *dir)
{
	struct fake_node *n, *next;

	mutex_lock(&w->store_mutex);
	list_for_each_entry_safe(n, next, &w->nodes, list)
		if (n->by_driver && is_below(n->path, dir))
			node_free(n);
	mutex_unlock(&w->store_mutex);
}

enum xenbus_state fake_read_state(struct fake_world *w, const char *dir)
{
	char *text = fake_read(w, dir, "state");
	int state;

	if (IS_ERR(text))
		return XenbusStateUnknown;
	if (kstrtoint(text, 10, &state))
		state = XenbusStateUnknown;
	kfree(text);
	return state;
}

int fake_watch_add(struct fake_world *w, struct fake_watch *fw, const char *dir,
		   const char *key)
{
	fw->path = join(dir, key);
	if (!fw->path)
		return -ENOMEM;
	mutex_lock(&w->store_mutex);
	/* Registering fires once. */
	fw->pending = true;
	list_add_tail(&fw->list, &w->watches);
	w->activity++;
	mutex_unlock(&w->store_mutex);
	fake_watch_kick(w);
	return 0;
}

void fake_watch_del(struct fake_world *w, struct fake_watch *fw)
{
	if (!fw->path)
		return;
	mutex_lock(&w->store_mutex);
	list_del(&fw->list);
	w->activity++;
	mutex_unlock(&w->store_mutex);
	/* Wait for a call under way. */
	if (current != w->watch_task) {
		mutex_lock(&w->watch_mutex);
		mutex_unlock(&w->watch_mutex);
	}
	kfree(fw->path);
	fw->path = NULL;
}

/* With w->watch_mutex held, so that the watch cannot go before it is called. */
struct fake_watch *fake_watch_next(struct fake_world *w)
{
	struct fake_watch *fw, *found = NULL;

	if (READ_ONCE(w->hold_watches))
		return NULL;
	mutex_lock(&w->store_mutex);
	list_for_each_entry(fw, &w->watches, list) {
		if (!fw->pending)
			continue;
		fw->pending = false;
		/* The others have their turn before this one comes again. */
		list_move_tail(&fw->list, &w->watches);
		found = fw;
		w->watch_busy = true;
		w->activity++;
		break;
	}
	mutex_unlock(&w->store_mutex);
	return found;
}

bool fake_watch_waits(struct fake_world *w)
{
	struct fake_watch *fw;
	bool waits = false;

	if (READ_ONCE(w->hold_watches))
		return false;
	mutex_lock(&w->store_mutex);
	list_for_each_entry(fw, &w->watches, list)
		waits |= fw->pending;
	mutex_unlock(&w->store_mutex);
	return waits;
}

void fake_store_free(struct fake_world *w)
{
	struct fake_node *n, *next;

	list_for_each_entry_safe(n, next, &w->nodes, list)
		node_free(n);
}

/* ------------------------------------------------------------------ */
/* The seam                                                            */
/* ------------------------------------------------------------------ */

static const char *side_path(const struct xpv_dev *d, enum xpv_side side)
{
	return side == XPV_OWN ? d->own_path : d->peer_path;
}

char *hyp_store_read(struct xpv_dev *d, enum xpv_side side, const char *key)
{
	struct fake_world *w = to_fake(d)->p->w;
	int err = fake_call(w, FAKE_STORE_READ);

	might_sleep();
	return err ? ERR_PTR(err) : fake_read(w, side_path(d, side), key);
}

/* With w->store_mutex held. */
static int store_apply(struct fake_world *w, struct xpv_dev *d,
		       const struct xpv_kv *kv, unsigned int n)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < n && !err; i++) {
		char *path = join(d->own_path, kv[i].key);

		if (!path)
			return -ENOMEM;
		if (kv[i].value)
			err = node_write(w, path, kv[i].value, true);
		else
			node_remove(w, path);
		kfree(path);
	}
	return err;
}

static int store_attempt(struct fake_world *w, struct xpv_dev *d,
			 const struct xpv_kv *kv, unsigned int n)
{
	char *state = join(d->own_path, "state");
	int err = fake_call(w, FAKE_STORE_WRITE);

	if (!state)
		return -ENOMEM;
	mutex_lock(&w->store_mutex);
	if (!err && !node_find(w, state))
		err = -ENODEV;
	if (!err)
		err = store_apply(w, d, kv, n);
	mutex_unlock(&w->store_mutex);
	kfree(state);
	return err;
}

int hyp_store_write(struct xpv_dev *d, const struct xpv_kv *kv, unsigned int n)
{
	struct fake_world *w = to_fake(d)->p->w;
	unsigned int tries;
	int err = -ENODEV;

	might_sleep();
	for (tries = 0; tries < STORE_RETRIES && !d->vanished; tries++) {
		err = store_attempt(w, d, kv, n);
		if (err != -EAGAIN)
			return err;
	}
	return err;
}

/* A driver's watch. */
struct key_watch {
	struct fake_watch fw;
	struct xpv_watch *w;
};

static void key_fired(struct fake_watch *fw)
{
	struct key_watch *kw = container_of(fw, struct key_watch, fw);

	kw->w->fn(kw->w);
}

int hyp_store_watch(struct xpv_dev *d, enum xpv_side side, const char *key,
		    struct xpv_watch *w)
{
	struct fake_world *fake = to_fake(d)->p->w;
	int err = fake_call(fake, FAKE_WATCH);
	struct key_watch *kw;

	might_sleep();
	w->hyp = NULL;
	if (err)
		return err;
	kw = kzalloc(sizeof(*kw), GFP_KERNEL);
	if (!kw)
		return -ENOMEM;
	kw->w = w;
	kw->fw.fn = key_fired;
	w->hyp = kw;
	err = fake_watch_add(fake, &kw->fw, side_path(d, side), key);
	if (err) {
		w->hyp = NULL;
		kfree(kw);
		return err;
	}
	fake->store_watches++;
	return 0;
}

void hyp_store_unwatch(struct xpv_watch *w)
{
	struct key_watch *kw = w->hyp;

	might_sleep();
	if (!kw)
		return;
	fake_watch_del(fake_now, &kw->fw);
	fake_now->store_watches--;
	w->hyp = NULL;
	kfree(kw);
}

void hyp_state_set(struct xpv_dev *d, enum xenbus_state state)
{
	struct fake_dev *e = to_fake(d);
	struct fake_world *w = e->p->w;
	char text[12];

	might_sleep();
	w->activity++;
	if (state != XenbusStateClosed)
		e->closed = false;
	/* The real bus compares with what it wrote last, not with the store. */
	if (d->vanished || e->state == state ||
	    fake_read_state(w, e->path) == XenbusStateUnknown)
		return;
	e->state = state;
	snprintf(text, sizeof(text), "%d", state);
	fake_write(w, e->path, "state", text, false);
}

enum xenbus_state hyp_state_get(struct xpv_dev *d, enum xpv_side side)
{
	struct fake_world *w = to_fake(d)->p->w;

	might_sleep();
	return fake_read_state(w, side_path(d, side));
}

static void error_note(struct xpv_dev *d, int err, const char *fmt, va_list args)
{
	struct fake_dev *e = to_fake(d);

	kfree(e->error);
	e->error = kvasprintf(GFP_KERNEL, fmt, args);
	dev_info(d->dev, "error %d: %s\n", err, e->error ?: "no memory");
}

void hyp_error(struct xpv_dev *d, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	error_note(d, err, fmt, args);
	va_end(args);
}

void hyp_fatal(struct xpv_dev *d, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	error_note(d, err, fmt, args);
	va_end(args);
	hyp_state_set(d, XenbusStateClosing);
}

void hyp_closed(struct xpv_dev *d)
{
	/* First: writing the state wakes whoever decides if the device leaves. */
	to_fake(d)->closed = true;
	hyp_state_set(d, XenbusStateClosed);
}

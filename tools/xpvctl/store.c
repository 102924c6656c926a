// SPDX-License-Identifier: GPL-2.0
/*
 * store.c: xenstore as this tool uses it. Decides how a read that fails and a
 * value that is not text are treated; knows no device. The unit tests link a
 * fake of libxenstore below this file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xenstore.h>

#include "host.h"
#include "store.h"
#include "text.h"

int store_open(struct store *st)
{
	st->tx = XBT_NULL;
	st->xs = xs_open(0);
	return st->xs ? 0 : errno;
}

void store_close(struct store *st)
{
	if (st->xs)
		xs_close(st->xs);
	st->xs = NULL;
}

char *store_read(struct store *st, const char *path)
{
	unsigned int len;

	/*
	 * The library ends the value with a zero byte. A peer may have put more
	 * of them inside: like the kernel's readers, take what is before.
	 */
	return xs_read(st->xs, st->tx, path, &len);
}

char *store_get(struct store *st, const char *dir, const char *key)
{
	char *path = xasprintf("%s/%s", dir, key);
	char *value = store_read(st, path);

	free(path);
	return value;
}

bool store_exists(struct store *st, const char *path)
{
	char *value = store_read(st, path);
	bool there = value;

	free(value);
	return there;
}

char **store_list(struct store *st, const char *path, size_t *n)
{
	unsigned int num = 0, i;
	char **names, **list;

	*n = 0;
	names = xs_directory(st->xs, st->tx, path, &num);
	if (!names)
		return NULL;
	list = xcalloc(num, sizeof(*list));
	for (i = 0; i < num; i++)
		list[i] = xstrdup(names[i]);
	free(names);
	*n = num;
	return list;
}

void view_open(struct store *st, const char *dir, struct view *v)
{
	v->dir = dir;
	v->names = store_list(st, dir, &v->n);
	v->there = v->names;
}

void view_close(struct view *v)
{
	text_free_list(v->names, v->n);
	v->names = NULL;
	v->n = 0;
}

bool view_has(const struct view *v, const char *key)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		if (!strcmp(v->names[i], key))
			return true;
	return false;
}

char *view_get(struct store *st, const struct view *v, const char *key)
{
	return view_has(v, key) ? store_get(st, v->dir, key) : NULL;
}

static int set_perms(struct store *st, const char *path, const struct store_perms *perms)
{
	struct xs_permissions p[2] = {
		{ .id = perms->owner, .perms = XS_PERM_NONE },
		{ .id = perms->reader, .perms = XS_PERM_READ },
	};

	return xs_set_permissions(st->xs, st->tx, path, p, 2) ? 0 : errno;
}

/* Domain 0 may do anything, an owner too; others as listed, else by default. */
static bool may(struct store *st, const char *path, unsigned int domid, unsigned int right)
{
	unsigned int n = 0, i;
	struct xs_permissions *p = xs_get_permissions(st->xs, st->tx, path, &n);
	bool ok = !p || !n || !domid || p[0].id == domid || (p[0].perms & right);

	for (i = 1; i < n && !ok; i++) {
		if (p[i].id == domid) {
			ok = p[i].perms & right;
			break;
		}
	}
	free(p);
	return ok;
}

bool store_may_read(struct store *st, const char *path, unsigned int domid)
{
	return may(st, path, domid, XS_PERM_READ);
}

bool store_may_write(struct store *st, const char *path, unsigned int domid)
{
	return may(st, path, domid, XS_PERM_WRITE);
}

int store_set(struct store *st, const char *dir, const char *key, const char *value,
	      const struct store_perms *perms)
{
	char *path = xasprintf("%s/%s", dir, key);
	int r = 0;

	if (!xs_write(st->xs, st->tx, path, value, strlen(value)))
		r = errno;
	else if (perms)
		r = set_perms(st, path, perms);
	free(path);
	return r;
}

int store_make_dir(struct store *st, const char *path, const struct store_perms *perms)
{
	if (!xs_mkdir(st->xs, st->tx, path))
		return errno;
	return set_perms(st, path, perms);
}

/* True when @path is there and has nothing below. */
static bool is_empty_dir(struct store *st, const char *path)
{
	unsigned int num = 0;
	char **names = xs_directory(st->xs, st->tx, path, &num);

	free(names);
	return names && !num;
}

int store_remove(struct store *st, const char *path, unsigned int parents)
{
	char *dir = xstrdup(path), *slash;
	int r = 0;

	if (!xs_rm(st->xs, st->tx, path) && errno != ENOENT)
		r = errno;
	for (; !r && parents; parents--) {
		slash = strrchr(dir, '/');
		if (!slash || slash == dir)
			break;
		*slash = '\0';
		if (!is_empty_dir(st, dir) || !xs_rm(st->xs, st->tx, dir))
			break;
	}
	free(dir);
	return r;
}

int store_begin(struct store *st)
{
	st->tx = xs_transaction_start(st->xs);
	return st->tx == XBT_NULL ? errno : 0;
}

int store_commit(struct store *st)
{
	bool ok = xs_transaction_end(st->xs, st->tx, false);
	int r = ok ? 0 : errno;

	st->tx = XBT_NULL;
	return r;
}

void store_abort(struct store *st)
{
	if (st->tx != XBT_NULL)
		xs_transaction_end(st->xs, st->tx, true);
	st->tx = XBT_NULL;
}

int store_watch(struct store *st, const char *path)
{
	return xs_watch(st->xs, path, "xpvctl") ? 0 : errno;
}

void store_unwatch(struct store *st, const char *path)
{
	xs_unwatch(st->xs, path, "xpvctl");
}

/* Until there may be an event: 0, ETIMEDOUT at @end, or why not. */
static int wait_event(struct store *st, uint64_t end)
{
	uint64_t now = host_now_ms();

	return now >= end ? ETIMEDOUT : host_wait_readable(xs_fileno(st->xs), end - now);
}

int store_event(struct store *st, unsigned int ms, char **path)
{
	uint64_t end = host_now_ms() + ms;
	char **event;
	int r;

	for (;;) {
		event = xs_check_watch(st->xs);
		if (event) {
			*path = xstrdup(event[XS_WATCH_PATH]);
			free(event);
			return 0;
		}
		r = wait_event(st, end);
		if (r)
			return r;
	}
}

/* Takes every event that waits; what changed is read again anyway. */
static void drain_events(struct store *st)
{
	char **event;

	while ((event = xs_check_watch(st->xs)))
		free(event);
}

static int wait_loop(struct store *st, store_condition cond, void *arg, unsigned int ms)
{
	uint64_t end = host_now_ms() + ms;
	int r;

	for (;;) {
		drain_events(st);
		switch (cond(st, arg)) {
		case WAIT_DONE:
			return 0;
		case WAIT_FAILED:
			return ECANCELED;
		case WAIT_MORE:
			break;
		}
		r = wait_event(st, end);
		if (r)
			return r;
	}
}

int store_wait(struct store *st, const char *const *paths, size_t n,
	       store_condition cond, void *arg, unsigned int ms)
{
	size_t set;
	int r = 0;

	for (set = 0; set < n; set++) {
		if (!xs_watch(st->xs, paths[set], "xpvctl")) {
			r = errno;
			goto out;
		}
	}
	r = wait_loop(st, cond, arg, ms);
out:
	while (set)
		xs_unwatch(st->xs, paths[--set], "xpvctl");
	return r;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * fake_store.c: an in-memory xenstore behind libxenstore's functions: a sorted
 * list of nodes with values and permissions, transactions as copies. Can fail
 * the n-th change, fail commits with EAGAIN and deny reading.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xenstore.h>

#include "fake.h"
#include "text.h"

struct fnode {
	char *path;
	char *value;
	unsigned int owner;
	int reader;		/* -1: nobody else */
};

struct tree {
	struct fnode *v;
	size_t n;
};

struct fake_store fake_store;

static struct tree live, copy;
static bool in_tx;
static unsigned int changes;
static char *log_text;

static struct tree *tree_of(xs_transaction_t t)
{
	return t == XBT_NULL ? &live : &copy;
}

static void tree_clear(struct tree *t)
{
	while (t->n) {
		t->n--;
		free(t->v[t->n].path);
		free(t->v[t->n].value);
	}
	free(t->v);
	t->v = NULL;
}

static void tree_copy(struct tree *to, const struct tree *from)
{
	size_t i;

	tree_clear(to);
	to->v = xcalloc(from->n, sizeof(*to->v));
	to->n = from->n;
	for (i = 0; i < from->n; i++) {
		to->v[i] = from->v[i];
		to->v[i].path = xstrdup(from->v[i].path);
		to->v[i].value = xstrdup(from->v[i].value);
	}
}

static struct fnode *find(struct tree *t, const char *path)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (!strcmp(t->v[i].path, path))
			return &t->v[i];
	return NULL;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct fnode *)a)->path, ((const struct fnode *)b)->path);
}

/* Makes the node and its parents; a new node has its parent's permissions. */
static struct fnode *make(struct tree *t, const char *path)
{
	struct fnode *node = find(t, path), *above, new = { .owner = 0, .reader = -1 };
	char *parent, *slash;

	if (node)
		return node;
	parent = xstrdup(path);
	slash = strrchr(parent, '/');
	if (slash && slash != parent) {
		*slash = '\0';
		above = make(t, parent);
		new.owner = above->owner;
		new.reader = above->reader;
	}
	free(parent);
	new.path = xstrdup(path);
	new.value = xstrdup("");
	t->v = xgrow(t->v, t->n + 1, sizeof(*t->v));
	t->v[t->n++] = new;
	qsort(t->v, t->n, sizeof(*t->v), by_path);
	return find(t, path);
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (!path[n] || path[n] == '/');
}

static void remove_tree(struct tree *t, const char *path)
{
	size_t i, kept = 0;

	for (i = 0; i < t->n; i++) {
		if (is_below(t->v[i].path, path)) {
			free(t->v[i].path);
			free(t->v[i].value);
		} else {
			t->v[kept++] = t->v[i];
		}
	}
	t->n = kept;
}

static void set_value(struct fnode *node, const char *value, size_t len)
{
	free(node->value);
	node->value = xcalloc(len + 1, 1);
	memcpy(node->value, value, len);
}

void fake_store_reset(void)
{
	tree_clear(&live);
	tree_clear(&copy);
	free(log_text);
	log_text = xstrdup("");
	in_tx = false;
	changes = 0;
	memset(&fake_store, 0, sizeof(fake_store));
}

void fake_put(const char *path, const char *value)
{
	set_value(make(&live, path), value, strlen(value));
}

void fake_putf(const char *value, const char *fmt, ...)
{
	char path[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	fake_put(path, value);
}

const char *fake_get(const char *path)
{
	struct fnode *node = find(&live, path);

	return node ? node->value : NULL;
}

void fake_remove(const char *path)
{
	remove_tree(&live, path);
}

size_t fake_count(void)
{
	return live.n;
}

static void print_perms(FILE *f, const struct fnode *node)
{
	fprintf(f, " [n%u", node->owner);
	if (node->reader >= 0)
		fprintf(f, " r%d", node->reader);
	fprintf(f, "]\n");
}

char *fake_dump(void)
{
	char *text = NULL;
	size_t len, i;
	FILE *f = open_memstream(&text, &len);

	for (i = 0; i < live.n; i++) {
		fprintf(f, "%s = %s", live.v[i].path, live.v[i].value);
		print_perms(f, &live.v[i]);
	}
	fclose(f);
	return text;
}

const char *fake_log(void)
{
	return log_text;
}

static void note(const char *op, const char *path, const char *value)
{
	char *longer = xasprintf("%s%s %s%s%s\n", log_text, op, path, value ? " " : "",
				 value ? value : "");

	free(log_text);
	log_text = longer;
}

/* True when this change is the one that shall fail. */
static bool fails(void)
{
	changes++;
	if (!fake_store.fail_after || changes != fake_store.fail_after)
		return false;
	errno = ENOSPC;
	return true;
}

static bool denied(const char *path)
{
	if (!fake_store.deny || strncmp(path, fake_store.deny, strlen(fake_store.deny)))
		return false;
	errno = EACCES;
	return true;
}

struct xs_handle *xs_open(unsigned long flags)
{
	(void)flags;
	errno = fake_store.open_error;
	return fake_store.open_error ? NULL : (struct xs_handle *)&fake_store;
}

void xs_close(struct xs_handle *xsh)
{
	(void)xsh;
}

void *xs_read(struct xs_handle *h, xs_transaction_t t, const char *path, unsigned int *len)
{
	char home[256];
	struct fnode *node;

	(void)h;
	fake_store.reads++;
	if (*path != '/') {
		snprintf(home, sizeof(home), "/local/domain/0/%s", path);
		path = home;
	}
	if (denied(path))
		return NULL;
	node = find(tree_of(t), path);
	if (!node) {
		errno = ENOENT;
		return NULL;
	}
	*len = strlen(node->value);
	return xstrdup(node->value);
}

bool xs_write(struct xs_handle *h, xs_transaction_t t, const char *path, const void *data,
	      unsigned int len)
{
	struct fnode *node;

	(void)h;
	if (fails())
		return false;
	node = make(tree_of(t), path);
	set_value(node, data, len);
	note("write", path, node->value);
	return true;
}

bool xs_mkdir(struct xs_handle *h, xs_transaction_t t, const char *path)
{
	(void)h;
	if (fails())
		return false;
	make(tree_of(t), path);
	note("mkdir", path, NULL);
	return true;
}

bool xs_rm(struct xs_handle *h, xs_transaction_t t, const char *path)
{
	(void)h;
	if (fails())
		return false;
	if (!find(tree_of(t), path)) {
		errno = ENOENT;
		return false;
	}
	remove_tree(tree_of(t), path);
	note("rm", path, NULL);
	return true;
}

bool xs_set_permissions(struct xs_handle *h, xs_transaction_t t, const char *path,
			struct xs_permissions *perms, unsigned int num)
{
	struct fnode *node = find(tree_of(t), path);

	(void)h;
	if (fails())
		return false;
	if (!node || num != 2 || perms[0].perms != XS_PERM_NONE ||
	    perms[1].perms != XS_PERM_READ) {
		errno = EINVAL;
		return false;
	}
	node->owner = perms[0].id;
	node->reader = perms[1].id;
	return true;
}

struct xs_permissions *xs_get_permissions(struct xs_handle *h, xs_transaction_t t,
					  const char *path, unsigned int *num)
{
	struct fnode *node = find(tree_of(t), path);
	struct xs_permissions *p;

	(void)h;
	if (!node) {
		errno = ENOENT;
		return NULL;
	}
	p = xcalloc(2, sizeof(*p));
	p[0] = (struct xs_permissions){ .id = node->owner, .perms = XS_PERM_NONE };
	p[1] = (struct xs_permissions){ .id = node->reader, .perms = XS_PERM_READ };
	*num = node->reader < 0 ? 1 : 2;
	return p;
}

void fake_perms(const char *path, unsigned int owner, int reader)
{
	size_t i;

	for (i = 0; i < live.n; i++) {
		if (is_below(live.v[i].path, path)) {
			live.v[i].owner = owner;
			live.v[i].reader = reader;
		}
	}
}

static char **pack(char **names, size_t n)
{
	size_t bytes = n * sizeof(char *), i;
	char **list, *p;

	for (i = 0; i < n; i++)
		bytes += strlen(names[i]) + 1;
	list = xcalloc(1, bytes + 1);
	p = (char *)(list + n);
	for (i = 0; i < n; i++) {
		list[i] = strcpy(p, names[i]);
		p += strlen(p) + 1;
	}
	return list;
}

char **xs_directory(struct xs_handle *h, xs_transaction_t t, const char *path, unsigned int *num)
{
	struct tree *tree = tree_of(t);
	char **names = NULL, **list;
	size_t len = strlen(path), n = 0, i;

	(void)h;
	fake_store.reads++;
	if (denied(path))
		return NULL;
	if (!find(tree, path)) {
		errno = ENOENT;
		return NULL;
	}
	for (i = 0; i < tree->n; i++) {
		const char *p = tree->v[i].path;

		if (strlen(p) <= len || !is_below(p, path) || strchr(p + len + 1, '/'))
			continue;
		names = xgrow(names, n + 1, sizeof(*names));
		names[n++] = (char *)p + len + 1;
	}
	list = pack(names, n);
	free(names);
	*num = n;
	return list;
}

xs_transaction_t xs_transaction_start(struct xs_handle *h)
{
	(void)h;
	tree_copy(&copy, &live);
	in_tx = true;
	note("begin", "-", NULL);
	return 1;
}

bool xs_transaction_end(struct xs_handle *h, xs_transaction_t t, bool abort)
{
	(void)h;
	(void)t;
	if (!in_tx) {
		errno = EINVAL;
		return false;
	}
	in_tx = false;
	if (!abort && fake_store.eagain) {
		fake_store.eagain--;
		errno = EAGAIN;
		return false;
	}
	if (!abort)
		tree_copy(&live, &copy);
	note(abort ? "abort" : "commit", "-", NULL);
	return true;
}

bool xs_watch(struct xs_handle *h, const char *path, const char *token)
{
	(void)h;
	(void)path;
	(void)token;
	fake_store.watches++;
	return true;
}

bool xs_unwatch(struct xs_handle *h, const char *path, const char *token)
{
	(void)h;
	(void)path;
	(void)token;
	fake_store.watches--;
	return true;
}

int xs_fileno(struct xs_handle *h)
{
	(void)h;
	return -1;
}

char **xs_check_watch(struct xs_handle *h)
{
	const char *path;
	char **event;

	(void)h;
	if (!fake_store.events || !*fake_store.events) {
		errno = EAGAIN;
		return NULL;
	}
	path = *fake_store.events++;
	event = xcalloc(1, 2 * sizeof(*event) + strlen(path) + 1);
	event[XS_WATCH_PATH] = strcpy((char *)(event + 2), path);
	event[XS_WATCH_TOKEN] = event[XS_WATCH_PATH];
	return event;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * store.h: xenstore as this tool uses it: single keys, one directory level,
 * a transaction, waiting for keys to change. The only user of libxenstore.
 */
#ifndef XPVCTL_STORE_H
#define XPVCTL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xs_handle;

struct store {
	struct xs_handle *xs;
	uint32_t tx;		/* 0: outside a transaction */
};

/* 0, or an errno: no xenstore here, or not for this user. */
int store_open(struct store *st);
void store_close(struct store *st);

/*
 * NULL when there is no such node or it may not be read (errno tells which).
 * The caller frees. store_get() reads @dir/@key.
 */
char *store_read(struct store *st, const char *path);
char *store_get(struct store *st, const char *dir, const char *key);
bool store_exists(struct store *st, const char *path);

/* The names one level below; 0 and NULL when missing or forbidden (errno tells). */
char **store_list(struct store *st, const char *path, size_t *n);

/*
 * One directory with the names in it, listed once: a key that is not there
 * costs no request. What is written later is not seen; for looking only.
 */
struct view {
	const char *dir;	/* the caller's */
	bool there;
	char **names;
	size_t n;
};

void view_open(struct store *st, const char *dir, struct view *v);
void view_close(struct view *v);
bool view_has(const struct view *v, const char *key);
char *view_get(struct store *st, const struct view *v, const char *key);

/* Owner first, with no default access for others; then one reader. */
struct store_perms {
	unsigned int owner;
	unsigned int reader;
};

/* All of these: 0 or an errno. NULL @perms: what the directory hands down. */
int store_set(struct store *st, const char *dir, const char *key, const char *value,
	      const struct store_perms *perms);
/* What @domid may do with @path; this also says yes when nobody can tell. */
bool store_may_read(struct store *st, const char *path, unsigned int domid);
bool store_may_write(struct store *st, const char *path, unsigned int domid);
int store_make_dir(struct store *st, const char *path, const struct store_perms *perms);

/* Removes @path, and up to @parents directories above it that become empty. */
int store_remove(struct store *st, const char *path, unsigned int parents);

int store_begin(struct store *st);
/* EAGAIN: others changed what was read; do it all again. */
int store_commit(struct store *st);
void store_abort(struct store *st);

/* 0 or an errno. Every change below @path is an event from then on. */
int store_watch(struct store *st, const char *path);
void store_unwatch(struct store *st, const char *path);

/* 0 and the path that changed, for the caller to free; ETIMEDOUT; EINTR; errno. */
int store_event(struct store *st, unsigned int ms, char **path);

/* What a condition says about going on waiting. */
enum wait_verdict { WAIT_MORE, WAIT_DONE, WAIT_FAILED };

typedef enum wait_verdict (*store_condition)(struct store *st, void *arg);

/*
 * Evaluates @cond now and whenever one of the @n paths changes. 0 when it said
 * done, ECANCELED when it said failed, ETIMEDOUT after @ms, EINTR by a signal.
 */
int store_wait(struct store *st, const char *const *paths, size_t n,
	       store_condition cond, void *arg, unsigned int ms);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fake.h: what the cases see of the two fakes: an in-memory xenstore that
 * takes the place of libxenstore, and a machine that takes the place of
 * host.c. Both start empty for every case.
 */
#ifndef XPV_TEST_FAKE_H
#define XPV_TEST_FAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "ctx.h"
#include "host.h"

void fake_reset(void);
void fake_store_reset(void);

/* fake_store.c: direct access for the cases and their peers. */
void fake_put(const char *path, const char *value);
void fake_putf(const char *value, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *fake_get(const char *path);		/* NULL: no such node */
void fake_remove(const char *path);
/* Of @path and all below; @reader -1: nobody but the owner. */
void fake_perms(const char *path, unsigned int owner, int reader);
size_t fake_count(void);

/* Everything in the store, a line a node: "path = value [n0 r1]". Caller frees. */
char *fake_dump(void);
/* What changed the store, in order, a line an operation. */
const char *fake_log(void);

struct fake_store {
	int open_error;
	unsigned int eagain;		/* so many commits fail with EAGAIN */
	unsigned int fail_after;	/* the n-th change fails with ENOSPC; 0: none */
	const char *deny;		/* paths starting so may not be read */
	unsigned int watches;		/* set now */
	const char *const *events;	/* paths that changed, NULL at the end */
	unsigned int reads;		/* requests that only look, so far */
};

extern struct fake_store fake_store;

struct fake_host {
	uint64_t now_ms;
	/* Called while the tool waits; what it does is what the peers do. */
	void (*on_wait)(void);
	bool signal;			/* the next wait is interrupted */
	/* Called in place of a script: its exit status. */
	int (*on_script)(const char *const *argv, const char *const *env);
	int script_error;
	unsigned int scripts;		/* runs so far */
	int domain_error;
	struct domain_info domain;
	unsigned int gone;		/* a domain that does not exist; 0: none */
	const struct domain_entry *domains;	/* what Xen lists; NULL: it does not say */
	size_t nr_domains;
	void (*on_pause)(void);		/* called in place of a pause */
	const char *text;		/* of every file that is read whole */
	unsigned int grant_frames;	/* of every domain; 0: not known */
	enum file_kind file;		/* of every path but those in absent */
	const char *const *absent;	/* files that are not there, NULL at the end */
	const char *driver, *module;	/* bound to every backend */
	const char *const *files;	/* pairs: path, first line */
	const char *const *links;	/* pairs: path, name it points to */
};

extern struct fake_host fake_host;

/* A context whose output goes into two strings. */
struct capture {
	struct ctx c;
	char *out;
	char *err;
	size_t out_len;
	size_t err_len;
};

void capture_start(struct capture *cap);
/* Flushes: out and err are strings now. */
void capture_end(struct capture *cap);
void capture_free(struct capture *cap);

/* Runs a command with these words, NULL at the end; its exit code. */
int run(struct capture *cap, int (*cmd)(struct ctx *c, int argc, char **argv), ...);

#endif

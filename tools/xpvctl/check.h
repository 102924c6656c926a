/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check.h: what is left of devices and domains that are gone. One picture of
 * Xen, the store and this kernel is taken by check_look.c; the findings in it
 * are pure; each kind has a stable code.
 */
#ifndef XPVCTL_CHECK_H
#define XPVCTL_CHECK_H

#include "device.h"

enum finding_kind {
	FOUND_ZOMBIE,
	FOUND_NAME,
	FOUND_DOMAIN,
	FOUND_BACKEND,
	FOUND_FRONTEND,
	FOUND_HALF,
	FOUND_ERROR,
	FOUND_KERNEL,
	FOUND_NETDEV,
	FOUND_THREAD,
	NR_FINDINGS,
};

struct finding_row {
	const char *code;
	const char *what;
	const char *todo;
	bool repairable;
};

extern const struct finding_row finding_rows[NR_FINDINGS];

/* A directory of a domain in the store. */
struct seen_domain {
	unsigned int domid;
	char *name;		/* escaped, NULL when it has none */
	char *path;		/* its directory, here or below /libxl */
};

/* Both ends' directories of a device. */
struct seen_device {
	struct dev_id id;
	bool front_there;
	bool back_there;
};

/* A thing of this kernel, or an error node, that belongs to a device. */
struct seen_thing {
	enum finding_kind kind;
	unsigned int front;
	unsigned int devid;
	const struct backend_kind *backend;	/* NULL: not said by its name */
	char *name;
};

struct picture {
	unsigned int self;
	struct domain_entry *xen;
	size_t nr_xen;
	struct seen_domain *domains;
	size_t nr_domains;
	struct seen_device *devices;
	size_t nr_devices;
	struct seen_thing *things;
	size_t nr_things;
};

struct finding {
	enum finding_kind kind;
	unsigned int domid;
	struct dev_id id;	/* BACKEND, FRONTEND, HALF */
	char *what;		/* the thing itself: a path or a name */
};

struct findings {
	struct finding *v;
	size_t n;
};

/* False: Xen does not tell which domains there are. */
bool picture_take(struct ctx *c, struct picture *p);
void picture_free(struct picture *p);

/* Pure; sorted by kind, then as seen. */
void findings_decide(const struct picture *p, struct findings *f);
void findings_free(struct findings *f);

/* Pure: a thread's or interface's name to its domain and number. */
bool thread_parse(const char *comm, unsigned int *front, unsigned int *devid);
bool netdev_parse(const char *name, unsigned int *front, unsigned int *devid);

#endif

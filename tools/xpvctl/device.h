/* SPDX-License-Identifier: GPL-2.0 */
/*
 * device.h: a vif or vbd as xenstore and sysfs describe it. Identity and paths
 * are built from numbers, never followed from what a peer wrote.
 */
#ifndef XPVCTL_DEVICE_H
#define XPVCTL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctx.h"
#include "host.h"
#include "names.h"

#define MAX_DOMID 0x7fef	/* the ids above have special meanings */
#define MAX_DEVID INT32_MAX

struct dev_id {
	const struct backend_kind *kind;
	unsigned int front;
	unsigned int back;
	unsigned int devid;
};

struct paths {
	char *front;
	char *back;
	char *libxl;
	char *front_error;	/* directories of the drivers' error nodes */
	char *back_error;
};

void paths_init(struct paths *p, const struct dev_id *id);
void paths_free(struct paths *p);

/* "vif 0", "xvda". */
void dev_label(const struct dev_id *id, char *label, size_t size);

enum feature_type { FEATURE_FLAG, FEATURE_NUMBER, FEATURE_TEXT };

struct feature {
	const char *name;
	enum feature_type type;
	bool known;		/* false: not said, or malformed */
	uint64_t number;
	char *text;		/* escaped */
};

/* What "show" adds; 0 and NULL: not known. */
struct device_more {
	const char *code;	/* of explain's verdict */
	unsigned int grant_frames, max_grant_frames;
	unsigned int event_channels;
	unsigned int mtu_vif, mtu_bridge, mtu_back, mtu_front;
};

struct device {
	struct dev_id id;
	char label[16];
	char *domain;		/* escaped name, NULL when it has none */
	bool front_there;
	bool back_there;
	unsigned int front_state;
	unsigned int back_state;
	char *hotplug;		/* escaped; NULL when not written */
	enum driver_kind driver;
	char *driver_name;
	struct feature *features;
	size_t nr_features;
	struct counter *counters;
	size_t nr_counters;
	char **notes;		/* what is wrong with its keys, escaped */
	size_t nr_notes;
	const struct device_more *more;	/* the caller's; NULL: only for show */
};

/* How much of a device is read: each step costs requests to the store. */
enum detail {
	DETAIL_TABLE,		/* what a line of the table shows */
	DETAIL_KEYS,		/* every feature */
	DETAIL_COUNTERS,	/* and the backend's counters */
};

void device_load(struct ctx *c, const struct dev_id *id, enum detail detail, struct device *d);
void device_free(struct device *d);

void device_note(struct device *d, char *note);

/* features.c: fills d->features from the two directories. */
void features_load(struct store *st, const struct view *front, const struct view *back,
		   enum detail detail, struct device *d);

/* counters.c: driver and counters of a backend in this domain. */
void backend_load(struct ctx *c, const struct paths *p, bool counters, struct device *d);

/*
 * Removes the error nodes of both ends, which the drivers never do: those of a
 * device that is gone would be told of the next one. Not being allowed to is no
 * failure.
 */
void errors_remove(struct store *st, const struct paths *p);

/* A state key as a number; missing or malformed reads as Unknown. */
unsigned int read_state(struct store *st, const char *dir);

/* set.c: the keys of "set", for help texts. */
void set_help(FILE *out);

/* find.c */

/* Every device of every domain, sorted; the caller frees. */
struct dev_id *device_list(struct ctx *c, size_t *n);

/* The device @devid of @front wherever its backend is: 0 or ENOENT. */
int device_find(struct ctx *c, enum dev_class class, unsigned int front,
		unsigned int devid, struct dev_id *id);

/* A domain by number or name. XPV_NOT_FOUND is complained about. */
int domain_find(struct ctx *c, const char *word, unsigned int *domid);

/* The same, but any number will do: a domain that is gone may have left devices. */
int domain_or_number(struct ctx *c, const char *word, unsigned int *domid);

/*
 * "DOM/vif/0", "DOM/vbd/51712", "DOM/xvda", "vif1.0", "vif-1-0",
 * "vbd-1-51712": @domain is a copy the caller frees. False when malformed.
 */
bool device_parse(const char *word, char **domain, enum dev_class *class, unsigned int *devid);

/* The device a word names. XPV_USAGE or XPV_NOT_FOUND is complained about. */
int device_of_word(struct ctx *c, const char *word, struct dev_id *id);

/* format.c */
void format_table(FILE *out, const struct device *list, size_t n);
void format_details(FILE *out, const struct device *d);
void format_counters(FILE *out, const struct device *d);
void format_json(FILE *out, const struct device *list, size_t n);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * spec.h: what the words of "attach" ask for, and the xenstore nodes that say
 * so. Pure.
 */
#ifndef XPVCTL_SPEC_H
#define XPVCTL_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

struct spec {
	enum dev_class class;
	char *domain;		/* as given */
	char *backend;		/* as given, NULL: this domain */
	char *script;		/* absolute */
	bool trusted;
	/* vif */
	bool has_devid;
	uint32_t devid;		/* of a vbd: from vdev */
	char mac[18];		/* empty: to be made up */
	char *bridge;
	uint32_t mtu;
	char *rate;		/* "bytes,usec" */
	char *vifname;
	char *ip;
	/* vbd */
	char *params;
	char *vdev;
	char mode;
	bool cdrom;
	int discard;		/* -1: as mode */
};

void spec_init(struct spec *s, enum dev_class class);
void spec_free(struct spec *s);

/*
 * Reads "key=value" words. NULL when all are good and the needed ones there,
 * else a message that the caller frees.
 */
char *spec_parse(struct spec *s, int argc, char *const *argv);

/* The keys that "attach" of @class takes, for help texts. */
void spec_help(FILE *out, enum dev_class class);

struct node {
	const char *key;
	char *value;
	bool guest_readonly;
};

#define MAX_NODES 24

struct nodes {
	struct node v[MAX_NODES];
	unsigned int n;
};

/* The nodes of both directories, in the order they are written. */
void nodes_build(const struct spec *s, const struct dev_id *id, const struct domain_info *dom,
		 struct nodes *front, struct nodes *back);
void nodes_free(struct nodes *nodes);

#endif

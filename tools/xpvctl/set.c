// SPDX-License-Identifier: GPL-2.0
/*
 * set.c: the command "set": changes of a running device by a key that the
 * backend drivers watch. A key that no driver would notice is refused, with
 * what to do in its place, rather than written without effect.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "text.h"

struct set_key {
	const char *key;
	enum dev_class class;
	/* The value as the driver reads it, NULL when malformed; NULL: refused. */
	char *(*convert)(const char *value);
	const char *help;	/* values, or why it is refused */
};

static const struct set_key keys[] = {
	{ "rate", CLASS_VIF, text_rate, "a rate like 10MB/s or 100Mb/s@20ms, or none" },
	{ "mtu", CLASS_VIF, NULL,
	  "no driver reads it while connected: ip link set dev VIF mtu N, and in the guest" },
	{ "carrier", CLASS_VIF, NULL,
	  "no driver reads it: ip link set dev VIF down" },
	{ "queues", CLASS_VIF, NULL,
	  "agreed on at connect only: detach, set max_queues of the module, attach" },
	{ "queues", CLASS_VBD, NULL,
	  "agreed on at connect only: detach, set max_queues of the module, attach" },
	{ "coalescing", CLASS_VIF, NULL, "ethtool --coalesce sets it where a driver has it" },
	{ "iops", CLASS_VBD, NULL,
	  "no driver limits requests: use the io.max of the backend's control group" },
};

#define NR_KEYS (sizeof(keys) / sizeof(*keys))

static const struct set_key *find_key(const char *word, size_t len, enum dev_class class)
{
	size_t i;

	for (i = 0; i < NR_KEYS; i++)
		if (keys[i].class == class && strlen(keys[i].key) == len &&
		    !strncmp(keys[i].key, word, len))
			return &keys[i];
	return NULL;
}

/* One "key=value" word; on success *value is NULL for "take the limit away". */
static int parse_word(struct ctx *c, const char *word, enum dev_class class,
		      const struct set_key **key, char **value)
{
	const char *equals = strchr(word, '=');

	*value = NULL;
	*key = equals ? find_key(word, equals - word, class) : NULL;
	if (!*key) {
		complain(c, "\"%s\": no key of a %s, or no value", word, class_name(class));
		return XPV_USAGE;
	}
	if (!(*key)->convert) {
		complain(c, "%s cannot be set: %s", (*key)->key, (*key)->help);
		return XPV_FAILED;
	}
	if (!strcmp(equals + 1, "none"))
		return XPV_OK;
	*value = (*key)->convert(equals + 1);
	if (*value)
		return XPV_OK;
	complain(c, "%s = \"%s\": %s expected", (*key)->key, equals + 1, (*key)->help);
	return XPV_USAGE;
}

static int write_once(struct store *st, const struct paths *p, const char *key, const char *value)
{
	const char *const dirs[] = { p->back, p->libxl };
	char *path;
	size_t i;
	int r = 0;

	for (i = 0; i < 2 && !r; i++) {
		/* The toolstack's copy only where there is one. */
		if (!store_exists(st, dirs[i]))
			continue;
		path = xasprintf("%s/%s", dirs[i], key);
		r = value ? store_set(st, dirs[i], key, value, NULL) : store_remove(st, path, 0);
		free(path);
	}
	return r;
}

static int write_key(struct ctx *c, const struct dev_id *id, const char *key, const char *value)
{
	struct store *st = &c->store;
	struct paths p;
	int r;

	paths_init(&p, id);
	do {
		r = store_begin(st);
		if (!r && !store_exists(st, p.back))
			r = ENOENT;
		if (!r)
			r = write_once(st, &p, key, value);
		if (r)
			break;
		r = store_commit(st);
	} while (r == EAGAIN);
	store_abort(st);
	if (r)
		complain(c, "cannot write %s/%s: %s", p.back, key, strerror(r));
	paths_free(&p);
	return exit_of_errno(r);
}

/* All words are checked before the first is written. */
static int set_all(struct ctx *c, const struct dev_id *id, int argc, char **argv)
{
	const struct set_key *key;
	char *value;
	int rc = XPV_OK, i, pass;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; !rc && i < argc; i++) {
			rc = parse_word(c, argv[i], id->kind->class, &key, &value);
			if (!rc && pass)
				rc = write_key(c, id, key->key, value);
			free(value);
		}
	}
	return rc;
}

void set_help(FILE *out)
{
	size_t i;

	fputs("\nKeys:\n", out);
	for (i = 0; i < NR_KEYS; i++)
		if (keys[i].convert)
			fprintf(out, "  %s %s=  %s\n", class_name(keys[i].class), keys[i].key,
				keys[i].help);
}

int cmd_set(struct ctx *c, int argc, char **argv)
{
	struct dev_id id;
	int rc;

	if (argc < 2) {
		complain(c, "set takes a device and key=value words");
		return XPV_USAGE;
	}
	rc = device_of_word(c, argv[0], &id);
	return rc ? rc : set_all(c, &id, argc - 1, argv + 1);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * names.c: tables of words. Decides nothing but spelling; pure. Called from
 * everywhere.
 */
#include <string.h>

#include "names.h"

static const char *const states[] = {
	[STATE_UNKNOWN] = "Unknown",
	[STATE_INITIALISING] = "Initialising",
	[STATE_INIT_WAIT] = "InitWait",
	[STATE_INITIALISED] = "Initialised",
	[STATE_CONNECTED] = "Connected",
	[STATE_CLOSING] = "Closing",
	[STATE_CLOSED] = "Closed",
	[STATE_RECONFIGURING] = "Reconfiguring",
	[STATE_RECONFIGURED] = "Reconfigured",
};

const char *state_name(unsigned int state)
{
	if (state >= sizeof(states) / sizeof(*states))
		return "invalid";
	return states[state];
}

static const char *const classes[] = {
	[CLASS_VIF] = "vif",
	[CLASS_VBD] = "vbd",
};

const char *class_name(enum dev_class class)
{
	return classes[class];
}

bool class_from_name(const char *word, enum dev_class *class)
{
	unsigned int i;

	for (i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		if (!strcmp(word, classes[i])) {
			*class = i;
			return true;
		}
	}
	return false;
}

const struct backend_kind backend_kinds[] = {
	{ "vif", CLASS_VIF, true },
	{ "vbd", CLASS_VBD, true },
	{ "vbd3", CLASS_VBD, false },
	{ "qdisk", CLASS_VBD, false },
	{ }
};

const struct backend_kind *backend_kind_find(const char *name)
{
	const struct backend_kind *k;

	for (k = backend_kinds; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

static const char *const drivers[] = {
	[DRIVER_NONE] = "-",
	[DRIVER_OURS] = "ours",
	[DRIVER_STOCK] = "stock",
	[DRIVER_OTHER] = "other",
};

const char *driver_kind_name(enum driver_kind kind)
{
	return drivers[kind];
}

static bool is_ours(const char *name)
{
	return !strncmp(name, "xpv", 3);
}

enum driver_kind driver_kind_of(const char *driver, const char *module)
{
	if (!driver)
		return DRIVER_NONE;
	if (is_ours(driver) || (module && is_ours(module)))
		return DRIVER_OURS;
	if (module)
		return !strcmp(module, "xen_netback") || !strcmp(module, "xen_blkback") ?
			DRIVER_STOCK : DRIVER_OTHER;
	return !strcmp(driver, "vif") || !strcmp(driver, "vbd") ? DRIVER_STOCK : DRIVER_OTHER;
}

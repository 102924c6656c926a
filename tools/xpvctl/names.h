/* SPDX-License-Identifier: GPL-2.0 */
/*
 * names.h: the words and numbers that this tool and its readers share: exit
 * codes, xenbus states, kinds of device, names of who drives a backend.
 */
#ifndef XPVCTL_NAMES_H
#define XPVCTL_NAMES_H

#include <stdbool.h>

enum xpv_exit {
	XPV_OK = 0,
	XPV_FAILED = 1,
	XPV_USAGE = 2,
	XPV_NOT_FOUND = 3,
	XPV_TIMEOUT = 4,
	XPV_NO_XEN = 5,
};

enum xenbus_state {
	STATE_UNKNOWN = 0,
	STATE_INITIALISING = 1,
	STATE_INIT_WAIT = 2,
	STATE_INITIALISED = 3,
	STATE_CONNECTED = 4,
	STATE_CLOSING = 5,
	STATE_CLOSED = 6,
	STATE_RECONFIGURING = 7,
	STATE_RECONFIGURED = 8,
};

/* The word for @state; numbers outside the protocol give "invalid". */
const char *state_name(unsigned int state);

enum dev_class { CLASS_VIF, CLASS_VBD };

/* What a class's directory is called below "device" in the guest. */
const char *class_name(enum dev_class class);
bool class_from_name(const char *word, enum dev_class *class);

/* A directory below "backend": whose frontends its devices serve. */
struct backend_kind {
	const char *name;
	enum dev_class class;
	bool kernel;	/* served by a kernel driver, with a hotplug script */
};

extern const struct backend_kind backend_kinds[];

/* NULL for a kind this tool does not handle (console, 9pfs, ...). */
const struct backend_kind *backend_kind_find(const char *name);

enum driver_kind { DRIVER_NONE, DRIVER_OURS, DRIVER_STOCK, DRIVER_OTHER };

const char *driver_kind_name(enum driver_kind kind);

/*
 * Judges the module (NULL: built into the kernel) and the driver name bound
 * to a backend device. A NULL driver is an unbound device.
 */
enum driver_kind driver_kind_of(const char *driver, const char *module);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hotplug.h: Xen's hotplug scripts, and the two error nodes a device can have.
 */
#ifndef XPVCTL_HOTPLUG_H
#define XPVCTL_HOTPLUG_H

#include "device.h"

enum hotplug_action {
	HOTPLUG_UP,	/* "online" or "add" */
	HOTPLUG_DOWN,	/* "offline" or "remove" */
	HOTPLUG_UNDO,	/* as DOWN, but after an UP that failed: likely to fail too */
};

/*
 * Runs the script named in the backend directory. An exit code; failure is
 * complained about, with what the script wrote into the store, but that of an
 * UNDO is not.
 */
int hotplug_run(struct ctx *c, const struct dev_id *id, const struct paths *p,
		enum hotplug_action action);

/* Prints hotplug-error and both ends' error nodes, if there are any. */
void explain_errors(struct ctx *c, const struct paths *p);

#endif

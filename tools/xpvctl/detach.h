/* SPDX-License-Identifier: GPL-2.0 */
/*
 * detach.h: taking a device out, as the command does and as a failed attach
 * does to leave nothing behind.
 */
#ifndef XPVCTL_DETACH_H
#define XPVCTL_DETACH_H

#include "device.h"

struct detach_how {
	bool force;		/* the frontend goes first, time-outs are no obstacle */
	bool run_script;
	bool undo;		/* of an attach that failed: its script may fail */
	unsigned int timeout_ms;
};

/* An exit code; what went wrong is complained about. */
int device_detach(struct ctx *c, const struct dev_id *id, const struct detach_how *how);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * watch.h: what a changed path of the store means for a device. Pure.
 */
#ifndef XPVCTL_WATCH_H
#define XPVCTL_WATCH_H

#include "device.h"

enum watch_kind { WATCH_FRONT_STATE, WATCH_BACK_STATE, WATCH_HOTPLUG, WATCH_FRONT_ERROR,
		  WATCH_BACK_ERROR };

struct watch_event {
	enum watch_kind kind;
	enum dev_class class;
	unsigned int front;
	unsigned int devid;
};

/* False for a path that tells nothing about a vif or vbd. */
bool watch_parse(const char *path, struct watch_event *ev);

/* "backend state": what of the device it is. */
const char *watch_word(enum watch_kind kind);

#endif

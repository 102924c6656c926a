// SPDX-License-Identifier: GPL-2.0
/*
 * test_watch.c: which paths mean something, and each change told once.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "unit.h"
#include "watch.h"

#define FRONT "/local/domain/1/device/vif/0/state"
#define BACK "/local/domain/0/backend/vif/1/0/state"

static void check_path(const char *path, enum watch_kind kind, enum dev_class class,
		       unsigned int devid)
{
	struct watch_event ev = { 0 };

	CHECK(watch_parse(path, &ev));
	CHECK_INT(ev.kind, kind);
	CHECK_INT(ev.class, class);
	CHECK_INT(ev.front, 1);
	CHECK_INT(ev.devid, devid);
}

static void paths(void)
{
	static const char *const nothing[] = {
		"", "/", "/local/domain", "/local/domain/1", "/local/domain/1/device/vif/0",
		"/local/domain/1/device/vif/x/state", "/local/domain/1/device/console/0/state",
		"/local/domain/1/device/vif/0/state/x", "/local/domain/1/memory/target",
		"/local/domain/0/backend/vif/1/0", "/local/domain/0/backend/vif/1/0/mac",
		"/local/domain/0/backend/pci/1/0/state", "/local/domain/0/error/backend/vif/1/0",
		"/local/domain/0/backend/vif/1/state", "@releaseDomain", "/libxl/1/device/vif/0",
	};
	struct watch_event ev;
	size_t i;

	check_path(FRONT, WATCH_FRONT_STATE, CLASS_VIF, 0);
	check_path(BACK, WATCH_BACK_STATE, CLASS_VIF, 0);
	check_path("/local/domain/0/backend/qdisk/1/51712/state", WATCH_BACK_STATE, CLASS_VBD,
		   51712);
	check_path("/local/domain/0/backend/vbd/1/51712/hotplug-status", WATCH_HOTPLUG, CLASS_VBD,
		   51712);
	check_path("/local/domain/0/error/backend/vif/1/3/error", WATCH_BACK_ERROR, CLASS_VIF, 3);
	check_path("/local/domain/1/error/device/vbd/768/error", WATCH_FRONT_ERROR, CLASS_VBD,
		   768);
	for (i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
		unit_check(!watch_parse(nothing[i], &ev), __FILE__, __LINE__, "%s", nothing[i]);
}

static void go_on(void)
{
	static const char *const gone[] = { "/local/domain/0/backend/vif/1/0", NULL };

	if (fake_host.now_ms != 10)
		return;
	fake_remove(gone[0]);
	fake_store.events = gone;
}

static void changes(void)
{
	static const char *const events[] = {
		"/local/domain", FRONT, BACK, BACK, "/local/domain/0/error/backend/vif/1/0/error",
		"/local/domain/0/error/backend/vif/1/0/error",
		"/local/domain/1/memory/target", NULL,
	};
	struct capture cap;

	fake_put("/local/domain/0/domid", "0");
	fake_put(FRONT, "4");
	fake_put(BACK, "4");
	fake_store.events = events;
	fake_put("/local/domain/0/error/backend/vif/1/0/error", "71 x\x1b");
	fake_host.on_wait = go_on;
	capture_start(&cap);
	cap.c.opt.timeout_given = true;
	cap.c.opt.timeout_ms = 1000;
	CHECK_INT(run(&cap, cmd_watch, NULL), XPV_OK);
	CHECK_TEXT(cap.out, "1000.000 vif 0 of domain 1: backend error - -> 71 x\\x1b\n"
		   "1000.010 vif 0 of domain 1: backend state Connected -> -\n");
	CHECK_INT(fake_store.watches, 0);
	CHECK_INT(fake_host.now_ms, 1000);
	capture_free(&cap);
}

static void as_json(void)
{
	static const char *const events[] = { FRONT, NULL };
	struct capture cap;

	fake_put("/local/domain/0/domid", "0");
	fake_put(FRONT, "2");
	fake_store.events = events;
	capture_start(&cap);
	cap.c.opt.json = true;
	fake_host.signal = true;
	CHECK_INT(run(&cap, cmd_watch, NULL), XPV_OK);
	/* Known from the first look. */
	CHECK_TEXT(cap.out, "");
	capture_free(&cap);
	fake_store.events = events;
	fake_remove("/local/domain/1/device/vif/0");
	fake_put("/local/domain/1/device/vif/0", "");
	fake_host.on_wait = NULL;
	capture_start(&cap);
	cap.c.opt.json = true;
	fake_host.signal = true;
	CHECK_INT(run(&cap, cmd_watch, NULL), XPV_OK);
	CHECK_HAS(cap.out, "\"what\":\"frontend state\",\"before\":\"Unknown\",\"value\":null}\n");
	capture_free(&cap);
}

const struct unit_case watch_cases[] = {
	{ "paths", paths },
	{ "changes", changes },
	{ "as_json", as_json },
	{ }
};

// SPDX-License-Identifier: GPL-2.0
/*
 * test_detach.c: the order in which a device goes, with peers that answer and
 * peers that do not, and devices of which only a part is left.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "unit.h"

#define FRONT "/local/domain/3/device/vif/0"
#define BACK "/local/domain/0/backend/vif/3/0"
#define LIBXL "/libxl/3/device/vif/0"

static void put_device(void)
{
	fake_put("/local/domain/0/domid", "0");
	fake_put("/local/domain/3/name", "guest");
	fake_put(FRONT "/state", "4");
	fake_put(FRONT "/backend", BACK);
	fake_put(BACK "/state", "4");
	fake_put(BACK "/online", "1");
	fake_put(BACK "/script", "/etc/xen/scripts/vif-bridge");
	fake_put(BACK "/type", "vif");
	fake_put(LIBXL "/backend", BACK);
}

static void answers(void)
{
	if (fake_get(BACK "/state") && !strcmp(fake_get(BACK "/state"), "5")) {
		fake_put(FRONT "/state", "6");
		fake_put(BACK "/state", "6");
	}
}

/* An "offline" runs while the backend's directory is still there, closed. */
static int offline(const char *const *argv, const char *const *env)
{
	(void)env;
	CHECK_TEXT(argv[1], "offline");
	CHECK_TEXT(fake_get(BACK "/state"), "6");
	CHECK_TEXT(fake_get(BACK "/online"), "0");
	return 0;
}

static void check_all_gone(void)
{
	CHECK(!fake_get("/local/domain/3/device/vif"));
	CHECK(!fake_get("/local/domain/0/backend/vif"));
	CHECK(!fake_get("/libxl/3/device/vif"));
	CHECK(fake_get("/local/domain/3/name"));
}

static void orderly(void)
{
	struct capture cap;

	put_device();
	fake_host.on_wait = answers;
	fake_host.on_script = offline;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "guest", "0", NULL), 0);
	CHECK_TEXT(cap.err, "");
	CHECK_TEXT(fake_log(),
		   "begin -\n"
		   "write " BACK "/online 0\n"
		   "write " BACK "/state 5\n"
		   "commit -\n"
		   "begin -\n"
		   "rm " FRONT "\n"
		   "rm /local/domain/3/device/vif\n"
		   "rm " LIBXL "\n"
		   "rm /libxl/3/device/vif\n"
		   "rm " BACK "\n"
		   "rm /local/domain/0/backend/vif/3\n"
		   "rm /local/domain/0/backend/vif\n"
		   "commit -\n");
	CHECK_INT(fake_host.scripts, 1);
	CHECK_INT(fake_store.watches, 0);
	check_all_gone();
	capture_free(&cap);
}

/* The drivers never remove their error nodes: the next device would inherit them. */
static void old_errors_go(void)
{
	struct capture cap;

	put_device();
	fake_put("/local/domain/0/error/backend/vif/3/0/error", "22 old");
	fake_put("/local/domain/3/error/device/vif/0/error", "22 old");
	fake_put("/local/domain/3/error/device/vbd/1/error", "22 another's");
	fake_host.on_wait = answers;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), 0);
	CHECK(!fake_get("/local/domain/0/error/backend"));
	CHECK(!fake_get("/local/domain/3/error/device/vif"));
	CHECK(fake_get("/local/domain/3/error/device/vbd/1/error"));
	/* Made by the toolstack for the guest to write into. */
	CHECK(fake_get("/local/domain/0/error"));
	capture_free(&cap);
}

/* Others' devices in the same directories stay. */
static void neighbours_stay(void)
{
	struct capture cap;

	put_device();
	fake_put("/local/domain/3/device/vif/1/state", "4");
	fake_put("/local/domain/0/backend/vif/3/1/state", "4");
	fake_host.on_wait = answers;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), 0);
	CHECK(!fake_get(FRONT) && !fake_get(BACK));
	CHECK(fake_get("/local/domain/3/device/vif/1/state"));
	CHECK(fake_get("/local/domain/0/backend/vif/3/1/state"));
	capture_free(&cap);
}

static void silent_peer(void)
{
	struct capture cap;

	put_device();
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), XPV_TIMEOUT);
	CHECK_HAS(cap.err, "backend in state Closing, Closed expected within 10 s; ");
	CHECK_HAS(cap.err, "; frontend in state Connected");
	CHECK(fake_get(FRONT "/state") && fake_get(BACK "/state"));
	CHECK_INT(fake_host.scripts, 0);
	CHECK_INT(fake_host.now_ms, 10000);
	capture_free(&cap);
}

static void forced(void)
{
	struct capture cap;
	const char *log;

	put_device();
	capture_start(&cap);
	cap.c.opt.force = true;
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), 0);
	log = fake_log();
	CHECK(!strncmp(log, "begin -\nrm " FRONT "\n", strlen("begin -\nrm " FRONT "\n")));
	CHECK_INT(fake_host.scripts, 1);
	check_all_gone();
	capture_free(&cap);
}

static void already_closed(void)
{
	struct capture cap;

	put_device();
	fake_put(BACK "/state", "6");
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), 0);
	CHECK_LACKS(fake_log(), "state 5");
	check_all_gone();
	capture_free(&cap);
}

static void backend_gone(void)
{
	struct capture cap;

	put_device();
	fake_remove(BACK);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), 0);
	CHECK_INT(fake_host.scripts, 0);
	CHECK(!fake_get(FRONT) && !fake_get(LIBXL));
	capture_free(&cap);
}

/* The domain is dead: no frontend, no name, only the backend is left. */
static void domain_gone(void)
{
	struct capture cap;

	put_device();
	fake_remove("/local/domain/3");
	fake_remove("/libxl");
	fake_host.on_wait = answers;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), 0);
	CHECK(!fake_get(BACK));
	capture_free(&cap);
}

static void not_there(void)
{
	struct capture cap;

	put_device();
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "1", NULL), XPV_NOT_FOUND);
	CHECK_HAS(cap.err, "domain 3 has no vif 1");
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "nobody", "0", NULL), XPV_NOT_FOUND);
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vbd", "3", "floppy", NULL), XPV_USAGE);
	capture_free(&cap);
	CHECK(fake_get(BACK "/state"));
}

/* A guest can point its frontend anywhere; nothing there may be deleted. */
static void guest_points_elsewhere(void)
{
	struct capture cap;

	put_device();
	fake_remove(LIBXL);
	fake_put(FRONT "/backend", "/local/domain/0/backend/vif/5/0");
	fake_put(FRONT "/backend-id", "5");
	fake_put("/local/domain/0/backend/vif/5/0/state", "4");
	fake_host.on_wait = answers;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), 0);
	CHECK_TEXT(fake_get("/local/domain/0/backend/vif/5/0/state"), "4");
	CHECK(!fake_get(BACK));
	capture_free(&cap);
}

static void script_failure_is_told(void)
{
	struct capture cap;

	put_device();
	fake_host.on_wait = answers;
	fake_host.script_error = ENOENT;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), XPV_FAILED);
	CHECK_HAS(cap.err, "vif-bridge offline: No such file");
	check_all_gone();
	capture_free(&cap);
}

static int both_scripts(const char *const *argv, const char *const *env)
{
	bool has = false;

	for (; *env; env++)
		has |= !strcmp(*env, "INTERFACE=vif3.0-emu");
	CHECK(has);
	CHECK_TEXT(argv[1], fake_host.scripts == 1 ? "offline" : "remove");
	CHECK_TEXT(argv[2], fake_host.scripts == 1 ? "type_if=vif" : "type_if=tap");
	return 0;
}

static void emulated_twin(void)
{
	struct capture cap;

	put_device();
	fake_put(BACK "/type", "vif_ioemu");
	fake_host.on_wait = answers;
	fake_host.on_script = both_scripts;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), 0);
	CHECK_INT(fake_host.scripts, 2);
	capture_free(&cap);
}

static void others_commit_between(void)
{
	struct capture cap;

	put_device();
	fake_store.eagain = 4;
	fake_host.on_wait = answers;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), 0);
	CHECK_INT(fake_store.eagain, 0);
	check_all_gone();
	capture_free(&cap);
}

/* A driver domain deletes its own directory once it is closed. */
static void driver_domain_answers(void)
{
	if (fake_get("/local/domain/7/backend/vif/3/0/state"))
		fake_remove("/local/domain/7/backend/vif");
}

static void driver_domain(void)
{
	struct capture cap;

	put_device();
	fake_remove("/local/domain/0/backend");
	fake_put("/local/domain/7/backend/vif/3/0/state", "4");
	fake_put("/local/domain/7/backend/vif/3/0/script", "/etc/xen/scripts/vif-bridge");
	fake_put(LIBXL "/backend", "/local/domain/7/backend/vif/3/0");
	fake_host.on_wait = driver_domain_answers;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_detach, "vif", "3", "0", NULL), 0);
	CHECK_INT(fake_host.scripts, 0);
	CHECK(!fake_get(FRONT) && !fake_get(LIBXL));
	capture_free(&cap);
}

const struct unit_case detach_cases[] = {
	{ "orderly", orderly },
	{ "old_errors_go", old_errors_go },
	{ "neighbours_stay", neighbours_stay },
	{ "silent_peer", silent_peer },
	{ "forced", forced },
	{ "already_closed", already_closed },
	{ "backend_gone", backend_gone },
	{ "domain_gone", domain_gone },
	{ "not_there", not_there },
	{ "guest_points_elsewhere", guest_points_elsewhere },
	{ "script_failure_is_told", script_failure_is_told },
	{ "emulated_twin", emulated_twin },
	{ "others_commit_between", others_commit_between },
	{ "driver_domain", driver_domain },
	{ }
};

// SPDX-License-Identifier: GPL-2.0
/*
 * test_attach.c: "attach" against peers that behave, stall and refuse. What it
 * writes is compared node by node with permissions; after every failure the
 * store must be what it was before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "unit.h"

#define FRONT(key) "/local/domain/3/device/vif/0/" key
#define BACK(key) "/local/domain/0/backend/vif/3/0/" key
#define DFRONT(key) "/local/domain/3/device/vbd/51728/" key
#define DBACK(key) "/local/domain/0/backend/vbd/3/51728/" key

static void store_with_guest(bool libxl)
{
	fake_put("/local/domain/0/domid", "0");
	fake_put("/local/domain/0/name", "Domain-0");
	fake_put("/local/domain/3/name", "guest");
	fake_put("/local/domain/3/device/suspend", "");
	fake_put("/local/domain/0/backend/keep", "");
	if (libxl)
		fake_put("/libxl/3/device/keep", "");
}

/* A backend that probes, both ends that connect, a close that is answered. */
static void step_pair(const char *front, const char *back, const char *hotplug)
{
	const char *bs = fake_get(back), *fs = fake_get(front);

	if (!bs)
		return;
	if (!strcmp(bs, "1"))
		fake_put(back, "2");
	else if (!strcmp(bs, "2") && fs && !strcmp(fs, "1"))
		fake_put(front, "4");
	else if (!strcmp(bs, "2") && fs && !strcmp(fs, "4") && fake_get(hotplug) &&
		 !strcmp(fake_get(hotplug), "connected"))
		fake_put(back, "4");
	else if (!strcmp(bs, "5"))
		fake_put(back, "6");
}

static void good_vif(void)
{
	step_pair(FRONT("state"), BACK("state"), BACK("hotplug-status"));
}

static void good_vbd(void)
{
	step_pair(DFRONT("state"), DBACK("state"), DBACK("hotplug-status"));
}

static const char *env_of(const char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

static int vif_script(const char *const *argv, const char *const *env)
{
	CHECK_TEXT(argv[0], "/etc/xen/scripts/vif-bridge");
	CHECK_TEXT(argv[2], "type_if=vif");
	CHECK(!argv[3]);
	CHECK_TEXT(env_of(env, "script"), "/etc/xen/scripts/vif-bridge");
	CHECK_TEXT(env_of(env, "XENBUS_TYPE"), "vif");
	CHECK_TEXT(env_of(env, "XENBUS_PATH"), "backend/vif/3/0");
	CHECK_TEXT(env_of(env, "XENBUS_BASE_PATH"), "backend");
	CHECK_TEXT(env_of(env, "netdev"), "");
	CHECK_TEXT(env_of(env, "vif"), "vif3.0");
	CHECK(!env_of(env, "INTERFACE"));
	if (!strcmp(argv[1], "online")) {
		CHECK_TEXT(fake_get(BACK("state")), "2");
		fake_put(BACK("hotplug-status"), "connected");
	} else {
		CHECK_TEXT(argv[1], "offline");
	}
	return 0;
}

static int vbd_script(const char *const *argv, const char *const *env)
{
	CHECK_TEXT(argv[0], "/etc/xen/scripts/block");
	CHECK_TEXT(argv[1], "add");
	CHECK(!argv[2]);
	CHECK_TEXT(env_of(env, "XENBUS_PATH"), "backend/vbd/3/51728");
	CHECK(!env_of(env, "vif"));
	fake_put(DBACK("physical-device"), "fe:0");
	fake_put(DBACK("hotplug-status"), "connected");
	return 0;
}

static void vif_nodes(void)
{
	struct capture cap;
	char *dump;

	store_with_guest(true);
	fake_host.on_wait = good_vif;
	fake_host.on_script = vif_script;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_attach, "vif", "guest", NULL), 0);
	CHECK_TEXT(cap.err, "");
	CHECK_TEXT(cap.out, "vif 0 of domain 3 attached (devid 0, backend domain 0)\n");
	dump = fake_dump();
	CHECK_HAS(dump, "/local/domain/0/backend/vif/3/0 =  [n0 r3]\n"
		  "/local/domain/0/backend/vif/3/0/bridge = xenbr0 [n0 r3]\n"
		  "/local/domain/0/backend/vif/3/0/frontend = /local/domain/3/device/vif/0 [n0 r3]\n"
		  "/local/domain/0/backend/vif/3/0/frontend-id = 3 [n0 r3]\n"
		  "/local/domain/0/backend/vif/3/0/handle = 0 [n0 r3]\n"
		  "/local/domain/0/backend/vif/3/0/hotplug-status = connected [n0 r3]\n"
		  "/local/domain/0/backend/vif/3/0/mac = 00:16:3e:25:a5:a5 [n0 r3]\n"
		  "/local/domain/0/backend/vif/3/0/online = 1 [n0 r3]\n"
		  "/local/domain/0/backend/vif/3/0/script = /etc/xen/scripts/vif-bridge [n0 r3]\n"
		  "/local/domain/0/backend/vif/3/0/state = 4 [n0 r3]\n"
		  "/local/domain/0/backend/vif/3/0/type = vif [n0 r3]\n"
		  "/local/domain/0/domid = 0 [n0]\n");
	CHECK_HAS(dump, "/local/domain/3/device/vif/0 =  [n3 r0]\n"
		  "/local/domain/3/device/vif/0/backend = /local/domain/0/backend/vif/3/0 [n3 r0]\n"
		  "/local/domain/3/device/vif/0/backend-id = 0 [n3 r0]\n"
		  "/local/domain/3/device/vif/0/handle = 0 [n3 r0]\n"
		  "/local/domain/3/device/vif/0/mac = 00:16:3e:25:a5:a5 [n3 r0]\n"
		  "/local/domain/3/device/vif/0/mtu = 1500 [n0 r3]\n"
		  "/local/domain/3/device/vif/0/state = 4 [n3 r0]\n"
		  "/local/domain/3/device/vif/0/trusted = 1 [n3 r0]\n"
		  "/local/domain/3/name = guest [n0]\n");
	CHECK_HAS(dump, "/libxl/3/device/vif/0/backend = /local/domain/0/backend/vif/3/0 [n0]\n");
	CHECK_HAS(dump, "/libxl/3/device/vif/0/frontend = /local/domain/3/device/vif/0 [n0]\n");
	CHECK_HAS(dump, "/libxl/3/device/vif/0/hotplug-status =  [n0]\n");
	CHECK_HAS(dump, "/libxl/3/device/vif/0/state = 1 [n0]\n");
	CHECK_INT(fake_host.scripts, 1);
	CHECK_INT(fake_store.watches, 0);
	free(dump);
	capture_free(&cap);
}

static void vif_all_keys(void)
{
	struct capture cap;

	store_with_guest(false);
	fake_put("/local/domain/7/name", "netdom");
	capture_start(&cap);
	cap.c.opt.no_wait = true;
	CHECK_INT(run(&cap, cmd_attach, "vif", "3", "mac=00:16:3E:00:00:09", "bridge=br1",
		      "backend=netdom", "script=vif-route", "devid=5", "mtu=9000",
		      "rate=10MB/s", "trusted=0", "vifname=web0", "ip=10.0.0.2", NULL), 0);
	CHECK_TEXT(fake_get("/local/domain/7/backend/vif/3/5/mac"), "00:16:3e:00:00:09");
	CHECK_TEXT(fake_get("/local/domain/7/backend/vif/3/5/bridge"), "br1");
	CHECK_TEXT(fake_get("/local/domain/7/backend/vif/3/5/script"),
		   "/etc/xen/scripts/vif-route");
	CHECK_TEXT(fake_get("/local/domain/7/backend/vif/3/5/mtu"), "9000");
	CHECK_TEXT(fake_get("/local/domain/7/backend/vif/3/5/rate"), "500000,50000");
	CHECK_TEXT(fake_get("/local/domain/7/backend/vif/3/5/vifname"), "web0");
	CHECK_TEXT(fake_get("/local/domain/7/backend/vif/3/5/ip"), "10.0.0.2");
	CHECK_TEXT(fake_get("/local/domain/3/device/vif/5/backend-id"), "7");
	CHECK_TEXT(fake_get("/local/domain/3/device/vif/5/mtu"), "9000");
	CHECK_TEXT(fake_get("/local/domain/3/device/vif/5/trusted"), "0");
	CHECK(!fake_get("/libxl/3/device/vif/5"));
	CHECK_INT(fake_host.scripts, 0);
	capture_free(&cap);
}

static void vbd_nodes(void)
{
	struct capture cap;
	char *dump;

	store_with_guest(true);
	fake_host.on_wait = good_vbd;
	fake_host.on_script = vbd_script;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_attach, "vbd", "guest", "params=/dev/vg/x", "vdev=xvdb", NULL), 0);
	CHECK_TEXT(cap.err, "");
	dump = fake_dump();
	CHECK_HAS(dump, "/local/domain/0/backend/vbd/3/51728 =  [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/bootable = 1 [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/dev = xvdb [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/device-type = disk [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/discard-enable = 1 [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/frontend = /local/domain/3/device/vbd/51728 [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/frontend-id = 3 [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/hotplug-status = connected [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/mode = w [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/online = 1 [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/params = /dev/vg/x [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/physical-device = fe:0 [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/removable = 0 [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/script = /etc/xen/scripts/block [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/specification = xen [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/state = 4 [n0 r3]\n"
		  "/local/domain/0/backend/vbd/3/51728/type = phy [n0 r3]\n");
	CHECK_HAS(dump, "/local/domain/3/device/vbd/51728 =  [n3 r0]\n"
		  "/local/domain/3/device/vbd/51728/backend = /local/domain/0/backend/vbd/3/51728 [n3 r0]\n"
		  "/local/domain/3/device/vbd/51728/backend-id = 0 [n3 r0]\n"
		  "/local/domain/3/device/vbd/51728/device-type = disk [n3 r0]\n"
		  "/local/domain/3/device/vbd/51728/protocol = x86_64-abi [n3 r0]\n"
		  "/local/domain/3/device/vbd/51728/state = 4 [n3 r0]\n"
		  "/local/domain/3/device/vbd/51728/trusted = 1 [n3 r0]\n"
		  "/local/domain/3/device/vbd/51728/virtual-device = 51728 [n3 r0]\n");
	free(dump);
	capture_free(&cap);
}

static void vbd_cdrom_of_hvm(void)
{
	struct capture cap;

	store_with_guest(false);
	fake_host.domain.pv = false;
	capture_start(&cap);
	cap.c.opt.no_wait = true;
	cap.c.opt.no_script = true;
	CHECK_INT(run(&cap, cmd_attach, "vbd", "3", "params=/a.iso", "vdev=xvdb", "type=cdrom",
		      NULL), 0);
	CHECK_TEXT(fake_get(DBACK("mode")), "r");
	CHECK_TEXT(fake_get(DBACK("removable")), "1");
	CHECK_TEXT(fake_get(DBACK("discard-enable")), "0");
	CHECK_TEXT(fake_get(DBACK("device-type")), "cdrom");
	CHECK(!fake_get(DFRONT("protocol")));
	CHECK_HAS(cap.err, "note:");
	capture_free(&cap);
}

/* The whole device appears at once, or not at all. */
static void one_transaction(void)
{
	struct capture cap;
	const char *log;

	store_with_guest(true);
	fake_store.eagain = 3;
	capture_start(&cap);
	cap.c.opt.no_wait = true;
	cap.c.opt.no_script = true;
	CHECK_INT(run(&cap, cmd_attach, "vif", "3", NULL), 0);
	log = fake_log();
	CHECK_HAS(log, "begin -\nmkdir /local/domain/3/device/vif/0\n"
		  "write /local/domain/3/device/vif/0/backend ");
	CHECK(!strcmp(log + strlen(log) - strlen("commit -\n"), "commit -\n"));
	CHECK_TEXT(fake_get(BACK("state")), "1");
	CHECK_INT(fake_store.eagain, 0);
	capture_free(&cap);
}

static void lowest_free_devid(void)
{
	struct capture cap;

	store_with_guest(true);
	fake_put("/local/domain/3/device/vif/0/state", "4");
	fake_put("/libxl/3/device/vif/1/backend", "x");
	fake_put("/local/domain/0/backend/vif/3/2/state", "4");
	fake_put("/local/domain/3/device/vif/4/state", "4");
	capture_start(&cap);
	cap.c.opt.no_wait = true;
	cap.c.opt.no_script = true;
	CHECK_INT(run(&cap, cmd_attach, "vif", "3", NULL), 0);
	CHECK_TEXT(fake_get("/local/domain/3/device/vif/3/handle"), "3");
	capture_free(&cap);
}

static void refused_early(void)
{
	struct capture cap;
	char *before, *after;

	store_with_guest(true);
	fake_put(DBACK("state"), "4");
	before = fake_dump();
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_attach, "vbd", "3", "params=/dev/x", "vdev=xvdb", NULL),
		  XPV_FAILED);
	CHECK_HAS(cap.err, "domain 3 already has xvdb");
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_attach, "vif", "9", NULL), XPV_NOT_FOUND);
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_attach, "vif", "3", "backend=nobody", NULL), XPV_NOT_FOUND);
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_attach, "tpm", "3", NULL), XPV_USAGE);
	capture_free(&cap);
	capture_start(&cap);
	fake_host.file = FILE_NONE;
	CHECK_INT(run(&cap, cmd_attach, "vbd", "3", "params=/dev/y", "vdev=xvdc", NULL),
		  XPV_NOT_FOUND);
	CHECK_HAS(cap.err, "params = \"/dev/y\": no such file");
	capture_free(&cap);
	capture_start(&cap);
	fake_host.domain_error = EPERM;
	CHECK_INT(run(&cap, cmd_attach, "vif", "3", NULL), XPV_NO_XEN);
	capture_free(&cap);
	capture_start(&cap);
	fake_host.domain_error = 0;
	fake_host.domain.dying = true;
	CHECK_INT(run(&cap, cmd_attach, "vif", "3", NULL), XPV_FAILED);
	CHECK_HAS(cap.err, "dying");
	capture_free(&cap);
	after = fake_dump();
	CHECK_TEXT(after, before);
	free(before);
	free(after);
}

static void backend_only_probes(void)
{
	if (fake_get(BACK("state")) && !strcmp(fake_get(BACK("state")), "1"))
		fake_put(BACK("state"), "2");
}

static void backend_refuses(void)
{
	fake_put("/local/domain/0/error/backend/vif/3/0/error", "22 bad \x1b key");
	fake_put(BACK("state"), "6");
}

static int script_fails(const char *const *argv, const char *const *env)
{
	(void)env;
	if (!strcmp(argv[1], "online")) {
		fake_put(BACK("hotplug-status"), "error");
		fake_put(BACK("hotplug-error"), "no bridge \x1b xenbr0");
	}
	return !strcmp(argv[1], "online");
}

/* A script may report failure in the store alone. */
static int script_lies(const char *const *argv, const char *const *env)
{
	int rc = script_fails(argv, env);

	(void)rc;
	return 0;
}

struct failure {
	void (*on_wait)(void);
	int (*on_script)(const char *const *argv, const char *const *env);
	int script_error;
	bool signal;
	int rc;
	const char *says;
	unsigned int scripts;
};

static const struct failure failures[] = {
	{ NULL, NULL, 0, false, XPV_TIMEOUT, "InitWait not reached within 10 s", 0 },
	{ NULL, NULL, 0, false, XPV_TIMEOUT, "is xpv-netback or xen-netback loaded?", 0 },
	{ NULL, NULL, 0, true, XPV_FAILED, "interrupted", 0 },
	{ backend_refuses, NULL, 0, false, XPV_FAILED, "backend reports: 22 bad \\x1b key", 0 },
	{ good_vif, script_fails, 0, false, XPV_FAILED, "exit status 1", 2 },
	{ good_vif, script_fails, 0, false, XPV_FAILED,
	  "hotplug-error: no bridge \\x1b xenbr0", 2 },
	{ good_vif, script_lies, 0, false, XPV_FAILED, "hotplug-error: no bridge", 2 },
	{ good_vif, NULL, ETIMEDOUT, false, XPV_TIMEOUT, "killed, not finished after 40 s", 2 },
	{ good_vif, NULL, ENOMEM, false, XPV_FAILED, "Cannot allocate memory", 2 },
	{ backend_only_probes, vif_script, 0, false, XPV_TIMEOUT,
	  "has the guest a frontend driver", 2 },
};

static void check_failure(const struct failure *f)
{
	struct capture cap;
	char *before, *after;

	fake_reset();
	store_with_guest(true);
	before = fake_dump();
	fake_host.on_wait = f->on_wait;
	fake_host.on_script = f->on_script;
	fake_host.script_error = f->script_error;
	fake_host.signal = f->signal;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_attach, "vif", "3", NULL), f->rc);
	CHECK_HAS(cap.err, f->says);
	CHECK_LACKS(cap.err, "offline");
	CHECK_LACKS(cap.err, "undoing");
	CHECK_TEXT(cap.out, "");
	CHECK_INT(fake_host.scripts, f->scripts);
	CHECK_INT(fake_store.watches, 0);
	fake_remove("/local/domain/0/error");
	after = fake_dump();
	CHECK_TEXT(after, before);
	free(before);
	free(after);
	capture_free(&cap);
}

static void failure_undoes_all(void)
{
	size_t i;

	for (i = 0; i < sizeof(failures) / sizeof(*failures); i++)
		check_failure(&failures[i]);
}

/* The n-th change of the store fails, for every n of the transaction. */
static void every_write_fails(void)
{
	unsigned int n, writes = 0;
	struct capture cap;
	char *before, *after;
	int rc = 1;

	for (n = 1; rc && n < 200; n++) {
		fake_reset();
		store_with_guest(true);
		before = fake_dump();
		fake_store.fail_after = n;
		capture_start(&cap);
		cap.c.opt.no_wait = true;
		cap.c.opt.no_script = true;
		rc = run(&cap, cmd_attach, "vif", "3", NULL);
		if (rc) {
			writes++;
			after = fake_dump();
			CHECK_INT(rc, XPV_FAILED);
			CHECK_TEXT(after, before);
			CHECK_HAS(cap.err, "No space left");
			free(after);
		}
		free(before);
		capture_free(&cap);
	}
	CHECK_INT(writes, 38);
}

static void foreign_backend_runs_own_script(void)
{
	struct capture cap;

	store_with_guest(true);
	fake_put("/local/domain/7/name", "netdom");
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_attach, "vif", "3", "backend=7", NULL), XPV_TIMEOUT);
	CHECK_HAS(cap.err, "has the backend domain its driver loaded?");
	CHECK_INT(fake_host.scripts, 0);
	CHECK(!fake_get("/local/domain/7/backend/vif/3/0"));
	CHECK(!fake_get("/local/domain/3/device/vif"));
	capture_free(&cap);
}

const struct unit_case attach_cases[] = {
	{ "vif_nodes", vif_nodes },
	{ "vif_all_keys", vif_all_keys },
	{ "vbd_nodes", vbd_nodes },
	{ "vbd_cdrom_of_hvm", vbd_cdrom_of_hvm },
	{ "one_transaction", one_transaction },
	{ "lowest_free_devid", lowest_free_devid },
	{ "refused_early", refused_early },
	{ "failure_undoes_all", failure_undoes_all },
	{ "every_write_fails", every_write_fails },
	{ "foreign_backend_runs_own_script", foreign_backend_runs_own_script },
	{ }
};

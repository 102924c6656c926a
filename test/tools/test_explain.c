// SPDX-License-Identifier: GPL-2.0
/*
 * test_explain.c: every code of "explain" by facts alone, the order in which
 * they are found, and how facts come out of the store.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "fake.h"
#include "text.h"
#include "unit.h"

#define FRONT(key) "/local/domain/1/device/vif/0/" key
#define BACK(key) "/local/domain/0/backend/vif/1/0/" key
#define DFRONT(key) "/local/domain/1/device/vbd/51712/" key
#define DBACK(key) "/local/domain/0/backend/vbd/1/51712/" key

/* A connected device with nothing wrong. */
static struct facts good(enum dev_class class)
{
	const struct end_facts end = {
		.domain = DOMAIN_ALIVE, .there = true, .state = STATE_CONNECTED,
		.points_right = true, .perms_ok = true,
	};

	return (struct facts){
		.id = { .kind = backend_kind_find(class_name(class)), .front = 1 },
		.local = true, .front = end, .back = end, .module_ours = true,
		.driver = DRIVER_OURS, .online = true, .script = "/etc/xen/scripts/x",
		.script_there = true, .hotplug = "connected", .disk_known = true,
		.params = "/dev/loop0", .params_there = true, .netdev = class == CLASS_VIF,
		.netdev_up = true, .bridge = "xenbr0", .master = "xenbr0", .mtu = 1500,
		.bridge_mtu = 1500, .store_mtu = 1500, .guest_mtu = 1500,
	};
}

static void expect(const struct facts *f, enum reason want, const char *detail)
{
	struct verdict v = explain_decide(f);

	CHECK_TEXT(reason_rows[v.reason].code, reason_rows[want].code);
	if (detail)
		CHECK_HAS(v.detail, detail);
	free(v.detail);
}

static struct facts states(enum dev_class class, unsigned int front, unsigned int back)
{
	struct facts f = good(class);

	f.front.state = front;
	f.back.state = back;
	return f;
}

static void connected(void)
{
	struct facts f = good(CLASS_VIF);

	expect(&f, REASON_NONE, NULL);
	f = good(CLASS_VBD);
	expect(&f, REASON_NONE, NULL);
	/* An old error node of a device that works is history. */
	f.back.error = "2 long ago";
	expect(&f, REASON_NONE, NULL);
	f = states(CLASS_VIF, STATE_RECONFIGURED, STATE_CONNECTED);
	expect(&f, REASON_FRONTEND_WAITS, NULL);
}

static void domains(void)
{
	struct facts f = good(CLASS_VIF);

	f.front.there = false;
	f.back.there = false;
	expect(&f, REASON_NO_DEVICE, NULL);
	f.back.denied = true;
	expect(&f, REASON_NO_PERMISSION, NULL);
	f = good(CLASS_VIF);
	f.front.domain = DOMAIN_GONE;
	expect(&f, REASON_DOMAIN_GONE, NULL);
	f.front.domain = DOMAIN_DYING;
	f.holders = "device vif-1-0";
	expect(&f, REASON_DOMAIN_ZOMBIE, "held by: device vif-1-0");
	f = good(CLASS_VIF);
	f.back.domain = DOMAIN_GONE;
	expect(&f, REASON_BACKEND_DOMAIN_GONE, NULL);
}

static void nodes(void)
{
	struct facts f = good(CLASS_VIF);

	f.back.there = false;
	expect(&f, REASON_NO_BACKEND_DIR, NULL);
	f = good(CLASS_VIF);
	f.front.there = false;
	expect(&f, REASON_NO_FRONTEND_DIR, NULL);
	f = good(CLASS_VIF);
	f.front.points_right = false;
	expect(&f, REASON_PAIRING, "key backend is missing");
	f = good(CLASS_VIF);
	f.back.points_right = false;
	f.back.points_to = "/elsewhere";
	expect(&f, REASON_PAIRING, "frontend = \"/elsewhere\"");
	f = good(CLASS_VIF);
	f.front.perms_ok = false;
	expect(&f, REASON_NODE_PERMS, "the frontend's directory");
	f = good(CLASS_VIF);
	f.back.perms_ok = false;
	expect(&f, REASON_NODE_PERMS, "the backend's directory");
	f = states(CLASS_VIF, STATE_UNKNOWN, STATE_CONNECTED);
	expect(&f, REASON_STATE, "frontend state is missing");
	f = states(CLASS_VIF, STATE_CONNECTED, STATE_UNKNOWN);
	f.back.bad_state = "nine";
	expect(&f, REASON_STATE, "backend state = \"nine\"");
}

static void driver(void)
{
	struct facts f = states(CLASS_VIF, STATE_INITIALISING, STATE_INITIALISING);

	f.driver = DRIVER_NONE;
	f.module_stock = true;
	expect(&f, REASON_BACKEND_UNBOUND, "loaded: ours and stock");
	f.module_ours = false;
	expect(&f, REASON_BACKEND_UNBOUND, "loaded: stock");
	f.back.error = "22 refused";
	expect(&f, REASON_BACKEND_UNBOUND, "22 refused");
	f.module_stock = false;
	expect(&f, REASON_NO_BACKEND_DRIVER, NULL);
	f.driver = DRIVER_OURS;
	expect(&f, REASON_BACKEND_ERROR, "22 refused");
	f.local = false;
	expect(&f, REASON_BACKEND_DOMAIN_SILENT, NULL);
	f.local = true;
	f.id.kind = backend_kind_find("qdisk");
	expect(&f, REASON_NO_DEVICE_MODEL, NULL);
}

static void hotplug(void)
{
	struct facts f = states(CLASS_VIF, STATE_CONNECTED, STATE_INIT_WAIT);

	f.hotplug = "";
	expect(&f, REASON_NO_HOTPLUG, "/etc/xen/scripts/x");
	f.script_there = false;
	expect(&f, REASON_NO_SCRIPT, "/etc/xen/scripts/x");
	f.hotplug_error = "no bridge";
	expect(&f, REASON_HOTPLUG_FAILED, "/etc/xen/scripts/x: no bridge");
	f.hotplug_error = NULL;
	f.hotplug = "error";
	expect(&f, REASON_HOTPLUG_FAILED, "x: error");
	/* No key: nobody waits for a script. */
	f.hotplug = NULL;
	expect(&f, REASON_BACKEND_WAITS, NULL);
	f = states(CLASS_VBD, STATE_INITIALISING, STATE_INIT_WAIT);
	f.disk_known = false;
	expect(&f, REASON_NO_HOTPLUG, NULL);
	f.params_there = false;
	expect(&f, REASON_NO_DISK, "params = \"/dev/loop0\"");
	f.local = false;
	expect(&f, REASON_NO_HOTPLUG, NULL);
}

static void frontend(void)
{
	struct facts f = states(CLASS_VIF, STATE_INITIALISING, STATE_INIT_WAIT);

	expect(&f, REASON_NO_FRONTEND_DRIVER, NULL);
	f.front.error = "22 sectors of the backend is missing";
	expect(&f, REASON_FRONTEND_ERROR, "sectors");
	f.front.error = "28 granting access to ring";
	expect(&f, REASON_LIMIT_GRANTS, "granting");
	f.front.error = "28 connecting";
	expect(&f, REASON_FRONTEND_ERROR, "connecting");
	f.front.state = STATE_CLOSING;
	f.grant_frames = 64;
	f.max_grant_frames = 64;
	expect(&f, REASON_LIMIT_GRANTS, "connecting");
	f.front.error = "22 creating queues";
	expect(&f, REASON_LIMIT_GRANTS, "creating queues");
	f.front.state = STATE_INITIALISING;
	f.front.error = NULL;
	f.grant_frames = 63;
	f.max_grant_frames = 64;
	expect(&f, REASON_NO_FRONTEND_DRIVER, NULL);
	f.grant_frames = 64;
	expect(&f, REASON_LIMIT_GRANTS, NULL);
	f.front.domain = DOMAIN_PAUSED;
	expect(&f, REASON_GUEST_PAUSED, NULL);
	/* A paused guest that is connected is only paused. */
	f = good(CLASS_VIF);
	f.front.domain = DOMAIN_PAUSED;
	expect(&f, REASON_NONE, NULL);
}

static void connect(void)
{
	struct facts f = states(CLASS_VBD, STATE_INITIALISED, STATE_INIT_WAIT);

	expect(&f, REASON_BACKEND_WAITS, NULL);
	f.bad_key = "ring-page-order = \"9\": 0 to 4 expected";
	expect(&f, REASON_KEY_BAD, "ring-page-order = \"9\"");
	f.missing_key = "event-channel";
	expect(&f, REASON_KEY_MISSING, "event-channel");
	f.back.error = "22 key";
	expect(&f, REASON_KEY_MISSING, "event-channel");
	f.missing_key = NULL;
	f.bad_key = NULL;
	expect(&f, REASON_BACKEND_ERROR, "22 key");
	f.back.error = "28 binding event channel 7";
	expect(&f, REASON_LIMIT_EVENTS, "event channel 7");
	f.back.error = "12 mapping the ring, 16 pages from ring-ref 8";
	expect(&f, REASON_LIMIT_GRANTS, "mapping");
	f = states(CLASS_VBD, STATE_INITIALISED, STATE_CONNECTED);
	expect(&f, REASON_FRONTEND_WAITS, NULL);
	f.front.error = "12 disk";
	expect(&f, REASON_FRONTEND_ERROR, "12 disk");
}

static void closing(void)
{
	struct facts f = states(CLASS_VBD, STATE_CONNECTED, STATE_CLOSING);

	expect(&f, REASON_BACKEND_CLOSED, NULL);
	f.online = false;
	expect(&f, REASON_DETACH_PENDING, NULL);
	f = states(CLASS_VBD, STATE_CLOSED, STATE_CLOSED);
	expect(&f, REASON_FRONTEND_CLOSED, NULL);
	f.back.error = "71 broke the protocol";
	expect(&f, REASON_BACKEND_ERROR, "71");
	f = states(CLASS_VBD, STATE_INITIALISED, STATE_CLOSING);
	f.bad_key = "multi-queue-num-queues = \"99\"";
	expect(&f, REASON_KEY_BAD, "99");
}

static void network(void)
{
	struct facts f = good(CLASS_VIF);

	f.guest_mtu = 9000;
	expect(&f, REASON_MTU, "of the guest 9000");
	f.guest_mtu = 0;
	expect(&f, REASON_NONE, NULL);
	f.master = NULL;
	expect(&f, REASON_NO_BRIDGE, "no port of any");
	f.master = "xenbr1";
	expect(&f, REASON_NO_BRIDGE, "a port of xenbr1");
	f.netdev_up = false;
	expect(&f, REASON_VIF_DOWN, NULL);
	f.back.error = "22 mapping shared-frames 99999/99998 port tx 999";
	expect(&f, REASON_BACKEND_ERROR, "mapping");
	f.netdev = false;
	expect(&f, REASON_NONE, NULL);
}

static void rows_are_whole(void)
{
	enum reason r;

	for (r = 0; r < NR_REASONS; r++) {
		CHECK(reason_rows[r].code);
		CHECK(reason_rows[r].what && reason_rows[r].waits && reason_rows[r].todo);
		CHECK(r == REASON_NONE || reason_rows[r].step < NR_STEPS);
	}
}

static void put_vif(void)
{
	fake_put("/local/domain/0/domid", "0");
	fake_put(FRONT("backend"), "/local/domain/0/backend/vif/1/0");
	fake_put(FRONT("state"), "4");
	fake_put(FRONT("tx-ring-ref"), "8");
	fake_put(FRONT("rx-ring-ref"), "9");
	fake_put(FRONT("event-channel"), "7");
	fake_put(FRONT("request-rx-copy"), "1");
	fake_put(BACK("frontend"), "/local/domain/1/device/vif/0");
	fake_put(BACK("state"), "4");
	fake_put(BACK("script"), "/etc/xen/scripts/vif-bridge");
	fake_put(BACK("hotplug-status"), "connected");
	fake_perms("/local/domain/1/device/vif/0", 1, 0);
	fake_perms("/local/domain/0/backend/vif/1/0", 0, 1);
	fake_host.driver = "vif";
	fake_host.module = "xpv_netback";
}

/* Runs the command and looks for the code. */
static void expect_run(const char *dev, int rc, const char *text)
{
	struct capture cap;

	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_explain, dev, NULL), rc);
	CHECK_HAS(cap.out, text);
	capture_free(&cap);
}

static void from_store(void)
{
	static const char *const no_script[] = { "/etc/xen/scripts/vif-bridge", NULL };

	put_vif();
	expect_run("vif1.0", XPV_OK, "vif 0 of domain 1: OK connected\n");
	expect_run("vif1.7", XPV_NOT_FOUND, "E-NO-DEVICE");
	expect_run("1/xvda", XPV_NOT_FOUND, "E-NO-DEVICE");
	fake_put(BACK("state"), "2");
	expect_run("vif1.0", XPV_FAILED, "E-BACKEND-WAITS");
	fake_put("/local/domain/0/error/backend/vif/1/0/error", "22 no\x1b such");
	expect_run("vif1.0", XPV_FAILED, "  22 no\\x1b such\n");
	fake_put(BACK("hotplug-status"), "");
	expect_run("vif1.0", XPV_FAILED, "E-NO-HOTPLUG");
	fake_host.absent = no_script;
	expect_run("vif1.0", XPV_FAILED, "E-NO-SCRIPT");
	fake_put(BACK("hotplug-error"), "failed: brctl");
	expect_run("vif1.0", XPV_FAILED, "vif-bridge: failed: brctl\n");
	fake_perms("/local/domain/1/device/vif/0", 0, -1);
	expect_run("vif1.0", XPV_FAILED, "E-NODE-PERMS");
	fake_remove(FRONT("backend"));
	expect_run("vif1.0", XPV_FAILED, "E-PAIRING");
	fake_host.domain.dying = true;
	expect_run("vif1.0", XPV_FAILED, "E-DOMAIN-ZOMBIE");
	fake_host.gone = 1;
	expect_run("vif1.0", XPV_FAILED, "E-DOMAIN-GONE");
	fake_store.deny = "/local/domain/0/backend/vif/1/0";
	expect_run("vif1.0", XPV_FAILED, "E-NO-PERMISSION");
}

static void keys_of(enum dev_class class, const char *missing, const char *bad)
{
	struct dev_id id = { .kind = backend_kind_find(class_name(class)), .front = 1,
			     .devid = class == CLASS_VIF ? 0 : 51712 };
	struct store st = { .xs = (struct xs_handle *)1 };
	char *got_missing, *got_bad;
	struct paths p;

	paths_init(&p, &id);
	keys_check(&st, &p, class, &got_missing, &got_bad);
	CHECK_TEXT(got_missing, missing);
	CHECK_TEXT(got_bad, bad);
	free(got_missing);
	free(got_bad);
	paths_free(&p);
}

static void vif_keys(void)
{
	put_vif();
	keys_of(CLASS_VIF, NULL, NULL);
	fake_put(FRONT("rx-ring-ref"), "x");
	keys_of(CLASS_VIF, NULL, "rx-ring-ref = \"x\": 0 to 4294967295 expected");
	fake_put(FRONT("rx-ring-ref"), "9");
	fake_put(FRONT("event-channel-tx"), "7");
	keys_of(CLASS_VIF, "event-channel-rx", NULL);
	fake_put(FRONT("multi-queue-num-queues"), "2");
	keys_of(CLASS_VIF, "event-channel-rx",
		"multi-queue-num-queues = \"2\": 1 to 1 expected");
	fake_put(BACK("multi-queue-max-queues"), "2");
	keys_of(CLASS_VIF, "tx-ring-ref", NULL);
	fake_remove("/local/domain/1/device/vif/0/request-rx-copy");
	fake_put(FRONT("multi-queue-num-queues"), "1");
	fake_remove("/local/domain/1/device/vif/0/event-channel-tx");
	keys_of(CLASS_VIF, "request-rx-copy", NULL);
}

static void vbd_keys(void)
{
	keys_of(CLASS_VBD, "ring-ref", NULL);
	fake_put(DFRONT("ring-ref"), "8");
	keys_of(CLASS_VBD, "event-channel", NULL);
	fake_put(DFRONT("event-channel"), "8");
	keys_of(CLASS_VBD, NULL, NULL);
	fake_put(DFRONT("protocol"), "vax-abi");
	keys_of(CLASS_VBD, NULL,
		"protocol = \"vax-abi\": x86_32-abi, x86_64-abi or arm-abi expected");
	fake_put(DFRONT("protocol"), "x86_64-abi");
	fake_put(DFRONT("ring-page-order"), "1");
	keys_of(CLASS_VBD, NULL, "ring-page-order = \"1\": 0 to 0 expected");
	fake_put(DBACK("max-ring-page-order"), "4");
	keys_of(CLASS_VBD, "ring-ref0", NULL);
	fake_put(DFRONT("ring-ref0"), "8");
	keys_of(CLASS_VBD, "ring-ref1", NULL);
	fake_put(DFRONT("ring-ref1"), "9");
	keys_of(CLASS_VBD, NULL, NULL);
}

const struct unit_case explain_cases[] = {
	{ "connected", connected },
	{ "domains", domains },
	{ "nodes", nodes },
	{ "driver", driver },
	{ "hotplug", hotplug },
	{ "frontend", frontend },
	{ "connect", connect },
	{ "closing", closing },
	{ "network", network },
	{ "rows_are_whole", rows_are_whole },
	{ "from_store", from_store },
	{ "vif_keys", vif_keys },
	{ "vbd_keys", vbd_keys },
	{ }
};

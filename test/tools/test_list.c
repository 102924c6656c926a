// SPDX-License-Identifier: GPL-2.0
/*
 * test_list.c: "list" and "show" on stores that are whole, half there, and
 * full of what a hostile guest may write.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "fake.h"
#include "unit.h"

#define FRONT(key) "/local/domain/1/device/vif/0/" key
#define BACK(key) "/local/domain/0/backend/vif/1/0/" key
#define DFRONT(key) "/local/domain/1/device/vbd/51712/" key
#define DBACK(key) "/local/domain/0/backend/vbd/1/51712/" key

static void domains(void)
{
	fake_put("/local/domain/0/domid", "0");
	fake_put("/local/domain/0/name", "Domain-0");
	fake_put("/local/domain/1/name", "guest1");
}

static void put_vif(void)
{
	fake_put(FRONT("backend"), "/local/domain/0/backend/vif/1/0");
	fake_put(FRONT("backend-id"), "0");
	fake_put(FRONT("state"), "4");
	fake_put(FRONT("multi-queue-num-queues"), "2");
	fake_put(FRONT("queue-0/event-channel-tx"), "7");
	fake_put(FRONT("feature-sg"), "1");
	fake_put(FRONT("feature-gso-tcpv4"), "1");
	fake_put(FRONT("feature-gso-tcpv6"), "1");
	fake_put(FRONT("feature-ipv6-csum-offload"), "1");
	fake_put(FRONT("feature-rx-notify"), "1");
	fake_put(BACK("frontend"), "/local/domain/1/device/vif/0");
	fake_put(BACK("state"), "4");
	fake_put(BACK("hotplug-status"), "connected");
	fake_put(BACK("feature-sg"), "1");
	fake_put(BACK("feature-gso-tcpv4"), "1");
	fake_put(BACK("feature-ipv6-csum-offload"), "1");
	fake_put(BACK("mac"), "00:16:3e:00:00:01");
}

static void put_vbd(void)
{
	fake_put(DFRONT("backend"), "/local/domain/0/backend/vbd/1/51712");
	fake_put(DFRONT("state"), "4");
	fake_put(DFRONT("ring-page-order"), "4");
	fake_put(DFRONT("feature-persistent"), "1");
	fake_put(DBACK("state"), "4");
	fake_put(DBACK("hotplug-status"), "connected");
	fake_put(DBACK("feature-persistent"), "1");
	fake_put(DBACK("feature-max-indirect-segments"), "256");
	fake_put(DBACK("feature-flush-cache"), "1");
	fake_put(DBACK("feature-discard"), "0");
	fake_put(DBACK("sector-size"), "512");
	fake_put(DBACK("sectors"), "2048");
	fake_put(DBACK("mode"), "w");
}

static void one_pair(void)
{
	struct capture cap;

	domains();
	put_vif();
	put_vbd();
	fake_host.driver = "vif";
	fake_host.module = "xpv_netback";
	fake_put(BACK("state"), "2");
	fake_put(DBACK("state"), "8");
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	CHECK_TEXT(cap.err, "");
	CHECK_HAS(cap.out, "DOM NAME   DEVICE BACK DRIVER FRONTEND  BACKEND      HOTPLUG   Q ");
	CHECK_HAS(cap.out, "\n  1 guest1 vif 0  0    ours   Connected InitWait     connected 2 ");
	CHECK_HAS(cap.out, " 2 sg,gso4,csum4,csum6,split,rx-notify\n");
	CHECK_HAS(cap.out, "\n  1 guest1 xvda   0    ours   Connected Reconfigured connected 1 ");
	CHECK_HAS(cap.out, " 1 ring-order=4,persistent,indirect=256,flush\n");
	capture_free(&cap);
	fake_put(FRONT("mtu"), "9000");
	fake_put(DBACK("mode"), "r");
	fake_put(DBACK("sector-size"), "4096");
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	CHECK_HAS(cap.out, ",rx-notify,mtu=9000\n");
	CHECK_HAS(cap.out, ",flush,sector-size=4096,mode=r\n");
	CHECK_INT(fake_store.watches, 0);
	capture_free(&cap);
}

static void empty_store(void)
{
	struct capture cap;

	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	CHECK_HAS(cap.out, "FEATURES\n");
	capture_free(&cap);
	capture_start(&cap);
	cap.c.opt.json = true;
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	CHECK_TEXT(cap.out, "[]\n");
	capture_free(&cap);
}

static void no_xenstore(void)
{
	struct capture cap;

	fake_store.open_error = EACCES;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_list, NULL), XPV_NO_XEN);
	CHECK_HAS(cap.err, "no connection to xenstore");
	capture_free(&cap);
}

static const char *line_of(const char *text, unsigned int n)
{
	while (n-- && text)
		text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
	return text;
}

/* Sorted by number, not by text; driver domains, leftovers and qdisk too. */
static void many(void)
{
	struct capture cap;

	domains();
	fake_put("/local/domain/2/name", "netdom");
	fake_put("/local/domain/10/name", "ten");
	fake_put("/local/domain/2/backend/vif/10/1/state", "2");
	fake_put("/local/domain/10/device/vif/1/state", "1");
	fake_put("/local/domain/0/backend/qdisk/10/51728/state", "4");
	fake_put("/local/domain/10/device/vbd/51728/state", "4");
	fake_put("/local/domain/10/device/vif/7/state", "1");
	fake_put("/local/domain/10/device/vif/7/backend-id", "2");
	fake_put("/local/domain/0/backend/vbd/99/51712/state", "5");
	fake_host.driver = "vif";
	put_vif();
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	CHECK_HAS(line_of(cap.out, 1), "  1 guest1 vif 0  0 ");
	CHECK_HAS(line_of(cap.out, 2), " 10 ten    vif 1  2    -      Initialising InitWait  -  ");
	CHECK_HAS(line_of(cap.out, 3), " 10 ten    vif 7  2    -      Initialising gone ");
	CHECK_HAS(line_of(cap.out, 4), " 10 ten    xvdb   0 ");
	CHECK_HAS(line_of(cap.out, 5), " 99 -      xvda   0    stock  gone         Closing ");
	CHECK_TEXT(line_of(cap.out, 6), "");
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_list, "ten", NULL), 0);
	CHECK_LACKS(cap.out, "guest1");
	CHECK_HAS(cap.out, "vif 7");
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_list, "eleven", NULL), XPV_NOT_FOUND);
	capture_free(&cap);
}

static void malformed_keys(void)
{
	static const struct {
		const char *key, *value, *note;
	} rows[] = {
		{ FRONT("state"), "4x", "front state = \"4x\": 0 to 8 expected" },
		{ FRONT("state"), "-1", "front state = \"-1\"" },
		{ FRONT("state"), "9", "front state = \"9\"" },
		{ BACK("state"), "", "back state = \"\"" },
		{ FRONT("multi-queue-num-queues"), "65536", "0 to 65535 expected" },
		{ FRONT("feature-sg"), "yes", "front feature-sg = \"yes\": 0 to 1 expected" },
		{ BACK("feature-sg"), "2", "back feature-sg = \"2\"" },
		{ FRONT("backend"), "/local/domain/2/backend/vif/1/0", "front backend = " },
	};
	struct capture cap;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fake_store_reset();
		domains();
		put_vif();
		fake_put(rows[i].key, rows[i].value);
		capture_start(&cap);
		cap.c.opt.verbose = true;
		CHECK_INT(run(&cap, cmd_list, NULL), 0);
		CHECK_HAS(cap.out, rows[i].note);
		capture_free(&cap);
	}
}

/* Directories whose names are no numbers are nobody's device. */
static void malformed_names(void)
{
	struct capture cap;

	domains();
	fake_put("/local/domain/x/device/vif/0/state", "1");
	fake_put("/local/domain/1/device/vif/-1/state", "1");
	fake_put("/local/domain/1/device/vif/0x1/state", "1");
	fake_put("/local/domain/1/device/vif/99999999999/state", "1");
	fake_put("/local/domain/0/backend/vif/70000/0/state", "1");
	fake_put("/local/domain/0/backend/vif/one/0/state", "1");
	capture_start(&cap);
	cap.c.opt.json = true;
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	CHECK_TEXT(cap.out, "[]\n");
	capture_free(&cap);
}

static const char evil[] = "\x1b[31m\"}]\n\xff\xc3\x28";

static void put_evil(void)
{
	domains();
	put_vif();
	put_vbd();
	fake_put("/local/domain/1/name", evil);
	fake_put(FRONT("state"), evil);
	fake_put(FRONT("backend"), evil);
	fake_put(FRONT("feature-sg"), evil);
	fake_put(FRONT("multi-queue-num-queues"), evil);
	fake_put(BACK("hotplug-status"), evil);
	fake_put(BACK("bridge"), evil);
	fake_put(DBACK("mode"), evil);
	fake_put(DBACK("params"), evil);
}

static void check_clean(const char *text)
{
	for (; *text; text++)
		if ((*text < 0x20 && *text != '\n') || *text >= 0x7f) {
			unit_check(false, __FILE__, __LINE__, "raw byte %02x in the output",
				   (unsigned char)*text);
			return;
		}
}

static void escapes_in_text(void)
{
	struct capture cap;

	put_evil();
	capture_start(&cap);
	cap.c.opt.verbose = true;
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	check_clean(cap.out);
	CHECK_HAS(cap.out, "\\x1b[31m");
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_show, "1/vif/0", NULL), 0);
	check_clean(cap.out);
	CHECK_HAS(cap.out, "bridge: \\x1b[31m\"}]\\x0a\\xff\\xc3(\n");
	capture_free(&cap);
}

static void escapes_in_json(void)
{
	json_error_t error;
	struct capture cap;
	json_t *root, *first;

	put_evil();
	capture_start(&cap);
	cap.c.opt.json = true;
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	check_clean(cap.out);
	root = json_loads(cap.out, 0, &error);
	CHECK(root && json_array_size(root) == 2);
	first = json_array_get(root, 0);
	CHECK_TEXT(json_string_value(json_object_get(first, "domain")),
		   "\\x1b[31m\"}]\\x0a\\xff\\xc3(");
	CHECK_INT(json_array_size(json_object_get(first, "notes")), 4);
	json_decref(root);
	capture_free(&cap);
}

static long long number_at(json_t *root, const char *object, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(root, object), key));
}

static void json_is_whole(void)
{
	static const char dir[] = "/sys/bus/xen-backend/devices/vbd-1-51712/xpv/";
	static const char *const files[] = {
		"/sys/bus/xen-backend/devices/vbd-1-51712/xpv/rd_req", "12",
		"/sys/bus/xen-backend/devices/vbd-1-51712/xpv/help", "words",
		NULL,
	};
	struct capture cap;
	json_t *root, *vif, *vbd;

	CHECK(!strncmp(files[0], dir, strlen(dir)));
	domains();
	put_vif();
	put_vbd();
	fake_host.driver = "xpv-back";
	fake_host.files = files;
	capture_start(&cap);
	cap.c.opt.json = true;
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	root = json_loads(cap.out, 0, NULL);
	vif = json_array_get(root, 0);
	vbd = json_array_get(root, 1);
	CHECK_INT(number_at(vif, "frontend", "state"), 4);
	CHECK_INT(number_at(vif, "features", "queues"), 2);
	CHECK_INT(number_at(vif, "counters", "tx_copied"), 42);
	CHECK(json_is_true(json_object_get(json_object_get(vif, "features"), "sg")));
	CHECK(json_is_false(json_object_get(json_object_get(vif, "features"), "gso6")));
	CHECK(json_is_null(json_object_get(json_object_get(vif, "features"), "rate")));
	CHECK_INT(number_at(vbd, "features", "sectors"), 2048);
	CHECK_INT(number_at(vbd, "counters", "rd_req"), 12);
	CHECK_INT(json_object_size(json_object_get(vbd, "counters")), 1);
	json_decref(root);
	capture_free(&cap);
}

/* Stock backends keep their counters in another folder. */
static void stock_counters(void)
{
	static const char *const files[] = {
		"/sys/bus/xen-backend/devices/vbd-1-51712/statistics/rd_req", "77", NULL,
	};
	struct capture cap;

	domains();
	put_vbd();
	fake_host.driver = "vbd";
	fake_host.module = "xen_blkback";
	fake_host.files = files;
	capture_start(&cap);
	cap.c.opt.verbose = true;
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	CHECK_HAS(cap.out, " stock ");
	CHECK_HAS(cap.out, "rd_req                           77\n");
	capture_free(&cap);
}

/* In a guest or a driver domain the list of all domains may be closed. */
static void own_domain_only(void)
{
	struct capture cap;

	fake_put("/local/domain/0/domid", "1");
	put_vif();
	fake_put("/local/domain/1/backend/vif/5/0/state", "2");
	fake_store.deny = "/local/domain/0/backend";
	fake_remove("/local/domain/0/backend");
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	CHECK_HAS(cap.out, "  1 -");
	CHECK_HAS(cap.out, "  5 -");
	capture_free(&cap);
}

static void show_not_found(void)
{
	struct capture cap;

	domains();
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_show, "vif1.3", NULL), XPV_NOT_FOUND);
	CHECK_HAS(cap.err, "no device vif1.3");
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_show, "nonsense", NULL), XPV_USAGE);
	capture_free(&cap);
}

static void show_adds(void)
{
	static const char *const files[] = {
		"/sys/class/net/vif1.0/mtu", "1400", "/sys/class/net/vif1.0/operstate", "up",
		"/sys/class/net/br0/mtu", "1500", NULL,
	};
	static const char *const links[] = { "/sys/class/net/vif1.0/master", "br0", NULL };
	struct capture cap;

	domains();
	put_vif();
	fake_host.files = files;
	fake_host.links = links;
	fake_host.grant_frames = 3;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_show, "vif1.0", NULL), 0);
	CHECK_HAS(cap.out, "explain: E-");
	CHECK_HAS(cap.out, "grant frames of the guest: 3 of 64, 512 grants each\n");
	CHECK_HAS(cap.out, "event channels: 4\n");
	CHECK_HAS(cap.out, "mtu of the vif: 1400\nmtu of its bridge: 1500\n");
	CHECK_HAS(cap.out, "mtu key of the frontend: -\n");
	capture_free(&cap);
}

/* 50 domains with 8 devices each: all there, each once. */
static void fifty_domains(void)
{
	unsigned int domid, i, lines = 0;
	struct capture cap;
	const char *p;

	for (domid = 1; domid <= 50; domid++) {
		for (i = 0; i < 4; i++) {
			fake_putf("4", "/local/domain/%u/device/vif/%u/state", domid, i);
			fake_putf("4", "/local/domain/0/backend/vif/%u/%u/state", domid, i);
			fake_putf("4", "/local/domain/%u/device/vbd/%u/state", domid, i << 4);
			fake_putf("4", "/local/domain/0/backend/vbd/%u/%u/state", domid, i << 4);
		}
	}
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	for (p = cap.out; *p; p++)
		lines += *p == '\n';
	CHECK_INT(lines, 401);
	capture_free(&cap);
}

/* A request costs two switches of context: their number is what list's speed is. */
static void few_requests(void)
{
	unsigned int one, i;
	struct capture cap;

	domains();
	put_vif();
	for (i = 0; i < 2; i++) {
		fake_store.reads = 0;
		capture_start(&cap);
		CHECK_INT(run(&cap, cmd_list, NULL), 0);
		capture_free(&cap);
		if (!i)
			one = fake_store.reads;
		put_vbd();
	}
	/* Two listings, two states, backend, hotplug-status, and what agrees. */
	CHECK(one <= 30);
	CHECK(fake_store.reads - one <= 16);
	/* A key of one end only is not asked for at the other. */
	fake_remove(BACK("feature-sg"));
	fake_remove(BACK("feature-gso-tcpv4"));
	i = fake_store.reads;
	fake_store.reads = 0;
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_list, NULL), 0);
	CHECK_INT(fake_store.reads, i - 2);
	capture_free(&cap);
}

const struct unit_case list_cases[] = {
	{ "one_pair", one_pair },
	{ "empty_store", empty_store },
	{ "no_xenstore", no_xenstore },
	{ "many", many },
	{ "malformed_keys", malformed_keys },
	{ "malformed_names", malformed_names },
	{ "escapes_in_text", escapes_in_text },
	{ "escapes_in_json", escapes_in_json },
	{ "json_is_whole", json_is_whole },
	{ "stock_counters", stock_counters },
	{ "own_domain_only", own_domain_only },
	{ "show_not_found", show_not_found },
	{ "show_adds", show_adds },
	{ "fifty_domains", fifty_domains },
	{ "few_requests", few_requests },
	{ }
};

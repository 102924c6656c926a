// SPDX-License-Identifier: GPL-2.0
/*
 * test_check.c: every finding of "check", what is none, and what --repair does
 * and leaves alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fake.h"
#include "unit.h"

static const struct domain_entry two[] = { { 0 }, { .domid = 1 } };
static const struct domain_entry dying[] = { { 0 }, { .domid = 1, .dying = true, .pages = 3 } };

static void domains(void)
{
	fake_put("/local/domain/0/domid", "0");
	fake_put("/local/domain/0/name", "Domain-0");
	fake_put("/local/domain/1/name", "guest1");
	fake_put("/libxl/1/type", "pv");
	fake_host.domains = two;
	fake_host.nr_domains = 2;
}

static void put_vif(unsigned int front, unsigned int devid)
{
	fake_putf("4", "/local/domain/%u/device/vif/%u/state", front, devid);
	fake_putf("4", "/local/domain/0/backend/vif/%u/%u/state", front, devid);
}

static void expect(bool repair, int rc, const char *text)
{
	struct capture cap;

	capture_start(&cap);
	cap.c.opt.repair = repair;
	CHECK_INT(run(&cap, cmd_check, NULL), rc);
	CHECK_HAS(cap.out, text);
	CHECK_TEXT(cap.err, "");
	capture_free(&cap);
}

static void clean(void)
{
	static const char *const files[] = {
		"/proc/5/comm", "xbb1.51712-0", "/sys/class/net/vif1.0/x", "",
		"/sys/bus/xen-backend/devices/vif-1-0/x", "", "/proc/6/comm", "kworker/0:1",
		"/sys/class/net/eth0/x", "", NULL,
	};

	domains();
	put_vif(1, 0);
	fake_host.files = files;
	expect(false, XPV_OK, "nothing is left over\n");
	expect(true, XPV_OK, "nothing is left over\n");
}

static void xen_is_silent(void)
{
	struct capture cap;

	fake_put("/local/domain/7/name", "x");
	capture_start(&cap);
	cap.c.opt.repair = true;
	CHECK_INT(run(&cap, cmd_check, NULL), XPV_NO_XEN);
	CHECK_HAS(cap.err, "Xen does not list its domains");
	CHECK(fake_get("/local/domain/7/name"));
	capture_free(&cap);
}

static void zombie(void)
{
	static const char *const files[] = {
		"/sys/bus/xen-backend/devices/vif-1-0/x", "", "/proc/9/comm", "qemu", NULL,
	};
	static const char *const links[] = { "/proc/9/fd/3", "gntdev", NULL };

	domains();
	put_vif(1, 0);
	fake_host.files = files;
	fake_host.links = links;
	fake_host.domains = dying;
	expect(false, XPV_FAILED, "C-ZOMBIE: domain 1, 3 pages: domain is dead but somebody");
	expect(false, XPV_FAILED, "; held by: device vif-1-0, perhaps process 9 (qemu)\n");
	expect(false, XPV_FAILED, "C-NAME: /local/domain/1/name = guest1: ");
	expect(true, XPV_FAILED, "is still taken (repaired)\n");
	CHECK(!fake_get("/local/domain/1/name"));
	/* The rest of a domain that dies is left to its toolstack. */
	CHECK(fake_get("/local/domain/0/backend/vif/1/0/state"));
}

static void leftovers(void)
{
	domains();
	put_vif(1, 0);
	put_vif(9, 0);
	fake_put("/local/domain/1/device/vif/3/state", "1");
	fake_put("/local/domain/0/backend/vbd/1/51712/state", "6");
	fake_put("/local/domain/0/error/backend/vif/9/0/error", "22 old");
	fake_put("/libxl/9/type", "pv");
	expect(false, XPV_FAILED, "C-DOMAIN: /libxl/9: ");
	expect(false, XPV_FAILED, "C-DOMAIN: /local/domain/9: ");
	expect(false, XPV_FAILED, "C-BACKEND: vif 0 of domain 9, backend domain 0: ");
	expect(false, XPV_FAILED, "C-FRONTEND: vif 3 of domain 1, backend domain 0: ");
	expect(false, XPV_FAILED, "C-HALF: xvda of domain 1, backend domain 0: ");
	expect(false, XPV_FAILED, "C-ERROR: /local/domain/0/error/backend/vif/9: ");
	CHECK(fake_get("/local/domain/9/device/vif/0/state"));
	expect(true, XPV_OK, ": backend serves a domain that does not exist (repaired)\n");
	expect(false, XPV_OK, "nothing is left over\n");
	/* What is alive stays. */
	CHECK_TEXT(fake_get("/local/domain/1/device/vif/0/state"), "4");
	CHECK_TEXT(fake_get("/local/domain/0/backend/vif/1/0/state"), "4");
	CHECK(!fake_get("/local/domain/1/device/vif/3"));
	CHECK(!fake_get("/local/domain/0/error/backend"));
	CHECK(fake_get("/local/domain/0/error"));
}

/* By kind, then by domain, whatever the order in the store. */
static void sorted(void)
{
	const struct domain_entry xen[] = { { 0 } };
	struct seen_domain domains[] = { { 9, NULL, "/nine" }, { 7, NULL, "/seven" } };
	struct seen_thing things[] = {
		{ .kind = FOUND_THREAD, .front = 5, .name = "thread" },
		{ .kind = FOUND_ERROR, .front = 6, .name = "error" },
		{ .kind = FOUND_NETDEV, .front = 8, .name = "netdev" },
	};
	const struct picture p = {
		.xen = (struct domain_entry *)xen, .nr_xen = 1, .domains = domains,
		.nr_domains = 2, .things = things, .nr_things = 3,
	};
	static const char *const want[] = { "/seven", "/nine", "error", "netdev", "thread" };
	struct findings f;
	size_t i;

	findings_decide(&p, &f);
	CHECK_INT(f.n, 5);
	for (i = 0; i < f.n && i < 5; i++)
		CHECK_TEXT(f.v[i].what, want[i]);
	findings_free(&f);
}

static void finish(void)
{
	fake_put("/local/domain/0/backend/vif/1/3/state", "1");
}

/* A toolstack at work between the two looks. */
static void not_yet_written(void)
{
	domains();
	fake_put("/local/domain/1/device/vif/3/state", "1");
	fake_host.on_pause = finish;
	expect(true, XPV_OK, "nothing is left over\n");
	CHECK(fake_get("/local/domain/1/device/vif/3/state"));
}

static void kernel_things(void)
{
	static const char *const files[] = {
		"/proc/5/comm", "xbb9.51712-0", "/proc/6/comm", "vif8.0-q0-guest-rx",
		"/proc/7/comm", "7.xvda-0", "/sys/class/net/vif9.2/x", "",
		"/sys/bus/xen-backend/devices/vbd-1-51712/x", "", NULL,
	};

	domains();
	fake_host.files = files;
	expect(true, XPV_FAILED, "C-KERNEL: vbd-1-51712: ");
	expect(true, XPV_FAILED, "C-NETDEV: vif9.2: ");
	expect(true, XPV_FAILED, "C-THREAD: xbb9.51712-0: ");
	expect(true, XPV_FAILED, "C-THREAD: vif8.0-q0-guest-rx: ");
	expect(true, XPV_FAILED, "C-THREAD: 7.xvda-0: ");
}

static void as_json(void)
{
	struct capture cap;

	domains();
	fake_put("/libxl/9/type", "pv");
	capture_start(&cap);
	cap.c.opt.json = true;
	CHECK_INT(run(&cap, cmd_check, NULL), XPV_FAILED);
	CHECK_HAS(cap.out, "\"code\": \"C-DOMAIN\"");
	CHECK_HAS(cap.out, "\"repaired\": false");
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_check, "word", NULL), XPV_USAGE);
	capture_free(&cap);
}

const struct unit_case check_cases[] = {
	{ "clean", clean },
	{ "xen_is_silent", xen_is_silent },
	{ "zombie", zombie },
	{ "leftovers", leftovers },
	{ "sorted", sorted },
	{ "not_yet_written", not_yet_written },
	{ "kernel_things", kernel_things },
	{ "as_json", as_json },
	{ }
};

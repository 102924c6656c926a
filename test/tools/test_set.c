// SPDX-License-Identifier: GPL-2.0
/*
 * test_set.c: what may be set, what is refused and why, all or nothing.
 */
#include <errno.h>
#include <stdlib.h>

#include "device.h"
#include "fake.h"
#include "unit.h"

#define BACK "/local/domain/0/backend/vif/1/0/"
#define LIBXL "/libxl/1/device/vif/0/"

static void put_vif(void)
{
	fake_put("/local/domain/0/domid", "0");
	fake_put("/local/domain/1/name", "guest");
	fake_put("/local/domain/1/device/vif/0/state", "4");
	fake_put(BACK "state", "4");
}

static void expect(const char *dev, const char *word, const char *word2, int rc, const char *err)
{
	struct capture cap;

	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_set, dev, word, word2, NULL), rc);
	CHECK_HAS(cap.err, err);
	capture_free(&cap);
}

static void rate(void)
{
	put_vif();
	expect("guest/vif/0", "rate=10MB/s", NULL, XPV_OK, "");
	CHECK_TEXT(fake_get(BACK "rate"), "500000,50000");
	CHECK(!fake_get(LIBXL "rate"));
	fake_put(LIBXL "backend", "/local/domain/0/backend/vif/1/0");
	fake_store.eagain = 1;
	expect("vif1.0", "rate=8Mb/s@20ms", NULL, XPV_OK, "");
	CHECK_TEXT(fake_get(BACK "rate"), "20000,20000");
	CHECK_TEXT(fake_get(LIBXL "rate"), "20000,20000");
	expect("vif1.0", "rate=none", NULL, XPV_OK, "");
	CHECK(!fake_get(BACK "rate"));
	CHECK(!fake_get(LIBXL "rate"));
	expect("vif1.0", "rate=none", NULL, XPV_OK, "");
}

static void refused(void)
{
	put_vif();
	expect("vif1.0", "mtu=9000", NULL, XPV_FAILED, "mtu cannot be set: no driver reads it");
	expect("vif1.0", "rate=10MB/s", "carrier=0", XPV_FAILED, "carrier cannot be set");
	CHECK(!fake_get(BACK "rate"));
	expect("vif1.0", "rate=fast", NULL, XPV_USAGE, "rate = \"fast\": a rate like 10MB/s");
	expect("vif1.0", "rate", NULL, XPV_USAGE, "\"rate\": no key of a vif, or no value");
	expect("vif1.0", "colour=red", NULL, XPV_USAGE, "no key of a vif");
	expect("vif1.7", "rate=10MB/s", NULL, XPV_NOT_FOUND, "no device vif1.7");
	expect("nonsense", "rate=10MB/s", NULL, XPV_USAGE, "is no device");
	expect("vif1.0", NULL, NULL, XPV_USAGE, "set takes a device");
	/* A frontend whose backend is gone. */
	fake_remove("/local/domain/0/backend/vif");
	expect("vif1.0", "rate=10MB/s", NULL, XPV_NOT_FOUND, "cannot write");
	CHECK(!fake_get("/local/domain/0/backend/vif"));
	put_vif();
	fake_store.fail_after = 1;
	expect("vif1.0", "rate=10MB/s", NULL, XPV_FAILED, "cannot write");
}

/* Help lists what can be set, and nothing else. */
static void help(void)
{
	struct capture cap;

	capture_start(&cap);
	set_help(cap.c.out);
	capture_end(&cap);
	CHECK_HAS(cap.out, "vif rate=");
	CHECK_LACKS(cap.out, "mtu");
	capture_free(&cap);
}

const struct unit_case set_cases[] = {
	{ "rate", rate },
	{ "refused", refused },
	{ "help", help },
	{ }
};

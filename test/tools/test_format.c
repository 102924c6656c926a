// SPDX-License-Identifier: GPL-2.0
/*
 * test_format.c: the table and the details of devices made by hand, without a
 * store behind them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "device.h"
#include "unit.h"

static struct device plain_vif(void)
{
	return (struct device){
		.id = { .kind = backend_kind_find("vif"), .front = 1 },
		.label = "vif 0",
		.front_there = true,
		.back_there = true,
		.front_state = STATE_RECONFIGURING,
		.back_state = STATE_INIT_WAIT,
	};
}

static char *table(const struct device *d, size_t n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	format_table(f, d, n);
	fclose(f);
	return text;
}

static void columns_grow(void)
{
	struct device d[2] = { plain_vif(), plain_vif() };
	char *text;

	d[1].domain = "a";
	d[1].id.front = 32000;
	d[1].hotplug = "connected";
	text = table(d, 2);
	CHECK_TEXT(text,
		   "  DOM NAME DEVICE BACK DRIVER FRONTEND      BACKEND  HOTPLUG   Q FEATURES\n"
		   "    1 -    vif 0  0    -      Reconfiguring InitWait -         1 -\n"
		   "32000 a    vif 0  0    -      Reconfiguring InitWait connected 1 -\n");
	free(text);
}

static void long_words_are_cut(void)
{
	struct device d = plain_vif();
	char *text;

	d.domain = "a-name-much-longer-than-sixteen";
	d.hotplug = "a-status-much-longer-than-sixteen";
	text = table(&d, 1);
	CHECK_HAS(text, " a-name-much-long ");
	CHECK_HAS(text, " a-status-much-lo ");
	free(text);
}

static void details(void)
{
	struct feature f[] = {
		{ "sg", FEATURE_FLAG, true, 1, NULL },
		{ "gso4", FEATURE_FLAG, true, 0, NULL },
		{ "mtu", FEATURE_NUMBER, true, 9000, NULL },
		{ "rate", FEATURE_TEXT, false, 0, NULL },
		{ "mac", FEATURE_TEXT, true, 0, "00:16:3e:00:00:01" },
	};
	struct device d = plain_vif();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	d.features = f;
	d.nr_features = 5;
	d.driver = DRIVER_OURS;
	d.driver_name = "xpv_netback";
	format_details(out, &d);
	fclose(out);
	CHECK_TEXT(text,
		   "device: vif 0 of domain 1 (-)\n"
		   "devid: 0\n"
		   "frontend: Reconfiguring\n"
		   "backend: InitWait in domain 0, kind vif\n"
		   "driver: ours (xpv_netback)\n"
		   "hotplug: -\n"
		   "sg: yes\n"
		   "gso4: no\n"
		   "mtu: 9000\n"
		   "rate: -\n"
		   "mac: 00:16:3e:00:00:01\n");
	free(text);
}

const struct unit_case format_cases[] = {
	{ "columns_grow", columns_grow },
	{ "long_words_are_cut", long_words_are_cut },
	{ "details", details },
	{ }
};

// SPDX-License-Identifier: GPL-2.0
/*
 * test_budget.c: reading configurations of xl, whole and broken, and the sums
 * over them.
 */
#include <stdlib.h>

#include "budget.h"
#include "fake.h"
#include "unit.h"

static struct budget_config parsed(const char *text, const char *message)
{
	struct budget_config cfg;
	char *error = budget_parse(text, &cfg);

	CHECK_TEXT(error, message);
	free(error);
	return cfg;
}

static void whole(void)
{
	struct budget_config cfg = parsed("# a guest\nname = \"g [1]\"\nvcpus = 4\n"
		"vif = [ 'bridge=a', # first\n\t\"bridge=b,mac=1\" ]\n"
		"disk = ['phy:/x,xvda,w','/iso,hdc,r,devtype=cdrom',]; max_grant_frames='128'\n"
		"extra = \"console=hvc0 # no comment\"\nevent_channels = 2000", NULL);

	CHECK_INT(cfg.vcpus, 4);
	CHECK_INT(cfg.vifs, 2);
	CHECK_INT(cfg.vbds, 1);
	CHECK_INT(cfg.grant_frames, 128);
	CHECK_INT(cfg.event_channels, 2000);
	cfg = parsed("", NULL);
	CHECK_INT(cfg.vcpus, 1);
	CHECK_INT(cfg.vifs, 0);
	cfg = parsed("vif = [ ]\nmemory = 256", NULL);
	CHECK_INT(cfg.vifs, 0);
}

static void broken(void)
{
	parsed("vif = [ 'a'", "vif: a value that makes no sense");
	parsed("vif = [ 'a", "vif: a value that makes no sense");
	parsed("vif = 'a'", "vif: a value that makes no sense");
	parsed("disk = [ a ]", "disk: a value that makes no sense");
	parsed("vcpus = many", "vcpus: a value that makes no sense");
	parsed("vcpus = 99999999999999", "vcpus: a value that makes no sense");
	parsed("name = 'x", "name: a value that makes no sense");
	parsed("name", "\"name\": key = value expected");
	parsed("= 3", "\"\": key = value expected");
}

static void free_rows(struct budget_row *rows)
{
	unsigned int i;

	for (i = 0; i < NR_BUDGET; i++)
		free(rows[i].raise);
}

static void sums(void)
{
	struct budget_config cfg = { .vcpus = 2, .vifs = 1, .vbds = 1 };
	struct budget_host host = { .cpus = 1, .free_kib = 100000 };
	struct budget_row rows[NR_BUDGET];

	budget_compute(&cfg, &host, rows);
	CHECK_INT(rows[BUDGET_GRANTS].need, 32 + 914 + 2 + 1072);
	CHECK_INT(rows[BUDGET_GRANTS].limit, 32768);
	CHECK_INT(rows[BUDGET_EVENTS].need, 8 + 12 + 4);
	CHECK_INT(rows[BUDGET_MAPTRACK].need, 402 + 1 + 1072);
	CHECK_INT(rows[BUDGET_MEMORY].need, 3584 + 4096);
	CHECK(!rows[BUDGET_GRANTS].raise && !rows[BUDGET_EVENTS].raise);
	CHECK(!rows[BUDGET_MAPTRACK].raise && !rows[BUDGET_BACK_EVENTS].raise);
	CHECK(!rows[BUDGET_MEMORY].raise);
	free_rows(rows);
	/* Two CPUs there: two queues of each. */
	host.cpus = 8;
	budget_compute(&cfg, &host, rows);
	CHECK_INT(rows[BUDGET_GRANTS].need, 32 + 2 * (914 + 1072) + 2);
	free_rows(rows);
	host.stock = true;
	budget_compute(&cfg, &host, rows);
	CHECK_INT(rows[BUDGET_MAPTRACK].need, 2 * (258 + 16912) + 1);
	free_rows(rows);
}

static void over(void)
{
	struct budget_config cfg = { .vcpus = 8, .vifs = 8, .vbds = 8, .event_channels = 64 };
	struct budget_host host = { .cpus = 8, .free_kib = 1000, .stock = true };
	struct budget_row rows[NR_BUDGET];

	budget_compute(&cfg, &host, rows);
	CHECK_TEXT(rows[BUDGET_GRANTS].raise,
		   "max_grant_frames = 132 in the configuration (now 64)");
	CHECK_TEXT(rows[BUDGET_EVENTS].raise,
		   "event_channels = 224 in the configuration (now 64)");
	CHECK_HAS(rows[BUDGET_MAPTRACK].raise, "gnttab_max_maptrack_frames=");
	CHECK_HAS(rows[BUDGET_MEMORY].raise, "dom0_mem=");
	CHECK(!rows[BUDGET_BACK_EVENTS].over);
	free_rows(rows);
}

static int budget_of(struct capture *cap, const char *text)
{
	fake_host.text = text;
	capture_start(cap);
	return run(cap, cmd_budget, "g.cfg", NULL);
}

static void command(void)
{
	struct capture cap;

	CHECK_INT(budget_of(&cap, "vif = ['a']"), XPV_OK);
	CHECK_HAS(cap.out, "1 vcpus, 1 vif, 0 vbd, our backends with 4 CPUs\n");
	capture_free(&cap);
	CHECK_INT(budget_of(&cap, "vif = ['a','b']\nmax_grant_frames = 1"), XPV_FAILED);
	CHECK_HAS(cap.out, "too much\n");
	CHECK_HAS(cap.out, "raise: max_grant_frames = 4 ");
	capture_free(&cap);
	CHECK_INT(budget_of(&cap, "vif = "), XPV_FAILED);
	CHECK_HAS(cap.err, "g.cfg: vif: a value that makes no sense");
	capture_free(&cap);
	CHECK_INT(budget_of(&cap, NULL), XPV_NOT_FOUND);
	capture_free(&cap);
	capture_start(&cap);
	CHECK_INT(run(&cap, cmd_budget, NULL), XPV_USAGE);
	capture_free(&cap);
}

const struct unit_case budget_cases[] = {
	{ "whole", whole },
	{ "broken", broken },
	{ "sums", sums },
	{ "over", over },
	{ "command", command },
	{ }
};

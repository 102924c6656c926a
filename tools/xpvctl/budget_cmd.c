// SPDX-License-Identifier: GPL-2.0
/*
 * budget_cmd.c: the command "budget": reads a configuration of xl, asks the
 * machine for its size, prints need against limit. Needs no xenstore.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "budget.h"
#include "ctx.h"
#include "host.h"
#include "text.h"

static void print_rows(struct ctx *c, const struct budget_row *rows)
{
	unsigned int i;

	fprintf(c->out, "%-42s %10s %10s\n", "", "NEEDS", "LIMIT");
	for (i = 0; i < NR_BUDGET; i++)
		fprintf(c->out, "%-42s %10" PRIu64 " %10" PRIu64 "%s\n", rows[i].name,
			rows[i].need, rows[i].limit, rows[i].over ? "  too much" : "");
	for (i = 0; i < NR_BUDGET; i++)
		if (rows[i].raise)
			fprintf(c->out, "raise: %s\n", rows[i].raise);
}

static void print_json(struct ctx *c, const struct budget_row *rows)
{
	json_t *array = json_array(), *o;
	unsigned int i;

	for (i = 0; i < NR_BUDGET; i++) {
		o = json_object();
		json_object_set_new(o, "name", json_string(rows[i].name));
		json_object_set_new(o, "needs", json_integer((json_int_t)rows[i].need));
		json_object_set_new(o, "limit", json_integer((json_int_t)rows[i].limit));
		json_object_set_new(o, "over", json_boolean(rows[i].over));
		json_object_set_new(o, "raise", rows[i].raise ? json_string(rows[i].raise) :
				    json_null());
		json_array_append_new(array, o);
	}
	json_dumpf(array, c->out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	fputc('\n', c->out);
	json_decref(array);
}

static int print_budget(struct ctx *c, const struct budget_config *cfg)
{
	struct budget_host host = {
		.cpus = host_cpus(),
		.free_kib = host_free_kib(),
		.stock = host_file_kind("/sys/module/xen_blkback") != FILE_NONE &&
			host_file_kind("/sys/module/xpv_blkback") == FILE_NONE,
	};
	struct budget_row rows[NR_BUDGET];
	int rc = XPV_OK;
	unsigned int i;

	budget_compute(cfg, &host, rows);
	if (c->opt.json) {
		print_json(c, rows);
	} else {
		fprintf(c->out, "%u vcpus, %u vif, %u vbd, %s backends with %u CPUs\n",
			cfg->vcpus, cfg->vifs, cfg->vbds, host.stock ? "stock" : "our", host.cpus);
		print_rows(c, rows);
	}
	for (i = 0; i < NR_BUDGET; i++) {
		if (rows[i].over)
			rc = XPV_FAILED;
		free(rows[i].raise);
	}
	return rc;
}

int cmd_budget(struct ctx *c, int argc, char **argv)
{
	struct budget_config cfg;
	char *text, *error;

	if (argc != 1) {
		complain(c, "budget takes one configuration file of xl");
		return XPV_USAGE;
	}
	text = host_read_file(argv[0]);
	if (!text) {
		complain(c, "%s: cannot be read", argv[0]);
		return XPV_NOT_FOUND;
	}
	error = budget_parse(text, &cfg);
	free(text);
	if (error) {
		complain(c, "%s: %s", argv[0], error);
		free(error);
		return XPV_FAILED;
	}
	return print_budget(c, &cfg);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * list.c: the commands that only look: "list" and "show".
 */
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "text.h"

static void print_list(struct ctx *c, const struct device *list, size_t n)
{
	size_t i;

	if (c->opt.json) {
		format_json(c->out, list, n);
		return;
	}
	format_table(c->out, list, n);
	for (i = 0; c->opt.verbose && i < n; i++)
		format_counters(c->out, &list[i]);
}

int cmd_list(struct ctx *c, int argc, char **argv)
{
	enum detail detail = c->opt.verbose || c->opt.json ? DETAIL_COUNTERS : DETAIL_TABLE;
	unsigned int front = 0;
	struct dev_id *ids;
	struct device *list;
	size_t n, i, nr = 0;
	int rc;

	if (argc > 1) {
		complain(c, "list takes at most one domain");
		return XPV_USAGE;
	}
	rc = argc ? domain_find(c, argv[0], &front) : XPV_OK;
	if (rc)
		return rc;
	ids = device_list(c, &n);
	list = xcalloc(n, sizeof(*list));
	for (i = 0; i < n; i++)
		if (!argc || ids[i].front == front)
			device_load(c, &ids[i], detail, &list[nr++]);
	print_list(c, list, nr);
	while (nr)
		device_free(&list[--nr]);
	free(list);
	free(ids);
	return XPV_OK;
}

static uint64_t feature(const struct device *d, const char *name)
{
	size_t i;

	for (i = 0; i < d->nr_features; i++)
		if (!strcmp(d->features[i].name, name))
			return d->features[i].number;
	return 0;
}

/* What costs more requests than a list can afford. */
static void load_more(struct ctx *c, const struct device *d, struct device_more *more)
{
	unsigned int queues = feature(d, "queues");
	struct verdict v;
	struct facts f;

	facts_load(c, &d->id, &f);
	v = explain_decide(&f);
	*more = (struct device_more){
		.code = reason_rows[v.reason].code,
		.grant_frames = f.grant_frames,
		.max_grant_frames = f.max_grant_frames,
		.event_channels = feature(d, "split") ? 2 * queues : queues,
		.mtu_vif = f.mtu,
		.mtu_bridge = f.bridge_mtu,
		.mtu_back = f.store_mtu,
		.mtu_front = f.guest_mtu,
	};
	free(v.detail);
	facts_free(&f);
}

int cmd_show(struct ctx *c, int argc, char **argv)
{
	struct device_more more;
	struct dev_id id;
	struct device d;
	int rc;

	if (argc != 1) {
		complain(c, "show takes one device");
		return XPV_USAGE;
	}
	rc = device_of_word(c, argv[0], &id);
	if (rc)
		return rc;
	device_load(c, &id, DETAIL_COUNTERS, &d);
	load_more(c, &d, &more);
	d.more = &more;
	if (c->opt.json) {
		format_json(c->out, &d, 1);
	} else {
		format_details(c->out, &d);
		format_counters(c->out, &d);
	}
	device_free(&d);
	return XPV_OK;
}

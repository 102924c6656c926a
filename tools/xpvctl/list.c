// SPDX-License-Identifier: GPL-2.0
/*
 * list.c: the commands that only look: "list" and "show".
 */
#include <stdlib.h>

#include "device.h"
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

static int show(struct ctx *c, const char *word, unsigned int front, enum dev_class class,
		unsigned int devid)
{
	struct dev_id id;
	struct device d;

	if (device_find(c, class, front, devid, &id)) {
		complain(c, "no device %s", word);
		return XPV_NOT_FOUND;
	}
	device_load(c, &id, DETAIL_COUNTERS, &d);
	if (c->opt.json) {
		format_json(c->out, &d, 1);
	} else {
		format_details(c->out, &d);
		format_counters(c->out, &d);
	}
	device_free(&d);
	return XPV_OK;
}

int cmd_show(struct ctx *c, int argc, char **argv)
{
	unsigned int front, devid;
	enum dev_class class;
	char *domain;
	int rc;

	if (argc != 1 || !device_parse(argv[0], &domain, &class, &devid)) {
		complain(c, "show takes one device: DOM/vif/0, DOM/xvda, vif1.0, vbd-1-51712");
		return XPV_USAGE;
	}
	rc = XPV_OK;
	if (!text_u32(domain, MAX_DOMID, &front))
		rc = domain_find(c, domain, &front);
	if (!rc)
		rc = show(c, argv[0], front, class, devid);
	free(domain);
	return rc;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * counters.c: who drives a backend of this domain and what it counted. Our
 * block backend has a folder "xpv" beside its device, the stock one
 * "statistics"; network backends answer the ethtool ioctl.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "text.h"

static void load_driver(const char *dir, struct device *d)
{
	char *driver = xasprintf("%s/driver", dir);
	char *module = xasprintf("%s/driver/module", dir);
	char *module_name = host_link_name(module);

	d->driver_name = host_link_name(driver);
	d->driver = driver_kind_of(d->driver_name, module_name);
	if (module_name && d->driver_name) {
		free(d->driver_name);
		d->driver_name = module_name;
	} else {
		free(module_name);
	}
	free(driver);
	free(module);
}

static void add_counter(struct device *d, const char *name, uint64_t value)
{
	struct counter *k;

	d->counters = xgrow(d->counters, d->nr_counters + 1, sizeof(*d->counters));
	k = &d->counters[d->nr_counters++];
	snprintf(k->name, sizeof(k->name), "%s", name);
	k->value = value;
}

static bool has_counter(const struct device *d, const char *name)
{
	size_t i;

	for (i = 0; i < d->nr_counters; i++)
		if (!strcmp(d->counters[i].name, name))
			return true;
	return false;
}

/* What any interface counts; what it receives is what the guest transmits. */
static void add_traffic(const char *ifname, struct device *d)
{
	static const struct {
		const char *name, *file;
	} rows[] = {
		{ "tx_bytes", "rx_bytes" }, { "tx_packets", "rx_packets" },
		{ "rx_bytes", "tx_bytes" }, { "rx_packets", "tx_packets" },
	};
	char *path, *line;
	uint64_t value;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (has_counter(d, rows[i].name))
			continue;
		path = xasprintf("/sys/class/net/%s/statistics/%s", ifname, rows[i].file);
		line = host_read_line(path);
		if (text_u64(line, UINT64_MAX, &value))
			add_counter(d, rows[i].name, value);
		free(line);
		free(path);
	}
}

static void load_net(struct store *st, const struct paths *p, struct device *d)
{
	char *ifname = store_get(st, p->back, "vifname");

	/* The hotplug script has renamed the interface if there is a name. */
	if (!ifname)
		ifname = xasprintf("vif%u.%u", d->id.front, d->id.devid);
	/* The name is a key in the store: it may not lead elsewhere. */
	if (!strchr(ifname, '/')) {
		d->nr_counters = host_net_counters(ifname, &d->counters);
		add_traffic(ifname, d);
	}
	free(ifname);
}

static void load_counter_file(const char *dir, const char *name, struct device *d)
{
	char *path = xasprintf("%s/%s", dir, name);
	char *line = host_read_line(path);
	uint64_t value;

	if (text_u64(line, UINT64_MAX, &value))
		add_counter(d, name, value);
	free(line);
	free(path);
}

static void load_folder(const char *dir, const char *folder, struct device *d)
{
	char *path = xasprintf("%s/%s", dir, folder);
	char **names;
	size_t n, i;

	names = host_list_dir(path, &n);
	for (i = 0; i < n; i++)
		load_counter_file(path, names[i], d);
	text_free_list(names, n);
	free(path);
}

void backend_load(struct ctx *c, const struct paths *p, bool counters, struct device *d)
{
	char *dir = xasprintf("/sys/bus/xen-backend/devices/%s-%u-%u", d->id.kind->name,
			      d->id.front, d->id.devid);

	load_driver(dir, d);
	if (counters && d->driver != DRIVER_NONE) {
		if (d->id.kind->class == CLASS_VIF)
			load_net(&c->store, p, d);
		load_folder(dir, "xpv", d);
		if (!d->nr_counters)
			load_folder(dir, "statistics", d);
	}
	free(dir);
}

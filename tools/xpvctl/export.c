// SPDX-License-Identifier: GPL-2.0
/*
 * export.c: devices as Prometheus text: one family for each kind of number, the
 * counters of all drivers in one family with their name as a label. Every
 * string was escaped before; quotes and backslashes are escaped here as that
 * format wants. Pure.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "top.h"

static void put_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			fputc('\\', out);
		fputc(*value, out);
	}
	fputc('"', out);
}

/* "family{domid="1",domain="g",class="vif",device="vif 0"" without the end. */
static void put_device(FILE *out, const char *family, const struct device *d)
{
	fprintf(out, "%s{domid=\"%u\",", family, d->id.front);
	put_label(out, "domain", d->domain ? d->domain : "");
	fprintf(out, ",class=\"%s\",", class_name(d->id.kind->class));
	put_label(out, "device", d->label);
}

static void put_family(FILE *out, const char *family, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", family, help, family, type);
}

static bool is_connected(const struct device *d)
{
	return d->front_state == STATE_CONNECTED && d->back_state == STATE_CONNECTED;
}

static uint64_t queues(const struct device *d)
{
	size_t i;

	for (i = 0; i < d->nr_features; i++)
		if (!strcmp(d->features[i].name, "queues"))
			return d->features[i].number;
	return 1;
}

static void put_states(FILE *out, const struct device *list, size_t n)
{
	size_t i;

	put_family(out, "xpv_device_state", "gauge", "State of one end, 0 to 8, 4 is Connected");
	for (i = 0; i < n; i++) {
		put_device(out, "xpv_device_state", &list[i]);
		fprintf(out, ",end=\"front\"} %u\n", list[i].front_state);
		put_device(out, "xpv_device_state", &list[i]);
		fprintf(out, ",end=\"back\"} %u\n", list[i].back_state);
	}
}

static void put_counters(FILE *out, const struct device *d)
{
	size_t i;

	for (i = 0; i < d->nr_counters; i++) {
		put_device(out, "xpv_device_counter_total", d);
		fputc(',', out);
		put_label(out, "counter", d->counters[i].name);
		fprintf(out, "} %" PRIu64 "\n", d->counters[i].value);
	}
}

void format_export(FILE *out, const struct device *list, size_t n)
{
	size_t i;

	put_family(out, "xpv_device_connected", "gauge", "1 when both ends are Connected");
	for (i = 0; i < n; i++) {
		put_device(out, "xpv_device_connected", &list[i]);
		fprintf(out, ",driver=\"%s\"} %d\n", driver_kind_name(list[i].driver),
			is_connected(&list[i]));
	}
	put_states(out, list, n);
	put_family(out, "xpv_device_queues", "gauge", "Queues or rings agreed on");
	for (i = 0; i < n; i++) {
		put_device(out, "xpv_device_queues", &list[i]);
		fprintf(out, "} %" PRIu64 "\n", queues(&list[i]));
	}
	put_family(out, "xpv_device_counter_total", "counter", "Counters of the backend driver");
	for (i = 0; i < n; i++)
		put_counters(out, &list[i]);
}

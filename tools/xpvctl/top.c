// SPDX-License-Identifier: GPL-2.0
/*
 * top.c: from two looks at the counters to rates, lines and JSON. Pure; called
 * by top_cmd.c and screen.c. A counter that went back, as after a reload of its
 * driver, gives a rate of 0.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "top.h"

#define SECTOR 512

static uint64_t counter(const struct device *d, const char *name)
{
	size_t i;

	for (i = 0; i < d->nr_counters; i++)
		if (!strcmp(d->counters[i].name, name))
			return d->counters[i].value;
	return 0;
}

/* Ours and the stock driver's word for the same; only one is there. */
static uint64_t either(const struct device *d, const char *ours, const char *stock)
{
	return counter(d, ours) + counter(d, stock);
}

static struct sample vif_sample(const struct device *d)
{
	return (struct sample){
		.out_bytes = counter(d, "tx_bytes"),
		.in_bytes = counter(d, "rx_bytes"),
		.ops = counter(d, "tx_packets") + counter(d, "rx_packets"),
		.batches = counter(d, "tx_batches") + counter(d, "rx_batches"),
		.events = counter(d, "tx_events_received") + counter(d, "rx_events_received") +
			counter(d, "tx_events_sent") + counter(d, "rx_events_sent"),
	};
}

static struct sample vbd_sample(const struct device *d)
{
	return (struct sample){
		.out_bytes = either(d, "write_sectors", "wr_sect") * SECTOR,
		.in_bytes = either(d, "read_sectors", "rd_sect") * SECTOR,
		.ops = either(d, "reads", "rd_req") + either(d, "writes", "wr_req") +
			either(d, "flushes", "f_req") + either(d, "discards", "ds_req"),
		.batches = counter(d, "batches"),
		.events = counter(d, "events") + counter(d, "notifies"),
	};
}

struct sample sample_of(const struct device *d)
{
	return d->id.kind->class == CLASS_VIF ? vif_sample(d) : vbd_sample(d);
}

static uint64_t rate(uint64_t before, uint64_t now, uint64_t ms)
{
	return now > before && ms ? (uint64_t)((now - before) * 1000.0 / ms) : 0;
}

static bool same_device(const struct dev_id *a, const struct dev_id *b)
{
	return a->kind == b->kind && a->front == b->front && a->back == b->back &&
		a->devid == b->devid;
}

static const struct top_row *find(const struct top *t, const struct dev_id *id)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (same_device(&t->rows[i].id, id))
			return &t->rows[i];
	return NULL;
}

void top_merge(const struct top *before, struct top *now)
{
	uint64_t ms = now->taken_ms - before->taken_ms;
	const struct top_row *old;
	struct top_row *r;
	size_t i;

	for (i = 0; i < now->n; i++) {
		r = &now->rows[i];
		old = find(before, &r->id);
		if (!old)
			continue;
		r->rate = (struct sample){
			.out_bytes = rate(old->now.out_bytes, r->now.out_bytes, ms),
			.in_bytes = rate(old->now.in_bytes, r->now.in_bytes, ms),
			.ops = rate(old->now.ops, r->now.ops, ms),
			.batches = rate(old->now.batches, r->now.batches, ms),
			.events = rate(old->now.events, r->now.events, ms),
		};
		memcpy(r->history, old->history + 1, sizeof(r->history) - sizeof(*r->history));
		r->history[TOP_HISTORY - 1] = r->rate.out_bytes + r->rate.in_bytes;
	}
}

void top_free(struct top *t)
{
	free(t->rows);
	*t = (struct top){ 0 };
}

char *sparkline(const uint64_t *values, size_t n, bool utf8)
{
	static const char *const blocks[] = {
		" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	static const char *const ascii[] = { " ", ".", ":", "-", "=", "+", "*", "%", "#" };
	char *line = xcalloc(n * 4 + 1, 1);
	uint64_t max = 0;
	size_t i, level;

	for (i = 0; i < n; i++)
		if (values[i] > max)
			max = values[i];
	for (i = 0; i < n; i++) {
		level = values[i] ? 1 + (size_t)((double)values[i] / max * 7) : 0;
		strcat(line, utf8 ? blocks[level] : ascii[level]);
	}
	return line;
}

void short_number(uint64_t value, char *text, size_t size)
{
	static const char units[] = " kMGTPE";
	unsigned int unit = 0;
	double v = value;

	for (; v >= 999.5 && units[unit + 1]; unit++)
		v /= 1000;
	if (!unit)
		snprintf(text, size, "%" PRIu64, value);
	else
		snprintf(text, size, v < 9.95 ? "%.1f%c" : "%.0f%c", v, units[unit]);
}

static char *row_line(const struct top_row *r, bool spark, bool utf8)
{
	char out[16], in[16], ops[16], events[16], batch[16] = "-";
	char *line, *graph = spark ? sparkline(r->history, TOP_HISTORY, utf8) : xstrdup("");

	short_number(r->rate.out_bytes, out, sizeof(out));
	short_number(r->rate.in_bytes, in, sizeof(in));
	short_number(r->rate.ops, ops, sizeof(ops));
	short_number(r->rate.events, events, sizeof(events));
	if (r->rate.batches)
		snprintf(batch, sizeof(batch), "%.1f", (double)r->rate.ops / r->rate.batches);
	line = xasprintf("%5u %-16s %-8s %-4s %7s %7s %7s %6s %7s%s%s", r->id.front, r->domain,
			 r->label, r->connected ? "up" : "down", out, in, ops, batch, events,
			 spark ? "  " : "", graph);
	free(graph);
	return line;
}

char *top_line(const struct top *t, size_t line, bool spark, bool utf8)
{
	if (!line)
		return xasprintf("%5s %-16s %-8s %-4s %7s %7s %7s %6s %7s%s", "DOM", "NAME",
				 "DEVICE", "LINK", "OUT B/s", "IN B/s", "OPS/s", "BATCH", "EVT/s",
				 spark ? "  BYTES" : "");
	return line <= t->n ? row_line(&t->rows[line - 1], spark, utf8) : NULL;
}

static json_t *json_row(const struct top_row *r)
{
	json_t *o = json_object();

	json_object_set_new(o, "domid", json_integer(r->id.front));
	json_object_set_new(o, "domain", json_string(r->domain));
	json_object_set_new(o, "device", json_string(r->label));
	json_object_set_new(o, "connected", json_boolean(r->connected));
	json_object_set_new(o, "out-bytes", json_integer((json_int_t)r->rate.out_bytes));
	json_object_set_new(o, "in-bytes", json_integer((json_int_t)r->rate.in_bytes));
	json_object_set_new(o, "ops", json_integer((json_int_t)r->rate.ops));
	json_object_set_new(o, "batches", json_integer((json_int_t)r->rate.batches));
	json_object_set_new(o, "events", json_integer((json_int_t)r->rate.events));
	return o;
}

void top_json(FILE *out, const struct top *t)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < t->n; i++)
		json_array_append_new(array, json_row(&t->rows[i]));
	json_dumpf(array, out, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', out);
	json_decref(array);
}

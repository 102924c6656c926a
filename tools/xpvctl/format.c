// SPDX-License-Identifier: GPL-2.0
/*
 * format.c: devices as a table, as text and as JSON. Every string that a peer
 * chose has been escaped before it comes here. Reads nothing from the store.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "text.h"

enum column {
	COL_DOMID, COL_NAME, COL_DEVICE, COL_BACK, COL_DRIVER, COL_FRONT_STATE,
	COL_BACK_STATE, COL_HOTPLUG, COL_QUEUES, COL_FEATURES, NR_COLUMNS,
};

static const char *const titles[NR_COLUMNS] = {
	"DOM", "NAME", "DEVICE", "BACK", "DRIVER", "FRONTEND", "BACKEND", "HOTPLUG", "Q",
	"FEATURES",
};

/* Entries of a page of a grant table, version 1. */
#define GRANTS_A_FRAME 512

/* Columns a peer's words could blow up. */
#define MAX_CELL 16

struct line {
	char *cell[NR_COLUMNS];
};

static const struct feature *feature(const struct device *d, const char *name)
{
	size_t i;

	for (i = 0; i < d->nr_features; i++)
		if (!strcmp(d->features[i].name, name))
			return &d->features[i];
	return NULL;
}

/* What the table shows of the features, unless it is off or the usual value. */
static const struct {
	const char *name;
	uint64_t usual;
	const char *usual_text;
} shown[] = {
	{ "sg" }, { "gso4" }, { "gso6" }, { "csum4" }, { "csum6" }, { "split" }, { "rx-notify" },
	{ "control-ring" }, { "mtu", 1500 }, { "ring-order" }, { "persistent" }, { "indirect" },
	{ "flush" }, { "discard" }, { "sector-size", 512 }, { "mode", 0, "w" },
};

static bool is_usual(const struct feature *f, size_t row)
{
	if (!f->known)
		return true;
	if (f->type == FEATURE_TEXT)
		return shown[row].usual_text && !strcmp(f->text, shown[row].usual_text);
	return f->number == shown[row].usual;
}

static char *short_features(const struct device *d)
{
	char *line = xstrdup(""), *longer;
	const struct feature *f;
	size_t i;

	for (i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		f = feature(d, shown[i].name);
		if (!f || is_usual(f, i))
			continue;
		if (f->type == FEATURE_FLAG)
			longer = xasprintf("%s%s%s", line, *line ? "," : "", f->name);
		else if (f->type == FEATURE_NUMBER)
			longer = xasprintf("%s%s%s=%" PRIu64, line, *line ? "," : "", f->name,
					   f->number);
		else
			longer = xasprintf("%s%s%s=%.*s", line, *line ? "," : "", f->name,
					   MAX_CELL, f->text);
		free(line);
		line = longer;
	}
	if (!*line) {
		free(line);
		line = xstrdup("-");
	}
	return line;
}

static char *cell(const char *s)
{
	return s && *s ? xasprintf("%.*s", MAX_CELL, s) : xstrdup("-");
}

static void fill_line(struct line *l, const struct device *d)
{
	const struct feature *queues = feature(d, "queues");

	l->cell[COL_DOMID] = xasprintf("%u", d->id.front);
	l->cell[COL_NAME] = cell(d->domain);
	l->cell[COL_DEVICE] = cell(d->label);
	l->cell[COL_BACK] = xasprintf("%u", d->id.back);
	l->cell[COL_DRIVER] = cell(driver_kind_name(d->driver));
	l->cell[COL_FRONT_STATE] = cell(d->front_there ? state_name(d->front_state) : "gone");
	l->cell[COL_BACK_STATE] = cell(d->back_there ? state_name(d->back_state) : "gone");
	l->cell[COL_HOTPLUG] = cell(d->hotplug);
	l->cell[COL_QUEUES] = xasprintf("%" PRIu64, queues ? queues->number : 1);
	l->cell[COL_FEATURES] = short_features(d);
}

static void print_line(FILE *out, const struct line *l, const size_t *width)
{
	unsigned int i;

	/* The last column ends the line: no blanks after it. */
	for (i = 0; i < NR_COLUMNS - 1; i++)
		fprintf(out, i == COL_DOMID || i == COL_QUEUES ? "%*s " : "%-*s ",
			(int)width[i], l->cell[i]);
	fprintf(out, "%s\n", l->cell[i]);
}

void format_table(FILE *out, const struct device *list, size_t n)
{
	struct line *lines = xcalloc(n + 1, sizeof(*lines));
	size_t width[NR_COLUMNS] = { 0 };
	size_t i, j, len;

	for (j = 0; j < NR_COLUMNS; j++)
		lines[0].cell[j] = xstrdup(titles[j]);
	for (i = 0; i < n; i++)
		fill_line(&lines[i + 1], &list[i]);
	for (i = 0; i <= n; i++) {
		for (j = 0; j < NR_COLUMNS; j++) {
			len = strlen(lines[i].cell[j]);
			if (len > width[j])
				width[j] = len;
		}
	}
	for (i = 0; i <= n; i++) {
		print_line(out, &lines[i], width);
		for (j = 0; j < NR_COLUMNS; j++)
			free(lines[i].cell[j]);
	}
	free(lines);
}

void format_counters(FILE *out, const struct device *d)
{
	size_t i;

	if (!d->nr_counters && !d->nr_notes)
		return;
	fprintf(out, "\n%s of domain %u:\n", d->label, d->id.front);
	for (i = 0; i < d->nr_notes; i++)
		fprintf(out, "  note: %s\n", d->notes[i]);
	for (i = 0; i < d->nr_counters; i++)
		fprintf(out, "  %-32s %" PRIu64 "\n", d->counters[i].name, d->counters[i].value);
}

static const char *or_dash(const char *s)
{
	return s && *s ? s : "-";
}

static void print_number(FILE *out, const char *name, unsigned int value)
{
	if (value)
		fprintf(out, "%s: %u\n", name, value);
	else
		fprintf(out, "%s: -\n", name);
}

static void format_more(FILE *out, const struct device *d)
{
	const struct device_more *m = d->more;

	fprintf(out, "explain: %s\n", m->code);
	fprintf(out, "grant frames of the guest: %u of %u, %u grants each\n", m->grant_frames,
		m->max_grant_frames, GRANTS_A_FRAME);
	print_number(out, "event channels", m->event_channels);
	if (d->id.kind->class != CLASS_VIF)
		return;
	print_number(out, "mtu of the vif", m->mtu_vif);
	print_number(out, "mtu of its bridge", m->mtu_bridge);
	print_number(out, "mtu key of the backend", m->mtu_back);
	print_number(out, "mtu key of the frontend", m->mtu_front);
}

void format_details(FILE *out, const struct device *d)
{
	const struct feature *f;
	size_t i;

	fprintf(out, "device: %s of domain %u (%s)\n", d->label, d->id.front, or_dash(d->domain));
	fprintf(out, "devid: %u\n", d->id.devid);
	fprintf(out, "frontend: %s\n", d->front_there ? state_name(d->front_state) : "gone");
	fprintf(out, "backend: %s in domain %u, kind %s\n",
		d->back_there ? state_name(d->back_state) : "gone", d->id.back, d->id.kind->name);
	fprintf(out, "driver: %s (%s)\n", driver_kind_name(d->driver), or_dash(d->driver_name));
	fprintf(out, "hotplug: %s\n", or_dash(d->hotplug));
	for (i = 0; i < d->nr_features; i++) {
		f = &d->features[i];
		if (!f->known)
			fprintf(out, "%s: -\n", f->name);
		else if (f->type == FEATURE_TEXT)
			fprintf(out, "%s: %s\n", f->name, f->text);
		else if (f->type == FEATURE_FLAG)
			fprintf(out, "%s: %s\n", f->name, f->number ? "yes" : "no");
		else
			fprintf(out, "%s: %" PRIu64 "\n", f->name, f->number);
	}
	if (d->more)
		format_more(out, d);
}

static json_t *json_text(const char *s)
{
	return s ? json_string(s) : json_null();
}

static json_t *json_feature(const struct feature *f)
{
	if (!f->known)
		return json_null();
	if (f->type == FEATURE_TEXT)
		return json_string(f->text);
	if (f->type == FEATURE_FLAG)
		return json_boolean(f->number);
	/* JSON numbers of this library are signed. */
	return json_integer(f->number <= INT64_MAX ? (json_int_t)f->number : INT64_MAX);
}

static json_t *json_end(bool there, unsigned int state, unsigned int domid)
{
	json_t *o = json_object();

	json_object_set_new(o, "domid", json_integer(domid));
	json_object_set_new(o, "present", json_boolean(there));
	json_object_set_new(o, "state", json_integer(state));
	json_object_set_new(o, "state-name", json_string(state_name(state)));
	return o;
}

static json_t *json_more(const struct device_more *m)
{
	json_t *o = json_object();

	json_object_set_new(o, "explain", json_string(m->code));
	json_object_set_new(o, "grant-frames", json_integer(m->grant_frames));
	json_object_set_new(o, "max-grant-frames", json_integer(m->max_grant_frames));
	json_object_set_new(o, "event-channels", json_integer(m->event_channels));
	json_object_set_new(o, "mtu-vif", json_integer(m->mtu_vif));
	json_object_set_new(o, "mtu-bridge", json_integer(m->mtu_bridge));
	json_object_set_new(o, "mtu-backend-key", json_integer(m->mtu_back));
	json_object_set_new(o, "mtu-frontend-key", json_integer(m->mtu_front));
	return o;
}

static json_t *json_device(const struct device *d)
{
	json_t *o = json_object(), *features = json_object();
	json_t *counters = json_object(), *notes = json_array();
	size_t i;

	for (i = 0; i < d->nr_features; i++)
		json_object_set_new(features, d->features[i].name, json_feature(&d->features[i]));
	for (i = 0; i < d->nr_counters; i++)
		json_object_set_new(counters, d->counters[i].name,
				    json_integer((json_int_t)d->counters[i].value));
	for (i = 0; i < d->nr_notes; i++)
		json_array_append_new(notes, json_string(d->notes[i]));
	json_object_set_new(o, "class", json_string(class_name(d->id.kind->class)));
	json_object_set_new(o, "devid", json_integer(d->id.devid));
	json_object_set_new(o, "device", json_string(d->label));
	json_object_set_new(o, "domain", json_text(d->domain));
	json_object_set_new(o, "frontend", json_end(d->front_there, d->front_state, d->id.front));
	json_object_set_new(o, "backend", json_end(d->back_there, d->back_state, d->id.back));
	json_object_set_new(o, "backend-kind", json_string(d->id.kind->name));
	json_object_set_new(o, "driver", json_string(driver_kind_name(d->driver)));
	json_object_set_new(o, "driver-name", json_text(d->driver_name));
	json_object_set_new(o, "hotplug-status", json_text(d->hotplug));
	json_object_set_new(o, "features", features);
	json_object_set_new(o, "counters", counters);
	json_object_set_new(o, "notes", notes);
	if (d->more)
		json_object_set_new(o, "more", json_more(d->more));
	return o;
}

void format_json(FILE *out, const struct device *list, size_t n)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(array, json_device(&list[i]));
	json_dumpf(array, out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	fputc('\n', out);
	json_decref(array);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * watch.c: the command "watch": states, hotplug results and errors of devices
 * as they change. An event costs one read of the key that changed; a value that
 * is the same as before is not told again. Ends by a signal or --timeout.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "watch.h"

static const char *const words[] = {
	[WATCH_FRONT_STATE] = "frontend state",
	[WATCH_BACK_STATE] = "backend state",
	[WATCH_HOTPLUG] = "hotplug-status",
	[WATCH_FRONT_ERROR] = "frontend error",
	[WATCH_BACK_ERROR] = "backend error",
};

const char *watch_word(enum watch_kind kind)
{
	return words[kind];
}

/* The last word of a path says what of the device changed. */
static bool parse_backend(const char *rest, struct watch_event *ev, const char *key, int *used)
{
	const struct backend_kind *k;
	char kind[16];

	if (sscanf(rest, "backend/%15[a-z0-9]/%u/%u/%n", kind, &ev->front, &ev->devid, used) != 3)
		return false;
	k = backend_kind_find(kind);
	if (!k || !*used || (key && strcmp(rest + *used, key)))
		return false;
	ev->class = k->class;
	return true;
}

static bool parse_device(const char *rest, struct watch_event *ev, const char *key)
{
	char class[16];
	int used = 0;

	return sscanf(rest, "device/%15[a-z0-9]/%u/%n", class, &ev->devid, &used) == 2 && used &&
		!strcmp(rest + used, key) && class_from_name(class, &ev->class);
}

bool watch_parse(const char *path, struct watch_event *ev)
{
	unsigned int owner;
	int used = 0, tail = 0;
	const char *rest;

	if (sscanf(path, "/local/domain/%u/%n", &owner, &used) != 1 || !used)
		return false;
	rest = path + used;
	ev->front = owner;
	if (!strncmp(rest, "error/", 6)) {
		rest += 6;
		ev->kind = WATCH_BACK_ERROR;
		if (parse_backend(rest, ev, "error", &tail))
			return true;
		ev->kind = WATCH_FRONT_ERROR;
		ev->front = owner;
		return parse_device(rest, ev, "error");
	}
	if (parse_backend(rest, ev, NULL, &tail)) {
		ev->kind = strcmp(rest + tail, "state") ? WATCH_HOTPLUG : WATCH_BACK_STATE;
		return !strcmp(rest + tail, "state") || !strcmp(rest + tail, "hotplug-status");
	}
	ev->kind = WATCH_FRONT_STATE;
	ev->front = owner;
	return parse_device(rest, ev, "state");
}

/* What was told last of each key, so that each change is told once. */
struct told {
	char *path;
	char *value;
};

struct watching {
	struct told *v;
	size_t n;
};

static struct told *told_of(struct watching *w, const char *path)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (!strcmp(w->v[i].path, path))
			return &w->v[i];
	w->v = xgrow(w->v, w->n + 1, sizeof(*w->v));
	w->v[w->n] = (struct told){ .path = xstrdup(path) };
	return &w->v[w->n++];
}

/* A key that is gone takes its entry along, or the list would only grow. */
static void forget(struct watching *w, struct told *t)
{
	free(t->path);
	free(t->value);
	*t = w->v[--w->n];
}

static bool is_state(enum watch_kind kind)
{
	return kind == WATCH_FRONT_STATE || kind == WATCH_BACK_STATE;
}

static char *shown_value(const struct watch_event *ev, const char *raw)
{
	unsigned int state;

	if (raw && is_state(ev->kind) && text_u32(raw, STATE_RECONFIGURED, &state))
		return xstrdup(state_name(state));
	return raw ? text_escape(raw, 4 * TEXT_SHOWN) : NULL;
}

static void tell(struct ctx *c, const struct watch_event *ev, const char *before,
		 const char *value)
{
	struct dev_id id = { .kind = backend_kind_find(class_name(ev->class)),
			     .front = ev->front, .devid = ev->devid };
	uint64_t ms = host_wall_ms();
	char label[16];
	json_t *o;

	dev_label(&id, label, sizeof(label));
	if (!c->opt.json) {
		fprintf(c->out, "%" PRIu64 ".%03u %s of domain %u: %s %s -> %s\n", ms / 1000,
			(unsigned int)(ms % 1000), label, ev->front, watch_word(ev->kind),
			before ? before : "-", value ? value : "-");
		return;
	}
	o = json_object();
	json_object_set_new(o, "ms", json_integer((json_int_t)ms));
	json_object_set_new(o, "domid", json_integer(ev->front));
	json_object_set_new(o, "device", json_string(label));
	json_object_set_new(o, "what", json_string(watch_word(ev->kind)));
	json_object_set_new(o, "before", before ? json_string(before) : json_null());
	json_object_set_new(o, "value", value ? json_string(value) : json_null());
	json_dumpf(o, c->out, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', c->out);
	json_decref(o);
}

static void look_at(struct ctx *c, struct watching *w, const char *path)
{
	struct watch_event ev;
	struct told *t;
	char *raw, *value;

	if (!watch_parse(path, &ev))
		return;
	t = told_of(w, path);
	raw = store_read(&c->store, path);
	value = shown_value(&ev, raw);
	free(raw);
	if (value && t->value && !strcmp(value, t->value)) {
		free(value);
		return;
	}
	if (value || t->value)
		tell(c, &ev, t->value, value);
	free(t->value);
	t->value = value;
	if (!value)
		forget(w, t);
}

/* A directory that goes is one event, whatever was in it. */
static void look_below(struct ctx *c, struct watching *w, const char *dir)
{
	size_t len = strlen(dir), i = 0, before;
	char *path;

	while (i < w->n) {
		if (strncmp(w->v[i].path, dir, len) || w->v[i].path[len] != '/') {
			i++;
			continue;
		}
		path = xstrdup(w->v[i].path);
		before = w->n;
		look_at(c, w, path);
		/* One forgotten is replaced by the last. */
		i += w->n == before;
		free(path);
	}
}

/* What is there now is known, not told. */
static void look_first(struct ctx *c, struct watching *w)
{
	size_t n, i;
	struct dev_id *ids = device_list(c, &n);
	struct paths p;
	char *path;

	for (i = 0; i < n; i++) {
		paths_init(&p, &ids[i]);
		path = xasprintf("%s/state", p.front);
		told_of(w, path)->value = xstrdup(state_name(read_state(&c->store, p.front)));
		free(path);
		path = xasprintf("%s/state", p.back);
		told_of(w, path)->value = xstrdup(state_name(read_state(&c->store, p.back)));
		free(path);
		path = xasprintf("%s/hotplug-status", p.back);
		told_of(w, path)->value = store_get(&c->store, p.back, "hotplug-status");
		free(path);
		paths_free(&p);
	}
	free(ids);
}

static int run_watch(struct ctx *c, struct watching *w, const char *root)
{
	uint64_t end = host_now_ms() + c->opt.timeout_ms, now = 0;
	unsigned int ms = 60000;
	char *path;
	int r;

	do {
		if (c->opt.timeout_given)
			ms = end - now < ms ? end - now : ms;
		r = store_event(&c->store, ms, &path);
		if (!r) {
			look_at(c, w, path);
			/* The first event is the watch itself. */
			if (strcmp(path, root))
				look_below(c, w, path);
			fflush(c->out);
			free(path);
		}
		now = host_now_ms();
	} while ((!r || r == ETIMEDOUT) && !ferror(c->out) &&
		 (!c->opt.timeout_given || now < end));
	/* Ended by the user or by time: that is how it ends. */
	return r == 0 || r == ETIMEDOUT || r == EINTR ? XPV_OK : exit_of_errno(r);
}

int cmd_watch(struct ctx *c, int argc, char **argv)
{
	struct watching w = { 0 };
	char *path;
	int rc, r;

	(void)argv;
	if (argc) {
		complain(c, "watch takes no words");
		return XPV_USAGE;
	}
	path = c->self ? xasprintf("/local/domain/%u", c->self) : xstrdup("/local/domain");
	r = store_watch(&c->store, path);
	if (r) {
		complain(c, "cannot watch %s: %s", path, strerror(r));
		rc = exit_of_errno(r);
	} else {
		host_catch_signals();
		look_first(c, &w);
		rc = run_watch(c, &w, path);
		store_unwatch(&c->store, path);
	}
	while (w.n)
		forget(&w, &w.v[w.n - 1]);
	free(w.v);
	free(path);
	return rc;
}

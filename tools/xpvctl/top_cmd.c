// SPDX-License-Identifier: GPL-2.0
/*
 * top_cmd.c: the commands "top" and "export": look at all devices, once or
 * again and again.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "top.h"

static struct device *load_all(struct ctx *c, size_t *n)
{
	struct dev_id *ids = device_list(c, n);
	struct device *list = xcalloc(*n, sizeof(*list));
	size_t i;

	for (i = 0; i < *n; i++)
		device_load(c, &ids[i], DETAIL_COUNTERS, &list[i]);
	free(ids);
	return list;
}

static void free_all(struct device *list, size_t n)
{
	while (n)
		device_free(&list[--n]);
	free(list);
}

int cmd_export(struct ctx *c, int argc, char **argv)
{
	struct device *list;
	size_t n;

	(void)argv;
	if (argc) {
		complain(c, "export takes no words");
		return XPV_USAGE;
	}
	list = load_all(c, &n);
	format_export(c->out, list, n);
	free_all(list, n);
	return XPV_OK;
}

static void take(struct ctx *c, struct top *t)
{
	struct device *list;
	struct top_row *r;
	size_t i;

	list = load_all(c, &t->n);
	t->taken_ms = host_now_ms();
	t->rows = xcalloc(t->n, sizeof(*t->rows));
	for (i = 0; i < t->n; i++) {
		r = &t->rows[i];
		r->id = list[i].id;
		memcpy(r->label, list[i].label, sizeof(r->label));
		snprintf(r->domain, sizeof(r->domain), "%s", list[i].domain ? list[i].domain : "-");
		r->connected = list[i].front_state == STATE_CONNECTED &&
			list[i].back_state == STATE_CONNECTED;
		r->now = sample_of(&list[i]);
	}
	free_all(list, t->n);
}

static void look_again(struct ctx *c, struct top *t)
{
	struct top now;

	take(c, &now);
	top_merge(t, &now);
	top_free(t);
	*t = now;
}

static void print(struct ctx *c, const struct top *t)
{
	size_t i;
	char *line;

	if (c->opt.json) {
		top_json(c->out, t);
		return;
	}
	for (i = 0; (line = top_line(t, i, false, false)); i++) {
		fprintf(c->out, "%s\n", line);
		free(line);
	}
}

static int live(struct ctx *c, struct top *t)
{
	if (!screen_open()) {
		complain(c, "built without ncurses, or no terminal: use --once or --json");
		return XPV_FAILED;
	}
	do {
		screen_draw(t);
		if (screen_wait(c->opt.interval_ms))
			break;
		look_again(c, t);
	} while (true);
	screen_close();
	return XPV_OK;
}

int cmd_top(struct ctx *c, int argc, char **argv)
{
	struct top t;
	int rc = XPV_OK;

	(void)argv;
	if (argc) {
		complain(c, "top takes no words");
		return XPV_USAGE;
	}
	take(c, &t);
	if (c->opt.once || c->opt.json) {
		do {
			host_pause_ms(c->opt.interval_ms);
			look_again(c, &t);
			print(c, &t);
			fflush(c->out);
		} while (!c->opt.once && !ferror(c->out));
	} else {
		rc = live(c, &t);
	}
	top_free(&t);
	return rc;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * check_cmd.c: the command "check": prints what is left over and, asked to,
 * removes what can be removed. A finding is repaired only if it is still there
 * a second later: toolstacks need moments between their steps.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "detach.h"
#include "holders.h"
#include "text.h"

#define SETTLE_MS 1000
#define CLOSE_MS 3000

static bool find(const struct findings *list, const struct finding *f)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (list->v[i].kind == f->kind && !strcmp(list->v[i].what, f->what))
			return true;
	return false;
}

static int look(struct ctx *c, struct findings *f)
{
	struct picture p;

	if (!picture_take(c, &p)) {
		complain(c, "Xen does not list its domains (not root, or not in dom0?)");
		return XPV_NO_XEN;
	}
	findings_decide(&p, f);
	picture_free(&p);
	return XPV_OK;
}

static int remove_path(struct ctx *c, const char *path, unsigned int parents)
{
	int r = store_remove(&c->store, path, parents);

	if (r)
		complain(c, "cannot delete %s: %s", path, strerror(r));
	return exit_of_errno(r);
}

static int repair(struct ctx *c, const struct finding *f)
{
	struct detach_how how = {
		.force = true, .undo = true, .run_script = true, .timeout_ms = CLOSE_MS,
	};
	char *path;
	int rc;

	switch (f->kind) {
	case FOUND_NAME:
		path = xasprintf("/local/domain/%u/name", f->domid);
		rc = remove_path(c, path, 0);
		free(path);
		return rc;
	case FOUND_DOMAIN:
		return remove_path(c, f->what, 0);
	case FOUND_ERROR:
		/* Also "vbd" and "backend" when empty, but never "error" itself. */
		return remove_path(c, f->what, 2);
	case FOUND_BACKEND:
	case FOUND_FRONTEND:
	case FOUND_HALF:
		return device_detach(c, &f->id, &how);
	default:
		return XPV_FAILED;
	}
}

static void print_one(struct ctx *c, const struct finding *f, const char *repaired)
{
	const struct finding_row *row = &finding_rows[f->kind];
	char *holders = f->kind == FOUND_ZOMBIE ? holders_text(f->domid) : NULL;

	fprintf(c->out, "%s: %s: %s%s%s%s\n", row->code, f->what, row->what,
		f->kind == FOUND_ZOMBIE ? "; held by: " : "",
		f->kind != FOUND_ZOMBIE ? "" : holders ? holders : "nobody known here", repaired);
	free(holders);
}

static json_t *json_one(const struct finding *f, bool repaired)
{
	const struct finding_row *row = &finding_rows[f->kind];
	char *holders = f->kind == FOUND_ZOMBIE ? holders_text(f->domid) : NULL;
	json_t *o = json_object();

	json_object_set_new(o, "code", json_string(row->code));
	json_object_set_new(o, "domid", json_integer(f->domid));
	json_object_set_new(o, "what", json_string(f->what));
	json_object_set_new(o, "meaning", json_string(row->what));
	json_object_set_new(o, "do", json_string(row->todo));
	json_object_set_new(o, "holders", holders ? json_string(holders) : json_null());
	json_object_set_new(o, "repaired", json_boolean(repaired));
	free(holders);
	return o;
}

/* Repairs what the second look confirms, prints all: how many are left. */
static size_t report(struct ctx *c, const struct findings *f, const struct findings *again)
{
	json_t *array = json_array();
	size_t left = 0, i;
	bool done;

	for (i = 0; i < f->n; i++) {
		done = again && finding_rows[f->v[i].kind].repairable && find(again, &f->v[i]) &&
			!repair(c, &f->v[i]);
		/* What went away by itself is no finding. */
		if (again && !find(again, &f->v[i]))
			continue;
		left += !done;
		if (c->opt.json)
			json_array_append_new(array, json_one(&f->v[i], done));
		else
			print_one(c, &f->v[i], done ? " (repaired)" : "");
	}
	if (c->opt.json) {
		json_dumpf(array, c->out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		fputc('\n', c->out);
	} else if (!left) {
		fputs("nothing is left over\n", c->out);
	}
	json_decref(array);
	return left;
}

int cmd_check(struct ctx *c, int argc, char **argv)
{
	struct findings first, again = { 0 };
	bool repairing = c->opt.repair;
	size_t left;
	int rc;

	(void)argv;
	if (argc) {
		complain(c, "check takes no words");
		return XPV_USAGE;
	}
	rc = look(c, &first);
	if (rc)
		return rc;
	if (repairing && first.n) {
		host_pause_ms(SETTLE_MS);
		rc = look(c, &again);
	}
	left = rc ? 0 : report(c, &first, repairing ? &again : NULL);
	findings_free(&again);
	findings_free(&first);
	return rc ? rc : left ? XPV_FAILED : XPV_OK;
}

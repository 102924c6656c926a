// SPDX-License-Identifier: GPL-2.0
/*
 * explain_cmd.c: the command "explain": finds the device, gathers the facts,
 * prints the steps that are done, the first that is not, and what to do.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "explain.h"
#include "text.h"

static void print_steps(struct ctx *c, enum reason reason)
{
	const struct reason_row *row = &reason_rows[reason];
	enum step step;

	for (step = 0; step < NR_STEPS && step <= row->step; step++)
		fprintf(c->out, "  %-20s %s\n", step_name(step),
			step == row->step ? row->code : "ok");
}

static void print_ends(struct ctx *c, const struct facts *f)
{
	fprintf(c->out, "  frontend %s, backend %s", f->front.there ?
		state_name(f->front.state) : "gone", f->back.there ?
		state_name(f->back.state) : "gone");
	if (f->local)
		fprintf(c->out, ", driver %s%s%s%s", driver_kind_name(f->driver),
			f->driver_name ? " (" : "", f->driver_name ? f->driver_name : "",
			f->driver_name ? ")" : "");
	fputc('\n', c->out);
	if (f->driver == DRIVER_STOCK && f->module_ours)
		fputs("  note: the stock driver serves it although ours is loaded\n", c->out);
}

static void print_text(struct ctx *c, const char *name, const struct facts *f,
		       const struct verdict *v)
{
	const struct reason_row *row = &reason_rows[v->reason];

	fprintf(c->out, "%s: %s %s\n", name, row->code, row->what);
	if (v->detail)
		fprintf(c->out, "  %s\n", v->detail);
	print_steps(c, v->reason);
	print_ends(c, f);
	if (v->reason == REASON_NONE)
		return;
	fprintf(c->out, "waits: %s\ndo: %s\n", row->waits, row->todo);
}

static void print_json(struct ctx *c, const char *name, const struct facts *f,
		       const struct verdict *v)
{
	const struct reason_row *row = &reason_rows[v->reason];
	json_t *o = json_object();

	json_object_set_new(o, "device", json_string(name));
	json_object_set_new(o, "code", json_string(row->code));
	json_object_set_new(o, "step", v->reason ? json_string(step_name(row->step)) :
			    json_null());
	json_object_set_new(o, "what", json_string(row->what));
	json_object_set_new(o, "detail", v->detail ? json_string(v->detail) : json_null());
	json_object_set_new(o, "waits", json_string(row->waits));
	json_object_set_new(o, "do", json_string(row->todo));
	json_object_set_new(o, "frontend", json_string(state_name(f->front.state)));
	json_object_set_new(o, "backend", json_string(state_name(f->back.state)));
	json_object_set_new(o, "driver", json_string(driver_kind_name(f->driver)));
	json_dumpf(o, c->out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	fputc('\n', c->out);
	json_decref(o);
}

static int explain(struct ctx *c, const struct dev_id *id)
{
	struct verdict v;
	struct facts f;
	char label[16], *name;

	facts_load(c, id, &f);
	v = explain_decide(&f);
	dev_label(id, label, sizeof(label));
	name = xasprintf("%s of domain %u", label, id->front);
	if (c->opt.json)
		print_json(c, name, &f, &v);
	else
		print_text(c, name, &f, &v);
	free(name);
	free(v.detail);
	facts_free(&f);
	if (v.reason == REASON_NO_DEVICE)
		return XPV_NOT_FOUND;
	return v.reason ? XPV_FAILED : XPV_OK;
}

int cmd_explain(struct ctx *c, int argc, char **argv)
{
	unsigned int front, devid;
	enum dev_class class;
	struct dev_id id;
	char *domain;
	int rc;

	if (argc != 1 || !device_parse(argv[0], &domain, &class, &devid)) {
		complain(c, "explain takes one device: DOM/vif/0, DOM/xvda, vif1.0, vbd-1-51712");
		return XPV_USAGE;
	}
	rc = domain_or_number(c, domain, &front);
	free(domain);
	if (rc)
		return rc;
	if (device_find(c, class, front, devid, &id) == ENOENT)
		id = (struct dev_id){ .kind = backend_kind_find(class_name(class)),
				      .front = front, .back = c->self, .devid = devid };
	return explain(c, &id);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * hotplug.c: runs the scripts as libxl does: same arguments, same environment,
 * same limit of time. Only for backends of this domain; a driver domain runs
 * its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hotplug.h"
#include "text.h"

#define SCRIPT_SECONDS 40

#define MAX_ENV 8

struct call {
	const char *argv[4];
	char *env[MAX_ENV + 1];
	unsigned int nr_env;
};

static void put_env(struct call *call, const char *name, char *value)
{
	call->env[call->nr_env++] = xasprintf("%s=%s", name, value);
	free(value);
}

static void build_env(struct ctx *c, const struct dev_id *id, const struct paths *p,
		      const char *script, bool emulated, struct call *call)
{
	char *gateway;

	put_env(call, "script", xstrdup(script));
	put_env(call, "XENBUS_TYPE", xstrdup(id->kind->name));
	put_env(call, "XENBUS_PATH", xasprintf("backend/%s/%u/%u", id->kind->name, id->front,
					       id->devid));
	put_env(call, "XENBUS_BASE_PATH", xstrdup("backend"));
	if (id->kind->class != CLASS_VIF)
		return;
	gateway = store_get(&c->store, p->back, "gatewaydev");
	put_env(call, "netdev", gateway ? gateway : xstrdup(""));
	if (emulated)
		put_env(call, "INTERFACE", xasprintf("vif%u.%u-emu", id->front, id->devid));
	put_env(call, "vif", xasprintf("vif%u.%u", id->front, id->devid));
}

/* The text a script left when it failed. */
static void explain_script(struct ctx *c, const struct paths *p)
{
	char *raw = store_get(&c->store, p->back, "hotplug-error");
	char *shown = text_escape(raw, 4 * TEXT_SHOWN);

	if (shown && *shown)
		complain(c, "hotplug-error: %s", shown);
	free(shown);
	free(raw);
}

static void complain_script(struct ctx *c, const struct paths *p, const struct call *call,
			    int r, int status)
{
	if (r == ETIMEDOUT)
		complain(c, "%s %s: killed, not finished after %d s", call->argv[0],
			 call->argv[1], SCRIPT_SECONDS);
	else if (r)
		complain(c, "%s %s: %s", call->argv[0], call->argv[1], strerror(r));
	else if (status == 127)
		complain(c, "%s: cannot be run", call->argv[0]);
	else
		complain(c, "%s %s: exit status %d", call->argv[0], call->argv[1], status);
	explain_script(c, p);
}

static const char *verb(const struct dev_id *id, enum hotplug_action action, bool tap)
{
	if (id->kind->class == CLASS_VIF && !tap)
		return action == HOTPLUG_UP ? "online" : "offline";
	return action == HOTPLUG_UP ? "add" : "remove";
}

static int run_one(struct ctx *c, const struct dev_id *id, const struct paths *p,
		   const char *script, enum hotplug_action action, bool emulated, bool tap)
{
	struct call call = { .argv = { script, verb(id, action, tap) } };
	int r, status = 0;

	if (id->kind->class == CLASS_VIF)
		call.argv[2] = tap ? "type_if=tap" : "type_if=vif";
	build_env(c, id, p, script, emulated, &call);
	r = host_run(call.argv, (const char *const *)call.env, SCRIPT_SECONDS, &status);
	if ((r || status) && action != HOTPLUG_UNDO)
		complain_script(c, p, &call, r, status);
	while (call.nr_env)
		free(call.env[--call.nr_env]);
	if (r == ETIMEDOUT)
		return XPV_TIMEOUT;
	return r || status ? XPV_FAILED : XPV_OK;
}

int hotplug_run(struct ctx *c, const struct dev_id *id, const struct paths *p,
		enum hotplug_action action)
{
	char *script = store_get(&c->store, p->back, "script");
	char *type = store_get(&c->store, p->back, "type");
	bool emulated = type && !strcmp(type, "vif_ioemu");
	int rc = XPV_OK;

	if (!script || !*script || !id->kind->kernel)
		goto out;
	rc = run_one(c, id, p, script, action, emulated, false);
	if (!rc && emulated && id->kind->class == CLASS_VIF)
		rc = run_one(c, id, p, script, action, emulated, true);
out:
	free(type);
	free(script);
	return rc;
}

static void explain_node(struct ctx *c, const char *side, const char *dir)
{
	char *raw = store_get(&c->store, dir, "error");
	char *shown = text_escape(raw, 4 * TEXT_SHOWN);

	if (shown && *shown)
		complain(c, "%s reports: %s", side, shown);
	free(shown);
	free(raw);
}

void explain_errors(struct ctx *c, const struct paths *p)
{
	explain_script(c, p);
	explain_node(c, "backend", p->back_error);
	explain_node(c, "frontend", p->front_error);
}

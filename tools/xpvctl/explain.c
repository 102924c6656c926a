// SPDX-License-Identifier: GPL-2.0
/*
 * explain.c: the verdict of "explain". Walks the way from nothing to traffic in
 * the order in which things must happen, and names the first that lacks. Pure:
 * reads no store, only the facts; called by explain_cmd.c and the unit tests.
 */
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "text.h"

/* Every check answers REASON_NONE, or a reason and may leave a detail. */
typedef enum reason (*check_fn)(const struct facts *f, char **detail);

static enum reason check_domains(const struct facts *f, char **detail)
{
	if (f->front.denied || f->back.denied)
		return REASON_NO_PERMISSION;
	if (!f->front.there && !f->back.there)
		return REASON_NO_DEVICE;
	if (f->front.domain == DOMAIN_GONE)
		return REASON_DOMAIN_GONE;
	if (f->front.domain == DOMAIN_DYING) {
		*detail = xasprintf("held by: %s", f->holders ? f->holders : "nobody known");
		return REASON_DOMAIN_ZOMBIE;
	}
	if (f->back.domain == DOMAIN_GONE || f->back.domain == DOMAIN_DYING)
		return REASON_BACKEND_DOMAIN_GONE;
	return REASON_NONE;
}

static bool points_wrong(const struct end_facts *end, const char *key, char **detail)
{
	if (end->points_right)
		return false;
	*detail = end->points_to ? xasprintf("%s = \"%s\"", key, end->points_to) :
		xasprintf("key %s is missing", key);
	return true;
}

static bool state_wrong(const struct end_facts *end, const char *side, char **detail)
{
	if (end->state != STATE_UNKNOWN)
		return false;
	*detail = end->bad_state ? xasprintf("%s state = \"%s\"", side, end->bad_state) :
		xasprintf("%s state is missing or 0", side);
	return true;
}

static enum reason check_nodes(const struct facts *f, char **detail)
{
	if (!f->back.there)
		return REASON_NO_BACKEND_DIR;
	if (!f->front.there)
		return REASON_NO_FRONTEND_DIR;
	if (points_wrong(&f->front, "backend", detail) ||
	    points_wrong(&f->back, "frontend", detail))
		return REASON_PAIRING;
	if (!f->front.perms_ok || !f->back.perms_ok) {
		*detail = xstrdup(f->front.perms_ok ? "the backend's directory" :
				  "the frontend's directory");
		return REASON_NODE_PERMS;
	}
	if (state_wrong(&f->front, "frontend", detail) || state_wrong(&f->back, "backend", detail))
		return REASON_STATE;
	return REASON_NONE;
}

/* Who should serve the device, and does it? A state above 1 proves it has. */
static enum reason check_driver(const struct facts *f, char **detail)
{
	if (f->back.state != STATE_INITIALISING)
		return REASON_NONE;
	if (!f->local)
		return REASON_BACKEND_DOMAIN_SILENT;
	if (!f->id.kind->kernel)
		return REASON_NO_DEVICE_MODEL;
	if (!f->module_ours && !f->module_stock && f->driver == DRIVER_NONE)
		return REASON_NO_BACKEND_DRIVER;
	if (f->driver != DRIVER_NONE && f->back.error) {
		*detail = xstrdup(f->back.error);
		return REASON_BACKEND_ERROR;
	}
	if (f->driver == DRIVER_NONE) {
		*detail = f->back.error ? xstrdup(f->back.error) :
			xasprintf("loaded: %s", f->module_ours && f->module_stock ?
				  "ours and stock" : f->module_ours ? "ours" : "stock");
		return REASON_BACKEND_UNBOUND;
	}
	return REASON_NONE;
}

static bool hotplug_done(const struct facts *f)
{
	if (f->id.kind->class == CLASS_VBD)
		return f->disk_known;
	return !f->hotplug || !strcmp(f->hotplug, "connected");
}

static enum reason check_hotplug(const struct facts *f, char **detail)
{
	bool failed = f->hotplug &&
		(!strcmp(f->hotplug, "error") || !strcmp(f->hotplug, "busy"));

	/* Programs and driver domains have no script that we could see. */
	if (f->back.state >= STATE_CONNECTED || !f->id.kind->kernel)
		return REASON_NONE;
	if (f->hotplug_error || failed) {
		*detail = xasprintf("%s: %s", f->script ? f->script : "script",
				    f->hotplug_error ? f->hotplug_error : f->hotplug);
		return REASON_HOTPLUG_FAILED;
	}
	if (hotplug_done(f))
		return REASON_NONE;
	if (f->local && f->script && !f->script_there) {
		*detail = xstrdup(f->script);
		return REASON_NO_SCRIPT;
	}
	if (f->local && f->id.kind->class == CLASS_VBD && f->params && !f->params_there) {
		*detail = xasprintf("params = \"%s\"", f->params);
		return REASON_NO_DISK;
	}
	*detail = f->script ? xstrdup(f->script) : NULL;
	return REASON_NO_HOTPLUG;
}

static bool mentions(const char *text, const char *a, const char *b)
{
	return strcasestr(text, a) || strcasestr(text, b);
}

static bool grants_full(const struct facts *f)
{
	return f->max_grant_frames && f->grant_frames >= f->max_grant_frames;
}

/*
 * Drivers write "ERRNO words"; what runs out of a limit says 28 (no space) or
 * 12 (no memory) together with the thing that ran out. A frontend that fails
 * with a grant table that cannot grow fails for that, whatever it says: the
 * stock one says "22 creating queues".
 */
static enum reason reason_of_error(const struct facts *f, const char *error, enum reason other)
{
	unsigned long number = strtoul(error, NULL, 10);

	if (other == REASON_FRONTEND_ERROR && grants_full(f))
		return REASON_LIMIT_GRANTS;
	if (number != 28 && number != 12)
		return other;
	if (mentions(error, "event", "irq"))
		return REASON_LIMIT_EVENTS;
	if (mentions(error, "grant", "ring-ref") || mentions(error, "map", "gnttab"))
		return REASON_LIMIT_GRANTS;
	return other;
}

static bool is_closing(unsigned int state)
{
	return state == STATE_CLOSING || state == STATE_CLOSED;
}

/* What the drivers say themselves; only while they are not connected. */
static enum reason check_errors(const struct facts *f, char **detail)
{
	if (f->back.error) {
		*detail = xstrdup(f->back.error);
		return reason_of_error(f, f->back.error, REASON_BACKEND_ERROR);
	}
	if (f->front.error) {
		*detail = xstrdup(f->front.error);
		return reason_of_error(f, f->front.error, REASON_FRONTEND_ERROR);
	}
	return REASON_NONE;
}

static enum reason check_keys(const struct facts *f, char **detail)
{
	if (f->front.state != STATE_INITIALISED && f->front.state != STATE_CONNECTED)
		return REASON_NONE;
	if (f->missing_key) {
		*detail = xstrdup(f->missing_key);
		return REASON_KEY_MISSING;
	}
	if (f->bad_key) {
		*detail = xstrdup(f->bad_key);
		return REASON_KEY_BAD;
	}
	return REASON_NONE;
}

static enum reason check_closing(const struct facts *f, char **detail)
{
	enum reason r;

	if (!is_closing(f->front.state) && !is_closing(f->back.state))
		return REASON_NONE;
	if (!f->online)
		return REASON_DETACH_PENDING;
	r = check_keys(f, detail);
	if (!r)
		r = check_errors(f, detail);
	if (r)
		return r;
	return is_closing(f->front.state) ? REASON_FRONTEND_CLOSED : REASON_BACKEND_CLOSED;
}

/* Nothing taken yet by the guest. */
static enum reason check_frontend(const struct facts *f, char **detail)
{
	if (f->front.state == STATE_CONNECTED && f->back.state == STATE_CONNECTED)
		return REASON_NONE;
	if (f->front.domain == DOMAIN_PAUSED)
		return REASON_GUEST_PAUSED;
	if (f->front.state != STATE_INITIALISING)
		return REASON_NONE;
	if (grants_full(f)) {
		*detail = xstrdup("the guest's grant table has its largest size");
		return REASON_LIMIT_GRANTS;
	}
	if (f->front.error) {
		*detail = xstrdup(f->front.error);
		return reason_of_error(f, f->front.error, REASON_FRONTEND_ERROR);
	}
	return REASON_NO_FRONTEND_DRIVER;
}

static enum reason check_connect(const struct facts *f, char **detail)
{
	enum reason r;

	if (f->front.state == STATE_CONNECTED && f->back.state == STATE_CONNECTED)
		return REASON_NONE;
	/* Keys first: what the backend says of them is less exact. */
	r = check_keys(f, detail);
	if (!r)
		r = check_errors(f, detail);
	if (r)
		return r;
	if (f->back.state == STATE_CONNECTED || f->front.state == STATE_INIT_WAIT)
		return REASON_FRONTEND_WAITS;
	return REASON_BACKEND_WAITS;
}

static bool differs(unsigned int a, unsigned int b)
{
	return a && b && a != b;
}

static enum reason check_network(const struct facts *f, char **detail)
{
	if (!f->netdev)
		return REASON_NONE;
	/* The stock backend says Connected also when it could not map the rings. */
	if (!f->netdev_up && f->back.error)
		return check_errors(f, detail);
	if (!f->netdev_up)
		return REASON_VIF_DOWN;
	if (f->bridge && (!f->master || strcmp(f->master, f->bridge))) {
		*detail = xasprintf("bridge = \"%s\", it is %s%s", f->bridge,
				    f->master ? "a port of " : "no port of any",
				    f->master ? f->master : "");
		return REASON_NO_BRIDGE;
	}
	if (differs(f->mtu, f->bridge_mtu) || differs(f->mtu, f->store_mtu) ||
	    differs(f->mtu, f->guest_mtu)) {
		*detail = xasprintf("vif %u, bridge %u, mtu key of the backend %u, of the guest %u",
				    f->mtu, f->bridge_mtu, f->store_mtu, f->guest_mtu);
		return REASON_MTU;
	}
	return REASON_NONE;
}

struct verdict explain_decide(const struct facts *f)
{
	static const check_fn checks[] = {
		check_domains, check_nodes, check_closing, check_driver, check_hotplug,
		check_frontend, check_connect, check_network,
	};
	struct verdict v = { 0 };
	size_t i;

	for (i = 0; !v.reason && i < sizeof(checks) / sizeof(*checks); i++)
		v.reason = checks[i](f, &v.detail);
	return v;
}

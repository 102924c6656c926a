// SPDX-License-Identifier: GPL-2.0
/*
 * facts.c: gathers what "explain" judges: both directories, their permissions,
 * the drivers' error nodes, domains, modules, the interface of a vif. Decides
 * nothing; single keys only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "holders.h"
#include "text.h"

#define MAX_MTU 1000000

static char *shown_get(struct store *st, const char *dir, const char *key)
{
	char *raw = store_get(st, dir, key);
	char *shown = raw && *raw ? text_escape(raw, 2 * TEXT_SHOWN) : NULL;

	free(raw);
	return shown;
}

static enum domain_fact load_domain(struct ctx *c, unsigned int domid)
{
	struct domain_info info = { 0 };
	int r = host_domain_info(domid, &info);

	if (r)
		return r == ENOENT ? DOMAIN_GONE : DOMAIN_UNKNOWN;
	if (domid == c->self)
		return DOMAIN_ALIVE;
	if (info.dying)
		return DOMAIN_DYING;
	return info.paused ? DOMAIN_PAUSED : DOMAIN_ALIVE;
}

static void load_state(struct store *st, const struct view *v, struct end_facts *end)
{
	char *raw = view_get(st, v, "state");

	if (raw && !text_u32(raw, STATE_RECONFIGURED, &end->state)) {
		end->state = STATE_UNKNOWN;
		end->bad_state = text_escape(raw, TEXT_SHOWN);
	}
	free(raw);
}

/* The other end's key, and whether it is where the other end must be. */
static void load_pointer(struct store *st, const char *dir, const char *key, const char *other,
			 struct end_facts *end)
{
	char *raw = store_get(st, dir, key);

	end->points_to = text_escape(raw, TEXT_SHOWN);
	end->points_right = raw && !strcmp(raw, other);
	free(raw);
}

static void load_end(struct ctx *c, const char *dir, const char *key, const char *other,
		     struct end_facts *end)
{
	struct view v;

	errno = 0;
	view_open(&c->store, dir, &v);
	end->there = v.there;
	end->denied = !v.there && errno == EACCES;
	if (v.there) {
		load_state(&c->store, &v, end);
		load_pointer(&c->store, dir, key, other, end);
	}
	view_close(&v);
}

/* The guest must be able to write its own directory, and each end read both. */
static void load_perms(struct ctx *c, const struct paths *p, struct facts *f)
{
	struct store *st = &c->store;
	unsigned int front = f->id.front, back = f->id.back;

	f->front.perms_ok = store_may_write(st, p->front, front) &&
		store_may_read(st, p->front, back);
	f->back.perms_ok = store_may_write(st, p->back, back) &&
		store_may_read(st, p->back, front);
}

static bool module_loaded(const char *name)
{
	char *path = xasprintf("/sys/module/%s", name);
	bool loaded = host_file_kind(path) != FILE_NONE;

	free(path);
	return loaded;
}

static void load_driver(struct ctx *c, const struct paths *p, struct facts *f)
{
	bool vif = f->id.kind->class == CLASS_VIF;
	struct device d = { .id = f->id };

	f->module_ours = module_loaded(vif ? "xpv_netback" : "xpv_blkback");
	f->module_stock = module_loaded(vif ? "xen_netback" : "xen_blkback");
	backend_load(c, p, false, &d);
	f->driver = d.driver;
	f->driver_name = d.driver_name;
}

static void load_hotplug(struct ctx *c, const struct paths *p, struct facts *f)
{
	struct store *st = &c->store;
	char *raw = store_get(st, p->back, "script"), *params;
	char *online = store_get(st, p->back, "online");
	char *device = xasprintf("%s/physical-device", p->back);

	f->online = !online || strcmp(online, "0");
	f->script = raw && *raw ? text_escape(raw, TEXT_SHOWN) : NULL;
	f->script_there = raw && host_file_kind(raw) != FILE_NONE;
	free(raw);
	raw = store_get(st, p->back, "hotplug-status");
	f->hotplug = text_escape(raw, TEXT_SHOWN);
	f->hotplug_error = shown_get(st, p->back, "hotplug-error");
	f->disk_known = store_exists(st, device);
	params = store_get(st, p->back, "params");
	f->params = params && *params ? text_escape(params, TEXT_SHOWN) : NULL;
	/* Scripts of other kinds take names that are no paths. */
	f->params_there = !params || *params != '/' || host_file_kind(params) != FILE_NONE;
	free(params);
	free(raw);
	free(device);
	free(online);
}

static unsigned int number_of(char *raw)
{
	uint32_t value = 0;

	if (!text_u32(raw, MAX_MTU, &value))
		value = 0;
	free(raw);
	return value;
}

static char *net_file(const char *ifname, const char *file)
{
	char *path = xasprintf("/sys/class/net/%s/%s", ifname, file);
	char *line = host_read_line(path);

	free(path);
	return line;
}

static void load_netdev(struct ctx *c, const struct paths *p, struct facts *f)
{
	char *ifname = store_get(&c->store, p->back, "vifname"), *path, *state;

	if (!ifname || strchr(ifname, '/')) {
		free(ifname);
		ifname = xasprintf("vif%u.%u", f->id.front, f->id.devid);
	}
	state = net_file(ifname, "operstate");
	f->netdev = state;
	f->netdev_up = state && strcmp(state, "down");
	f->mtu = number_of(net_file(ifname, "mtu"));
	path = xasprintf("/sys/class/net/%s/master", ifname);
	f->master = host_link_name(path);
	if (f->master)
		f->bridge_mtu = number_of(net_file(f->master, "mtu"));
	f->bridge = shown_get(&c->store, p->back, "bridge");
	f->store_mtu = number_of(store_get(&c->store, p->back, "mtu"));
	f->guest_mtu = number_of(store_get(&c->store, p->front, "mtu"));
	free(path);
	free(state);
	free(ifname);
}

static void load_domains(struct ctx *c, struct facts *f)
{
	f->front.domain = load_domain(c, f->id.front);
	f->back.domain = load_domain(c, f->id.back);
	if (f->front.domain == DOMAIN_DYING)
		f->holders = holders_text(f->id.front);
	if (host_grant_frames(f->id.front, &f->grant_frames, &f->max_grant_frames)) {
		f->grant_frames = 0;
		f->max_grant_frames = 0;
	}
}

void facts_load(struct ctx *c, const struct dev_id *id, struct facts *f)
{
	struct paths p;

	memset(f, 0, sizeof(*f));
	f->id = *id;
	f->local = id->back == c->self;
	paths_init(&p, id);
	load_end(c, p.front, "backend", p.back, &f->front);
	load_end(c, p.back, "frontend", p.front, &f->back);
	load_domains(c, f);
	load_perms(c, &p, f);
	f->front.error = shown_get(&c->store, p.front_error, "error");
	f->back.error = shown_get(&c->store, p.back_error, "error");
	load_hotplug(c, &p, f);
	keys_check(&c->store, &p, id->kind->class, &f->missing_key, &f->bad_key);
	if (f->local)
		load_driver(c, &p, f);
	if (f->local && id->kind->class == CLASS_VIF)
		load_netdev(c, &p, f);
	paths_free(&p);
}

static void end_free(struct end_facts *end)
{
	free(end->bad_state);
	free(end->points_to);
	free(end->error);
}

void facts_free(struct facts *f)
{
	end_free(&f->front);
	end_free(&f->back);
	free(f->driver_name);
	free(f->script);
	free(f->hotplug);
	free(f->hotplug_error);
	free(f->params);
	free(f->missing_key);
	free(f->bad_key);
	free(f->holders);
	free(f->bridge);
	free(f->master);
	memset(f, 0, sizeof(*f));
}

// SPDX-License-Identifier: GPL-2.0
/*
 * check_look.c: takes the picture that "check" judges: domains of Xen,
 * directories of domains and devices, error nodes, and what this kernel has of
 * backends. Decides nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "text.h"

static void add_domain(struct picture *p, unsigned int domid, char *name, char *path)
{
	p->domains = xgrow(p->domains, p->nr_domains + 1, sizeof(*p->domains));
	p->domains[p->nr_domains++] = (struct seen_domain){ domid, name, path };
}

static void look_at_domains(struct ctx *c, struct picture *p, const char *above, bool names)
{
	size_t n, i;
	char **list = store_list(&c->store, above, &n), *path, *raw;
	unsigned int domid;

	for (i = 0; i < n; i++) {
		if (!text_u32(list[i], MAX_DOMID, &domid))
			continue;
		path = xasprintf("%s/%u", above, domid);
		raw = names ? store_get(&c->store, path, "name") : NULL;
		add_domain(p, domid, text_escape(raw, TEXT_SHOWN), path);
		free(raw);
	}
	text_free_list(list, n);
}

static void look_at_devices(struct ctx *c, struct picture *p)
{
	struct dev_id *ids = device_list(c, &p->nr_devices);
	struct paths paths;
	size_t i;

	p->devices = xcalloc(p->nr_devices, sizeof(*p->devices));
	for (i = 0; i < p->nr_devices; i++) {
		p->devices[i].id = ids[i];
		paths_init(&paths, &ids[i]);
		p->devices[i].front_there = store_exists(&c->store, paths.front);
		p->devices[i].back_there = store_exists(&c->store, paths.back);
		paths_free(&paths);
	}
	free(ids);
}

static void add_thing(struct picture *p, struct seen_thing thing)
{
	p->things = xgrow(p->things, p->nr_things + 1, sizeof(*p->things));
	p->things[p->nr_things++] = thing;
}

/* /local/domain/SELF/error/backend/KIND/DOMID */
static void look_at_errors(struct ctx *c, struct picture *p)
{
	const struct backend_kind *k;
	struct seen_thing thing;
	size_t n, i;
	char *path, **list;

	for (k = backend_kinds; k->name; k++) {
		path = xasprintf("/local/domain/%u/error/backend/%s", c->self, k->name);
		list = store_list(&c->store, path, &n);
		for (i = 0; i < n; i++) {
			thing = (struct seen_thing){ .kind = FOUND_ERROR, .backend = k };
			if (!text_u32(list[i], MAX_DOMID, &thing.front))
				continue;
			thing.name = xasprintf("%s/%u", path, thing.front);
			add_thing(p, thing);
		}
		text_free_list(list, n);
		free(path);
	}
}

/* "vif-7-0" */
static void look_at_kernel(struct picture *p)
{
	size_t n, i;
	char **list = host_list_dir("/sys/bus/xen-backend/devices", &n), *dash;
	struct seen_thing thing;

	for (i = 0; i < n; i++) {
		thing = (struct seen_thing){ .kind = FOUND_KERNEL };
		dash = strchr(list[i], '-');
		if (!dash || sscanf(dash, "-%u-%u", &thing.front, &thing.devid) != 2)
			continue;
		*dash = '\0';
		thing.backend = backend_kind_find(list[i]);
		*dash = '-';
		if (!thing.backend)
			continue;
		thing.name = xstrdup(list[i]);
		add_thing(p, thing);
	}
	text_free_list(list, n);
}

static void look_at_netdevs(struct picture *p)
{
	size_t n, i;
	char **list = host_list_dir("/sys/class/net", &n);
	struct seen_thing thing;

	for (i = 0; i < n; i++) {
		thing = (struct seen_thing){ .kind = FOUND_NETDEV };
		if (!netdev_parse(list[i], &thing.front, &thing.devid))
			continue;
		thing.name = xstrdup(list[i]);
		add_thing(p, thing);
	}
	text_free_list(list, n);
}

static void look_at_threads(struct picture *p)
{
	size_t n, i;
	char **list = host_list_dir("/proc", &n), *path, *comm;
	struct seen_thing thing;
	unsigned int pid;

	for (i = 0; i < n; i++) {
		if (!text_u32(list[i], UINT32_MAX, &pid))
			continue;
		path = xasprintf("/proc/%u/comm", pid);
		comm = host_read_line(path);
		thing = (struct seen_thing){ .kind = FOUND_THREAD };
		if (comm && thread_parse(comm, &thing.front, &thing.devid)) {
			thing.name = text_escape(comm, TEXT_SHOWN);
			add_thing(p, thing);
		}
		free(comm);
		free(path);
	}
	text_free_list(list, n);
}

bool picture_take(struct ctx *c, struct picture *p)
{
	*p = (struct picture){ .self = c->self };
	/* The store first: what is new in Xen since then is no finding. */
	look_at_domains(c, p, "/local/domain", true);
	look_at_domains(c, p, "/libxl", false);
	look_at_devices(c, p);
	look_at_errors(c, p);
	look_at_kernel(p);
	look_at_netdevs(p);
	look_at_threads(p);
	if (!host_domains(&p->xen, &p->nr_xen))
		return true;
	picture_free(p);
	return false;
}

void picture_free(struct picture *p)
{
	size_t i;

	for (i = 0; i < p->nr_domains; i++) {
		free(p->domains[i].name);
		free(p->domains[i].path);
	}
	for (i = 0; i < p->nr_things; i++)
		free(p->things[i].name);
	free(p->domains);
	free(p->things);
	free(p->devices);
	free(p->xen);
	*p = (struct picture){ 0 };
}

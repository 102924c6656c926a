// SPDX-License-Identifier: GPL-2.0
/*
 * check.c: decides what in the picture is left over. Pure: it reads neither
 * store nor machine. A domain that Xen still lists, dying or not, owns its
 * things; only what belongs to nobody is a finding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "text.h"

const struct finding_row finding_rows[NR_FINDINGS] = {
	[FOUND_ZOMBIE] = { "C-ZOMBIE", "domain is dead but somebody holds its pages",
		"end or detach what holds them", false },
	[FOUND_NAME] = { "C-NAME", "name of a dead domain is still taken",
		"--repair removes the name", true },
	[FOUND_DOMAIN] = { "C-DOMAIN", "directory of a domain that does not exist",
		"--repair deletes it", true },
	[FOUND_BACKEND] = { "C-BACKEND", "backend serves a domain that does not exist",
		"--repair detaches it", true },
	[FOUND_FRONTEND] = { "C-FRONTEND", "frontend without a backend directory",
		"--repair deletes it", true },
	[FOUND_HALF] = { "C-HALF", "backend without a frontend directory",
		"--repair detaches it", true },
	[FOUND_ERROR] = { "C-ERROR", "error report about a domain that does not exist",
		"--repair deletes it", true },
	[FOUND_KERNEL] = { "C-KERNEL", "backend device of the kernel without a directory",
		"its driver has not let go: see dmesg, reload the driver", false },
	[FOUND_NETDEV] = { "C-NETDEV", "network interface of a domain that does not exist",
		"see dmesg, reload the network backend", false },
	[FOUND_THREAD] = { "C-THREAD", "thread of a domain that does not exist",
		"see dmesg, reload the backend", false },
};

bool thread_parse(const char *comm, unsigned int *front, unsigned int *devid)
{
	char mark;

	*devid = 0;
	return sscanf(comm, "vif%u.%u%c", front, devid, &mark) == 3 ||
		sscanf(comm, "xbb%u.%u%c", front, devid, &mark) == 3 ||
		sscanf(comm, "%u.xvd%c", front, &mark) == 2 ||
		sscanf(comm, "%u.sd%c", front, &mark) == 2 ||
		sscanf(comm, "%u.hd%c", front, &mark) == 2;
}

bool netdev_parse(const char *name, unsigned int *front, unsigned int *devid)
{
	char end;

	return sscanf(name, "vif%u.%u%c", front, devid, &end) == 2;
}

static const struct domain_entry *xen_domain(const struct picture *p, unsigned int domid)
{
	size_t i;

	for (i = 0; i < p->nr_xen; i++)
		if (p->xen[i].domid == domid)
			return &p->xen[i];
	return NULL;
}

static struct finding *add(struct findings *f, enum finding_kind kind, unsigned int domid,
			   char *what)
{
	f->v = xgrow(f->v, f->n + 1, sizeof(*f->v));
	f->v[f->n] = (struct finding){ .kind = kind, .domid = domid, .what = what };
	return &f->v[f->n++];
}

static void decide_domains(const struct picture *p, struct findings *f)
{
	const struct seen_domain *d;
	const struct domain_entry *e;
	size_t i;

	for (i = 0; i < p->nr_xen; i++)
		if (p->xen[i].dying)
			add(f, FOUND_ZOMBIE, p->xen[i].domid,
			    xasprintf("domain %u, %llu pages", p->xen[i].domid,
				      (unsigned long long)p->xen[i].pages));
	for (i = 0; i < p->nr_domains; i++) {
		d = &p->domains[i];
		e = xen_domain(p, d->domid);
		if (e && e->dying && d->name)
			add(f, FOUND_NAME, d->domid, xasprintf("%s/name = %s", d->path, d->name));
		if (!e)
			add(f, FOUND_DOMAIN, d->domid, xstrdup(d->path));
	}
}

static void decide_device(const struct picture *p, const struct seen_device *d,
			  struct findings *f)
{
	enum finding_kind kind;
	struct finding *found;
	char label[16];

	if (!d->back_there)
		kind = FOUND_FRONTEND;
	else if (!xen_domain(p, d->id.front))
		kind = FOUND_BACKEND;
	else if (!d->front_there)
		kind = FOUND_HALF;
	else
		return;
	/* A directory of a domain that is gone goes as a whole. */
	if (kind == FOUND_FRONTEND && !xen_domain(p, d->id.front))
		return;
	dev_label(&d->id, label, sizeof(label));
	found = add(f, kind, d->id.front,
		    xasprintf("%s of domain %u, backend domain %u", label, d->id.front,
			      d->id.back));
	found->id = d->id;
}

static bool has_directory(const struct picture *p, const struct seen_thing *t)
{
	const struct seen_device *d;
	size_t i;

	for (i = 0; i < p->nr_devices; i++) {
		d = &p->devices[i];
		if (d->back_there && d->id.back == p->self && d->id.front == t->front &&
		    d->id.devid == t->devid && d->id.kind == t->backend)
			return true;
	}
	return false;
}

static void decide_thing(const struct picture *p, const struct seen_thing *t, struct findings *f)
{
	if (t->kind == FOUND_KERNEL ? !has_directory(p, t) : !xen_domain(p, t->front))
		add(f, t->kind, t->front, xstrdup(t->name));
}

static int by_kind(const void *pa, const void *pb)
{
	const struct finding *a = pa, *b = pb;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->domid != b->domid)
		return a->domid < b->domid ? -1 : 1;
	return strcmp(a->what, b->what);
}

void findings_decide(const struct picture *p, struct findings *f)
{
	size_t i;

	*f = (struct findings){ 0 };
	decide_domains(p, f);
	for (i = 0; i < p->nr_devices; i++)
		decide_device(p, &p->devices[i], f);
	for (i = 0; i < p->nr_things; i++)
		decide_thing(p, &p->things[i], f);
	if (f->v)
		qsort(f->v, f->n, sizeof(*f->v), by_kind);
}

void findings_free(struct findings *f)
{
	while (f->n)
		free(f->v[--f->n].what);
	free(f->v);
	f->v = NULL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * find.c: which devices and domains there are. One directory listing a level;
 * names that are not numbers are skipped, whoever wrote them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "text.h"
#include "vdev.h"

struct id_list {
	struct dev_id *v;
	size_t n;
};

static void add(struct id_list *l, const struct dev_id *id)
{
	l->v = xgrow(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = *id;
}

/* The names below @path that are numbers up to @max. */
static unsigned int *list_numbers(struct store *st, const char *path, unsigned int max, size_t *n)
{
	size_t names, i;
	char **list = store_list(st, path, &names);
	unsigned int *v = xcalloc(names, sizeof(*v));

	*n = 0;
	for (i = 0; i < names; i++)
		if (text_u32(list[i], max, &v[*n]))
			(*n)++;
	text_free_list(list, names);
	return v;
}

/* This domain alone when the list of all is not for us to read. */
static unsigned int *list_domains(struct ctx *c, size_t *n)
{
	unsigned int *v = list_numbers(&c->store, "/local/domain", MAX_DOMID, n);

	if (!*n)
		v[(*n)++] = c->self;
	return v;
}

static void add_backends_of(struct store *st, const struct dev_id *base, struct id_list *l)
{
	char *path = xasprintf("/local/domain/%u/backend/%s/%u", base->back, base->kind->name,
			       base->front);
	struct dev_id id = *base;
	size_t n, i;
	unsigned int *devids = list_numbers(st, path, MAX_DEVID, &n);

	for (i = 0; i < n; i++) {
		id.devid = devids[i];
		add(l, &id);
	}
	free(devids);
	free(path);
}

static void add_backends(struct store *st, unsigned int back, const struct backend_kind *kind,
			 struct id_list *l)
{
	char *path = xasprintf("/local/domain/%u/backend/%s", back, kind->name);
	struct dev_id id = { .kind = kind, .back = back };
	size_t n, i;
	unsigned int *fronts = list_numbers(st, path, MAX_DOMID, &n);

	for (i = 0; i < n; i++) {
		id.front = fronts[i];
		add_backends_of(st, &id, l);
	}
	free(fronts);
	free(path);
}

/* Most domains serve nobody: one listing tells, and which kinds there are. */
static void add_all_backends(struct store *st, unsigned int back, struct id_list *l)
{
	char *path = xasprintf("/local/domain/%u/backend", back);
	const struct backend_kind *kind;
	size_t n, i;
	char **names = store_list(st, path, &n);

	for (i = 0; i < n; i++) {
		kind = backend_kind_find(names[i]);
		if (kind)
			add_backends(st, back, kind, l);
	}
	text_free_list(names, n);
	free(path);
}

static bool has_backend(const struct id_list *l, size_t n, enum dev_class class,
			unsigned int front, unsigned int devid)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (l->v[i].front == front && l->v[i].devid == devid &&
		    l->v[i].kind->class == class)
			return true;
	return false;
}

/* Frontends that no backend directory answers to; the first @n have one. */
static void add_orphans(struct store *st, unsigned int front, enum dev_class class,
			struct id_list *l, size_t n)
{
	char *path = xasprintf("/local/domain/%u/device/%s", front, class_name(class));
	struct dev_id id = { .kind = backend_kind_find(class_name(class)), .front = front };
	size_t nr, i;
	unsigned int *devids = list_numbers(st, path, MAX_DEVID, &nr);
	char *dir, *back;

	for (i = 0; i < nr; i++) {
		id.devid = devids[i];
		if (has_backend(l, n, class, front, id.devid))
			continue;
		dir = xasprintf("%s/%u", path, id.devid);
		back = store_get(st, dir, "backend-id");
		if (!text_u32(back, MAX_DOMID, &id.back))
			id.back = 0;
		add(l, &id);
		free(back);
		free(dir);
	}
	free(devids);
	free(path);
}

static int by_identity(const void *pa, const void *pb)
{
	const struct dev_id *a = pa, *b = pb;

	if (a->front != b->front)
		return a->front < b->front ? -1 : 1;
	if (a->kind->class != b->kind->class)
		return a->kind->class < b->kind->class ? -1 : 1;
	if (a->devid != b->devid)
		return a->devid < b->devid ? -1 : 1;
	return a->back < b->back ? -1 : a->back > b->back;
}

struct dev_id *device_list(struct ctx *c, size_t *n)
{
	struct id_list l = { 0 };
	unsigned int *domains;
	size_t nr, i, with_back;

	domains = list_domains(c, &nr);
	for (i = 0; i < nr; i++)
		add_all_backends(&c->store, domains[i], &l);
	with_back = l.n;
	for (i = 0; i < nr; i++) {
		add_orphans(&c->store, domains[i], CLASS_VIF, &l, with_back);
		add_orphans(&c->store, domains[i], CLASS_VBD, &l, with_back);
	}
	free(domains);
	if (l.v)
		qsort(l.v, l.n, sizeof(*l.v), by_identity);
	*n = l.n;
	return l.v;
}

/* Where libxl noted the backend to be: the toolstack's word, not the guest's. */
static bool find_by_libxl(struct ctx *c, enum dev_class class, struct dev_id *id)
{
	char *dir = xasprintf("/libxl/%u/device/%s/%u", id->front, class_name(class), id->devid);
	char *path = store_get(&c->store, dir, "backend");
	char kind[16] = "", rest[64];
	bool ok = false;

	snprintf(rest, sizeof(rest), "/%u/%u", id->front, id->devid);
	if (path && sscanf(path, "/local/domain/%u/backend/%15[^/]", &id->back, kind) == 2) {
		id->kind = backend_kind_find(kind);
		ok = id->kind && id->kind->class == class && strlen(path) > strlen(rest) &&
			!strcmp(path + strlen(path) - strlen(rest), rest);
	}
	free(path);
	free(dir);
	return ok;
}

static bool find_in_domain(struct ctx *c, enum dev_class class, struct dev_id *id)
{
	const struct backend_kind *kind;
	struct paths p;
	bool there;

	for (kind = backend_kinds; kind->name; kind++) {
		if (kind->class != class)
			continue;
		id->kind = kind;
		paths_init(&p, id);
		there = store_exists(&c->store, p.back);
		paths_free(&p);
		if (there)
			return true;
	}
	return false;
}

int device_find(struct ctx *c, enum dev_class class, unsigned int front,
		unsigned int devid, struct dev_id *id)
{
	unsigned int *domains;
	bool found = false;
	struct paths p;
	size_t n, i;
	char *back;

	*id = (struct dev_id){ .front = front, .devid = devid, .back = c->self };
	if (find_by_libxl(c, class, id))
		return 0;
	id->back = c->self;
	if (find_in_domain(c, class, id))
		return 0;
	domains = list_domains(c, &n);
	for (i = 0; i < n && !found; i++) {
		id->back = domains[i];
		found = find_in_domain(c, class, id);
	}
	free(domains);
	if (found)
		return 0;
	/* A frontend alone is a leftover: found, with a backend that is not. */
	id->kind = backend_kind_find(class_name(class));
	id->back = c->self;
	paths_init(&p, id);
	found = store_exists(&c->store, p.front);
	if (found) {
		back = store_get(&c->store, p.front, "backend-id");
		if (!text_u32(back, MAX_DOMID, &id->back))
			id->back = c->self;
		free(back);
	}
	paths_free(&p);
	return found ? 0 : ENOENT;
}

static bool has_name(struct store *st, unsigned int domid, const char *word)
{
	char *dir = xasprintf("/local/domain/%u", domid);
	char *name = store_get(st, dir, "name");
	bool same = name && !strcmp(name, word);

	free(name);
	free(dir);
	return same;
}

static bool has_directory(struct store *st, unsigned int domid)
{
	char *dir = xasprintf("/local/domain/%u", domid);
	bool there = store_exists(st, dir);

	free(dir);
	return there;
}

int domain_find(struct ctx *c, const char *word, unsigned int *domid)
{
	unsigned int *domains;
	bool found = false;
	char *shown;
	size_t n, i;

	if (text_u32(word, MAX_DOMID, domid)) {
		found = has_directory(&c->store, *domid);
	} else {
		domains = list_domains(c, &n);
		for (i = 0; i < n && !found; i++) {
			*domid = domains[i];
			found = has_name(&c->store, *domid, word);
		}
		free(domains);
	}
	if (found)
		return XPV_OK;
	shown = text_escape(word, TEXT_SHOWN);
	complain(c, "no domain \"%s\" in xenstore", shown);
	free(shown);
	return XPV_NOT_FOUND;
}

/* "vif1.0", "vif-1-0", "vbd-1-51712": names the kernel gives. */
static bool parse_kernel_name(const char *word, char **domain, enum dev_class *class,
			      unsigned int *devid)
{
	unsigned int domid;
	char name[4], mark, mark2, end;

	if (sscanf(word, "%3[a-z]%c%u%c%u%c", name, &mark, &domid, &mark2, devid, &end) == 5 &&
	    mark == '-' && mark2 == '-' && class_from_name(name, class)) {
		*domain = xasprintf("%u", domid);
		return true;
	}
	if (sscanf(word, "vif%u.%u%c", &domid, devid, &end) == 2) {
		*class = CLASS_VIF;
		*domain = xasprintf("%u", domid);
		return true;
	}
	return false;
}

bool device_parse(const char *word, char **domain, enum dev_class *class, unsigned int *devid)
{
	const char *slash = strchr(word, '/'), *name, *number;
	bool ok;

	if (!slash)
		return parse_kernel_name(word, domain, class, devid);
	name = slash + 1;
	number = strchr(name, '/');
	if (number) {
		char *prefix = strndup(name, number - name);

		ok = prefix && class_from_name(prefix, class) &&
			text_u32(number + 1, MAX_DEVID, devid);
		free(prefix);
	} else {
		*class = CLASS_VBD;
		ok = name[strspn(name, "0123456789")] && vdev_number(name, devid);
	}
	if (!ok || slash == word)
		return false;
	*domain = xasprintf("%.*s", (int)(slash - word), word);
	return true;
}

int domain_or_number(struct ctx *c, const char *word, unsigned int *domid)
{
	return text_u32(word, MAX_DOMID, domid) ? XPV_OK : domain_find(c, word, domid);
}

int device_of_word(struct ctx *c, const char *word, struct dev_id *id)
{
	unsigned int front, devid;
	enum dev_class class;
	char *domain;
	int rc;

	if (!device_parse(word, &domain, &class, &devid)) {
		complain(c, "\"%s\" is no device: DOM/vif/0, DOM/xvda, vif1.0, vbd-1-51712", word);
		return XPV_USAGE;
	}
	rc = domain_or_number(c, domain, &front);
	free(domain);
	if (!rc && device_find(c, class, front, devid, id)) {
		complain(c, "no device %s", word);
		rc = XPV_NOT_FOUND;
	}
	return rc;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * device.c: the model of one device. Decides which keys make up a device and
 * how the two ends' directories are found; prints nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "text.h"
#include "vdev.h"

void paths_init(struct paths *p, const struct dev_id *id)
{
	const char *class = class_name(id->kind->class);

	p->front = xasprintf("/local/domain/%u/device/%s/%u", id->front, class, id->devid);
	p->back = xasprintf("/local/domain/%u/backend/%s/%u/%u", id->back, id->kind->name,
			    id->front, id->devid);
	p->libxl = xasprintf("/libxl/%u/device/%s/%u", id->front, class, id->devid);
	p->front_error = xasprintf("/local/domain/%u/error/device/%s/%u", id->front, class,
				   id->devid);
	p->back_error = xasprintf("/local/domain/%u/error/backend/%s/%u/%u", id->back,
				  id->kind->name, id->front, id->devid);
}

void paths_free(struct paths *p)
{
	free(p->front);
	free(p->back);
	free(p->libxl);
	free(p->front_error);
	free(p->back_error);
}

void dev_label(const struct dev_id *id, char *label, size_t size)
{
	if (id->kind->class == CLASS_VBD)
		vdev_name(id->devid, label, size);
	else
		snprintf(label, size, "vif %u", id->devid);
}

void errors_remove(struct store *st, const struct paths *p)
{
	/* "error" itself stays: the toolstack made it, with the guest's rights. */
	if (store_exists(st, p->front_error))
		store_remove(st, p->front_error, 2);
	if (store_exists(st, p->back_error))
		store_remove(st, p->back_error, 3);
}

unsigned int read_state(struct store *st, const char *dir)
{
	char *value = store_get(st, dir, "state");
	unsigned int state;

	if (!text_u32(value, STATE_RECONFIGURED, &state))
		state = STATE_UNKNOWN;
	free(value);
	return state;
}

void device_note(struct device *d, char *note)
{
	d->notes = xgrow(d->notes, d->nr_notes + 1, sizeof(*d->notes));
	d->notes[d->nr_notes++] = note;
}

static unsigned int load_state(struct store *st, struct device *d, const char *side,
			       const struct view *v)
{
	char *value = view_get(st, v, "state");
	unsigned int state = STATE_UNKNOWN;
	char *shown;

	if (value && !text_u32(value, STATE_RECONFIGURED, &state)) {
		shown = text_escape(value, TEXT_SHOWN);
		device_note(d, xasprintf("%s state = \"%s\": 0 to 8 expected", side, shown));
		free(shown);
	}
	free(value);
	return state;
}

/* A backend that its frontend does not point at serves nobody. */
static void check_pair(struct store *st, const struct paths *p, struct device *d)
{
	char *backend, *shown;

	if (!d->front_there || !d->back_there)
		return;
	backend = store_get(st, p->front, "backend");
	if (!backend || strcmp(backend, p->back)) {
		shown = text_escape(backend ? backend : "", TEXT_SHOWN);
		device_note(d, xasprintf("front backend = \"%s\": %s expected", shown, p->back));
		free(shown);
	}
	free(backend);
}

static char *escaped_get(struct store *st, const char *dir, const char *key)
{
	char *raw = store_get(st, dir, key);
	char *shown = text_escape(raw, TEXT_SHOWN);

	free(raw);
	return shown;
}

/* Devices come sorted by domain: one name is read once for all of them. */
static char *domain_name(struct ctx *c, unsigned int domid)
{
	char *dir;

	if (!c->name_known || c->name_of != domid) {
		free(c->name);
		dir = xasprintf("/local/domain/%u", domid);
		c->name = escaped_get(&c->store, dir, "name");
		free(dir);
		c->name_of = domid;
		c->name_known = true;
	}
	return c->name ? xstrdup(c->name) : NULL;
}

void device_load(struct ctx *c, const struct dev_id *id, enum detail detail, struct device *d)
{
	struct store *st = &c->store;
	struct view front, back;
	struct paths p;

	memset(d, 0, sizeof(*d));
	d->id = *id;
	paths_init(&p, id);
	dev_label(id, d->label, sizeof(d->label));
	d->domain = domain_name(c, id->front);
	view_open(st, p.front, &front);
	view_open(st, p.back, &back);
	d->front_there = front.there;
	d->back_there = back.there;
	d->front_state = load_state(st, d, "front", &front);
	d->back_state = load_state(st, d, "back", &back);
	check_pair(st, &p, d);
	if (view_has(&back, "hotplug-status"))
		d->hotplug = escaped_get(st, p.back, "hotplug-status");
	features_load(st, &front, &back, detail, d);
	if (id->back == c->self)
		backend_load(c, &p, detail == DETAIL_COUNTERS, d);
	view_close(&front);
	view_close(&back);
	paths_free(&p);
}

void device_free(struct device *d)
{
	size_t i;

	for (i = 0; i < d->nr_features; i++)
		free(d->features[i].text);
	free(d->features);
	free(d->counters);
	text_free_list(d->notes, d->nr_notes);
	free(d->domain);
	free(d->hotplug);
	free(d->driver_name);
	memset(d, 0, sizeof(*d));
}

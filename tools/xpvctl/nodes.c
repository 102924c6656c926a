// SPDX-License-Identifier: GPL-2.0
/*
 * nodes.c: the xenstore nodes of a new device: which, with what value, in what
 * order. They are what libxl writes, so that drivers, scripts and xl find what
 * they expect. Pure; attach.c puts them into the store.
 */
#include <assert.h>
#include <stdlib.h>

#include "spec.h"
#include "text.h"

#define DEFAULT_MTU 1500

static void put(struct nodes *nodes, const char *key, char *value)
{
	assert(nodes->n < MAX_NODES);
	nodes->v[nodes->n++] = (struct node){ .key = key, .value = value };
}

static void put_text(struct nodes *nodes, const char *key, const char *value)
{
	if (value)
		put(nodes, key, xstrdup(value));
}

static void put_number(struct nodes *nodes, const char *key, unsigned int value)
{
	put(nodes, key, xasprintf("%u", value));
}

static void vif_back(const struct spec *s, const struct dev_id *id, struct nodes *back)
{
	put_number(back, "frontend-id", id->front);
	put_number(back, "online", 1);
	put_number(back, "state", STATE_INITIALISING);
	put_text(back, "script", s->script);
	put_text(back, "vifname", s->vifname);
	put_text(back, "mac", s->mac);
	put_text(back, "ip", s->ip);
	put_text(back, "rate", s->rate);
	if (s->mtu != DEFAULT_MTU)
		put_number(back, "mtu", s->mtu);
	put_text(back, "bridge", s->bridge);
	put_number(back, "handle", id->devid);
	put_text(back, "type", "vif");
	/* Empty on purpose: the backend waits for the script to write it. */
	put_text(back, "hotplug-status", "");
}

static void vif_front(const struct spec *s, const struct dev_id *id, struct nodes *front)
{
	put_number(front, "backend-id", id->back);
	put_number(front, "state", STATE_INITIALISING);
	put_number(front, "handle", id->devid);
	put_text(front, "mac", s->mac);
	put_number(front, "trusted", s->trusted);
	put_number(front, "mtu", s->mtu);
	front->v[front->n - 1].guest_readonly = true;
}

static void vbd_back(const struct spec *s, const struct dev_id *id, struct nodes *back)
{
	bool discard = s->discard < 0 ? s->mode == 'w' : s->discard;

	put_text(back, "params", s->params);
	put_text(back, "script", s->script);
	put_number(back, "frontend-id", id->front);
	put_number(back, "online", 1);
	put_number(back, "removable", s->cdrom);
	put_number(back, "bootable", 1);
	put_number(back, "state", STATE_INITIALISING);
	put_text(back, "dev", s->vdev);
	put_text(back, "type", "phy");
	put_text(back, "mode", s->mode == 'w' ? "w" : "r");
	put_text(back, "device-type", s->cdrom ? "cdrom" : "disk");
	put_number(back, "discard-enable", discard);
	put_text(back, "specification", "xen");
}

static void vbd_front(const struct spec *s, const struct dev_id *id,
		      const struct domain_info *dom, struct nodes *front)
{
	put_number(front, "backend-id", id->back);
	put_number(front, "state", STATE_INITIALISING);
	put_number(front, "virtual-device", id->devid);
	put_text(front, "device-type", s->cdrom ? "cdrom" : "disk");
	put_number(front, "trusted", s->trusted);
	/* Very old PV kernels leave their request layout to the toolstack. */
	if (dom->pv)
		put_text(front, "protocol", dom->width == 4 ? "x86_32-abi" : "x86_64-abi");
}

void nodes_build(const struct spec *s, const struct dev_id *id, const struct domain_info *dom,
		 struct nodes *front, struct nodes *back)
{
	front->n = 0;
	back->n = 0;
	if (s->class == CLASS_VIF) {
		vif_front(s, id, front);
		vif_back(s, id, back);
	} else {
		vbd_front(s, id, dom, front);
		vbd_back(s, id, back);
	}
}

void nodes_free(struct nodes *nodes)
{
	while (nodes->n)
		free(nodes->v[--nodes->n].value);
}

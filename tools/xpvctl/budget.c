// SPDX-License-Identifier: GPL-2.0
/*
 * budget.c: the arithmetic of "budget". Numbers of our drivers at their default
 * parameters and the most they can come to use; Xen's limits at its defaults
 * unless the configuration says otherwise. Pure; called by budget_cmd.c.
 */
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "text.h"

/* Xen: entries of a frame, and the limits a domain gets if nothing is said. */
#define GRANTS_A_FRAME		512
#define MAPTRACK_A_FRAME	256
#define DEFAULT_GRANT_FRAMES	64
#define DEFAULT_MAPTRACK_FRAMES	1024
#define DEFAULT_EVENTS		1023
#define BACK_EVENTS		131071
/* Console, store, and what else a kernel keeps. */
#define OTHER_GRANTS		32
#define OTHER_EVENTS		8
#define EVENTS_A_VCPU		6

/*
 * A vif: rings of 256 slots each way, an event channel each way, pages that stay
 * mapped; and once a control ring with its list of grants.
 */
#define VIF_QUEUES		8
#define VIF_RING_PAGES		2
#define VIF_SLOTS		512
#define VIF_TX_SLOTS		256
#define VIF_STATIC		400
#define VIF_CTRL		1
#define VIF_CTRL_GRANTS		2
#define VIF_EVENTS		2
#define VIF_KIB			3584

/* A vbd: rings of 16 pages, grants for data in flight, kept mapped up to a limit. */
#define VBD_QUEUES		4
#define VBD_RING_PAGES		16
#define VBD_GRANTS		1056
#define VBD_MAPPED		1056
#define VBD_STOCK_MAPPED	16896
#define VBD_KIB			4096

static unsigned int min(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* How many frames of @each hold @need. */
static unsigned int frames(uint64_t need, unsigned int each)
{
	return (need + each - 1) / each;
}

static void row(struct budget_row *r, const char *name, uint64_t need, uint64_t limit)
{
	*r = (struct budget_row){ .name = name, .need = need, .limit = limit,
				  .over = limit && need > limit };
}

void budget_compute(const struct budget_config *cfg, const struct budget_host *host,
		    struct budget_row rows[NR_BUDGET])
{
	unsigned int cpus = min(cfg->vcpus, host->cpus ? host->cpus : cfg->vcpus);
	uint64_t vifq = (uint64_t)cfg->vifs * min(cpus, VIF_QUEUES);
	uint64_t vbdq = (uint64_t)cfg->vbds * min(cpus, VBD_QUEUES);
	uint64_t vif_static = host->stock ? 0 : VIF_STATIC;
	uint64_t vif_mapped = VIF_RING_PAGES + (host->stock ? VIF_TX_SLOTS : VIF_STATIC);
	uint64_t vbd_mapped = VBD_RING_PAGES + (host->stock ? VBD_STOCK_MAPPED : VBD_MAPPED);
	unsigned int grant_frames = cfg->grant_frames ? cfg->grant_frames : DEFAULT_GRANT_FRAMES;
	uint64_t ctrl = (uint64_t)cfg->vifs * VIF_CTRL;
	uint64_t events = vifq * VIF_EVENTS + ctrl + vbdq;
	struct budget_row *r;

	r = &rows[BUDGET_GRANTS];
	row(r, "grants of the guest", OTHER_GRANTS +
	    vifq * (VIF_RING_PAGES + VIF_SLOTS + vif_static) + ctrl * VIF_CTRL_GRANTS +
	    vbdq * (VBD_RING_PAGES + VBD_GRANTS), (uint64_t)grant_frames * GRANTS_A_FRAME);
	if (r->over)
		r->raise = xasprintf("max_grant_frames = %u in the configuration (now %u)",
				     frames(r->need, GRANTS_A_FRAME), grant_frames);
	r = &rows[BUDGET_EVENTS];
	row(r, "event channels of the guest", OTHER_EVENTS + cfg->vcpus * EVENTS_A_VCPU + events,
	    cfg->event_channels ? cfg->event_channels : DEFAULT_EVENTS);
	if (r->over)
		r->raise = xasprintf("event_channels = %llu in the configuration (now %llu)",
				     (unsigned long long)r->need, (unsigned long long)r->limit);
	r = &rows[BUDGET_MAPTRACK];
	row(r, "mappings of the backend's domain", vifq * vif_mapped + ctrl + vbdq * vbd_mapped,
	    (uint64_t)DEFAULT_MAPTRACK_FRAMES * MAPTRACK_A_FRAME);
	if (r->over)
		r->raise = xasprintf("gnttab_max_maptrack_frames=%u on Xen's command line (now %u)",
				     frames(r->need, MAPTRACK_A_FRAME), DEFAULT_MAPTRACK_FRAMES);
	r = &rows[BUDGET_BACK_EVENTS];
	row(r, "event channels of the backend's domain", events, BACK_EVENTS);
	if (r->over)
		r->raise = xstrdup("fewer queues: max_queues of the backend modules");
	r = &rows[BUDGET_MEMORY];
	row(r, "memory of the backend's domain, KiB", vifq * VIF_KIB + vbdq * VBD_KIB,
	    host->free_kib);
	if (r->over)
		r->raise = xstrdup("dom0_mem= on Xen's command line, or fewer queues");
}

/* A position in the text, past blanks and comments. */
static const char *skip(const char *p)
{
	for (;;) {
		p += strspn(p, " \t\r\n");
		if (*p != '#')
			return p;
		p += strcspn(p, "\n");
	}
}

/* Past a quoted string; NULL when it does not end. */
static const char *skip_string(const char *p)
{
	const char *end = strchr(p + 1, *p);

	return end ? end + 1 : NULL;
}

/* The strings of "[ 'a', 'b' ]" that are devices for a PV driver. */
static const char *parse_list(const char *p, unsigned int *n)
{
	const char *start;
	char *item;

	*n = 0;
	for (p = skip(p + 1); *p != ']'; p = skip(p)) {
		if (*p == ',') {
			p++;
			continue;
		}
		start = p;
		p = *p == '\'' || *p == '"' ? skip_string(p) : NULL;
		if (!p)
			return NULL;
		item = xasprintf("%.*s", (int)(p - start), start);
		*n += !strcasestr(item, "cdrom");
		free(item);
	}
	return p + 1;
}

/* A number, also one in quotes. */
static const char *parse_number(const char *p, unsigned int *value)
{
	char digits[12];
	size_t n;

	p += *p == '\'' || *p == '"';
	n = strspn(p, "0123456789");
	if (!n || n >= sizeof(digits))
		return NULL;
	memcpy(digits, p, n);
	digits[n] = '\0';
	if (!text_u32(digits, 1u << 24, value))
		return NULL;
	p += n;
	return p + (*p == '\'' || *p == '"');
}

static const char *skip_value(const char *p)
{
	unsigned int ignored;

	if (*p == '[')
		return parse_list(p, &ignored);
	if (*p == '\'' || *p == '"')
		return skip_string(p);
	return p + strcspn(p, ";\n");
}

static const char *parse_value(const char *key, size_t len, const char *p,
			       struct budget_config *cfg)
{
	const struct {
		const char *key;
		unsigned int *value;
		bool list;
	} known[] = {
		{ "vcpus", &cfg->vcpus }, { "vif", &cfg->vifs, true },
		{ "disk", &cfg->vbds, true }, { "max_grant_frames", &cfg->grant_frames },
		{ "event_channels", &cfg->event_channels },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strlen(known[i].key) != len || strncmp(known[i].key, key, len))
			continue;
		if (!known[i].list)
			return parse_number(p, known[i].value);
		return *p == '[' ? parse_list(p, known[i].value) : NULL;
	}
	return skip_value(p);
}

char *budget_parse(const char *text, struct budget_config *cfg)
{
	const char *p = text, *key;
	size_t len;

	*cfg = (struct budget_config){ .vcpus = 1 };
	for (p = skip(p); *p; p = skip(p)) {
		if (*p == ';') {
			p++;
			continue;
		}
		key = p;
		len = strcspn(p, " \t=\r\n#");
		p = skip(p + len);
		if (!len || *p != '=')
			return xasprintf("\"%.*s\": key = value expected", (int)len, key);
		p = parse_value(key, len, skip(p + 1), cfg);
		if (!p)
			return xasprintf("%.*s: a value that makes no sense", (int)len, key);
	}
	return NULL;
}

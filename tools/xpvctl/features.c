// SPDX-License-Identifier: GPL-2.0
/*
 * features.c: what the two ends of a device have agreed on, read from their
 * keys by a table: one row a feature. Adding a feature is adding a row. A key
 * outside its limit counts as not said and leaves a note.
 */
#include <stdlib.h>

#include "device.h"
#include "text.h"

/* How a feature follows from its keys. */
enum rule {
	RULE_BOTH,		/* flag: 1 on both sides */
	RULE_FRONT,		/* flag of the frontend */
	RULE_FRONT_NOT,		/* flag: true unless the frontend says 1 */
	RULE_BACK,		/* flag of the backend */
	RULE_FRONT_HAS,		/* flag: the frontend wrote the key, or queue 0 has it */
	RULE_FRONT_NUMBER,	/* number of the frontend, else the default */
	RULE_BACK_NUMBER,	/* number of the backend, unknown when missing */
	RULE_BACK_TEXT,
};

struct row {
	const char *name;
	enum rule rule;
	const char *key;
	uint64_t max;
	uint64_t absent;
	bool details;		/* no column or word of the table */
};

static const struct row vif_rows[] = {
	{ "queues", RULE_FRONT_NUMBER, "multi-queue-num-queues", 65535, 1 },
	{ "sg", RULE_BOTH, "feature-sg", 1 },
	{ "gso4", RULE_BOTH, "feature-gso-tcpv4", 1 },
	{ "gso6", RULE_BOTH, "feature-gso-tcpv6", 1 },
	{ "csum4", RULE_FRONT_NOT, "feature-no-csum-offload", 1 },
	{ "csum6", RULE_BOTH, "feature-ipv6-csum-offload", 1 },
	{ "split", RULE_FRONT_HAS, "event-channel-tx" },
	{ "rx-notify", RULE_FRONT, "feature-rx-notify", 1 },
	{ "control-ring", RULE_FRONT_HAS, "ctrl-ring-ref" },
	{ "multicast", RULE_FRONT, "request-multicast-control", 1, .details = true },
	{ "max-queues", RULE_BACK_NUMBER, "multi-queue-max-queues", 65535, .details = true },
	{ "mtu", RULE_FRONT_NUMBER, "mtu", 65535, 1500 },
	{ "mac", RULE_BACK_TEXT, "mac", .details = true },
	{ "bridge", RULE_BACK_TEXT, "bridge", .details = true },
	{ "rate", RULE_BACK_TEXT, "rate", .details = true },
	{ "vifname", RULE_BACK_TEXT, "vifname", .details = true },
	{ }
};

static const struct row vbd_rows[] = {
	{ "queues", RULE_FRONT_NUMBER, "multi-queue-num-queues", 65535, 1 },
	{ "ring-order", RULE_FRONT_NUMBER, "ring-page-order", 16, 0 },
	{ "persistent", RULE_BOTH, "feature-persistent", 1 },
	{ "indirect", RULE_BACK_NUMBER, "feature-max-indirect-segments", 65535 },
	{ "flush", RULE_BACK, "feature-flush-cache", 1 },
	{ "barrier", RULE_BACK, "feature-barrier", 1, .details = true },
	{ "discard", RULE_BACK, "feature-discard", 1 },
	{ "max-queues", RULE_BACK_NUMBER, "multi-queue-max-queues", 65535, .details = true },
	{ "max-ring-order", RULE_BACK_NUMBER, "max-ring-page-order", 16, .details = true },
	{ "sector-size", RULE_BACK_NUMBER, "sector-size", 1 << 20 },
	{ "physical-sector-size", RULE_BACK_NUMBER, "physical-sector-size", 1 << 20,
	  .details = true },
	{ "sectors", RULE_BACK_NUMBER, "sectors", UINT64_MAX, .details = true },
	{ "info", RULE_BACK_NUMBER, "info", 7, .details = true },
	{ "mode", RULE_BACK_TEXT, "mode" },
	{ "params", RULE_BACK_TEXT, "params", .details = true },
	{ "physical-device", RULE_BACK_TEXT, "physical-device", .details = true },
	{ }
};

/* Where the keys of a device are while it is being read. */
struct source {
	struct store *st;
	const struct view *front;
	const struct view *back;
	struct device *dev;
};

/* True when the key is there and a number within the row's limit. */
static bool number(const struct source *s, const char *side, const struct view *v,
		   const struct row *row, uint64_t *value)
{
	char *raw = view_get(s->st, v, row->key), *shown;
	bool ok = raw && text_u64(raw, row->max, value);

	if (raw && !ok) {
		shown = text_escape(raw, TEXT_SHOWN);
		device_note(s->dev, xasprintf("%s %s = \"%s\": 0 to %llu expected", side, row->key,
					      shown, (unsigned long long)row->max));
		free(shown);
	}
	free(raw);
	return ok;
}

static bool front_number(const struct source *s, const struct row *row, uint64_t *value)
{
	return number(s, "front", s->front, row, value);
}

static bool back_number(const struct source *s, const struct row *row, uint64_t *value)
{
	return number(s, "back", s->back, row, value);
}

static bool front_has(const struct source *s, const char *key)
{
	char *queue;
	bool has;

	if (view_has(s->front, key))
		return true;
	if (!view_has(s->front, "queue-0"))
		return false;
	queue = xasprintf("%s/queue-0/%s", s->front->dir, key);
	has = store_exists(s->st, queue);
	free(queue);
	return has;
}

static void load_text(const struct source *s, const struct row *row, struct feature *f)
{
	char *raw = view_get(s->st, s->back, row->key);

	f->type = FEATURE_TEXT;
	f->text = text_escape(raw, TEXT_SHOWN);
	f->known = raw;
	free(raw);
}

static void load_number(const struct source *s, const struct row *row, struct feature *f)
{
	f->type = FEATURE_NUMBER;
	if (row->rule == RULE_BACK_NUMBER) {
		f->known = back_number(s, row, &f->number);
		return;
	}
	f->known = true;
	if (!front_number(s, row, &f->number))
		f->number = row->absent;
}

static void load_flag(const struct source *s, const struct row *row, struct feature *f)
{
	uint64_t front = 0, back = 0;

	f->type = FEATURE_FLAG;
	f->known = true;
	switch (row->rule) {
	case RULE_FRONT_HAS:
		f->number = front_has(s, row->key);
		break;
	case RULE_BACK:
		f->number = back_number(s, row, &back) && back;
		break;
	case RULE_FRONT_NOT:
		f->number = !(front_number(s, row, &front) && front);
		break;
	case RULE_FRONT:
		f->number = front_number(s, row, &front) && front;
		break;
	default:
		f->number = front_number(s, row, &front) && front &&
			back_number(s, row, &back) && back;
		break;
	}
}

static void load_row(const struct source *s, const struct row *row, struct feature *f)
{
	f->name = row->name;
	switch (row->rule) {
	case RULE_BACK_TEXT:
		load_text(s, row, f);
		break;
	case RULE_BACK_NUMBER:
	case RULE_FRONT_NUMBER:
		load_number(s, row, f);
		break;
	default:
		load_flag(s, row, f);
		break;
	}
}

void features_load(struct store *st, const struct view *front, const struct view *back,
		   enum detail detail, struct device *d)
{
	const struct row *rows = d->id.kind->class == CLASS_VIF ? vif_rows : vbd_rows;
	struct source s = { .st = st, .front = front, .back = back, .dev = d };
	size_t n;

	for (n = 0; rows[n].name; n++)
		;
	d->features = xcalloc(n, sizeof(*d->features));
	for (; rows->name; rows++)
		if (!rows->details || detail != DETAIL_TABLE)
			load_row(&s, rows, &d->features[d->nr_features++]);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * keys.c: has the frontend written what a backend needs to connect, and within
 * the limits that the backend wrote? Names the first key that lacks and the
 * first that makes no sense. Called by facts.c; reads the store, decides alone.
 */
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "text.h"

struct key_check {
	struct store *st;
	const struct paths *p;
	char *missing;
	char *bad;
};

static void set_missing(struct key_check *k, const char *key)
{
	if (!k->missing)
		k->missing = xstrdup(key);
}

/* True when @key below @dir is a number; what is wrong with it is noted. */
static bool number(struct key_check *k, const char *dir, const char *key, uint32_t min,
		   uint32_t max, bool required, uint32_t *value)
{
	char *raw = store_get(k->st, dir, key), *shown;
	bool ok = raw && text_u32(raw, max, value) && *value >= min;

	if (!raw && required)
		set_missing(k, key);
	if (raw && !ok && !k->bad) {
		shown = text_escape(raw, TEXT_SHOWN);
		k->bad = xasprintf("%s = \"%s\": %u to %u expected", key, shown, min, max);
		free(shown);
	}
	free(raw);
	return ok;
}

/* A limit the backend offers; absent or malformed is the protocol's default. */
static uint32_t limit(struct key_check *k, const char *key, uint32_t absent)
{
	char *raw = store_get(k->st, k->p->back, key);
	uint32_t value;

	if (!text_u32(raw, 65535, &value))
		value = absent;
	free(raw);
	return value;
}

static bool has(struct key_check *k, const char *dir, const char *key)
{
	char *path = xasprintf("%s/%s", dir, key);
	bool there = store_exists(k->st, path);

	free(path);
	return there;
}

static void check_ref(struct key_check *k, const char *dir, const char *key)
{
	uint32_t value;

	number(k, dir, key, 0, UINT32_MAX, true, &value);
}

static void check_vif_queue(struct key_check *k, const char *dir)
{
	check_ref(k, dir, "tx-ring-ref");
	check_ref(k, dir, "rx-ring-ref");
	if (has(k, dir, "event-channel-tx") || has(k, dir, "event-channel-rx")) {
		check_ref(k, dir, "event-channel-tx");
		check_ref(k, dir, "event-channel-rx");
	} else {
		check_ref(k, dir, "event-channel");
	}
}

static void check_vbd_queue(struct key_check *k, const char *dir)
{
	uint32_t order = 0, max = limit(k, "max-ring-page-order", 0), i;
	char key[32];

	if (max > 16)
		max = 16;
	number(k, k->p->front, "ring-page-order", 0, max, false, &order);
	if (!order && !has(k, dir, "ring-ref0"))
		check_ref(k, dir, "ring-ref");
	for (i = 0; order && order <= max && i < 1u << order; i++) {
		snprintf(key, sizeof(key), "ring-ref%u", i);
		check_ref(k, dir, key);
	}
	check_ref(k, dir, "event-channel");
}

static void check_queues(struct key_check *k, void (*check)(struct key_check *k, const char *dir))
{
	uint32_t n = 1, i;
	char *dir;

	if (!number(k, k->p->front, "multi-queue-num-queues", 1,
		    limit(k, "multi-queue-max-queues", 1), false, &n) || n == 1) {
		check(k, k->p->front);
		return;
	}
	for (i = 0; i < n && !k->missing && !k->bad; i++) {
		dir = xasprintf("%s/queue-%u", k->p->front, i);
		check(k, dir);
		free(dir);
	}
}

static void check_protocol(struct key_check *k)
{
	static const char *const known[] = { "x86_32-abi", "x86_64-abi", "arm-abi" };
	char *raw = store_get(k->st, k->p->front, "protocol"), *shown;
	bool ok = !raw;
	size_t i;

	for (i = 0; raw && i < sizeof(known) / sizeof(*known); i++)
		ok |= !strcmp(raw, known[i]);
	if (!ok && !k->bad) {
		shown = text_escape(raw, TEXT_SHOWN);
		k->bad = xasprintf("protocol = \"%s\": x86_32-abi, x86_64-abi or arm-abi expected",
				   shown);
		free(shown);
	}
	free(raw);
}

void keys_check(struct store *st, const struct paths *p, enum dev_class class,
		char **missing, char **bad)
{
	struct key_check k = { .st = st, .p = p };
	uint32_t value;

	if (class == CLASS_VIF) {
		check_queues(&k, check_vif_queue);
		number(&k, p->front, "request-rx-copy", 1, 1, true, &value);
	} else {
		check_queues(&k, check_vbd_queue);
		check_protocol(&k);
	}
	*missing = k.missing;
	*bad = k.bad;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing Tx slots as a guest does, into private memory, for the suites of
 * netback's pure half.
 */
#ifndef XPV_NETBACK_SLOTS_H
#define XPV_NETBACK_SLOTS_H

#include <kunit/test.h>
#include "../../drivers/netback/netback.h"

#define FATAL_SLOTS	20

/* Slots of one or more packets. */
struct slots {
	union xnb_tx_raw raw[64];
	unsigned int n;
};

static inline struct xen_netif_tx_request *put(struct slots *s, u16 off,
					       u16 size, u16 flags)
{
	struct xen_netif_tx_request *r = &s->raw[s->n].req;

	*r = (struct xen_netif_tx_request) {
		.gref = 100 + s->n,
		.offset = off,
		.flags = flags,
		.id = s->n,
		.size = size,
	};
	s->n++;
	return r;
}

static inline struct xen_netif_extra_info *extra(struct slots *s, u8 type, bool more)
{
	struct xen_netif_extra_info *e = &s->raw[s->n++].extra;

	memset(&s->raw[s->n - 1], 0, sizeof(s->raw[0]));
	e->type = type;
	e->flags = more ? XEN_NETIF_EXTRA_FLAG_MORE : 0;
	return e;
}

static inline void gso(struct slots *s, u8 type, u16 size, bool more)
{
	struct xen_netif_extra_info *e = extra(s, XEN_NETIF_EXTRA_TYPE_GSO,
					       more);

	e->u.gso.type = type;
	e->u.gso.size = size;
}

/* A packet whose slots after the first have the given sizes. */
static inline void chain(struct slots *s, u16 total, const u16 *size, unsigned int n)
{
	unsigned int i;

	put(s, 0, total, n ? XEN_NETTXF_more_data : 0);
	for (i = 0; i < n; i++)
		put(s, 0, size[i], i + 1 < n ? XEN_NETTXF_more_data : 0);
}

static inline enum xnb_verdict parse(const struct slots *s, struct xnb_tx_pkt *p)
{
	return xnb_tx_parse(s->raw, s->n, FATAL_SLOTS, p);
}

static inline struct slots *new_slots(struct kunit *test)
{
	struct slots *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	return s;
}

#endif /* XPV_NETBACK_SLOTS_H */

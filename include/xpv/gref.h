/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Grant references and request ids of a frontend.
 *
 * Two small tables with one rule each: a grant reference is handed out at most
 * once at a time, and an id that comes back from the peer must be one that is
 * in flight.  Nothing here locks; each table belongs to one queue.
 */
#ifndef XPV_GREF_H
#define XPV_GREF_H

#include <linux/bitmap.h>
#include <xpv/hyp.h>

/**
 * struct xpv_gref_pool - reserved grant references, last in first out
 * @ref: stack of free references
 * @nfree: how many are free
 * @size: how many were reserved
 */
struct xpv_gref_pool {
	grant_ref_t *ref;
	unsigned int nfree;
	unsigned int size;
};

/** xpv_gref_pool_init() - reserve @n. 0, -ENOMEM or -ENOSPC. May sleep. */
int xpv_gref_pool_init(struct xpv_gref_pool *p, unsigned int n);

/**
 * xpv_gref_pool_exit() - give free references back; twice does no harm
 *
 * References that were handed to hyp_grant_abandon() are not missed.
 */
void xpv_gref_pool_exit(struct xpv_gref_pool *p);

/** xpv_gref_get() - a reference, or XPV_GREF_NONE when all are in use. */
static inline grant_ref_t xpv_gref_get(struct xpv_gref_pool *p)
{
	return p->nfree ? p->ref[--p->nfree] : XPV_GREF_NONE;
}

/** xpv_gref_put() - take back a reference that grants nothing now. */
static inline void xpv_gref_put(struct xpv_gref_pool *p, grant_ref_t ref)
{
	if (p->nfree < p->size)
		p->ref[p->nfree++] = ref;
}

/**
 * struct xpv_ids - request ids and which of them are in flight
 * @stack: free ids
 * @busy: one bit an id: in flight
 * @nfree: free ids on the stack
 * @size: all ids, at most 65536
 */
struct xpv_ids {
	u16 *stack;
	unsigned long *busy;
	unsigned int nfree;
	unsigned int size;
};

/** xpv_ids_init() - ids 0..@n-1, all free. 0, -EINVAL or -ENOMEM. */
int xpv_ids_init(struct xpv_ids *t, unsigned int n);

/** xpv_ids_exit() - free the table; twice does no harm. */
void xpv_ids_exit(struct xpv_ids *t);

/** xpv_ids_get() - an id, now in flight; -ENOSPC when none is free. */
static inline int xpv_ids_get(struct xpv_ids *t)
{
	u16 id;

	if (!t->nfree)
		return -ENOSPC;
	id = t->stack[--t->nfree];
	__set_bit(id, t->busy);
	return id;
}

/**
 * xpv_ids_busy() - is this id from the wire in flight?
 * @t: table
 * @id: as the peer sent it, any value
 */
static inline bool xpv_ids_busy(const struct xpv_ids *t, u64 id)
{
	return id < t->size && test_bit(id, t->busy);
}

/**
 * xpv_ids_put() - an id came back
 * @t: table
 * @id: as the peer sent it, any value
 *
 * Return: 0, now free; -EPROTO when it was not in flight.
 */
static inline int xpv_ids_put(struct xpv_ids *t, u64 id)
{
	if (!xpv_ids_busy(t, id))
		return -EPROTO;
	__clear_bit(id, t->busy);
	t->stack[t->nfree++] = id;
	return 0;
}

#endif /* XPV_GREF_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Batches of grant copies: plan many, run one hypercall, settle each.
 *
 * Planning is pure.  No operation crosses a page on either side; the planner
 * splits.  A cookie ties an operation to the packet or request it belongs to
 * by its index: the owner remembers "my operations are first..first+n-1".
 */
#ifndef XPV_BATCH_H
#define XPV_BATCH_H

#include <linux/minmax.h>
#include <xpv/hyp.h>

/**
 * struct xpv_copy_batch - copies waiting for one hypercall
 * @d: device whose peer granted the pages
 * @n: operations planned
 * @max: room
 * @op: the operations
 * @raw: hypercall form, written below the seam
 *
 * One owner at a time; nothing here locks.
 */
struct xpv_copy_batch {
	struct xpv_dev *d;
	unsigned int n;
	unsigned int max;
	struct xpv_copy *op;
	struct gnttab_copy *raw;
};

/** xpv_copy_batch_init() - room for @max operations. 0 or -ENOMEM. May sleep. */
int xpv_copy_batch_init(struct xpv_copy_batch *b, struct xpv_dev *d,
			unsigned int max);

/** xpv_copy_batch_exit() - free it; twice does no harm. */
void xpv_copy_batch_exit(struct xpv_copy_batch *b);

/** xpv_copy_room() - operations that can still be planned. */
static inline unsigned int xpv_copy_room(const struct xpv_copy_batch *b)
{
	return b->max - b->n;
}

/**
 * xpv_copy_chunk() - bytes the next operation may cover
 * @off: offset on one side, may lie beyond the first page
 * @goff: offset in the granted page
 * @len: bytes left, not 0
 */
static inline unsigned int xpv_copy_chunk(unsigned int off, unsigned int goff,
					  unsigned int len)
{
	unsigned int a = XPV_PAGE_SIZE - (off & (XPV_PAGE_SIZE - 1));
	unsigned int b = XPV_PAGE_SIZE - goff;

	return min3(len, a, b);
}

/**
 * xpv_copy_add() - plan one operation
 * @b: batch with room
 * @page: local page, head of a compound page allowed
 * @off: offset from @page, may lie beyond the first page
 * @gref: the peer's grant
 * @goff: offset in the granted page, below 4096
 * @len: as xpv_copy_chunk() allowed
 * @to_peer: direction
 */
static inline void xpv_copy_add(struct xpv_copy_batch *b, struct page *page,
				unsigned int off, grant_ref_t gref,
				unsigned int goff, unsigned int len,
				bool to_peer)
{
	b->op[b->n++] = (struct xpv_copy) {
		.page = page + (off >> XPV_PAGE_SHIFT),
		.page_off = off & (XPV_PAGE_SIZE - 1),
		.gref = gref,
		.gref_off = goff,
		.len = len,
		.to_peer = to_peer,
	};
}

/**
 * xpv_copy_plan() - plan a run of bytes, split at both sides' page borders
 * @b: batch
 * @page: local page
 * @off: offset from @page
 * @gref: the peer's grant
 * @goff: offset in the granted page
 * @len: bytes; @goff + @len must not exceed 4096
 * @to_peer: direction
 *
 * Return: operations added; -ERANGE when the run leaves the granted page,
 * -ENOSPC when the batch has no room for all of it (nothing is added).
 */
int xpv_copy_plan(struct xpv_copy_batch *b, struct page *page, unsigned int off,
		  grant_ref_t gref, unsigned int goff, unsigned int len,
		  bool to_peer);

/** xpv_copy_run() - one hypercall for all; every status is set. Any context. */
void xpv_copy_run(struct xpv_copy_batch *b);

/** xpv_copy_status() - first error among operations @first.. of @n, or 0. */
int xpv_copy_status(const struct xpv_copy_batch *b, unsigned int first,
		    unsigned int n);

/** xpv_copy_reset() - forget all operations; call when they are settled. */
static inline void xpv_copy_reset(struct xpv_copy_batch *b)
{
	b->n = 0;
}

#endif /* XPV_BATCH_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Batches of grant copies.
 *
 * Decides how a run of bytes is cut into operations and which status stands for
 * several of them; the one hypercall is below the seam.  Planning and settling
 * are pure and run in the data paths of both backends, in softirq or thread
 * context; setting up and freeing sleep.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <xpv/batch.h>
#include <xpv/compat.h>

int xpv_copy_batch_init(struct xpv_copy_batch *b, struct xpv_dev *d,
			unsigned int max)
{
	*b = (struct xpv_copy_batch) {
		.d = d,
		.max = max,
		.op = kvcalloc(max, sizeof(*b->op), GFP_KERNEL),
		.raw = kvcalloc(max, sizeof(*b->raw), GFP_KERNEL),
	};
	if (b->op && b->raw)
		return 0;
	xpv_copy_batch_exit(b);
	return -ENOMEM;
}
XPV_EXPORT(xpv_copy_batch_init);

void xpv_copy_batch_exit(struct xpv_copy_batch *b)
{
	kvfree(b->op);
	kvfree(b->raw);
	*b = (struct xpv_copy_batch) {};
}
XPV_EXPORT(xpv_copy_batch_exit);

/* Operations that a run needs; nothing is planned yet. */
static unsigned int copy_count(unsigned int off, unsigned int goff,
			       unsigned int len)
{
	unsigned int n = 0;

	while (len) {
		unsigned int chunk = xpv_copy_chunk(off, goff, len);

		off += chunk;
		goff += chunk;
		len -= chunk;
		n++;
	}
	return n;
}

int xpv_copy_plan(struct xpv_copy_batch *b, struct page *page, unsigned int off,
		  grant_ref_t gref, unsigned int goff, unsigned int len,
		  bool to_peer)
{
	unsigned int n;

	if (goff > XPV_PAGE_SIZE || len > XPV_PAGE_SIZE - goff)
		return -ERANGE;
	n = copy_count(off, goff, len);
	if (n > xpv_copy_room(b))
		return -ENOSPC;
	while (len) {
		unsigned int chunk = xpv_copy_chunk(off, goff, len);

		xpv_copy_add(b, page, off, gref, goff, chunk, to_peer);
		off += chunk;
		goff += chunk;
		len -= chunk;
	}
	return n;
}
XPV_EXPORT(xpv_copy_plan);

void xpv_copy_run(struct xpv_copy_batch *b)
{
	if (b->n)
		hyp_copy(b->d, b->op, b->raw, b->n);
}
XPV_EXPORT(xpv_copy_run);

int xpv_copy_status(const struct xpv_copy_batch *b, unsigned int first,
		    unsigned int n)
{
	unsigned int i;

	for (i = first; i < first + n; i++)
		if (b->op[i].status)
			return b->op[i].status;
	return 0;
}
XPV_EXPORT(xpv_copy_status);

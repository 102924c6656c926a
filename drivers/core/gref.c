// SPDX-License-Identifier: GPL-2.0
/*
 * Set-up and end of a frontend's tables of grant references and request ids.
 *
 * The hot part is inline in gref.h; this file only allocates and frees, in
 * process context.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <xpv/compat.h>
#include <xpv/gref.h>

int xpv_gref_pool_init(struct xpv_gref_pool *p, unsigned int n)
{
	int err;

	*p = (struct xpv_gref_pool) {
		.ref = kvcalloc(n, sizeof(*p->ref), GFP_KERNEL),
	};
	if (!p->ref)
		return -ENOMEM;
	err = hyp_gref_alloc(n, p->ref);
	if (err) {
		kvfree(p->ref);
		p->ref = NULL;
		return err;
	}
	p->nfree = n;
	p->size = n;
	return 0;
}
XPV_EXPORT(xpv_gref_pool_init);

void xpv_gref_pool_exit(struct xpv_gref_pool *p)
{
	if (p->nfree)
		hyp_gref_free(p->nfree, p->ref);
	kvfree(p->ref);
	*p = (struct xpv_gref_pool) {};
}
XPV_EXPORT(xpv_gref_pool_exit);

int xpv_ids_init(struct xpv_ids *t, unsigned int n)
{
	unsigned int i;

	*t = (struct xpv_ids) {};
	if (!n || n > U16_MAX + 1)
		return -EINVAL;
	t->stack = kvcalloc(n, sizeof(*t->stack), GFP_KERNEL);
	t->busy = bitmap_zalloc(n, GFP_KERNEL);
	if (!t->stack || !t->busy) {
		xpv_ids_exit(t);
		return -ENOMEM;
	}
	/* The first ids handed out are the lowest: easier to read in a dump. */
	for (i = 0; i < n; i++)
		t->stack[i] = n - 1 - i;
	t->nfree = n;
	t->size = n;
	return 0;
}
XPV_EXPORT(xpv_ids_init);

void xpv_ids_exit(struct xpv_ids *t)
{
	kvfree(t->stack);
	bitmap_free(t->busy);
	*t = (struct xpv_ids) {};
}
XPV_EXPORT(xpv_ids_exit);

// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for the segments of xpv-blkback: persistent grants and private pages.
 *
 * The cache decides which of the guest's pages stay mapped.  It keeps at most
 * its budget; when that is used up, the oldest entry makes room only if it has
 * rested for a while.  Otherwise the segment takes a private page and a grant
 * copy, so a guest that cycles through more grants than the budget costs no
 * unmapping per request.  A reference that occurs twice is one entry with two
 * users.
 *
 * The cache belongs to its ring's thread.  The pool serves all contexts.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "blkback.h"

/* Operations of one hypercall: as many as a batch can miss. */
#define CACHE_OPS	XBB_BATCH_SEGS

/* ------------------------------------------------------------------ */
/* Persistent grants                                                   */
/* ------------------------------------------------------------------ */

int xbb_cache_init(struct xbb_cache *c, struct xpv_dev *d)
{
	*c = (struct xbb_cache) {
		.d = d,
		.bucket = kvcalloc(1 << XBB_HASH_BITS, sizeof(*c->bucket),
				   GFP_KERNEL),
		.fresh = kvcalloc(CACHE_OPS, sizeof(*c->fresh), GFP_KERNEL),
		.op = kvcalloc(CACHE_OPS, sizeof(*c->op), GFP_KERNEL),
	};
	INIT_LIST_HEAD(&c->lru);
	INIT_LIST_HEAD(&c->dead);
	if (c->bucket && c->fresh && c->op)
		return 0;
	xbb_cache_exit(c);
	return -ENOMEM;
}

static struct hlist_head *cache_bucket(struct xbb_cache *c, grant_ref_t gref)
{
	return &c->bucket[hash_32(gref, XBB_HASH_BITS)];
}

static struct xbb_pgrant *cache_find(struct xbb_cache *c, grant_ref_t gref)
{
	struct xbb_pgrant *e;

	hlist_for_each_entry(e, cache_bucket(c, gref), hash)
		if (e->gref == gref)
			return e;
	return NULL;
}

/* Out of the cache; still mapped until the next run. */
static void cache_bury(struct xbb_cache *c, struct xbb_pgrant *e)
{
	hlist_del(&e->hash);
	list_move_tail(&e->lru, &c->dead);
	c->count--;
	c->ndead++;
}

/* Room for one more entry? Makes some if the oldest entry has rested. */
static bool cache_room(struct xbb_cache *c, unsigned int budget,
		       unsigned long now)
{
	struct xbb_pgrant *e;

	if (c->nfresh >= CACHE_OPS)
		return false;
	if (c->count < budget)
		return true;
	e = list_first_entry_or_null(&c->lru, struct xbb_pgrant, lru);
	if (!e || !budget || atomic_read(&e->users) ||
	    time_before(now, e->used + XBB_EVICT_AGE))
		return false;
	cache_bury(c, e);
	return c->count < budget;
}

static struct xbb_pgrant *cache_new(struct xbb_cache *c, grant_ref_t gref)
{
	struct xbb_pgrant *e = kzalloc(sizeof(*e), GFP_NOIO | __GFP_NOWARN);

	if (!e)
		return NULL;
	if (hyp_pages_get(1, &e->page)) {
		kfree(e);
		return NULL;
	}
	e->gref = gref;
	hlist_add_head(&e->hash, cache_bucket(c, gref));
	list_add_tail(&e->lru, &c->lru);
	c->count++;
	c->fresh[c->nfresh++] = e;
	return e;
}

struct xbb_pgrant *xbb_cache_get(struct xbb_cache *c, grant_ref_t gref,
				 unsigned int budget, unsigned long now)
{
	struct xbb_pgrant *e = cache_find(c, gref);

	if (e) {
		c->hits++;
		list_move_tail(&e->lru, &c->lru);
	} else {
		c->misses++;
		if (!cache_room(c, budget, now))
			return NULL;
		e = cache_new(c, gref);
		if (!e)
			return NULL;
	}
	e->used = now;
	atomic_inc(&e->users);
	return e;
}

static void cache_unmap(struct xbb_cache *c, unsigned int n)
{
	struct page *page;
	unsigned int i;

	hyp_unmap(c->d, c->op, n);
	c->unmaps += n;
	for (i = 0; i < n; i++) {
		page = c->op[i].page;
		hyp_pages_put(1, &page);
	}
}

static void cache_run_dead(struct xbb_cache *c)
{
	struct xbb_pgrant *e, *next;
	unsigned int n = 0;

	list_for_each_entry_safe(e, next, &c->dead, lru) {
		c->op[n++] = (struct xpv_map) {
			.page = e->page,
			.gref = e->gref,
			.handle = e->handle,
		};
		list_del(&e->lru);
		kfree(e);
		if (n == CACHE_OPS) {
			cache_unmap(c, n);
			n = 0;
		}
	}
	if (n)
		cache_unmap(c, n);
	c->ndead = 0;
}

/*
 * Entries that could not be mapped leave the cache at once, so that a later
 * request tries again; their users see the error and drop them.
 */
static void cache_settle(struct xbb_cache *c, struct xbb_pgrant *e,
			 const struct xpv_map *op)
{
	if (!op->status) {
		e->handle = op->handle;
		c->maps++;
		return;
	}
	e->err = op->status;
	hlist_del(&e->hash);
	list_del_init(&e->lru);
	c->count--;
	hyp_pages_put(1, &e->page);
	e->page = NULL;
	/* A new entry without a user has nobody to drop it. */
	if (!atomic_read(&e->users))
		kfree(e);
}

void xbb_cache_run(struct xbb_cache *c)
{
	unsigned int i;

	if (c->ndead)
		cache_run_dead(c);
	if (!c->nfresh)
		return;
	for (i = 0; i < c->nfresh; i++)
		c->op[i] = (struct xpv_map) {
			.page = c->fresh[i]->page,
			.gref = c->fresh[i]->gref,
		};
	hyp_map(c->d, c->op, c->nfresh);
	for (i = 0; i < c->nfresh; i++)
		cache_settle(c, c->fresh[i], &c->op[i]);
	c->nfresh = 0;
}

void xbb_cache_drop(struct xbb_cache *c, struct xbb_pgrant *e)
{
	if (atomic_dec_and_test(&e->users) && e->err)
		kfree(e);
}

void xbb_cache_age(struct xbb_cache *c, unsigned long before)
{
	struct xbb_pgrant *e, *next;

	list_for_each_entry_safe(e, next, &c->lru, lru) {
		if (!time_before(e->used, before))
			break;
		if (!atomic_read(&e->users))
			cache_bury(c, e);
	}
	if (c->ndead)
		cache_run_dead(c);
}

void xbb_cache_exit(struct xbb_cache *c)
{
	struct xbb_pgrant *e, *next;

	if (c->bucket && c->op) {
		list_for_each_entry_safe(e, next, &c->lru, lru)
			cache_bury(c, e);
		cache_run_dead(c);
	}
	kvfree(c->bucket);
	kvfree(c->fresh);
	kvfree(c->op);
	c->bucket = NULL;
	c->fresh = NULL;
	c->op = NULL;
}

/* ------------------------------------------------------------------ */
/* Private pages                                                       */
/* ------------------------------------------------------------------ */

void xbb_pool_init(struct xbb_pool *p)
{
	*p = (struct xbb_pool) {};
	spin_lock_init(&p->lock);
	INIT_LIST_HEAD(&p->free);
}

static void pool_free(struct list_head *pages)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, pages, lru) {
		list_del(&page->lru);
		__free_page(page);
	}
}

void xbb_pool_exit(struct xbb_pool *p)
{
	pool_free(&p->free);
	p->nfree = 0;
}

/* Take up to @n cached pages; all @n are counted as out. */
static int pool_take(struct xbb_pool *p, unsigned int n,
		     struct list_head *pages)
{
	unsigned long flags;
	unsigned int got;

	spin_lock_irqsave(&p->lock, flags);
	if (n > XBB_POOL_MAX - p->out) {
		spin_unlock_irqrestore(&p->lock, flags);
		return -ENOMEM;
	}
	p->out += n;
	p->touched = true;
	for (got = 0; got < n && p->nfree; got++, p->nfree--)
		list_move(p->free.next, pages);
	spin_unlock_irqrestore(&p->lock, flags);
	return got;
}

int xbb_pool_get(struct xbb_pool *p, unsigned int n, struct list_head *pages)
{
	int got = pool_take(p, n, pages);
	struct page *page;

	if (got < 0)
		return got;
	while (got < n) {
		page = alloc_page(GFP_NOIO | __GFP_NOWARN);
		if (!page)
			break;
		list_add(&page->lru, pages);
		got++;
	}
	if (got == n)
		return 0;
	xbb_pool_put(p, n, pages, 0);
	return -ENOMEM;
}

void xbb_pool_put(struct xbb_pool *p, unsigned int n, struct list_head *pages,
		  unsigned int keep)
{
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	p->out -= n;
	while (!list_empty(pages) && p->nfree < keep) {
		list_move(pages->next, &p->free);
		p->nfree++;
	}
	spin_unlock_irqrestore(&p->lock, flags);
	pool_free(pages);
}

void xbb_pool_shrink(struct xbb_pool *p)
{
	LIST_HEAD(pages);
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	if (!p->touched) {
		list_splice_init(&p->free, &pages);
		p->nfree = 0;
	}
	p->touched = false;
	spin_unlock_irqrestore(&p->lock, flags);
	pool_free(&pages);
}

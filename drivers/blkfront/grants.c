// SPDX-License-Identifier: GPL-2.0
/*
 * Grants of one ring: which references are free, which pages they share, and
 * the copies into and out of pages of ours.
 *
 * Two kinds of use.  Plain: a reference shares the page of the request itself
 * and is revoked with the answer.  Copied: the data moves through a page of
 * ours that stays granted read-write for as long as the ring lives; persistent
 * grants, distrusted backends, list pages and requests too odd for plain grants
 * all go this way.  A page of ours never held anything but data of this disk or
 * zeroes.
 *
 * xbf_pool_*() run under the ring's lock; xbf_grants_*() work on a list that
 * belongs to one request and need none.  Any context, unless said otherwise.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <xpv/compat.h>
#include "blkfront.h"

static void grants_push(struct xbf_grants *l, struct xbf_grant *g)
{
	g->next = l->head;
	if (!l->head)
		l->tail = g;
	l->head = g;
	l->n++;
}

static struct xbf_grant *grants_pop(struct xbf_grants *l)
{
	struct xbf_grant *g = l->head;

	l->head = g->next;
	l->n--;
	return g;
}

static void grants_append(struct xbf_grants *l, struct xbf_grant *g)
{
	g->next = NULL;
	if (l->head)
		l->tail->next = g;
	else
		l->head = g;
	l->tail = g;
	l->n++;
}

/**
 * xbf_pool_init() - reserve references
 * @p: pool
 * @n: how many
 *
 * May sleep. Return: 0, -ENOMEM or -ENOSPC.
 */
int xbf_pool_init(struct xbf_pool *p, unsigned int n)
{
	grant_ref_t *refs = kvcalloc(n, sizeof(*refs), GFP_KERNEL);
	unsigned int i;
	int err = -ENOMEM;

	*p = (struct xbf_pool) {};
	p->all = kvcalloc(n, sizeof(*p->all), GFP_KERNEL);
	if (!refs || !p->all)
		goto err_free;
	err = hyp_gref_alloc(n, refs);
	if (err)
		goto err_free;
	p->size = n;
	for (i = 0; i < n; i++) {
		p->all[i].ref = refs[i];
		grants_push(&p->bare, &p->all[i]);
	}
	kvfree(refs);
	return 0;

err_free:
	kvfree(refs);
	kvfree(p->all);
	p->all = NULL;
	return err;
}

/*
 * xbf_pool_fill() - have @n pages of ours ready
 *
 * The reserve that lets a request pass when memory is short. May sleep.
 */
int xbf_pool_fill(struct xbf_pool *p, struct xpv_dev *d, unsigned int n)
{
	struct xbf_grants l = {};
	int err;

	if (n > p->ready.n && !xbf_pool_take(p, n, true, &l))
		return -ENOSPC;
	err = xbf_grants_page(&l, d, GFP_KERNEL);
	xbf_pool_put(p, &l, true);
	return err;
}

/* End a grant for good: the page goes to the peer's account if it clings. */
static bool grant_end(struct xbf_grant *g)
{
	if (hyp_ungrant(g->ref))
		return true;
	hyp_grant_abandon(g->ref, g->page);
	g->ref = XPV_GREF_NONE;
	return false;
}

/*
 * xbf_pool_exit() - revoke, free pages, give references back; twice is fine
 *
 * No request holds a grant any more. Pages the peer still maps are freed when
 * it lets go. Process context.
 */
void xbf_pool_exit(struct xbf_pool *p)
{
	struct xbf_grant *g;
	unsigned int i;

	while (p->ready.n) {
		g = grants_pop(&p->ready);
		if (grant_end(g))
			__free_page(g->page);
		g->page = NULL;
	}
	for (i = 0; i < p->size; i++) {
		if (p->all[i].ref != XPV_GREF_NONE)
			hyp_gref_free(1, &p->all[i].ref);
	}
	kvfree(p->all);
	*p = (struct xbf_pool) {};
}

/**
 * xbf_pool_take() - @n grants for a request
 * @p: pool
 * @n: how many
 * @pages: they are to carry pages of ours, those at hand first
 * @to: appended to
 *
 * Return: false when there are not so many; nothing was taken then.
 */
bool xbf_pool_take(struct xbf_pool *p, unsigned int n, bool pages,
		   struct xbf_grants *to)
{
	unsigned int room = p->bare.n + (pages ? p->ready.n : 0);

	if (room < n)
		return false;
	while (n--) {
		if (pages && p->ready.n)
			grants_append(to, grants_pop(&p->ready));
		else
			grants_append(to, grants_pop(&p->bare));
	}
	return true;
}

/**
 * xbf_pool_put() - take a request's grants back
 * @p: pool
 * @from: emptied
 * @pages: they carry pages of ours (or were to, and have none yet)
 */
void xbf_pool_put(struct xbf_pool *p, struct xbf_grants *from, bool pages)
{
	struct xbf_grant *g;

	while (from->n) {
		g = grants_pop(from);
		if (pages && g->page)
			grants_push(&p->ready, g);
		else if (g->ref != XPV_GREF_NONE)
			grants_push(&p->bare, g);
	}
}

/*
 * xbf_pool_unpage() - turn idle pages of ours into @n bare references
 *
 * Return: false when there are not so many, or the peer keeps them.
 */
bool xbf_pool_unpage(struct xbf_pool *p, unsigned int n)
{
	struct xbf_grant *g;

	while (p->bare.n < n && p->ready.n) {
		g = grants_pop(&p->ready);
		if (grant_end(g)) {
			__free_page(g->page);
			grants_push(&p->bare, g);
		}
		g->page = NULL;
	}
	return p->bare.n >= n;
}

/*
 * xbf_grants_page() - give each grant of @l that has none a page of ours
 *
 * Return: 0 or -ENOMEM; what was given stays.
 */
int xbf_grants_page(struct xbf_grants *l, struct xpv_dev *d, gfp_t gfp)
{
	struct xbf_grant *g;

	for (g = l->head; g; g = g->next) {
		if (g->page)
			continue;
		g->page = alloc_page(gfp | __GFP_ZERO | __GFP_NOWARN);
		if (!g->page)
			return -ENOMEM;
		hyp_grant(g->ref, d->peer, g->page, false);
	}
	return 0;
}

/** xbf_grants_span() - note which sectors of packed pages @bytes bytes take. */
void xbf_grants_span(struct xbf_grants *l, unsigned int bytes)
{
	struct xbf_grant *g;

	for (g = l->head; g; g = g->next) {
		unsigned int n = min_t(unsigned int, bytes, XPV_PAGE_SIZE);

		g->first = 0;
		g->last = (n >> XPV_BLK_SECTOR_SHIFT) - 1;
		bytes -= n;
	}
}

/**
 * xbf_grants_plain() - share a request's own pages
 * @l: bare grants, at least as many as the request has pieces
 * @d: device
 * @rq: request
 *
 * Pieces that touch within a page become one. A page of the slab allocator is
 * refused: it cannot be kept out of other hands if the peer clings to it.
 * Return: grants used; -EOPNOTSUPP when the request must be copied instead. In
 * both cases each used grant has a page, the others have none.
 */
int xbf_grants_plain(struct xbf_grants *l, struct xpv_dev *d,
		     struct request *rq)
{
	bool readonly = rq_data_dir(rq) == WRITE;
	struct xbf_grant *g = NULL;
	struct req_iterator iter;
	unsigned int used = 0;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter) {
		u8 first = bv.bv_offset >> XPV_BLK_SECTOR_SHIFT;
		u8 count = bv.bv_len >> XPV_BLK_SECTOR_SHIFT;

		if ((bv.bv_offset | bv.bv_len) & (SECTOR_SIZE - 1))
			return -EOPNOTSUPP;
		if (g && g->page == bv.bv_page && g->last + 1 == first) {
			g->last += count;
			continue;
		}
		g = g ? g->next : l->head;
		if (!g || PageSlab(bv.bv_page))
			return -EOPNOTSUPP;
		g->page = bv.bv_page;
		g->first = first;
		g->last = first + count - 1;
		hyp_grant(g->ref, d->peer, g->page, readonly);
		used++;
	}
	return used;
}

/*
 * xbf_grants_revoke() - end plain grants after the answer
 *
 * Return: how many the peer still maps. Their pages stay alive until it lets
 * go, their references are lost.
 */
unsigned int xbf_grants_revoke(struct xbf_grants *l)
{
	struct xbf_grant *g;
	unsigned int kept = 0;

	for (g = l->head; g; g = g->next) {
		if (!g->page)
			continue;
		if (!hyp_ungrant(g->ref)) {
			get_page(g->page);
			hyp_grant_abandon(g->ref, g->page);
			g->ref = XPV_GREF_NONE;
			kept++;
		}
		g->page = NULL;
	}
	return kept;
}

/*
 * Whole pages have a routine of their own, which copies in larger units than
 * memcpy() does on most processors.
 */
static void copy_bytes(char *to, const char *from, unsigned int n)
{
	if (n == PAGE_SIZE && IS_ALIGNED((unsigned long)to | (unsigned long)from,
					 PAGE_SIZE))
		copy_page(to, (void *)from);
	else
		memcpy(to, from, n);
}

/**
 * xbf_grants_copy() - move data between a request and pages of ours
 * @l: one page for every 4096 bytes of the request
 * @rq: request
 * @to_grants: direction
 *
 * Packs the data, whatever the request's own pieces are.
 */
void xbf_grants_copy(const struct xbf_grants *l, struct request *rq,
		     bool to_grants)
{
	struct xbf_grant *g = l->head;
	struct req_iterator iter;
	unsigned int fill = 0;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter) {
		char *data = bvec_kmap_local(&bv);
		unsigned int done = 0;

		while (done < bv.bv_len && g) {
			unsigned int n = min_t(unsigned int, bv.bv_len - done,
					       XPV_PAGE_SIZE - fill);
			char *ours = (char *)page_address(g->page) + fill;

			if (to_grants)
				copy_bytes(ours, data + done, n);
			else
				copy_bytes(data + done, ours, n);
			done += n;
			fill += n;
			if (fill == XPV_PAGE_SIZE) {
				g = g->next;
				fill = 0;
			}
		}
		if (!to_grants)
			flush_dcache_page(bv.bv_page);
		kunmap_local(data);
	}
}

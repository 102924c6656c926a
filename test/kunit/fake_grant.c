// SPDX-License-Identifier: GPL-2.0
/*
 * The fake's grant tables: the grant part of hyp.h.
 *
 * One table serves all domains, so a reference says whose page it is.  A
 * mapping makes a page of ours show the granted page's memory: the "physical"
 * memory of User-Mode Linux is a file of the host, which can be mapped at any
 * address a second time.  A read-only mapping really is read-only.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <mem_user.h>
#include <os.h>
#include "fake_int.h"

/* A page of hyp_pages_get() or of a mapped ring, and what it shows now. */
struct fake_map {
	struct page *page;
	grant_ref_t ref;
	grant_handle_t handle;
	bool mapped;
	bool ro;
	bool ring;
};

/* ------------------------------------------------------------------ */
/* Memory                                                              */
/* ------------------------------------------------------------------ */

/* Let @page show the memory of @target, which may be itself. */
static int page_show(struct page *page, struct page *target, bool ro)
{
	unsigned long long offset;
	int fd = phys_mapping(page_to_phys(target), &offset);

	return os_map_memory(page_address(page), fd, offset, PAGE_SIZE, 1, !ro,
			     0);
}

static struct fake_grant *grant_of(struct fake_world *w, grant_ref_t ref)
{
	return ref < FAKE_REFS ? &w->grant[ref] : NULL;
}

/* Errno of a use of @ref by the domain of @d; with w->lock held. */
static int grant_check(struct fake_world *w, struct xpv_dev *d, grant_ref_t ref,
		       bool write)
{
	struct fake_grant *g = grant_of(w, ref);

	if (!g || !g->granted || g->peer != fake_own_dom(d))
		return -EINVAL;
	if (write && g->ro)
		return -EACCES;
	return 0;
}

/* ------------------------------------------------------------------ */
/* Grants we give                                                      */
/* ------------------------------------------------------------------ */

int hyp_gref_alloc(unsigned int n, grant_ref_t *refs)
{
	struct fake_world *w = fake_now;
	int err = fake_call(w, FAKE_GREF_ALLOC);
	unsigned long flags;
	unsigned int i;

	might_sleep();
	if (err)
		return err;
	spin_lock_irqsave(&w->lock, flags);
	if (n > w->nfree) {
		spin_unlock_irqrestore(&w->lock, flags);
		return -ENOSPC;
	}
	for (i = 0; i < n; i++) {
		refs[i] = w->free_ref[--w->nfree];
		w->grant[refs[i]].reserved = true;
	}
	spin_unlock_irqrestore(&w->lock, flags);
	return 0;
}

/* With w->lock held. */
static void ref_free(struct fake_world *w, grant_ref_t ref)
{
	w->grant[ref] = (struct fake_grant) {};
	w->free_ref[w->nfree++] = ref;
}

void hyp_gref_free(unsigned int n, const grant_ref_t *refs)
{
	struct fake_world *w = fake_now;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct fake_grant *g = grant_of(w, refs[i]);

		if (!g || !g->reserved || g->granted) {
			fake_blame(w, "grant reference %u freed while %s",
				   refs[i], g && g->granted ? "granting" :
				   "not reserved");
			continue;
		}
		spin_lock_irqsave(&w->lock, flags);
		ref_free(w, refs[i]);
		spin_unlock_irqrestore(&w->lock, flags);
	}
}

void hyp_grant(grant_ref_t ref, domid_t peer, struct page *page, bool readonly)
{
	struct fake_world *w = fake_now;
	struct fake_grant *g = grant_of(w, ref);

	fake_call(w, FAKE_GRANT);
	if (!g || !g->reserved || g->granted) {
		fake_blame(w, "grant through reference %u, which is %s", ref,
			   g && g->granted ? "granting already" :
			   "not reserved");
		return;
	}
	g->page = page;
	g->peer = peer;
	g->ro = readonly;
	/* Like the flags of the real entry: last. */
	WRITE_ONCE(g->granted, true);
}

bool hyp_ungrant(grant_ref_t ref)
{
	struct fake_world *w = fake_now;
	struct fake_grant *g = grant_of(w, ref);
	int busy = fake_call(w, FAKE_UNGRANT);

	if (!g || !g->granted) {
		fake_blame(w, "revoke of reference %u, which grants nothing",
			   ref);
		return true;
	}
	if (busy || g->maps || READ_ONCE(w->keep))
		return false;
	g->granted = false;
	g->page = NULL;
	return true;
}

void hyp_grant_abandon(grant_ref_t ref, struct page *page)
{
	struct fake_world *w = fake_now;
	struct fake_grant *g = grant_of(w, ref);

	if (!g || !g->granted || g->abandoned) {
		fake_blame(w, "reference %u abandoned without a grant or twice",
			   ref);
		return;
	}
	if (g->maps)
		fake_call(w, FAKE_ABANDON);
	g->page = page;
	g->abandoned = true;
	fake_grant_sweep(w);
}

/* Free what was abandoned and nobody maps any more. */
void fake_grant_sweep(struct fake_world *w)
{
	unsigned long flags;
	unsigned int i;

	if (!w->grant || READ_ONCE(w->keep))
		return;
	for (i = FAKE_FIRST_REF; i < FAKE_REFS; i++) {
		struct fake_grant *g = &w->grant[i];
		struct page *page = g->page;

		if (!g->abandoned || g->maps)
			continue;
		spin_lock_irqsave(&w->lock, flags);
		ref_free(w, i);
		spin_unlock_irqrestore(&w->lock, flags);
		put_page(page);
	}
}

void fake_keep(struct fake_world *w, bool on)
{
	WRITE_ONCE(w->keep, on);
	fake_grant_sweep(w);
}

void fake_grant_limit(struct fake_world *w, unsigned int n)
{
	unsigned long flags;

	spin_lock_irqsave(&w->lock, flags);
	w->nfree = min(w->nfree, n);
	spin_unlock_irqrestore(&w->lock, flags);
}

grant_ref_t fake_grant_page(struct xpv_dev *d, struct page *page, bool ro)
{
	grant_ref_t ref;

	if (hyp_gref_alloc(1, &ref))
		return XPV_GREF_NONE;
	hyp_grant(ref, d->peer, page, ro);
	return ref;
}

bool fake_grant_end(grant_ref_t ref)
{
	if (!hyp_ungrant(ref))
		return false;
	hyp_gref_free(1, &ref);
	return true;
}

struct page *fake_granted(struct fake_world *w, grant_ref_t ref)
{
	struct fake_grant *g = grant_of(w, ref);

	return g && g->granted ? g->page : NULL;
}

/* ------------------------------------------------------------------ */
/* Copies                                                              */
/* ------------------------------------------------------------------ */

static bool copy_fits(const struct xpv_copy *op)
{
	return op->len && op->page_off + op->len <= XPV_PAGE_SIZE &&
	       op->gref_off + op->len <= XPV_PAGE_SIZE;
}

static int copy_one(struct fake_world *w, struct xpv_dev *d,
		    const struct xpv_copy *op)
{
	void *ours = page_address(op->page) + op->page_off;
	unsigned long flags;
	void *theirs;
	int err;

	if (!copy_fits(op)) {
		fake_blame(w, "copy of %u bytes from %u to %u leaves a page",
			   op->len, op->page_off, op->gref_off);
		return -EINVAL;
	}
	spin_lock_irqsave(&w->lock, flags);
	err = grant_check(w, d, op->gref, op->to_peer);
	if (!err) {
		theirs = page_address(w->grant[op->gref].page) + op->gref_off;
		if (op->to_peer)
			memcpy(theirs, ours, op->len);
		else
			memcpy(ours, theirs, op->len);
	}
	spin_unlock_irqrestore(&w->lock, flags);
	return err;
}

/* Statuses that no hypervisor should leave are failures all the same. */
static int op_errno(int err)
{
	return err == FAKE_UNTOUCHED || err == FAKE_POSITIVE ? -EIO : err;
}

void hyp_copy(struct xpv_dev *d, struct xpv_copy *op, struct gnttab_copy *raw,
	      unsigned int n)
{
	struct fake_world *w = to_fake(d)->p->w;
	int all = fake_call(w, FAKE_COPY);
	unsigned int i;

	if (!n || !raw)
		fake_blame(w, "copy of nothing, or without scratch");
	for (i = 0; i < n; i++) {
		int err = fake_op(w, FAKE_COPY);

		err = all ?: err;
		/* Read both scripts so that counts do not depend on luck. */
		op[i].status = err ? op_errno(err) : copy_one(w, d, &op[i]);
	}
}

/* ------------------------------------------------------------------ */
/* Mappings                                                            */
/* ------------------------------------------------------------------ */

static struct fake_map *map_of(struct fake_world *w, struct page *page)
{
	return page ? xa_load(&w->maps, page_to_pfn(page)) : NULL;
}

static int map_one(struct fake_world *w, struct xpv_dev *d,
		   struct fake_map *m, grant_ref_t ref, bool ro)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&w->lock, flags);
	err = grant_check(w, d, ref, !ro);
	if (!err)
		w->grant[ref].maps++;
	spin_unlock_irqrestore(&w->lock, flags);
	if (err)
		return err;
	if (page_show(m->page, w->grant[ref].page, ro)) {
		w->grant[ref].maps--;
		return -ENOMEM;
	}
	m->mapped = true;
	m->ref = ref;
	m->ro = ro;
	m->handle = ++w->handle;
	return 0;
}

static void unmap_one(struct fake_world *w, struct fake_map *m)
{
	page_show(m->page, m->page, false);
	m->mapped = false;
	w->grant[m->ref].maps--;
}

void hyp_map(struct xpv_dev *d, struct xpv_map *op, unsigned int n)
{
	struct fake_world *w = to_fake(d)->p->w;
	int all = fake_call(w, FAKE_MAP);
	unsigned int i;

	might_sleep();
	for (i = 0; i < n; i++) {
		struct fake_map *m = map_of(w, op[i].page);
		int err = fake_op(w, FAKE_MAP);

		err = op_errno(all ?: err);
		if (!m || m->mapped || m->ring) {
			fake_blame(w, "map at a page that is %s",
				   m ? "in use" : "not from hyp_pages_get()");
			err = -EINVAL;
		}
		op[i].status = err ?: map_one(w, d, m, op[i].gref,
					      op[i].readonly);
		op[i].handle = op[i].status ? ~0U : m->handle;
	}
}

void hyp_unmap(struct xpv_dev *d, struct xpv_map *op, unsigned int n)
{
	struct fake_world *w = to_fake(d)->p->w;
	int all = fake_call(w, FAKE_UNMAP);
	unsigned int i;

	might_sleep();
	for (i = 0; i < n; i++) {
		struct fake_map *m = map_of(w, op[i].page);
		int err = fake_op(w, FAKE_UNMAP);

		if (!m || !m->mapped || m->handle != op[i].handle ||
		    m->ro != op[i].readonly) {
			fake_blame(w, "unmap of what was not mapped so");
			continue;
		}
		if (all || err) {
			w->leaked++;
			op[i].page = NULL;
			continue;
		}
		unmap_one(w, m);
	}
	fake_grant_sweep(w);
}

static int page_add(struct fake_world *w, struct page *page, bool ring)
{
	struct fake_map *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return -ENOMEM;
	m->page = page;
	m->ring = ring;
	return xa_err(xa_store(&w->maps, page_to_pfn(page), m, GFP_KERNEL));
}

static void page_del(struct fake_world *w, struct page *page)
{
	kfree(xa_erase(&w->maps, page_to_pfn(page)));
}

int hyp_pages_get(unsigned int n, struct page **pages)
{
	struct fake_world *w = fake_now;
	unsigned int i;

	might_sleep();
	if (fake_call(w, FAKE_PAGES_GET))
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (pages[i] && !page_add(w, pages[i], false))
			continue;
		hyp_pages_put(i, pages);
		return -ENOMEM;
	}
	return 0;
}

void hyp_pages_put(unsigned int n, struct page **pages)
{
	struct fake_world *w = fake_now;
	unsigned int i;

	might_sleep();
	for (i = 0; i < n; i++) {
		struct fake_map *m = map_of(w, pages[i]);

		if (!pages[i])
			continue;
		if (!m || m->mapped || m->ring) {
			fake_blame(w, "a page given back that is %s",
				   m ? "mapped" : "not from hyp_pages_get()");
			continue;
		}
		page_del(w, pages[i]);
		__free_page(pages[i]);
	}
}

/* ------------------------------------------------------------------ */
/* Ring pages                                                          */
/* ------------------------------------------------------------------ */

int hyp_ring_share(struct xpv_dev *d, struct xpv_ring_mem *m,
		   unsigned int npages)
{
	struct fake_world *w = to_fake(d)->p->w;
	int err = fake_call(w, FAKE_RING_SHARE);
	unsigned int i;
	void *addr;

	might_sleep();
	*m = (struct xpv_ring_mem) {};
	if (err)
		return err;
	if (!npages || npages > XPV_RING_MAX_PAGES)
		return -EINVAL;
	addr = alloc_pages_exact(npages * XPV_PAGE_SIZE,
				 GFP_KERNEL | __GFP_ZERO);
	if (!addr)
		return -ENOMEM;
	if (hyp_gref_alloc(npages, m->gref)) {
		free_pages_exact(addr, npages * XPV_PAGE_SIZE);
		return -ENOSPC;
	}
	for (i = 0; i < npages; i++)
		hyp_grant(m->gref[i], d->peer,
			  virt_to_page(addr + i * XPV_PAGE_SIZE), false);
	m->addr = (void __peer __force *)addr;
	m->npages = npages;
	w->rings++;
	return 0;
}

void hyp_ring_unshare(struct xpv_dev *d, struct xpv_ring_mem *m)
{
	void *addr = (void __force *)m->addr;
	unsigned int i;

	might_sleep();
	if (!addr)
		return;
	for (i = 0; i < m->npages; i++)
		hyp_grant_abandon(m->gref[i],
				  virt_to_page(addr + i * XPV_PAGE_SIZE));
	to_fake(d)->p->w->rings--;
	*m = (struct xpv_ring_mem) {};
}

static void ring_unmap_pages(struct fake_world *w, void *addr, unsigned int n,
			     unsigned int total)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct page *page = virt_to_page(addr + i * XPV_PAGE_SIZE);
		struct fake_map *m = map_of(w, page);

		if (m->mapped)
			unmap_one(w, m);
		page_del(w, page);
	}
	free_pages_exact(addr, total * XPV_PAGE_SIZE);
}

int hyp_ring_map(struct xpv_dev *d, struct xpv_ring_mem *m)
{
	struct fake_world *w = to_fake(d)->p->w;
	int err = fake_call(w, FAKE_RING_MAP);
	unsigned int i;
	void *addr;

	might_sleep();
	m->addr = NULL;
	if (err)
		return err;
	if (!m->npages || m->npages > XPV_RING_MAX_PAGES)
		return -EINVAL;
	addr = alloc_pages_exact(m->npages * XPV_PAGE_SIZE, GFP_KERNEL);
	if (!addr)
		return -ENOMEM;
	for (i = 0; i < m->npages && !err; i++) {
		struct page *page = virt_to_page(addr + i * XPV_PAGE_SIZE);

		err = page_add(w, page, true);
		if (!err)
			err = map_one(w, d, map_of(w, page), m->gref[i], false);
	}
	if (err) {
		ring_unmap_pages(w, addr, i, m->npages);
		return err;
	}
	m->addr = (void __peer __force *)addr;
	w->rings++;
	return 0;
}

void hyp_ring_unmap(struct xpv_dev *d, struct xpv_ring_mem *m)
{
	struct fake_world *w = to_fake(d)->p->w;

	might_sleep();
	if (!m->addr)
		return;
	ring_unmap_pages(w, (void __force *)m->addr, m->npages, m->npages);
	m->addr = NULL;
	w->rings--;
	fake_grant_sweep(w);
}

/* ------------------------------------------------------------------ */
/* Beginning, end, counting                                            */
/* ------------------------------------------------------------------ */

int fake_grant_setup(struct fake_world *w)
{
	grant_ref_t ref;

	xa_init(&w->maps);
	w->grant = kvcalloc(FAKE_REFS, sizeof(*w->grant), GFP_KERNEL);
	w->free_ref = kvcalloc(FAKE_REFS, sizeof(*w->free_ref), GFP_KERNEL);
	if (!w->grant || !w->free_ref)
		return -ENOMEM;
	for (ref = FAKE_REFS - 1; ref >= FAKE_FIRST_REF; ref--)
		w->free_ref[w->nfree++] = ref;
	return 0;
}

/* Pages that are still shown elsewhere get their own memory back. */
void fake_grant_free(struct fake_world *w)
{
	struct fake_map *m;
	unsigned long pfn;

	if (!w->grant)
		return;
	xa_for_each(&w->maps, pfn, m) {
		if (m->mapped)
			unmap_one(w, m);
		if (!m->ring)
			__free_page(m->page);
		kfree(m);
	}
	xa_destroy(&w->maps);
	fake_grant_sweep(w);
	kvfree(w->grant);
	kvfree(w->free_ref);
}

/* With w->lock held. */
void fake_grant_count(struct fake_world *w, struct fake_use *u)
{
	struct fake_map *m;
	unsigned long pfn;
	unsigned int i;

	for (i = FAKE_FIRST_REF; i < FAKE_REFS; i++) {
		u->refs += w->grant[i].reserved;
		u->grants += w->grant[i].granted;
		u->maps += w->grant[i].maps;
		u->abandoned += w->grant[i].abandoned;
	}
	xa_for_each(&w->maps, pfn, m)
		u->pages += !m->ring;
}

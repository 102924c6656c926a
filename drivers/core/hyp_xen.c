// SPDX-License-Identifier: GPL-2.0
/*
 * The seam on real Xen: grants, copies, mappings, ring pages and events.
 *
 * Translates struct page and offset to frames, runs the hypercall and turns
 * what the hypervisor left behind into an errno.  Decides nothing.  A status
 * counts as success only when it is exactly "okay": every operation is preset
 * to an error, so one that the hypervisor did not reach fails by itself.
 *
 * Contexts are those of hyp.h; hyp_copy(), hyp_grant(), hyp_ungrant() and the
 * event functions run in softirq and hard interrupt context.
 */
#include <linux/gfp.h>
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <asm/xen/hypercall.h>
#include <asm/xen/page.h>
#include <xen/events.h>
#include <xen/grant_table.h>
#include <xen/page.h>
#include <xpv/compat.h>
#include "hyp_xen.h"

static_assert(XPV_PAGE_SIZE == XEN_PAGE_SIZE);
static_assert(XPV_PAGE_SIZE == PAGE_SIZE);
static_assert(XPV_RING_MAX_PAGES == XENBUS_MAX_RING_GRANTS);

/* What the hypervisor says, in the kernel's words. */
static int grant_errno(int status)
{
	switch (status) {
	case GNTST_okay:
		return 0;
	case GNTST_bad_domain:
		return -ESRCH;
	case GNTST_bad_gntref:
	case GNTST_bad_handle:
		return -EINVAL;
	case GNTST_permission_denied:
		return -EACCES;
	case GNTST_no_device_space:
		return -ENOSPC;
	case GNTST_eagain:
		return -EAGAIN;
	case GNTST_bad_page:
		return -EFAULT;
	default:
		return -EIO;
	}
}

/* ------------------------------------------------------------------ */
/* Grants we give                                                      */
/* ------------------------------------------------------------------ */

/* The kernel's interface counts a batch of references in 16 bits. */
#define GREF_BATCH	4096U

int hyp_gref_alloc(unsigned int n, grant_ref_t *refs)
{
	unsigned int done = 0;

	while (done < n) {
		unsigned int i, part = min(n - done, GREF_BATCH);
		grant_ref_t head;

		if (gnttab_alloc_grant_references(part, &head)) {
			hyp_gref_free(done, refs);
			return -ENOSPC;
		}
		for (i = 0; i < part; i++)
			refs[done + i] = gnttab_claim_grant_reference(&head);
		done += part;
	}
	return 0;
}
XPV_EXPORT(hyp_gref_alloc);

void hyp_gref_free(unsigned int n, const grant_ref_t *refs)
{
	while (n--)
		gnttab_free_grant_reference(refs[n]);
}
XPV_EXPORT(hyp_gref_free);

void hyp_grant(grant_ref_t ref, domid_t peer, struct page *page, bool readonly)
{
	gnttab_page_grant_foreign_access_ref_one(ref, peer, page, readonly);
}
XPV_EXPORT(hyp_grant);

bool hyp_ungrant(grant_ref_t ref)
{
	return gnttab_end_foreign_access_ref(ref);
}
XPV_EXPORT(hyp_ungrant);

void hyp_grant_abandon(grant_ref_t ref, struct page *page)
{
	gnttab_end_foreign_access(ref, page);
}
XPV_EXPORT(hyp_grant_abandon);

/* ------------------------------------------------------------------ */
/* Copies                                                              */
/* ------------------------------------------------------------------ */

/*
 * The local side.  A page that is itself mapped from a third domain (another
 * guest's packet on its way through a bridge) has no frame of ours; it is named
 * by that domain's grant.
 */
static void copy_local(struct gnttab_copy *raw, const struct xpv_copy *op)
{
	typeof(raw->source) *side = op->to_peer ? &raw->source : &raw->dest;
	struct xen_page_foreign *foreign = NULL;

	if (!PageCompound(op->page))
		foreign = xen_page_foreign(op->page);
	side->offset = op->page_off;
	if (foreign) {
		side->domid = foreign->domid;
		side->u.ref = foreign->gref;
		raw->flags |= op->to_peer ? GNTCOPY_source_gref :
					    GNTCOPY_dest_gref;
	} else {
		side->domid = DOMID_SELF;
		side->u.gmfn = xen_page_to_gfn(op->page);
	}
}

static void copy_remote(struct gnttab_copy *raw, const struct xpv_copy *op,
			domid_t peer)
{
	typeof(raw->source) *side = op->to_peer ? &raw->dest : &raw->source;

	side->offset = op->gref_off;
	side->domid = peer;
	side->u.ref = op->gref;
	raw->flags |= op->to_peer ? GNTCOPY_dest_gref : GNTCOPY_source_gref;
}

void hyp_copy(struct xpv_dev *d, struct xpv_copy *op, struct gnttab_copy *raw,
	      unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		raw[i].flags = 0;
		raw[i].len = op[i].len;
		raw[i].status = GNTST_general_error;
		copy_local(&raw[i], &op[i]);
		copy_remote(&raw[i], &op[i], d->peer);
	}
	/* A failed call leaves the preset in all it did not get to. */
	HYPERVISOR_grant_table_op(GNTTABOP_copy, raw, n);
	for (i = 0; i < n; i++)
		op[i].status = grant_errno(raw[i].status);
}
XPV_EXPORT(hyp_copy);

/* ------------------------------------------------------------------ */
/* Mappings                                                            */
/* ------------------------------------------------------------------ */

/*
 * Operations of one hypercall: those of an indirect request of 32 segments, in
 * about 1.3 KiB of stack.
 */
#define MAP_CHUNK	32U

static phys_addr_t page_addr(struct page *page)
{
	return (phys_addr_t)(unsigned long)pfn_to_kaddr(page_to_pfn(page));
}

static u32 map_flags(const struct xpv_map *op)
{
	return GNTMAP_host_map | (op->readonly ? GNTMAP_readonly : 0);
}

/*
 * Mapped by the hypervisor although the call as a whole failed: nobody will use
 * it.  Should the unmap fail as well, the frame stays mapped at a page that is
 * given back; there is nothing left to try.
 */
static void map_undo(struct xpv_map *op)
{
	struct gnttab_unmap_grant_ref raw;

	gnttab_set_unmap_op(&raw, page_addr(op->page), map_flags(op),
			    op->handle);
	gnttab_unmap_refs(&raw, NULL, &op->page, 1);
}

static void map_chunk(struct xpv_dev *d, struct xpv_map *op, unsigned int n)
{
	struct gnttab_map_grant_ref raw[MAP_CHUNK];
	struct page *pages[MAP_CHUNK];
	unsigned int i;
	int err;

	for (i = 0; i < n; i++) {
		pages[i] = op[i].page;
		/* This presets a positive status, which is no success. */
		gnttab_set_map_op(&raw[i], page_addr(pages[i]),
				  map_flags(&op[i]), op[i].gref, d->peer);
	}
	err = gnttab_map_refs(raw, NULL, pages, n);
	for (i = 0; i < n; i++) {
		op[i].status = grant_errno(raw[i].status);
		op[i].handle = raw[i].handle;
		if (!err || op[i].status)
			continue;
		map_undo(&op[i]);
		op[i].status = -EIO;
	}
}

void hyp_map(struct xpv_dev *d, struct xpv_map *op, unsigned int n)
{
	while (n) {
		unsigned int part = min(n, MAP_CHUNK);

		map_chunk(d, op, part);
		op += part;
		n -= part;
	}
}
XPV_EXPORT(hyp_map);

static void unmap_chunk(struct xpv_dev *d, struct xpv_map *op, unsigned int n)
{
	struct gnttab_unmap_grant_ref raw[MAP_CHUNK];
	struct gntab_unmap_queue_data job = { .unmap_ops = raw, .count = n };
	struct page *pages[MAP_CHUNK];
	unsigned int i;

	for (i = 0; i < n; i++) {
		pages[i] = op[i].page;
		gnttab_set_unmap_op(&raw[i], page_addr(pages[i]),
				    map_flags(&op[i]), op[i].handle);
		raw[i].status = GNTST_general_error;
	}
	job.pages = pages;
	/* Waits until nobody else holds one of the pages. */
	gnttab_unmap_refs_sync(&job);
	for (i = 0; i < n; i++) {
		if (raw[i].status == GNTST_okay)
			continue;
		op[i].page = NULL;
		dev_err_once(d->dev, "unmap refused (%d), page lost\n",
			     raw[i].status);
	}
}

void hyp_unmap(struct xpv_dev *d, struct xpv_map *op, unsigned int n)
{
	while (n) {
		unsigned int part = min(n, MAP_CHUNK);

		unmap_chunk(d, op, part);
		op += part;
		n -= part;
	}
}
XPV_EXPORT(hyp_unmap);

int hyp_pages_get(unsigned int n, struct page **pages)
{
	return gnttab_alloc_pages(n, pages) ? -ENOMEM : 0;
}
XPV_EXPORT(hyp_pages_get);

void hyp_pages_put(unsigned int n, struct page **pages)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (pages[i])
			gnttab_free_pages(1, &pages[i]);
}
XPV_EXPORT(hyp_pages_put);

/* ------------------------------------------------------------------ */
/* Ring pages                                                          */
/* ------------------------------------------------------------------ */

int hyp_ring_share(struct xpv_dev *d, struct xpv_ring_mem *m,
		   unsigned int npages)
{
	unsigned int i;
	void *addr;

	*m = (struct xpv_ring_mem) {};
	if (!npages || npages > XPV_RING_MAX_PAGES)
		return -EINVAL;
	/* Not a compound page: each page is freed when its grant ends. */
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
	return 0;
}
XPV_EXPORT(hyp_ring_share);

void hyp_ring_unshare(struct xpv_dev *d, struct xpv_ring_mem *m)
{
	void *addr = (void __force *)m->addr;
	unsigned int i;

	if (!addr)
		return;
	for (i = 0; i < m->npages; i++)
		hyp_grant_abandon(m->gref[i],
				  virt_to_page(addr + i * XPV_PAGE_SIZE));
	*m = (struct xpv_ring_mem) {};
}
XPV_EXPORT(hyp_ring_unshare);

/*
 * The bus logs each ring that it cannot map.  A frontend that comes back with
 * bad grants all the time is turned away before that.
 */
static bool map_allowed(struct hyp_dev *h)
{
	if (time_after(jiffies, h->map_since + HYP_LOG_INTERVAL)) {
		h->map_since = jiffies;
		h->map_failed = 0;
	}
	return h->map_failed < HYP_LOG_BURST;
}

int hyp_ring_map(struct xpv_dev *d, struct xpv_ring_mem *m)
{
	struct hyp_dev *h = to_hyp_dev(d);
	void *addr;
	int err;

	m->addr = NULL;
	if (!m->npages || m->npages > XPV_RING_MAX_PAGES)
		return -EINVAL;
	if (!map_allowed(h))
		return -EBUSY;
	err = xenbus_map_ring_valloc(h->xb, m->gref, m->npages, &addr);
	if (err) {
		h->map_failed++;
		return err < 0 ? err : -EIO;
	}
	m->addr = (void __peer __force *)addr;
	return 0;
}
XPV_EXPORT(hyp_ring_map);

void hyp_ring_unmap(struct xpv_dev *d, struct xpv_ring_mem *m)
{
	if (!m->addr)
		return;
	xenbus_unmap_ring_vfree(to_xb(d), (void __force *)m->addr);
	m->addr = NULL;
}
XPV_EXPORT(hyp_ring_unmap);

/* ------------------------------------------------------------------ */
/* Event channels                                                      */
/* ------------------------------------------------------------------ */

/*
 * The first event may come before binding has returned; without the interrupt
 * number its EOI would be lost and the channel be silent for ever.
 */
static irqreturn_t evt_handler(int irq, void *arg)
{
	struct xpv_evt *e = arg;

	WRITE_ONCE(e->irq, irq);
	e->fn(e->arg);
	return IRQ_HANDLED;
}

/* Interrupt names are kept by reference; @e->hyp holds the copy. */
static int evt_name(struct xpv_evt *e, const char *name)
{
	e->irq = 0;
	e->port = 0;
	e->flags = 0;
	e->hyp = kstrdup(name, GFP_KERNEL);
	return e->hyp ? 0 : -ENOMEM;
}

static void evt_forget(struct xpv_evt *e)
{
	kfree(e->hyp);
	e->hyp = NULL;
	e->port = 0;
}

int hyp_evt_listen(struct xpv_dev *d, struct xpv_evt *e, const char *name)
{
	int err;

	err = evt_name(e, name);
	if (err)
		return err;
	err = xenbus_alloc_evtchn(to_xb(d), &e->port);
	if (err)
		goto err_forget;
	err = bind_evtchn_to_irqhandler_lateeoi(e->port, evt_handler, 0,
						e->hyp, e);
	if (err < 0)
		goto err_free;
	WRITE_ONCE(e->irq, err);
	return 0;

err_free:
	xenbus_free_evtchn(to_xb(d), e->port);
err_forget:
	evt_forget(e);
	return err;
}
XPV_EXPORT(hyp_evt_listen);

int hyp_evt_bind(struct xpv_dev *d, struct xpv_evt *e, evtchn_port_t remote,
		 const char *name)
{
	int err;

	err = evt_name(e, name);
	if (err)
		return err;
	err = bind_interdomain_evtchn_to_irqhandler_lateeoi(to_xb(d), remote,
							    evt_handler, 0,
							    e->hyp, e);
	if (err < 0) {
		evt_forget(e);
		return err;
	}
	WRITE_ONCE(e->irq, err);
	return 0;
}
XPV_EXPORT(hyp_evt_bind);

void hyp_evt_close(struct xpv_evt *e)
{
	int irq = e->irq;

	if (!irq)
		return;
	/*
	 * Silence the handler first: it would write the number again, and a
	 * late notify or EOI must not reach whoever gets the number next.
	 */
	disable_irq(irq);
	WRITE_ONCE(e->irq, 0);
	unbind_from_irqhandler(irq, e);
	evt_forget(e);
}
XPV_EXPORT(hyp_evt_close);

void hyp_evt_notify(struct xpv_evt *e)
{
	int irq = READ_ONCE(e->irq);

	if (irq)
		notify_remote_via_irq(irq);
}
XPV_EXPORT(hyp_evt_notify);

void hyp_evt_eoi(struct xpv_evt *e, bool spurious)
{
	int irq = READ_ONCE(e->irq);

	if (irq)
		xen_irq_lateeoi(irq, spurious ? XEN_EOI_FLAG_SPURIOUS : 0);
}
XPV_EXPORT(hyp_evt_eoi);

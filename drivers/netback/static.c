// SPDX-License-Identifier: GPL-2.0
/*
 * Static grants: pages of the guest that stay mapped, so that packets in them
 * cost a memcpy and no grant copy. "Tx" is the guest's transmit.
 *
 * Decides which of a batch's copies need no hypercall, and carries out the
 * control messages that fill and empty a queue's table.  Only where bytes come
 * from or go to changes: what is planned, checked and counted stays the same,
 * and each byte of the guest is still copied once before anybody looks at it.
 * A reference that is not in the table, or whose mapping does not allow the
 * direction, is left to the hypervisor.
 *
 * Tables change in the control ring's work item and when it cannot run any
 * more.  The data paths look them up under RCU; a mapping goes away after a
 * grace period.
 */
#include <linux/slab.h>
#include <xpv/bulk.h>
#include "netback.h"

/* One mapped page, in the table under its reference. */
struct xnb_static {
	struct xpv_map map;
};

/**
 * struct change - pages that come to a table or leave it together
 * @n: how many
 * @map: operations of the hypervisor
 * @page: scratch, where they are mapped
 * @s: entries of the table
 */
struct change {
	unsigned int n;
	struct xpv_map *map;
	struct page **page;
	struct xnb_static **s;
};

/* ------------------------------------------------------------------ */
/* Data path                                                           */
/* ------------------------------------------------------------------ */

/*
 * References of one guest lie close together, so a table indexed by their low
 * bits answers nearly every question; the xarray has the others.
 */
static struct xnb_static *table_find(struct xnb_queue *q, grant_ref_t ref)
{
	struct xnb_static *s = READ_ONCE(q->quick[ref % XNB_QUICK]);

	return s && s->map.gref == ref ? s : xa_load(&q->mapped, ref);
}

static void copy_mapped(const struct xpv_copy *op, struct page *mapped)
{
	u8 *local = (u8 *)page_address(op->page) + op->page_off;
	u8 *theirs = (u8 *)page_address(mapped) + op->gref_off;

	if (op->to_peer)
		xpv_bulk_copy(theirs, local, op->len);
	else
		xpv_bulk_copy(local, theirs, op->len);
}

/*
 * Carry out the copies whose page is mapped. The others are moved to @rest,
 * their indices to @at. Return: how many those are.
 */
static unsigned int copy_hits(struct xnb_queue *q, struct xpv_copy *op,
			      unsigned int n, struct xnb_static_rest *rest)
{
	struct xnb_static *s = NULL;
	unsigned int i, left = 0;

	rcu_read_lock();
	for (i = 0; i < n; i++) {
		/* Pieces of one page follow each other. */
		if (!s || s->map.gref != op[i].gref)
			s = table_find(q, op[i].gref);
		if (s && !(op[i].to_peer && s->map.readonly)) {
			copy_mapped(&op[i], s->map.page);
			op[i].status = 0;
			continue;
		}
		rest->at[left] = i;
		rest->op[left++] = op[i];
	}
	rcu_read_unlock();
	return left;
}

unsigned int xnb_static_run(struct xnb_queue *q, struct xpv_copy_batch *b,
			    struct xnb_static_rest *rest)
{
	unsigned int i, left;

	if (xa_empty(&q->mapped) || !rest->op) {
		xpv_copy_run(b);
		return 0;
	}
	left = copy_hits(q, b->op, b->n, rest);
	if (!left)
		return b->n;
	hyp_copy(b->d, rest->op, b->raw, left);
	for (i = 0; i < left; i++)
		b->op[rest->at[i]].status = rest->op[i].status;
	return b->n - left;
}

int xnb_static_init(struct xnb_queue *q)
{
	q->quick = kvcalloc(XNB_QUICK, sizeof(*q->quick), GFP_KERNEL);
	return q->quick ? 0 : -ENOMEM;
}

int xnb_static_rest_init(struct xnb_static_rest *rest, unsigned int max)
{
	rest->op = kvcalloc(max, sizeof(*rest->op), GFP_KERNEL);
	rest->at = kvcalloc(max, sizeof(*rest->at), GFP_KERNEL);
	return rest->op && rest->at ? 0 : -ENOMEM;
}

void xnb_static_rest_exit(struct xnb_static_rest *rest)
{
	kvfree(rest->op);
	kvfree(rest->at);
	rest->op = NULL;
	rest->at = NULL;
}

/* ------------------------------------------------------------------ */
/* Tables                                                              */
/* ------------------------------------------------------------------ */

static int change_init(struct change *c, unsigned int room)
{
	c->n = 0;
	c->map = kvcalloc(room, sizeof(*c->map), GFP_KERNEL);
	c->page = kvcalloc(room, sizeof(*c->page), GFP_KERNEL);
	c->s = kvcalloc(room, sizeof(*c->s), GFP_KERNEL);
	return c->map && c->page && c->s ? 0 : -ENOMEM;
}

static void change_exit(struct change *c)
{
	kvfree(c->map);
	kvfree(c->page);
	kvfree(c->s);
}

/* Unmap all of @c; no user of the pages is left. */
static void change_unmap(struct xnb_vif *vif, struct change *c)
{
	unsigned int i;

	if (!c->n)
		return;
	hyp_unmap(vif->d, c->map, c->n);
	/* A page that cannot be unmapped is NULL now and lost. */
	for (i = 0; i < c->n; i++)
		c->page[i] = c->map[i].page;
	hyp_pages_put(c->n, c->page);
	c->n = 0;
}

/* Map all of @c, or none. */
static int change_map(struct xnb_vif *vif, struct change *c)
{
	unsigned int i, good = 0;

	if (hyp_pages_get(c->n, c->page))
		return -ENOMEM;
	for (i = 0; i < c->n; i++)
		c->map[i].page = c->page[i];
	hyp_map(vif->d, c->map, c->n);
	for (i = 0; i < c->n; i++) {
		if (c->map[i].status)
			hyp_pages_put(1, &c->map[i].page);
		else
			c->map[good++] = c->map[i];
	}
	if (good == c->n)
		return 0;
	c->n = good;
	change_unmap(vif, c);
	return -EIO;
}

/* Entries are in no table any more; whoever found one has finished then. */
static void change_free(struct change *c)
{
	unsigned int i;

	if (!c->n)
		return;
	synchronize_net();
	for (i = 0; i < c->n; i++)
		kfree(c->s[i]);
}

/* Nobody who looks from now on finds @ref. Return: its entry, or NULL. */
static struct xnb_static *table_erase(struct xnb_queue *q, grant_ref_t ref)
{
	struct xnb_static **quick = &q->quick[ref % XNB_QUICK];
	struct xnb_static *s = xa_erase(&q->mapped, ref);

	if (s && *quick == s)
		WRITE_ONCE(*quick, NULL);
	return s;
}

/* Enter all mapped pages of @c, or none. */
static int table_add(struct xnb_queue *q, struct change *c)
{
	unsigned int i;
	int err;

	for (i = 0; i < c->n; i++) {
		struct xnb_static *s = kmalloc(sizeof(*s), GFP_KERNEL);

		if (!s) {
			err = -ENOMEM;
			goto undo;
		}
		s->map = c->map[i];
		/* Refuses a reference that is there already. */
		err = xa_insert(&q->mapped, s->map.gref, s, GFP_KERNEL);
		if (err) {
			kfree(s);
			goto undo;
		}
		c->s[i] = s;
		/* The entry before its pointer: pairs with the data path's dependency. */
		smp_store_release(&q->quick[s->map.gref % XNB_QUICK], s);
	}
	q->nmapped += c->n;
	q->stats.static_maps += c->n;
	return 0;

undo:
	while (i)
		table_erase(q, c->map[--i].gref);
	return err;
}

/* Take @ref out of the table, if it is there. */
static bool table_take(struct xnb_queue *q, grant_ref_t ref, struct change *c)
{
	struct xnb_static *s = table_erase(q, ref);

	if (!s)
		return false;
	q->nmapped--;
	c->s[c->n] = s;
	c->map[c->n++] = s->map;
	return true;
}

/* The pages of @n entries, which nobody finds or uses any more. */
static void exit_some(struct xnb_vif *vif, struct xpv_map *map, unsigned int n)
{
	unsigned int i;

	if (!n)
		return;
	hyp_unmap(vif->d, map, n);
	for (i = 0; i < n; i++)
		hyp_pages_put(1, &map[i].page);
}

void xnb_static_exit(struct xnb_queue *q)
{
	struct xpv_map map[16];
	struct xnb_static *s;
	unsigned long ref;
	unsigned int n = 0;

	/* Neither data path nor control ring run: no grace period, no memory. */
	xa_for_each(&q->mapped, ref, s) {
		table_erase(q, ref);
		map[n++] = s->map;
		kfree(s);
		if (n == ARRAY_SIZE(map)) {
			exit_some(q->vif, map, n);
			n = 0;
		}
	}
	exit_some(q->vif, map, n);
	q->nmapped = 0;
	xa_destroy(&q->mapped);
	kvfree(q->quick);
	q->quick = NULL;
}

/* ------------------------------------------------------------------ */
/* Messages                                                            */
/* ------------------------------------------------------------------ */

u32 xnb_static_size(struct xnb_vif *vif, const u32 *arg, u32 *out)
{
	if (!READ_ONCE(xnb_statics))
		return XEN_NETIF_CTRL_STATUS_NOT_SUPPORTED;
	if (arg[0] >= vif->ctrl.queues)
		return XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER;
	*out = min(READ_ONCE(xnb_statics), XNB_STATICS_MAX);
	return XEN_NETIF_CTRL_STATUS_SUCCESS;
}

/* The guest's list, copied once: @list has room for a whole page. */
static int list_copy(struct xnb_vif *vif, struct page *list, grant_ref_t ref,
		     unsigned int n, bool back)
{
	struct xpv_copy op = {
		.page = list,
		.gref = ref,
		.len = n * sizeof(struct xpv_net_gref),
		.to_peer = back,
	};
	struct gnttab_copy raw;

	hyp_copy(vif->d, &op, &raw, 1);
	return op.status;
}

static u32 static_add(struct xnb_queue *q, const struct xpv_net_gref *list,
		      struct change *c, unsigned int n)
{
	int err;

	for (c->n = 0; c->n < n; c->n++) {
		if (list[c->n].flags & ~XPV_NET_GREF_READONLY)
			return XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER;
		c->map[c->n].gref = list[c->n].ref;
		c->map[c->n].readonly = list[c->n].flags & XPV_NET_GREF_READONLY;
	}
	err = change_map(q->vif, c);
	if (!err) {
		err = table_add(q, c);
		if (err) {
			change_free(c);
			change_unmap(q->vif, c);
		}
	}
	if (!err)
		return XEN_NETIF_CTRL_STATUS_SUCCESS;
	return err == -ENOMEM ? XEN_NETIF_CTRL_STATUS_BUFFER_OVERFLOW :
				XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER;
}

static u32 static_del(struct xnb_queue *q, struct xpv_net_gref *list,
		      struct change *c, unsigned int n)
{
	u32 status = XEN_NETIF_CTRL_STATUS_SUCCESS;
	unsigned int i;

	for (i = 0; i < n; i++) {
		list[i].status = XEN_NETIF_CTRL_STATUS_SUCCESS;
		if (table_take(q, list[i].ref, c))
			continue;
		list[i].status = XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER;
		status = XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER;
	}
	return status;
}

/* What both messages share: arguments, memory, the guest's list. */
static u32 static_change(struct xnb_vif *vif, const u32 *arg, bool add, u32 *out)
{
	u32 status = XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER;
	struct xnb_queue *q = &vif->queues[arg[0]];
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct change c = {};

	if (!page || change_init(&c, arg[2])) {
		status = XEN_NETIF_CTRL_STATUS_BUFFER_OVERFLOW;
	} else if (list_copy(vif, page, arg[1], arg[2], false)) {
		xpv_peer_fault(vif->d, &vif->faults, XPV_FAULT_GRANT,
			       "control ring: list of %u grants cannot be read",
			       arg[2]);
	} else if (add) {
		status = static_add(q, page_address(page), &c, arg[2]);
	} else {
		status = static_del(q, page_address(page), &c, arg[2]);
		*out = c.n;
		change_free(&c);
		change_unmap(vif, &c);
		/* A guest that made its list read-only learns no details. */
		list_copy(vif, page, arg[1], arg[2], true);
	}
	change_exit(&c);
	if (page)
		__free_page(page);
	return status;
}

u32 xnb_static_add(struct xnb_vif *vif, const u32 *arg, u32 *out)
{
	u32 max = min(READ_ONCE(xnb_statics), XNB_STATICS_MAX);

	if (!max)
		return XEN_NETIF_CTRL_STATUS_NOT_SUPPORTED;
	if (arg[0] >= vif->ctrl.queues || !arg[2])
		return XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER;
	if (arg[2] > XPV_NET_GREF_LIST ||
	    arg[2] + vif->queues[arg[0]].nmapped > max)
		return XEN_NETIF_CTRL_STATUS_BUFFER_OVERFLOW;
	return static_change(vif, arg, true, out);
}

u32 xnb_static_del(struct xnb_vif *vif, const u32 *arg, u32 *out)
{
	if (arg[0] >= vif->ctrl.queues || !arg[2])
		return XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER;
	if (arg[2] > XPV_NET_GREF_LIST)
		return XEN_NETIF_CTRL_STATUS_BUFFER_OVERFLOW;
	return static_change(vif, arg, false, out);
}

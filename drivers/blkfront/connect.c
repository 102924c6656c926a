// SPDX-License-Identifier: GPL-2.0
/*
 * Connecting: what the backend's keys mean, rings made, our keys published.
 *
 * Decides how many rings of which size, and what the disk can do; it makes no
 * disk and moves no data.  Called with the device's mutex held, mostly in the
 * xenwatch thread: it never waits for the peer.
 */
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <xen/interface/io/protocols.h>
#include <xpv/compat.h>
#include "blkfront.h"

static const struct xpv_key key_queues = {
	.name = "multi-queue-max-queues", .min = 1, .max = XBF_QUEUES_MAX,
	.absent = 1, .clamp = true,
};

static const struct xpv_key key_order = {
	.name = "max-ring-page-order", .max = XBF_RING_ORDER_MAX, .clamp = true,
};

static const struct xpv_key key_pages = {
	.name = "max-ring-pages", .max = XPV_RING_MAX_PAGES, .clamp = true,
};

/**
 * xbf_offer_choose() - ring order from both spellings
 * @order: max-ring-page-order, 0 when absent
 * @pages: max-ring-pages, 0 when absent
 * @o: @order and @old_key are set
 */
void xbf_offer_choose(u32 order, u32 pages, struct xbf_offer *o)
{
	o->old_key = !order && pages > 1;
	o->order = o->old_key ? ilog2(pages) : order;
}

static void read_offer(struct xbf_dev *x, struct xbf_offer *o)
{
	u32 order, pages;

	/* A bad value reads as if absent, and was reported. */
	xpv_key_read(x->d, XPV_PEER, XPV_QUEUE_FLAT, &key_queues, &o->queues);
	xpv_key_read(x->d, XPV_PEER, XPV_QUEUE_FLAT, &key_order, &order);
	xpv_key_read(x->d, XPV_PEER, XPV_QUEUE_FLAT, &key_pages, &pages);
	xbf_offer_choose(order, pages, o);
	o->queues = min(o->queues, xbf_max_queues ?
			clamp_t(u32, xbf_max_queues, 1, XBF_QUEUES_MAX) :
			min_t(u32, 4, num_online_cpus()));
	o->order = min(o->order, xbf_max_ring_order);
}

/* ------------------------------------------------------------------ */
/* Rings                                                               */
/* ------------------------------------------------------------------ */

static int ring_init(struct xbf_ring *r, unsigned int order)
{
	char name[DISK_NAME_LEN + 16];
	int err;

	err = hyp_ring_share(r->x->d, &r->mem, 1 << order);
	if (err)
		return err;
	xpv_front_init(&r->front, &r->mem, sizeof(struct blkif_request));
	err = xpv_ids_init(&r->ids, r->front.size);
	if (err)
		return err;
	r->shadow = kvcalloc(r->front.size, sizeof(*r->shadow), GFP_KERNEL);
	if (!r->shadow)
		return -ENOMEM;
	r->evt.fn = xbf_ring_event;
	r->evt.arg = r;
	snprintf(name, sizeof(name), "%s-q%u", r->x->name.name, r->nr);
	return hyp_evt_listen(r->x->d, &r->evt, name);
}

static void ring_exit(struct xbf_ring *r)
{
	/* Events first: a handler must not find its ring gone. */
	hyp_evt_close(&r->evt);
	xpv_hold_stop(&r->hold);
	xbf_pool_exit(&r->pool);
	if (r->mem.addr)
		hyp_ring_unshare(r->x->d, &r->mem);
	xpv_ids_exit(&r->ids);
	kvfree(r->shadow);
	xpv_stats_add(&r->x->old, &r->stats, xbf_stat_table, xbf_stat_count);
}

/** xbf_rings_free() - all rings; their requests were collected before. */
void xbf_rings_free(struct xbf_dev *x)
{
	unsigned int i;

	for (i = 0; x->rings && i < x->nr_rings; i++)
		ring_exit(&x->rings[i]);
	kvfree(x->rings);
	x->rings = NULL;
	x->nr_rings = 0;
}

static int rings_alloc(struct xbf_dev *x, unsigned int n, unsigned int order)
{
	unsigned int i;
	int err;

	x->rings = kvcalloc(n, sizeof(*x->rings), GFP_KERNEL);
	if (!x->rings)
		return -ENOMEM;
	x->nr_rings = n;
	x->order = order;
	for (i = 0; i < n; i++) {
		struct xbf_ring *r = &x->rings[i];

		spin_lock_init(&r->lock);
		xpv_hold_init(&r->hold, &xbf_hold, xbf_ring_due);
		r->x = x;
		r->nr = i;
		/* Live when the peer is connected, not before. */
		r->down = true;
	}
	for (i = 0; i < n; i++) {
		err = ring_init(&x->rings[i], order);
		if (err)
			return err;
	}
	return 0;
}

/* ------------------------------------------------------------------ */
/* Our keys                                                            */
/* ------------------------------------------------------------------ */

static bool key_present(struct xbf_dev *x, const char *key)
{
	char *text = hyp_store_read(x->d, XPV_OWN, key);

	if (IS_ERR(text))
		return false;
	kfree(text);
	return true;
}

/*
 * A boot loader or an earlier connection may have left another layout, and a
 * backend that finds two may take the wrong one.
 */
static void remove_stale(struct xbf_dev *x, struct xpv_kvs *l)
{
	bool order = key_present(x, "ring-page-order") ||
		     key_present(x, "num-ring-pages") ||
		     key_present(x, "ring-ref0");
	bool queues = key_present(x, "multi-queue-num-queues") ||
		      key_present(x, "queue-0/event-channel");
	char name[24];
	unsigned int i;

	for (i = 0; order && i < XPV_RING_MAX_PAGES; i++) {
		snprintf(name, sizeof(name), "ring-ref%u", i);
		xpv_kvs_del(l, XPV_QUEUE_FLAT, name);
	}
	for (i = 0; queues && i < XBF_QUEUES_MAX; i++) {
		snprintf(name, sizeof(name), "queue-%u", i);
		xpv_kvs_del(l, XPV_QUEUE_FLAT, name);
	}
	xpv_kvs_del(l, XPV_QUEUE_FLAT, "ring-ref");
	xpv_kvs_del(l, XPV_QUEUE_FLAT, "event-channel");
	xpv_kvs_del(l, XPV_QUEUE_FLAT, "ring-page-order");
	xpv_kvs_del(l, XPV_QUEUE_FLAT, "num-ring-pages");
	xpv_kvs_del(l, XPV_QUEUE_FLAT, "multi-queue-num-queues");
}

static void publish_ring(struct xpv_kvs *l, int queue, const struct xbf_ring *r)
{
	char name[24];
	unsigned int i;

	if (r->mem.npages == 1)
		xpv_kvs_set(l, queue, "ring-ref", r->mem.gref[0]);
	for (i = 0; r->mem.npages > 1 && i < r->mem.npages; i++) {
		snprintf(name, sizeof(name), "ring-ref%u", i);
		xpv_kvs_set(l, queue, name, r->mem.gref[i]);
	}
	xpv_kvs_set(l, queue, "event-channel", r->evt.port);
}

static int publish(struct xbf_dev *x, bool old_key)
{
	struct xpv_kvs l;
	unsigned int i;

	xpv_kvs_init(&l);
	remove_stale(x, &l);
	if (x->order)
		xpv_kvs_set(&l, XPV_QUEUE_FLAT, "ring-page-order", x->order);
	if (x->order && old_key)
		xpv_kvs_set(&l, XPV_QUEUE_FLAT, "num-ring-pages",
			    1 << x->order);
	if (x->nr_rings == 1) {
		publish_ring(&l, XPV_QUEUE_FLAT, &x->rings[0]);
	} else {
		xpv_kvs_set(&l, XPV_QUEUE_FLAT, "multi-queue-num-queues",
			    x->nr_rings);
		for (i = 0; i < x->nr_rings; i++)
			publish_ring(&l, i, &x->rings[i]);
	}
	xpv_kvs_str(&l, XPV_QUEUE_FLAT, "protocol",
		    XEN_IO_PROTO_ABI_NATIVE);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "feature-persistent",
		    READ_ONCE(xbf_persistent));
	return xpv_kvs_commit(&l, x->d);
}

/* Errors of a resource of which fewer rings, or smaller ones, need less. */
static bool too_much(int err)
{
	return err == -ENOSPC || err == -ENOMEM || err == -E2BIG;
}

/*
 * xbf_connect() - make rings and tell the backend
 *
 * When grants, memory or the store's quota do not suffice it tries with fewer
 * rings, then smaller ones.
 * Return: 0 or errno; then there are no rings.
 */
int xbf_connect(struct xbf_dev *x)
{
	struct xbf_offer o;
	int err;

	read_offer(x, &o);
	for (;;) {
		err = rings_alloc(x, o.queues, o.order);
		if (!err)
			err = publish(x, o.old_key);
		if (!err)
			return 0;
		xbf_rings_free(x);
		if (!too_much(err) || (o.queues == 1 && !o.order))
			return err;
		if (o.queues > 1)
			o.queues /= 2;
		else
			o.order--;
	}
}

/* ------------------------------------------------------------------ */
/* The backend's keys about the disk                                   */
/* ------------------------------------------------------------------ */

/* A bad optional value is reported and reads as if absent. */
static u32 read_num(struct xbf_dev *x, const char *name, u32 absent)
{
	const struct xpv_key key = {
		.name = name, .max = U32_MAX, .absent = absent,
	};
	u32 val;

	xpv_key_read(x->d, XPV_PEER, XPV_QUEUE_FLAT, &key, &val);
	return val;
}

static u32 read_flag(struct xbf_dev *x, const char *name)
{
	const struct xpv_key key = XPV_KEY_FLAG(name);
	u32 val;

	xpv_key_read(x->d, XPV_PEER, XPV_QUEUE_FLAT, &key, &val);
	return val;
}

static int read_sectors(struct xbf_dev *x, u64 *sectors)
{
	char *text = hyp_store_read(x->d, XPV_PEER, "sectors");
	int err;

	if (IS_ERR(text))
		return PTR_ERR(text);
	err = kstrtou64(strim(text), 10, sectors);
	kfree(text);
	/* The block layer counts bytes in a signed 64-bit number. */
	if (!err && *sectors > LLONG_MAX >> XPV_BLK_SECTOR_SHIFT)
		err = -ERANGE;
	return err;
}

/*
 * xbf_info_check() - are these numbers those of a disk?
 *
 * Mends what is merely optional. Return: 0 or -EINVAL.
 */
int xbf_info_check(struct xbf_info *info)
{
	u32 s = info->sector_size;

	if (s < SECTOR_SIZE || s > XPV_PAGE_SIZE || !is_power_of_2(s))
		return -EINVAL;
	if (info->physical < s || !is_power_of_2(info->physical) ||
	    info->physical > SZ_1M)
		info->physical = s;
	/* Without a granularity of its own a disk discards whole blocks. */
	if (info->granularity < s || info->granularity % s)
		info->granularity = info->physical;
	if (info->alignment % s)
		info->alignment = 0;
	return 0;
}

/*
 * xbf_info_read() - read what the backend says about the disk
 *
 * Features are read only now: some backends write them just before Connected.
 * Return: 0, or errno with the operator told.
 */
int xbf_info_read(struct xbf_dev *x, struct xbf_info *info)
{
	int err;

	*info = (struct xbf_info) {
		.flags = read_num(x, "info", 0),
		.sector_size = read_num(x, "sector-size", SECTOR_SIZE),
		.segs = read_num(x, "feature-max-indirect-segments", 0),
		.flush = read_flag(x, "feature-flush-cache"),
		.barrier = read_flag(x, "feature-barrier"),
		.persistent = read_flag(x, "feature-persistent"),
		.discard = read_flag(x, "feature-discard"),
		.granularity = read_num(x, "discard-granularity", 0),
		.alignment = read_num(x, "discard-alignment", 0),
		.secure = read_flag(x, "discard-secure"),
	};
	info->physical = read_num(x, "physical-sector-size",
				  info->sector_size);
	err = read_sectors(x, &info->sectors);
	if (err) {
		hyp_error(x->d, err, "sectors of the backend is missing or no number of sectors");
		return err;
	}
	err = xbf_info_check(info);
	if (err)
		hyp_error(x->d, err, "sector-size %u is none of 512 to %lu",
			  info->sector_size, XPV_PAGE_SIZE);
	return err;
}

/**
 * xbf_limits_choose() - what follows from the backend's keys
 * @info: keys
 * @trusted: the backend may see what shares a page with the data
 * @l: result
 */
void xbf_limits_choose(const struct xbf_info *info, bool trusted,
		       struct xbf_limits *l)
{
	u32 segs = min3(info->segs, READ_ONCE(xbf_max_segs), XBF_SEGS_MAX);

	*l = (struct xbf_limits) {
		.segs = max_t(u32, segs, XBF_SEGS_DIRECT),
		.copy = !trusted ||
			(READ_ONCE(xbf_persistent) && info->persistent),
		.barrier = info->flush && info->barrier,
		.discard = info->discard,
		.secure = info->discard && info->secure,
	};
	if (info->flush)
		l->flush_op = BLKIF_OP_FLUSH_DISKCACHE;
	else if (info->barrier)
		l->flush_op = BLKIF_OP_WRITE_BARRIER;
}

/* Grants that let the largest request the block layer may send pass. */
static unsigned int grants_floor(const struct xbf_dev *x)
{
	unsigned int pages = max_t(unsigned int, x->lim.segs,
				   x->max_sectors / XPV_BLK_SECTORS_PER_PAGE);

	return pages + 1;
}

static int ring_grants(struct xbf_dev *x, struct xbf_ring *r)
{
	unsigned int least = grants_floor(x);
	unsigned int n = max(XBF_GRANTS, least);
	int err;

	for (;;) {
		err = xbf_pool_init(&r->pool, n);
		if (err != -ENOSPC || n == least)
			break;
		n = max(n / 2, least);
	}
	if (err)
		return err;
	/* List pages are ours in any case. */
	return xbf_pool_fill(&r->pool, x->d, x->lim.copy ? least : 1);
}

/**
 * xbf_grants_setup() - grants for all rings
 * @x: device
 * @fixed: the disk exists, its limits stand
 *
 * When references are short, smaller requests are tried.
 * Return: 0 or errno.
 */
int xbf_grants_setup(struct xbf_dev *x, bool fixed)
{
	unsigned int i;
	int err;

	for (;;) {
		for (i = 0, err = 0; !err && i < x->nr_rings; i++)
			err = ring_grants(x, &x->rings[i]);
		if (!err || fixed || x->lim.segs == XBF_SEGS_DIRECT)
			return err;
		while (i--)
			xbf_pool_exit(&x->rings[i].pool);
		x->lim.segs = x->lim.segs > 32 ? 32 : XBF_SEGS_DIRECT;
	}
}

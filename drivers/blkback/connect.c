// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of xpv-blkback: what both ends say, and the rings between them.
 *
 * Decides how many rings of which size and layout there are, and whether grants
 * stay mapped.  Everything the guest wrote is read here once per connection and
 * held against limits.  An empty key counts as absent (GRUB empties its keys
 * instead of removing them).
 *
 * Barriers are not offered: they would have to drain and hold back all rings,
 * and a flush before and after gives a frontend the same promise.  Flushes are
 * answered whether they are offered or not.
 *
 * Runs in the device's work item and in remove, never at the same time.
 */
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include "blkback.h"

/* ------------------------------------------------------------------ */
/* What we offer                                                       */
/* ------------------------------------------------------------------ */

/* Pages that change while the device reads them would break its checksums. */
static bool may_persist(struct xbb_dev *b)
{
	struct block_device *bdev = b->disk.h.bdev;

	return xbb_feature_persistent && !(bdev && bdev_stable_writes(bdev));
}

static void offer_keys(struct xbb_dev *b, struct xpv_kvs *kvs)
{
	xpv_kvs_set(kvs, XPV_QUEUE_FLAT, "feature-barrier", 0);
	xpv_kvs_set(kvs, XPV_QUEUE_FLAT, "feature-persistent", may_persist(b));
	xpv_kvs_set(kvs, XPV_QUEUE_FLAT, "feature-max-indirect-segments",
		    XBB_INDIRECT_SEGS);
	xpv_kvs_set(kvs, XPV_QUEUE_FLAT, "max-ring-page-order", xbb_max_order);
	xpv_kvs_set(kvs, XPV_QUEUE_FLAT, "max-ring-pages", 1U << xbb_max_order);
	xpv_kvs_set(kvs, XPV_QUEUE_FLAT, "multi-queue-max-queues",
		    xbb_max_queues);
	if (b->disk.h.bdev)
		xbb_disk_keys(b, kvs);
}

int xbb_offer(struct xbb_dev *b)
{
	struct xpv_kvs kvs;
	int err;

	xpv_kvs_init(&kvs);
	offer_keys(b, &kvs);
	err = xpv_kvs_commit(&kvs, b->d);
	if (err)
		hyp_error(b->d, err, "writing features");
	return err;
}

/* ------------------------------------------------------------------ */
/* What the frontend says                                              */
/* ------------------------------------------------------------------ */

static int read_protocol(struct xbb_dev *b)
{
	static const struct {
		const char *name;
		enum xbb_abi abi;
	} known[] = {
		{ "", XBB_ABI_ABSENT },
		{ "x86_32-abi", XBB_ABI_32 },
		{ "x86_64-abi", XBB_ABI_64 },
		{ "arm-abi", XBB_ABI_64 },
	};
	char *text = hyp_store_read(b->d, XPV_PEER, "protocol");
	unsigned int i;
	int err = -EINVAL;

	if (IS_ERR(text) && text != ERR_PTR(-ENOENT))
		return PTR_ERR(text);
	for (i = 0; i < ARRAY_SIZE(known) && err; i++) {
		if (strcmp(IS_ERR(text) ? "" : text, known[i].name))
			continue;
		b->abi = known[i].abi;
		err = 0;
	}
	if (!IS_ERR(text))
		kfree(text);
	if (err)
		hyp_error(b->d, err,
			  "protocol is none of x86_32-abi, x86_64-abi, arm-abi");
	return err;
}

/* Ring pages: the order, or their number under its older name. */
static int read_order(struct xbb_dev *b)
{
	const struct xpv_key order = {
		.name = "ring-page-order", .max = xbb_max_order,
		.absent = xbb_max_order + 1,
	};
	const struct xpv_key pages = {
		.name = "num-ring-pages", .min = 1, .max = 1U << xbb_max_order,
		.absent = 1,
	};
	u32 val;
	int err;

	err = xpv_key_read(b->d, XPV_PEER, XPV_QUEUE_FLAT, &order, &val);
	if (err)
		return err;
	if (val <= xbb_max_order) {
		b->order = val;
		return 0;
	}
	err = xpv_key_read(b->d, XPV_PEER, XPV_QUEUE_FLAT, &pages, &val);
	if (err)
		return err;
	if (!is_power_of_2(val)) {
		hyp_error(b->d, -EINVAL,
			  "num-ring-pages is %u, not a power of two", val);
		return -EINVAL;
	}
	b->order = ilog2(val);
	return 0;
}

static int read_peer(struct xbb_dev *b)
{
	static const struct xpv_key persistent =
		XPV_KEY_FLAG("feature-persistent");
	const struct xpv_key queues = {
		.name = "multi-queue-num-queues", .min = 1,
		.max = xbb_max_queues, .absent = 1,
	};
	u32 val;
	int err;

	err = read_protocol(b) ?: read_order(b);
	if (err)
		return err;
	err = xpv_key_read(b->d, XPV_PEER, XPV_QUEUE_FLAT, &queues, &b->nrings);
	if (err)
		return err;
	/* Garbage here only means that grants do not stay mapped. */
	xpv_key_read(b->d, XPV_PEER, XPV_QUEUE_FLAT, &persistent, &val);
	b->persistent = val && may_persist(b);
	return 0;
}

static int read_ref(struct xbb_dev *b, int queue, const char *name,
		    bool required, u32 *val)
{
	const struct xpv_key key = {
		.name = name, .min = 1, .max = U32_MAX, .required = required,
	};

	return xpv_key_read(b->d, XPV_PEER, queue, &key, val);
}

/* One page may stand under either name, whatever the order key says. */
static int read_ring(struct xbb_ring *r, int queue, u32 *port)
{
	struct xbb_dev *b = r->b;
	unsigned int i = 0;
	char name[24];
	int err;

	r->mem.npages = 1U << b->order;
	if (r->mem.npages == 1) {
		err = read_ref(b, queue, "ring-ref", false, &r->mem.gref[0]);
		if (err)
			return err;
		if (r->mem.gref[0])
			i = 1;
	}
	for (; i < r->mem.npages; i++) {
		snprintf(name, sizeof(name), "ring-ref%u", i);
		err = read_ref(b, queue, name, true, &r->mem.gref[i]);
		if (err)
			return err;
	}
	return read_ref(b, queue, "event-channel", true, port);
}

/* ------------------------------------------------------------------ */
/* Rings                                                               */
/* ------------------------------------------------------------------ */

static void ring_free(struct xbb_ring *r)
{
	hyp_evt_close(&r->evt);
	xpv_hold_stop(&r->hold);
	xbb_cache_exit(&r->cache);
	xbb_pool_exit(&r->pool);
	xpv_copy_batch_exit(&r->copy);
	xpv_copy_batch_exit(&r->rsp_copy);
	hyp_ring_unmap(r->b->d, &r->mem);
	kvfree(r->req);
	kfree(r);
}

static struct xbb_ring *ring_new(struct xbb_dev *b, unsigned int id)
{
	struct xbb_ring *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return NULL;
	r->b = b;
	r->id = id;
	r->evt.fn = xbb_ring_event;
	r->evt.arg = r;
	r->next_tick = jiffies;
	init_waitqueue_head(&r->wq);
	INIT_LIST_HEAD(&r->todo);
	init_llist_head(&r->done);
	init_llist_head(&r->done_thread);
	init_llist_head(&r->unused);
	spin_lock_init(&r->rsp_lock);
	xpv_hold_init(&r->hold, &xbb_hold, xbb_ring_due);
	xbb_pool_init(&r->pool);
	return r;
}

static int ring_memory(struct xbb_ring *r)
{
	struct xbb_dev *b = r->b;
	unsigned int i;
	int err;

	err = xbb_cache_init(&r->cache, b->d) ?:
	      xpv_copy_batch_init(&r->copy, b->d, XBB_BATCH_SEGS) ?:
	      xpv_copy_batch_init(&r->rsp_copy, b->d, XBB_BATCH_SEGS);
	if (err)
		return err;
	r->req = kvcalloc(r->ring.size, sizeof(*r->req), GFP_KERNEL);
	if (!r->req)
		return -ENOMEM;
	for (i = 0; i < r->ring.size; i++) {
		r->req[i].ring = r;
		llist_add(&r->req[i].node, &r->unused);
	}
	return 0;
}

static int ring_start(struct xbb_ring *r, u32 port)
{
	const char *vbd = kbasename(r->b->d->own_path);
	struct task_struct *t;
	char name[32];
	int err;

	snprintf(name, sizeof(name), "xbb%u.%s-%u", r->b->d->peer, vbd, r->id);
	err = hyp_evt_bind(r->b->d, &r->evt, port, name);
	if (err) {
		hyp_error(r->b->d, err, "binding event channel %u", port);
		return err;
	}
	t = kthread_create(xbb_ring_fn, r, "%s", name);
	if (IS_ERR(t)) {
		hyp_error(r->b->d, PTR_ERR(t), "starting the ring's thread");
		return PTR_ERR(t);
	}
	r->thread = t;
	wake_up_process(t);
	return 0;
}

static int ring_setup(struct xbb_ring *r)
{
	struct xbb_dev *b = r->b;
	int queue = b->nrings == 1 ? XPV_QUEUE_FLAT : (int)r->id;
	u32 port;
	int err;

	err = read_ring(r, queue, &port);
	if (err)
		return err;
	err = hyp_ring_map(b->d, &r->mem);
	if (err) {
		hyp_error(b->d, err, "mapping the ring, %u pages from ring-ref %u",
			  r->mem.npages, r->mem.gref[0]);
		return err;
	}
	err = xpv_back_attach(&r->ring, &r->mem, xbb_slot_size(b->abi));
	if (err) {
		hyp_error(b->d, err,
			  "ring indices: more requests than the ring of %u slots holds",
			  r->ring.size);
		return err;
	}
	err = ring_memory(r);
	if (err) {
		hyp_error(b->d, err, "memory for %u requests", r->ring.size);
		return err;
	}
	return ring_start(r, port);
}

/* All rings at once, so that no response is lost: stop, then free. */
static void rings_stop(struct xbb_ring **ring, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!ring[i]->thread)
			continue;
		/* Ends when every request is answered, however long it takes. */
		kthread_stop(ring[i]->thread);
		ring[i]->thread = NULL;
	}
	/* The last completion may still be on its way out of xbb_req_done(). */
	synchronize_rcu();
}

static void rings_free(struct xbb_ring **ring, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		ring_free(ring[i]);
	kfree(ring);
}

static int rings_start(struct xbb_dev *b)
{
	struct xbb_ring **ring = kcalloc(b->nrings, sizeof(*ring), GFP_KERNEL);
	unsigned int n;
	int err = 0;

	if (!ring)
		return -ENOMEM;
	for (n = 0; n < b->nrings && !err; n++) {
		ring[n] = ring_new(b, n);
		if (!ring[n]) {
			err = -ENOMEM;
			break;
		}
		err = ring_setup(ring[n]);
	}
	if (err) {
		rings_stop(ring, n);
		rings_free(ring, n);
		return err;
	}
	spin_lock(&b->stats_lock);
	b->ring = ring;
	spin_unlock(&b->stats_lock);
	return 0;
}

/* ------------------------------------------------------------------ */
/* Connect and disconnect                                              */
/* ------------------------------------------------------------------ */

static void log_connection(struct xbb_dev *b)
{
	const struct xbb_disk *disk = &b->disk;

	dev_info(b->d->dev,
		 "connected: %u ring%s of %u page%s, %s layout, %s grants, %llu sectors, block %u%s%s%s\n",
		 b->nrings, b->nrings == 1 ? "" : "s", 1U << b->order,
		 b->order ? "s" : "", b->abi == XBB_ABI_32 ? "32-bit" : "64-bit",
		 b->persistent ? "persistent" : "copied", disk->sectors,
		 disk->limits.block << XPV_BLK_SECTOR_SHIFT,
		 disk->readonly ? ", read-only" : "",
		 bdev_write_cache(disk->h.bdev) ? ", flush" : "",
		 disk->limits.discard ? ", discard" : "");
}

int xbb_connect(struct xbb_dev *b)
{
	int err;

	err = read_peer(b) ?: rings_start(b);
	if (err)
		return err;
	/* Features may have been written before the disk was there. */
	err = xbb_offer(b);
	if (err) {
		xbb_disconnect(b);
		return err;
	}
	log_connection(b);
	return 0;
}

/* Keep the counters of rings that go away. */
static void keep_stats(struct xbb_dev *b, struct xbb_ring **ring)
{
	unsigned int i;

	spin_lock(&b->stats_lock);
	b->ring = NULL;
	for (i = 0; i < b->nrings; i++)
		xpv_stats_add(&b->total, &ring[i]->st, xbb_stat_table,
			      xbb_stat_count);
	spin_unlock(&b->stats_lock);
}

void xbb_disconnect(struct xbb_dev *b)
{
	struct xbb_ring **ring = b->ring;
	struct block_device *bdev = b->disk.h.bdev;
	int err;

	if (!ring)
		return;
	rings_stop(ring, b->nrings);
	keep_stats(b, ring);
	rings_free(ring, b->nrings);
	/* What the guest wrote last must not depend on our host's health. */
	if (!b->disk.readonly && bdev_write_cache(bdev)) {
		err = blkdev_issue_flush(bdev);
		if (err)
			dev_warn(b->d->dev, "last flush failed: %d\n", err);
	}
}

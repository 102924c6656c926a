/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the supported kernels, and nowhere else.
 *
 * The drivers are written for the newest kernel; each unit below gives an
 * older one what it lacks and names the API and the version that changed it.
 * Supported: 6.1, 6.12 and 7.3, the kernels of Debian 12, Debian 13 and its
 * backports.
 */
#ifndef XPV_COMPAT_H
#define XPV_COMPAT_H

#include <linux/export.h>
#include <linux/module.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "xpv needs Linux 6.1 or newer"
#endif

/* EXPORT_SYMBOL_NS_GPL() and MODULE_IMPORT_NS() take strings since 6.13. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define XPV_EXPORT(sym)		EXPORT_SYMBOL_NS_GPL(sym, "XPV")
#define XPV_USES_CORE()		MODULE_IMPORT_NS("XPV")
#else
#define XPV_EXPORT(sym)		EXPORT_SYMBOL_NS_GPL(sym, XPV)
#define XPV_USES_CORE()		MODULE_IMPORT_NS(XPV)
#endif

/* struct xenbus_driver.uevent() takes a const device since 6.3. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define xpv_const_xenbus	const
#else
#define xpv_const_xenbus
#endif

/*
 * Since 7.0 the bus marks a device whose node belongs to a new incarnation, and
 * xenbus_read_driver_state() looks at that mark.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define xpv_xenbus_vanished(xb)		((xb)->vanished)
#define xpv_xenbus_read_state(xb, path)	xenbus_read_driver_state(xb, path)
#else
#define xpv_xenbus_vanished(xb)		((void)(xb), false)
#define xpv_xenbus_read_state(xb, path)	xenbus_read_driver_state(path)
#endif

/* <linux/unaligned.h> is <asm/unaligned.h> before 6.12. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* mac_pton() moved from <linux/kernel.h> to <linux/hex.h> in 6.4. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#include <linux/hex.h>
#endif

/* timer_container_of() is from_timer() before 6.16. */
#include <linux/timer.h>
#ifndef timer_container_of
#define timer_container_of(var, t, field)	container_of(t, typeof(*(var)), field)
#endif

/* hrtimer_setup() is hrtimer_init() and an assignment before 6.13. */
#include <linux/hrtimer.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* net_dim() takes the sample itself before 6.13. */
#include <linux/dim.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define xpv_net_dim(dim, sample)	net_dim(dim, sample)
#else
#define xpv_net_dim(dim, sample)	net_dim(dim, *(sample))
#endif

/* <linux/dim.h> says how many levels net_dim() has since 6.10. */
#ifndef NET_DIM_PARAMS_NUM_PROFILES
#define NET_DIM_PARAMS_NUM_PROFILES	5
#endif

#if IS_ENABLED(CONFIG_PAGE_POOL)
/* <net/page_pool/helpers.h> is <net/page_pool.h> before 6.6. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#include <net/page_pool/helpers.h>
#else
#include <net/page_pool.h>
#endif

/* Before 6.6 a page pool must be told that its pages will be divided. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define XPV_PP_FLAG_FRAG	0
#else
#define XPV_PP_FLAG_FRAG	PP_FLAG_PAGE_FRAG
#endif

struct napi_struct;
struct net_device;

/* A page pool knows its NAPI since 6.3 and its net device since 6.8. */
static inline void xpv_page_pool_owner(struct page_pool_params *pp,
				       struct net_device *dev,
				       struct napi_struct *napi)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	pp->napi = napi;
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	pp->netdev = dev;
#endif
}
#endif

#if IS_ENABLED(CONFIG_BLOCK)
#include <linux/blkdev.h>

/*
 * An open block device: bdev_file_open_by_dev() and bdev_fput() replaced
 * blkdev_get_by_dev() and blkdev_put() in 6.9 and 6.10.  @bdev is NULL while
 * nothing is open.  With a @holder the device is claimed: only openers that
 * name the same holder, or none, may have it, too.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
struct xpv_bdev {
	struct block_device *bdev;
	struct file *file;
};

static inline int xpv_bdev_open(struct xpv_bdev *h, dev_t dev, bool write,
				void *holder)
{
	blk_mode_t mode = BLK_OPEN_READ | (write ? BLK_OPEN_WRITE : 0);
	struct file *file = bdev_file_open_by_dev(dev, mode, holder, NULL);

	if (IS_ERR(file))
		return PTR_ERR(file);
	h->file = file;
	h->bdev = file_bdev(file);
	return 0;
}

static inline void xpv_bdev_close(struct xpv_bdev *h)
{
	bdev_fput(h->file);
	h->bdev = NULL;
}
#else
struct xpv_bdev {
	struct block_device *bdev;
	fmode_t mode;
};

static inline int xpv_bdev_open(struct xpv_bdev *h, dev_t dev, bool write,
				void *holder)
{
	fmode_t mode = FMODE_READ | (write ? FMODE_WRITE : 0) |
		       (holder ? FMODE_EXCL : 0);
	struct block_device *bdev = blkdev_get_by_dev(dev, mode, holder);

	if (IS_ERR(bdev))
		return PTR_ERR(bdev);
	h->mode = mode;
	h->bdev = bdev;
	return 0;
}

static inline void xpv_bdev_close(struct xpv_bdev *h)
{
	blkdev_put(h->bdev, h->mode);
	h->bdev = NULL;
}
#endif
#endif

#ifdef CONFIG_BLOCK
#include <linux/blk-mq.h>
#include <linux/blkdev.h>

/* Merging is no longer a choice since 6.14. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define XPV_MQ_SHOULD_MERGE	0
#else
#define XPV_MQ_SHOULD_MERGE	BLK_MQ_F_SHOULD_MERGE
#endif

/* Until 6.4 blk_mq_requeue_request() puts each request before the last one. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define xpv_for_each_requeue		list_for_each_entry_safe
#else
#define xpv_for_each_requeue		list_for_each_entry_safe_reverse
#endif

/* A list of requests is a pointer to the first, and its calls macros, before 6.13. */
#ifdef rq_list_pop
#define xpv_rq_list			struct request *
#define xpv_rq_list_put_back(list, rq)	rq_list_add(list, rq)
#else
#define xpv_rq_list			struct rq_list
#define xpv_rq_list_put_back(list, rq)	rq_list_add_head(list, rq)
#endif

/* open() gets the disk, and release() no mode, since 6.5. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define XPV_DISK_CALLBACKS(open, release)				\
static int xpv_disk_open(struct gendisk *disk, blk_mode_t mode)		\
{									\
	return open(disk);						\
}									\
									\
static void xpv_disk_release(struct gendisk *disk)			\
{									\
	release(disk);							\
}
#else
#define XPV_DISK_CALLBACKS(open, release)				\
static int xpv_disk_open(struct block_device *bdev, fmode_t mode)	\
{									\
	return open(bdev->bd_disk);					\
}									\
									\
static void xpv_disk_release(struct gendisk *disk, fmode_t mode)	\
{									\
	release(disk);							\
}
#endif

/**
 * struct xpv_disk_limits - queue limits of a disk made of whole pages
 * @logical: block size
 * @physical: block size of what is below
 * @max_segments: pages of one request
 * @max_sectors: units of 512 bytes of one request
 * @write_cache: flushes are wanted
 * @discard: offered
 * @secure: secure erase is offered
 * @granularity: of discard, bytes
 * @alignment: of discard, bytes
 */
struct xpv_disk_limits {
	unsigned int logical;
	unsigned int physical;
	unsigned int max_segments;
	unsigned int max_sectors;
	bool write_cache;
	bool discard;
	bool secure;
	unsigned int granularity;
	unsigned int alignment;
};

/* Limits are one struct, changed as a whole, since 6.11. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static inline void xpv_disk_limits_fill(struct queue_limits *q,
					const struct xpv_disk_limits *l)
{
	q->logical_block_size = l->logical;
	q->physical_block_size = l->physical;
	q->io_min = l->physical;
	q->max_hw_sectors = l->max_sectors;
	q->max_segments = l->max_segments;
	q->max_segment_size = PAGE_SIZE;
	q->seg_boundary_mask = PAGE_SIZE - 1;
	q->dma_alignment = SECTOR_SIZE - 1;
	q->max_hw_discard_sectors = l->discard ? UINT_MAX : 0;
	q->max_secure_erase_sectors = l->secure ? UINT_MAX : 0;
	q->discard_granularity = l->discard ? l->granularity : 0;
	q->discard_alignment = l->discard ? l->alignment : 0;
	q->features &= ~(BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA);
	if (l->write_cache)
		q->features |= BLK_FEAT_WRITE_CACHE;
}

/** xpv_disk_alloc() - a disk with limits; pointer or ERR_PTR. */
static inline struct gendisk *xpv_disk_alloc(struct blk_mq_tag_set *set,
					     const struct xpv_disk_limits *l,
					     void *queuedata)
{
	struct queue_limits q = {};

	xpv_disk_limits_fill(&q, l);
	return blk_mq_alloc_disk(set, &q, queuedata);
}

/** xpv_disk_limits_set() - new limits; requests may be under way. */
static inline int xpv_disk_limits_set(struct gendisk *disk,
				      const struct xpv_disk_limits *l)
{
	struct queue_limits q = queue_limits_start_update(disk->queue);

	xpv_disk_limits_fill(&q, l);
	return queue_limits_commit_update(disk->queue, &q);
}
#else
static inline int xpv_disk_limits_set(struct gendisk *disk,
				      const struct xpv_disk_limits *l)
{
	struct request_queue *q = disk->queue;

	blk_queue_logical_block_size(q, l->logical);
	blk_queue_physical_block_size(q, l->physical);
	blk_queue_max_hw_sectors(q, l->max_sectors);
	blk_queue_max_segments(q, l->max_segments);
	blk_queue_max_segment_size(q, PAGE_SIZE);
	blk_queue_segment_boundary(q, PAGE_SIZE - 1);
	blk_queue_dma_alignment(q, SECTOR_SIZE - 1);
	blk_queue_max_discard_sectors(q, l->discard ? UINT_MAX : 0);
	blk_queue_max_secure_erase_sectors(q, l->secure ? UINT_MAX : 0);
	q->limits.discard_granularity = l->discard ? l->granularity : 0;
	q->limits.discard_alignment = l->discard ? l->alignment : 0;
	blk_queue_write_cache(q, l->write_cache, false);
	/* Not a rotating disk; the default since 6.11. */
	blk_queue_flag_set(QUEUE_FLAG_VIRT, q);
	return 0;
}

static inline struct gendisk *xpv_disk_alloc(struct blk_mq_tag_set *set,
					     const struct xpv_disk_limits *l,
					     void *queuedata)
{
	struct gendisk *disk = blk_mq_alloc_disk(set, queuedata);

	if (!IS_ERR(disk))
		xpv_disk_limits_set(disk, l);
	return disk;
}
#endif
#endif /* CONFIG_BLOCK */

#endif /* XPV_COMPAT_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * The block device behind a vbd of xpv-blkback.
 *
 * Decides which device is opened and how, and what the frontend is told about
 * it.  The hotplug script writes physical-device when the device is ready; the
 * toolstack writes mode, device-type and discard-enable.  No key that the guest
 * can write matters here.
 *
 * A writable device is claimed: nothing else on this host may mount it or claim
 * it while the guest has it, but other vbds of this driver may.  Mode "w!"
 * gives up the claim.  A read-only device is never claimed.
 *
 * Runs in the device's work item, xbb_disk_limits() in the threads of its
 * rings.
 */
#include <linux/slab.h>
#include "blkback.h"

/* All vbds claim in this name. */
static const char disk_holder[] = "xpv-blkback";

int xbb_disk_parse(const char *text, dev_t *dev)
{
	unsigned int major, minor;
	char rest;

	if (sscanf(text, "%x:%x%c", &major, &minor, &rest) != 2)
		return -EINVAL;
	*dev = MKDEV(major, minor);
	if (!*dev || MAJOR(*dev) != major || MINOR(*dev) != minor)
		return -EINVAL;
	return 0;
}

/* A text key of our own directory; NULL when absent or empty. */
static char *own_text(struct xbb_dev *b, const char *key)
{
	char *text = hyp_store_read(b->d, XPV_OWN, key);

	if (IS_ERR(text))
		return NULL;
	if (*text)
		return text;
	kfree(text);
	return NULL;
}

static bool own_text_is(struct xbb_dev *b, const char *key, const char *want)
{
	char *text = own_text(b, key);
	bool same = text && !strcmp(text, want);

	kfree(text);
	return same;
}

/* Which device the toolstack wants; 0 = none (yet). */
static dev_t wanted_dev(struct xbb_dev *b)
{
	char *text = own_text(b, "physical-device");
	dev_t dev = 0;

	if (text && xbb_disk_parse(text, &dev)) {
		hyp_error(b->d, -EINVAL,
			  "physical-device is not a device number major:minor in hexadecimal");
		dev = 0;
	}
	kfree(text);
	return dev;
}

static void read_mode(struct xbb_dev *b, struct xbb_disk *want)
{
	static const struct xpv_key enable = {
		.name = "discard-enable", .max = 1, .absent = 1, .clamp = true,
	};
	char *mode = own_text(b, "mode");
	u32 on;

	/* Without a mode nobody promised that writing is fine. */
	want->readonly = !mode || mode[0] != 'w';
	want->shared = mode && strchr(mode, '!');
	kfree(mode);
	xpv_key_read(b->d, XPV_OWN, XPV_QUEUE_FLAT, &enable, &on);
	want->discard_on = on;
}

static void fill_limits(struct xbb_disk *disk)
{
	struct block_device *bdev = disk->h.bdev;

	disk->sectors = bdev_nr_sectors(bdev);
	disk->limits = (struct xbb_limits) {
		.block = bdev_logical_block_size(bdev) >> XPV_BLK_SECTOR_SHIFT,
		.readonly = disk->readonly,
		.discard = disk->discard_on && !disk->readonly &&
			   bdev_max_discard_sectors(bdev),
	};
	disk->limits.secure = disk->limits.discard &&
			      bdev_max_secure_erase_sectors(bdev);
}

void xbb_disk_limits(const struct xbb_disk *disk, struct xbb_limits *l)
{
	*l = disk->limits;
	l->sectors = bdev_nr_sectors(disk->h.bdev);
}

static void disk_open(struct xbb_dev *b, struct xbb_disk *want)
{
	void *holder = want->readonly || want->shared ? NULL :
		       (void *)disk_holder;
	int err = xpv_bdev_open(&want->h, want->dev, !want->readonly, holder);

	if (err) {
		hyp_error(b->d, err, "opening physical-device %x:%x %s%s",
			  MAJOR(want->dev), MINOR(want->dev),
			  want->readonly ? "read-only" : "for writing",
			  err == -EBUSY ? ": in use on this host" : "");
		return;
	}
	if (!want->readonly && bdev_read_only(want->h.bdev)) {
		xpv_bdev_close(&want->h);
		hyp_error(b->d, -EROFS, "physical-device %x:%x cannot be written",
			  MAJOR(want->dev), MINOR(want->dev));
		return;
	}
	fill_limits(want);
	b->disk = *want;
}

void xbb_disk_close(struct xbb_dev *b)
{
	if (!b->disk.h.bdev)
		return;
	xpv_bdev_close(&b->disk.h);
	b->disk = (struct xbb_disk) {};
}

void xbb_disk_update(struct xbb_dev *b, bool connected)
{
	struct xbb_disk want = { .dev = wanted_dev(b) };
	struct xbb_disk *have = &b->disk;

	if (have->h.bdev && want.dev == have->dev)
		return;
	if (connected) {
		dev_notice(b->d->dev,
			   "physical-device changed while connected; ignored until the frontend closes\n");
		return;
	}
	xbb_disk_close(b);
	if (!want.dev)
		return;
	read_mode(b, &want);
	disk_open(b, &want);
}

static void set_u64(struct xpv_kvs *kvs, const char *key, u64 val)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", val);
	xpv_kvs_str(kvs, XPV_QUEUE_FLAT, key, text);
}

static void set(struct xpv_kvs *kvs, const char *key, u32 val)
{
	xpv_kvs_set(kvs, XPV_QUEUE_FLAT, key, val);
}

static u32 info_bits(struct xbb_dev *b)
{
	bool cdrom = own_text_is(b, "device-type", "cdrom");
	u32 info = 0;

	if (cdrom)
		info |= VDISK_CDROM;
	if (cdrom || own_text_is(b, "removable", "1") ||
	    b->disk.h.bdev->bd_disk->flags & GENHD_FL_REMOVABLE)
		info |= VDISK_REMOVABLE;
	if (b->disk.readonly)
		info |= VDISK_READONLY;
	return info;
}

static void discard_keys(struct xbb_dev *b, struct xpv_kvs *kvs)
{
	static const char * const key[] = {
		"discard-granularity", "discard-alignment", "discard-secure",
	};
	struct block_device *bdev = b->disk.h.bdev;
	int align = bdev_discard_alignment(bdev);
	unsigned int i;

	set(kvs, "feature-discard", b->disk.limits.discard);
	if (!b->disk.limits.discard) {
		for (i = 0; i < ARRAY_SIZE(key); i++)
			xpv_kvs_del(kvs, XPV_QUEUE_FLAT, key[i]);
		return;
	}
	/* The specification's default of the granularity is the block size. */
	set(kvs, key[0], bdev_discard_granularity(bdev) ?:
			 bdev_logical_block_size(bdev));
	set(kvs, key[1], max(align, 0));
	set(kvs, key[2], b->disk.limits.secure);
}

void xbb_disk_keys(struct xbb_dev *b, struct xpv_kvs *kvs)
{
	struct block_device *bdev = b->disk.h.bdev;

	b->disk.sectors = bdev_nr_sectors(bdev);
	set_u64(kvs, "sectors", b->disk.sectors);
	set(kvs, "sector-size", bdev_logical_block_size(bdev));
	set(kvs, "physical-sector-size", bdev_physical_block_size(bdev));
	set(kvs, "info", info_bits(b));
	/*
	 * A read-only disk has nothing to flush.  Without a cache a flush would
	 * only be work for nothing.
	 */
	set(kvs, "feature-flush-cache",
	    !b->disk.readonly && bdev_write_cache(bdev));
	discard_keys(b, kvs);
}

void xbb_disk_resized(struct xbb_dev *b)
{
	u64 now = bdev_nr_sectors(b->disk.h.bdev);
	char text[24];
	const struct xpv_kv kv[] = {
		{ "sectors", text },
		/* The same value again makes the frontend look. */
		{ "state", __stringify(4) },
	};

	if (now == b->disk.sectors)
		return;
	/* The toolstack may have begun to detach us. */
	if (hyp_state_get(b->d, XPV_OWN) != XenbusStateConnected)
		return;
	snprintf(text, sizeof(text), "%llu", now);
	if (hyp_store_write(b->d, kv, ARRAY_SIZE(kv)))
		return;
	dev_info(b->d->dev, "capacity changed from %llu to %llu sectors\n",
		 b->disk.sectors, now);
	b->disk.sectors = now;
}

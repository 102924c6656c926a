// SPDX-License-Identifier: GPL-2.0
/*
 * The gendisk: its name and minors, its limits, its size.
 *
 * Decides how the disk looks to the block layer; it knows nothing of rings
 * beyond their number.  Called with the device's mutex held, except for the
 * callbacks of the block layer, which take only the users' lock.
 */
#include <linux/blk-mq.h>
#include <linux/major.h>
#include <xpv/compat.h>
#include "blkfront.h"

/* Minors of a disk in the classic and in the extended numbering. */
#define MINORS		16
#define MINORS_EXT	256
#define MAJOR_XVD	XENVBD_MAJOR

/* ------------------------------------------------------------------ */
/* Names and numbers                                                   */
/* ------------------------------------------------------------------ */

/* First disk of each SCSI major; they do not follow each other. */
static int scsi_disk(u32 major)
{
	if (major == SCSI_DISK0_MAJOR)
		return 0;
	if (major >= SCSI_DISK1_MAJOR && major <= SCSI_DISK7_MAJOR)
		return (major - SCSI_DISK1_MAJOR + 1) * 16;
	if (major >= SCSI_DISK8_MAJOR && major <= SCSI_DISK15_MAJOR)
		return (major - SCSI_DISK8_MAJOR + 8) * 16;
	return -1;
}

/* Old numbers of IDE and SCSI disks appear as xvd disks of the same letter. */
static int classic_minor(u32 vdev)
{
	u32 major = vdev >> 8, minor = vdev & 0xff;

	switch (major) {
	case MAJOR_XVD:
		return minor;
	case IDE0_MAJOR:
		return minor / 64 * MINORS;
	case IDE1_MAJOR:
		return (minor / 64 + 2) * MINORS;
	}
	if (scsi_disk(major) < 0)
		return -ENODEV;
	return scsi_disk(major) * MINORS + minor;
}

/* a..z, aa..zz and so on, as the letters of a spreadsheet. */
static void name_letters(char *name, size_t size, unsigned int disk)
{
	char letters[8];
	unsigned int i = sizeof(letters);

	letters[--i] = 0;
	for (;;) {
		letters[--i] = 'a' + disk % 26;
		if (disk < 26)
			break;
		disk = disk / 26 - 1;
	}
	snprintf(name, size, "xvd%s", &letters[i]);
}

/**
 * xbf_name_from_vdev() - where a disk appears
 * @vdev: "virtual-device" of the toolstack
 * @n: result
 *
 * Same names and minors as Linux' own driver: a number in the middle of a
 * disk's minors is a lone partition.
 * Return: 0 or -ENODEV.
 */
int xbf_name_from_vdev(u32 vdev, struct xbf_name *n)
{
	bool ext = vdev >> XBF_EXT_SHIFT;
	int per = ext ? MINORS_EXT : MINORS;
	size_t len;

	if (vdev >> XBF_EXT_SHIFT > 1)
		return -ENODEV;
	n->minor = ext ? vdev & (BIT(XBF_EXT_SHIFT) - 1) : classic_minor(vdev);
	if (n->minor < 0 || n->minor >> MINORBITS)
		return -ENODEV;
	name_letters(n->name, sizeof(n->name), n->minor / per);
	n->minors = per;
	if (n->minor % per) {
		n->minors = 1;
		len = strlen(n->name);
		snprintf(n->name + len, sizeof(n->name) - len, "%d",
			 n->minor % per);
	}
	return 0;
}

/* Disks that exist; two may neither share a minor nor a name. */
static LIST_HEAD(minors_list);
static DEFINE_MUTEX(minors_lock);

static bool minors_clash(const struct xbf_name *a, const struct xbf_name *b)
{
	return (a->minor < b->minor + b->minors &&
		b->minor < a->minor + a->minors) || !strcmp(a->name, b->name);
}

/** xbf_minors_take() - reserve name and minors. Return: 0 or -EBUSY. */
int xbf_minors_take(struct xbf_dev *x)
{
	struct xbf_dev *other;
	int err = 0;

	mutex_lock(&minors_lock);
	list_for_each_entry(other, &minors_list, minors) {
		if (minors_clash(&x->name, &other->name))
			err = -EBUSY;
	}
	if (!err)
		list_add(&x->minors, &minors_list);
	mutex_unlock(&minors_lock);
	return err;
}

/** xbf_minors_put() - give them back; does nothing when not taken. */
void xbf_minors_put(struct xbf_dev *x)
{
	mutex_lock(&minors_lock);
	list_del_init(&x->minors);
	mutex_unlock(&minors_lock);
}

/* ------------------------------------------------------------------ */
/* Callbacks of the block layer                                        */
/* ------------------------------------------------------------------ */

static int disk_open(struct gendisk *disk)
{
	return xbf_user_get(disk->private_data) ? 0 : -ENXIO;
}

static void disk_release(struct gendisk *disk)
{
	xbf_user_put(disk->private_data);
}

static void disk_free(struct gendisk *disk)
{
	xbf_ref_put(disk->private_data);
}

XPV_DISK_CALLBACKS(disk_open, disk_release)

static const struct block_device_operations disk_ops = {
	.owner = THIS_MODULE,
	.open = xpv_disk_open,
	.release = xpv_disk_release,
	.free_disk = disk_free,
};

/* ------------------------------------------------------------------ */
/* Limits and size                                                     */
/* ------------------------------------------------------------------ */

static void fill_limits(struct xbf_dev *x, struct xpv_disk_limits *l)
{
	*l = (struct xpv_disk_limits) {
		.logical = x->info.sector_size,
		.physical = x->info.physical,
		.max_segments = x->lim.segs,
		.max_sectors = x->lim.segs * XPV_BLK_SECTORS_PER_PAGE,
		.write_cache = READ_ONCE(x->lim.flush_op),
		.discard = READ_ONCE(x->lim.discard),
		.secure = READ_ONCE(x->lim.secure),
		.granularity = x->info.granularity,
		.alignment = x->info.alignment,
	};
	x->max_sectors = max(x->max_sectors, l->max_sectors);
}

/** xbf_disk_limits() - the block layer learns of changed limits. May sleep. */
void xbf_disk_limits(struct xbf_dev *x)
{
	struct xpv_disk_limits l;
	int err;

	fill_limits(x, &l);
	err = xpv_disk_limits_set(x->disk, &l);
	if (err)
		dev_warn(x->d->dev, "limits not changed: error %d\n", err);
}

/*
 * xbf_disk_create() - a disk, not yet visible
 *
 * Return: 0 or errno.
 */
int xbf_disk_create(struct xbf_dev *x, const struct xbf_info *info)
{
	struct xpv_disk_limits l;
	struct gendisk *disk;
	int err;

	x->info = *info;
	x->nr_hw = x->nr_rings;
	x->set = (struct blk_mq_tag_set) {
		.ops = &xbf_mq_ops,
		.nr_hw_queues = x->nr_hw,
		.queue_depth = x->rings[0].front.size,
		.numa_node = NUMA_NO_NODE,
		.cmd_size = sizeof(struct xbf_req),
		/* The backend's disk has a scheduler of its own. */
		.flags = XPV_MQ_SHOULD_MERGE | BLK_MQ_F_NO_SCHED_BY_DEFAULT,
	};
	err = blk_mq_alloc_tag_set(&x->set);
	if (err)
		return err;
	fill_limits(x, &l);
	disk = xpv_disk_alloc(&x->set, &l, x);
	if (IS_ERR(disk)) {
		blk_mq_free_tag_set(&x->set);
		return PTR_ERR(disk);
	}
	disk->major = MAJOR_XVD;
	disk->first_minor = x->name.minor;
	disk->minors = x->name.minors;
	strscpy(disk->disk_name, x->name.name, sizeof(disk->disk_name));
	disk->fops = &disk_ops;
	disk->private_data = x;
	if (info->flags & VDISK_REMOVABLE)
		disk->flags |= GENHD_FL_REMOVABLE;
	set_disk_ro(disk, info->flags & VDISK_READONLY);
	set_capacity(disk, info->sectors);
	x->disk = disk;
	return 0;
}

/*
 * xbf_disk_update() - the disk after a reconnect or a change announced
 *
 * Return: 0; -EINVAL when its blocks became larger than its users know.
 */
int xbf_disk_update(struct xbf_dev *x, const struct xbf_info *info)
{
	u32 had = x->info.sector_size;

	if (info->sector_size > had) {
		hyp_error(x->d, -EINVAL, "sector-size grew from %u to %u",
			  had, info->sector_size);
		return -EINVAL;
	}
	x->info = *info;
	x->info.sector_size = had;
	xbf_disk_limits(x);
	set_disk_ro(x->disk, info->flags & VDISK_READONLY);
	set_capacity_and_notify(x->disk, info->sectors);
	return 0;
}

/** xbf_disk_destroy() - drop a disk that is not visible (any more). */
void xbf_disk_destroy(struct xbf_dev *x)
{
	if (!x->disk)
		return;
	put_disk(x->disk);
	x->disk = NULL;
	blk_mq_free_tag_set(&x->set);
}

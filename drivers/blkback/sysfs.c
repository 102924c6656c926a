// SPDX-License-Identifier: GPL-2.0
/*
 * What the operator of the host sees of a vbd of xpv-blkback.
 *
 * One file a counter in the folder "xpv" of the device, and the attributes
 * physical_device and mode, which tools know from the stock backend.  Readers
 * come at any time, also while the device connects or leaves; stats_lock keeps
 * the rings they look at.
 */
#include <linux/sysfs.h>
#include "blkback.h"

const struct xpv_stat xbb_stat_table[] = {
	XPV_STAT(struct xbb_stats, reads, "read requests answered"),
	XPV_STAT(struct xbb_stats, read_sectors,
		 "sectors of 512 bytes in read requests"),
	XPV_STAT(struct xbb_stats, writes, "write requests answered"),
	XPV_STAT(struct xbb_stats, write_sectors,
		 "sectors of 512 bytes in write requests"),
	XPV_STAT(struct xbb_stats, flushes, "flush requests answered"),
	XPV_STAT(struct xbb_stats, discards, "discard requests answered"),
	XPV_STAT(struct xbb_stats, errors,
		 "requests answered with an error, for whatever reason"),
	XPV_STAT(struct xbb_stats, bad_requests,
		 "requests refused before they reached the disk"),
	XPV_STAT(struct xbb_stats, requests, "requests taken from the ring"),
	XPV_STAT(struct xbb_stats, batches,
		 "times at least one request was taken"),
	XPV_STAT(struct xbb_stats, indirect, "indirect requests taken"),
	XPV_STAT(struct xbb_stats, starved,
		 "times requests had to wait for memory"),
	XPV_STAT(struct xbb_stats, events, "events received"),
	XPV_STAT(struct xbb_stats, responses, "responses given"),
	XPV_STAT(struct xbb_stats, pushes, "times responses were published"),
	XPV_STAT(struct xbb_stats, notifies, "events sent"),
	XPV_STAT(struct xbb_stats, write_copies,
		 "pages copied from the guest, one a segment"),
	XPV_STAT(struct xbb_stats, write_copy_calls,
		 "hypercalls that copied from the guest"),
	XPV_STAT(struct xbb_stats, read_copies,
		 "pages copied to the guest, one a segment"),
	XPV_STAT(struct xbb_stats, read_copy_calls,
		 "hypercalls that copied to the guest"),
	XPV_STAT(struct xbb_stats, pgrant_hits,
		 "segments whose grant was mapped already"),
	XPV_STAT(struct xbb_stats, pgrant_misses,
		 "segments whose grant was not mapped yet"),
	XPV_STAT(struct xbb_stats, maps, "grants mapped to stay"),
	XPV_STAT(struct xbb_stats, unmaps, "grants unmapped"),
	XPV_STAT(struct xbb_stats, poll_hits, "looks before sleeping that met work"),
	XPV_STAT(struct xbb_stats, poll_misses,
		 "looks before sleeping that met none"),
};

const unsigned int xbb_stat_count = ARRAY_SIZE(xbb_stat_table);

static u64 read_stat(struct xpv_dev *d, const struct xpv_stat *s)
{
	struct xbb_dev *b = d->priv;
	unsigned int i;
	u64 sum;

	spin_lock(&b->stats_lock);
	sum = xpv_stat_get(&b->total, s);
	for (i = 0; b->ring && i < b->nrings; i++)
		sum += xpv_stat_get(&b->ring[i]->st, s);
	spin_unlock(&b->stats_lock);
	return sum;
}

static ssize_t device_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct xbb_dev *b = container_of(attr, struct xbb_dev, attr_device);
	dev_t num = READ_ONCE(b->disk.dev);

	return sysfs_emit(buf, "%x:%x\n", MAJOR(num), MINOR(num));
}

static ssize_t mode_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	struct xbb_dev *b = container_of(attr, struct xbb_dev, attr_mode);

	return sysfs_emit(buf, "%s\n", READ_ONCE(b->disk.readonly) ? "r" : "w");
}

static void attr_init(struct device_attribute *attr, const char *name,
		      ssize_t (*show)(struct device *dev,
				      struct device_attribute *attr, char *buf))
{
	sysfs_attr_init(&attr->attr);
	attr->attr.name = name;
	attr->attr.mode = 0444;
	attr->show = show;
}

int xbb_sysfs_add(struct xbb_dev *b)
{
	struct device *dev = b->d->dev;
	int err;

	attr_init(&b->attr_device, "physical_device", device_show);
	attr_init(&b->attr_mode, "mode", mode_show);
	err = device_create_file(dev, &b->attr_device);
	if (err)
		return err;
	err = device_create_file(dev, &b->attr_mode);
	if (err)
		goto err_device;
	b->sysfs = xpv_sysfs_add(b->d, xbb_stat_table, xbb_stat_count,
				 read_stat);
	if (!IS_ERR(b->sysfs))
		return 0;
	err = PTR_ERR(b->sysfs);
	b->sysfs = NULL;
	device_remove_file(dev, &b->attr_mode);
err_device:
	device_remove_file(dev, &b->attr_device);
	return err;
}

void xbb_sysfs_remove(struct xbb_dev *b)
{
	if (!b->sysfs)
		return;
	xpv_sysfs_remove(b->sysfs);
	b->sysfs = NULL;
	device_remove_file(b->d->dev, &b->attr_mode);
	device_remove_file(b->d->dev, &b->attr_device);
}

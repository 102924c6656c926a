// SPDX-License-Identifier: GPL-2.0
/*
 * Sums of counters, peer faults and the sysfs folder "xpv".
 *
 * Decides how loud a peer's fault may be, not what happens because of it.
 * xpv_peer_fault() is called from the data paths in any context; the sysfs
 * functions from probe and remove.
 */
#include <linux/device.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <xpv/compat.h>
#include <xpv/stats.h>

/* At most this many fault lines of one device in one interval. */
#define FAULT_LOG_BURST		10
#define FAULT_LOG_INTERVAL	(60 * HZ)

void xpv_stats_add(void *to, const void *from, const struct xpv_stat *tab,
		   unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		u64 *sum = (u64 *)((char *)to + tab[i].offset);

		WRITE_ONCE(*sum, *sum + xpv_stat_get(from, &tab[i]));
	}
}
XPV_EXPORT(xpv_stats_add);

static const char * const fault_names[XPV_FAULT_COUNT] = {
	[XPV_FAULT_INDEX] = "index",
	[XPV_FAULT_ID] = "id",
	[XPV_FAULT_OP] = "op",
	[XPV_FAULT_SLOTS] = "slots",
	[XPV_FAULT_SIZE] = "size",
	[XPV_FAULT_EXTRA] = "extra",
	[XPV_FAULT_OFFLOAD] = "offload",
	[XPV_FAULT_RANGE] = "range",
	[XPV_FAULT_ACCESS] = "access",
	[XPV_FAULT_GRANT] = "grant",
	[XPV_FAULT_BUSY] = "busy",
	[XPV_FAULT_KEY] = "key",
};

const char *xpv_fault_name(enum xpv_fault why)
{
	if ((unsigned int)why >= XPV_FAULT_COUNT)
		return "unknown";
	return fault_names[why];
}
XPV_EXPORT(xpv_fault_name);

void xpv_faults_init(struct xpv_faults *f)
{
	unsigned int i;

	for (i = 0; i < XPV_FAULT_COUNT; i++)
		atomic64_set(&f->count[i], 0);
	ratelimit_state_init(&f->rs, FAULT_LOG_INTERVAL, FAULT_LOG_BURST);
	/* Otherwise each swallowed line would be announced by another one. */
	ratelimit_set_flags(&f->rs, RATELIMIT_MSG_ON_RELEASE);
}
XPV_EXPORT(xpv_faults_init);

void xpv_peer_fault(struct xpv_dev *d, struct xpv_faults *f,
		    enum xpv_fault why, const char *detail, ...)
{
	struct va_format vaf = { .fmt = detail };
	va_list args;

	if ((unsigned int)why < XPV_FAULT_COUNT)
		atomic64_inc(&f->count[why]);
	if (!__ratelimit(&f->rs))
		return;
	va_start(args, detail);
	vaf.va = &args;
	dev_notice(d->dev, "peer fault (%s): %pV\n", xpv_fault_name(why), &vaf);
	va_end(args);
}
XPV_EXPORT(xpv_peer_fault);

/* One file: the attribute, what it shows and the folder it belongs to. */
struct stat_file {
	struct device_attribute attr;
	struct xpv_sysfs *folder;
	const struct xpv_stat *stat;
};

struct xpv_sysfs {
	struct xpv_dev *d;
	u64 (*read)(struct xpv_dev *d, const struct xpv_stat *s);
	struct attribute_group group;
	struct attribute **attrs;
	struct stat_file file[];
};

static ssize_t stat_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	struct stat_file *f = container_of(attr, struct stat_file, attr);

	return sysfs_emit(buf, "%llu\n", f->folder->read(f->folder->d, f->stat));
}

static void sysfs_fill(struct xpv_sysfs *s, const struct xpv_stat *tab,
		       unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct stat_file *f = &s->file[i];

		f->folder = s;
		f->stat = &tab[i];
		sysfs_attr_init(&f->attr.attr);
		f->attr.attr.name = tab[i].name;
		f->attr.attr.mode = 0444;
		f->attr.show = stat_show;
		s->attrs[i] = &f->attr.attr;
	}
	s->group.name = "xpv";
	s->group.attrs = s->attrs;
}

struct xpv_sysfs *xpv_sysfs_add(struct xpv_dev *d, const struct xpv_stat *tab,
				unsigned int n,
				u64 (*read)(struct xpv_dev *d,
					    const struct xpv_stat *s))
{
	struct xpv_sysfs *s;
	int err = -ENOMEM;

	s = kzalloc(struct_size(s, file, n), GFP_KERNEL);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->d = d;
	s->read = read;
	s->attrs = kcalloc(n + 1, sizeof(*s->attrs), GFP_KERNEL);
	if (!s->attrs)
		goto err_free;
	sysfs_fill(s, tab, n);
	err = sysfs_create_group(&d->dev->kobj, &s->group);
	if (err)
		goto err_free;
	return s;

err_free:
	kfree(s->attrs);
	kfree(s);
	return ERR_PTR(err);
}
XPV_EXPORT(xpv_sysfs_add);

void xpv_sysfs_remove(struct xpv_sysfs *s)
{
	if (!s)
		return;
	/* Waits for readers. */
	sysfs_remove_group(&s->d->dev->kobj, &s->group);
	kfree(s->attrs);
	kfree(s);
}
XPV_EXPORT(xpv_sysfs_remove);

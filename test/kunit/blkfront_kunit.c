// SPDX-License-Identifier: GPL-2.0
/*
 * blkfront's pure steps: names, limits, plans, ring requests, answers, grants.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include "../../drivers/blkfront/blkfront.h"
#include "fake_hyp.h"

/* ------------------------------------------------------------------ */
/* Names                                                               */
/* ------------------------------------------------------------------ */

#define EXT	BIT(XBF_EXT_SHIFT)

static const struct {
	u32 vdev;
	const char *name;
	int minor, minors;
} names[] = {
	{ 202 << 8, "xvda", 0, 16 },
	{ 202 << 8 | 1, "xvda1", 1, 1 },
	{ 202 << 8 | 15, "xvda15", 15, 1 },
	{ 202 << 8 | 16, "xvdb", 16, 16 },
	{ 202 << 8 | 240, "xvdp", 240, 16 },
	{ 202 << 8 | 255, "xvdp15", 255, 1 },
	{ 3 << 8, "xvda", 0, 16 },
	{ 3 << 8 | 64, "xvdb", 16, 16 },
	{ 22 << 8, "xvdc", 32, 16 },
	{ 22 << 8 | 64, "xvdd", 48, 16 },
	{ 8 << 8, "xvda", 0, 16 },
	{ 8 << 8 | 18, "xvdb2", 18, 1 },
	{ 65 << 8, "xvdq", 256, 16 },
	{ 71 << 8, "xvddi", 1792, 16 },
	{ 128 << 8, "xvddy", 2048, 16 },
	{ 135 << 8 | 240, "xvdiv", 4080, 16 },
	{ EXT, "xvda", 0, 256 },
	{ EXT | 5, "xvda5", 5, 1 },
	{ EXT | 16 << 8, "xvdq", 4096, 256 },
	{ EXT | 25 << 8, "xvdz", 6400, 256 },
	{ EXT | 26 << 8, "xvdaa", 6656, 256 },
	{ EXT | 701 << 8, "xvdzz", 179456, 256 },
	{ EXT | 702 << 8, "xvdaaa", 179712, 256 },
	{ EXT | 4095 << 8 | 255, "xvdfan255", 1048575, 1 },
};

static void name_from_vdev_known(struct kunit *test)
{
	struct xbf_name n;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		KUNIT_ASSERT_EQ_MSG(test, xbf_name_from_vdev(names[i].vdev, &n),
				    0, "vdev %u", names[i].vdev);
		KUNIT_EXPECT_STREQ(test, n.name, names[i].name);
		KUNIT_EXPECT_EQ(test, n.minor, names[i].minor);
		KUNIT_EXPECT_EQ(test, n.minors, names[i].minors);
	}
}

static void name_from_vdev_refused(struct kunit *test)
{
	static const u32 bad[] = { 0, 1 << 8, 7 << 8, 72 << 8, 127 << 8,
				   136 << 8, 203 << 8, EXT | 4096 << 8, 2 * EXT,
				   U32_MAX };
	struct xbf_name n;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, xbf_name_from_vdev(bad[i], &n),
				    -ENODEV, "vdev %u", bad[i]);
}

static void name_from_vdev_all_inside(struct kunit *test)
{
	struct xbf_name n;
	u32 vdev;

	for (vdev = 0; vdev < 65536; vdev++) {
		if (xbf_name_from_vdev(vdev, &n))
			continue;
		KUNIT_ASSERT_LE(test, n.minor + n.minors, 1 << MINORBITS);
		KUNIT_ASSERT_LT(test, strlen(n.name), DISK_NAME_LEN);
	}
}

static int take_name(struct kunit *test, struct xbf_dev **x, u32 vdev)
{
	*x = kunit_kzalloc(test, sizeof(**x), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, *x);
	INIT_LIST_HEAD(&(*x)->minors);
	KUNIT_ASSERT_EQ(test, xbf_name_from_vdev(vdev, &(*x)->name), 0);
	return xbf_minors_take(*x);
}

static void minors_take_clashes(struct kunit *test)
{
	struct xbf_dev *a, *b, *c, *d, *e;

	KUNIT_EXPECT_EQ(test, take_name(test, &a, 202 << 8 | 16), 0);
	KUNIT_EXPECT_EQ(test, take_name(test, &b, 202 << 8 | 17), -EBUSY);
	/* Other minors, but the same name. */
	KUNIT_EXPECT_EQ(test, take_name(test, &c, EXT | 1 << 8), -EBUSY);
	KUNIT_EXPECT_EQ(test, take_name(test, &d, 202 << 8 | 32), 0);
	xbf_minors_put(a);
	KUNIT_EXPECT_EQ(test, take_name(test, &e, 202 << 8 | 17), 0);
	xbf_minors_put(b);
	xbf_minors_put(d);
	xbf_minors_put(e);
	xbf_minors_put(e);
}

/* ------------------------------------------------------------------ */
/* Limits                                                              */
/* ------------------------------------------------------------------ */

static void offer_choose_spellings(struct kunit *test)
{
	static const struct { u32 order, pages, want; bool old; } t[] = {
		{ 0, 0, 0, false }, { 4, 0, 4, false }, { 4, 16, 4, false },
		{ 0, 16, 4, true }, { 0, 1, 0, false }, { 0, 2, 1, true },
		{ 0, 3, 1, true }, { 0, 15, 3, true }, { 1, 16, 1, false },
	};
	struct xbf_offer o;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		xbf_offer_choose(t[i].order, t[i].pages, &o);
		KUNIT_EXPECT_EQ(test, o.order, t[i].want);
		KUNIT_EXPECT_EQ(test, o.old_key, t[i].old);
	}
}

static void limits_choose_segments(struct kunit *test)
{
	static const struct { u32 said, want; } t[] = {
		{ 0, 11 }, { 1, 11 }, { 11, 11 }, { 12, 12 }, { 16, 16 },
		{ 32, 32 }, { 256, 256 }, { 257, 256 }, { 4096, 256 },
		{ U32_MAX, 256 },
	};
	struct xbf_info info = {};
	struct xbf_limits l;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		info.segs = t[i].said;
		xbf_limits_choose(&info, true, &l);
		KUNIT_EXPECT_EQ(test, l.segs, t[i].want);
	}
}

static void limits_choose_flush(struct kunit *test)
{
	static const struct { u32 flush, barrier; u8 op; bool spare; } t[] = {
		{ 0, 0, 0, false },
		{ 1, 0, BLKIF_OP_FLUSH_DISKCACHE, false },
		{ 0, 1, BLKIF_OP_WRITE_BARRIER, false },
		{ 1, 1, BLKIF_OP_FLUSH_DISKCACHE, true },
	};
	struct xbf_limits l;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct xbf_info info = { .flush = t[i].flush,
					 .barrier = t[i].barrier };

		xbf_limits_choose(&info, true, &l);
		KUNIT_EXPECT_EQ(test, l.flush_op, t[i].op);
		KUNIT_EXPECT_EQ(test, l.barrier, t[i].spare);
	}
}

static void limits_choose_copy(struct kunit *test)
{
	struct xbf_info yes = { .persistent = 1 }, no = {};
	struct xbf_limits l;

	xbf_limits_choose(&yes, true, &l);
	KUNIT_EXPECT_TRUE(test, l.copy);
	xbf_limits_choose(&no, true, &l);
	KUNIT_EXPECT_FALSE(test, l.copy);
	xbf_limits_choose(&no, false, &l);
	KUNIT_EXPECT_TRUE(test, l.copy);
	xbf_persistent = false;
	xbf_limits_choose(&yes, true, &l);
	xbf_persistent = true;
	KUNIT_EXPECT_FALSE(test, l.copy);
}

static void limits_choose_discard(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct xbf_info info = { .discard = i & 1, .secure = i >> 1 };
		struct xbf_limits l;

		xbf_limits_choose(&info, true, &l);
		KUNIT_EXPECT_EQ(test, l.discard, i & 1);
		KUNIT_EXPECT_EQ(test, l.secure, i == 3);
	}
}

static void info_check_sizes(struct kunit *test)
{
	static const struct { u32 sector, physical; int err; u32 want; } t[] = {
		{ 512, 512, 0, 512 }, { 512, 4096, 0, 4096 },
		{ 4096, 4096, 0, 4096 }, { 4096, 512, 0, 4096 },
		{ 512, 0, 0, 512 }, { 512, 1000, 0, 512 },
		{ 512, 1 << 30, 0, 512 }, { 2048, 2048, 0, 2048 },
		{ 0, 512, -EINVAL, 0 }, { 256, 512, -EINVAL, 0 },
		{ 520, 520, -EINVAL, 0 }, { 8192, 8192, -EINVAL, 0 },
		{ U32_MAX, 512, -EINVAL, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct xbf_info info = { .sector_size = t[i].sector,
					 .physical = t[i].physical };

		KUNIT_EXPECT_EQ(test, xbf_info_check(&info), t[i].err);
		if (!t[i].err)
			KUNIT_EXPECT_EQ(test, info.physical, t[i].want);
	}
}

static void info_check_discard(struct kunit *test)
{
	static const struct { u32 gran, align, want_gran, want_align; } t[] = {
		{ 0, 0, 4096, 0 }, { 512, 0, 512, 0 }, { 100, 0, 4096, 0 },
		{ 65536, 512, 65536, 512 }, { 65536, 100, 65536, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct xbf_info info = {
			.sector_size = 512, .physical = 4096,
			.granularity = t[i].gran, .alignment = t[i].align,
		};

		KUNIT_EXPECT_EQ(test, xbf_info_check(&info), 0);
		KUNIT_EXPECT_EQ(test, info.granularity, t[i].want_gran);
		KUNIT_EXPECT_EQ(test, info.alignment, t[i].want_align);
	}
}

/* ------------------------------------------------------------------ */
/* Plan                                                                */
/* ------------------------------------------------------------------ */

static const struct {
	u16 limit;
	unsigned int bytes, segs;
	bool copy;
	u16 pages, parts, lists;
	bool copied;
} plans[] = {
	/* Without lists. */
	{ 11, 512, 1, false, 1, 1, 0, false },
	{ 11, 45056, 11, false, 11, 1, 0, false },
	{ 11, 11 * 512, 11, false, 11, 1, 0, false },
	{ 11, 12 * 512, 12, false, 2, 1, 0, true },
	{ 11, 49152, 12, false, 12, 2, 0, true },
	{ 11, 45056 + 512, 1, true, 12, 2, 0, true },
	{ 11, 1 << 20, 256, false, 256, 24, 0, true },
	/* With them. */
	{ 256, 4096, 1, false, 1, 1, 0, false },
	{ 256, 45056, 11, false, 11, 1, 0, false },
	{ 256, 49152, 12, false, 12, 1, 1, false },
	{ 256, 1 << 20, 256, false, 256, 1, 1, false },
	{ 256, 1 << 20, 256, true, 256, 1, 1, true },
	{ 256, 256 * 512, 256, true, 32, 1, 1, true },
	/* Made under larger limits. */
	{ 32, 1 << 20, 256, false, 256, 8, 8, true },
	{ 16, 100 * 4096, 100, false, 100, 7, 6, true },
	{ 16, 12 * 16 * 512, 17, false, 24, 2, 1, true },
};

static void plan_rw_table(struct kunit *test)
{
	struct xbf_plan p;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(plans); i++) {
		struct xbf_limits l = { .segs = plans[i].limit };

		xbf_plan_rw(&l, plans[i].bytes, plans[i].segs, plans[i].copy,
			    &p);
		KUNIT_EXPECT_EQ_MSG(test, p.pages, plans[i].pages, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, p.parts, plans[i].parts, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, p.lists, plans[i].lists, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, p.copy, plans[i].copied, "row %u", i);
	}
}

/* Parts hold all pages, none more than the limit, and fit the smallest ring. */
static void plan_rw_grid(struct kunit *test)
{
	static const u16 limits[] = { 11, 12, 16, 31, 32, 64, 255, 256 };
	struct xbf_plan p;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		struct xbf_limits l = { .segs = limits[i] };

		for (n = 1; n <= XBF_SEGS_MAX; n++) {
			xbf_plan_rw(&l, n * 4096, n, false, &p);
			KUNIT_ASSERT_EQ(test, p.pages, n);
			KUNIT_ASSERT_GE(test, p.parts * limits[i], n);
			KUNIT_ASSERT_LT(test, (p.parts - 1) * limits[i], n);
			KUNIT_ASSERT_LE(test, p.parts, 32);
			KUNIT_ASSERT_LE(test, p.lists, p.parts);
			KUNIT_ASSERT_EQ(test, p.copy, n > limits[i]);
		}
	}
}

static void plan_rw_persistent_packs(struct kunit *test)
{
	struct xbf_limits l = { .segs = 256, .copy = true };
	struct xbf_plan p;
	unsigned int s;

	for (s = 1; s <= 2048; s++) {
		xbf_plan_rw(&l, s * 512, min(s, 256U), false, &p);
		KUNIT_ASSERT_TRUE(test, p.copy);
		KUNIT_ASSERT_EQ(test, p.pages, (s + 7) / 8);
		KUNIT_ASSERT_EQ(test, p.parts, 1);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(name_from_vdev_known),
	KUNIT_CASE(name_from_vdev_refused),
	KUNIT_CASE(name_from_vdev_all_inside),
	KUNIT_CASE(minors_take_clashes),
	KUNIT_CASE(offer_choose_spellings),
	KUNIT_CASE(limits_choose_segments),
	KUNIT_CASE(limits_choose_flush),
	KUNIT_CASE(limits_choose_copy),
	KUNIT_CASE(limits_choose_discard),
	KUNIT_CASE(info_check_sizes),
	KUNIT_CASE(info_check_discard),
	KUNIT_CASE(plan_rw_table),
	KUNIT_CASE(plan_rw_grid),
	KUNIT_CASE(plan_rw_persistent_packs),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkfront",
	.test_cases = cases,
};

kunit_test_suite(suite);

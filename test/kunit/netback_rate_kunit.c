// SPDX-License-Identifier: GPL-2.0
/*
 * netback, the rate limit: what the key may say, and what passes.
 */
#include <kunit/test.h>
#include "../../drivers/netback/netback.h"

static void rate_parse_texts(struct kunit *test)
{
	static const struct {
		const char *text;
		int err;
		u64 bytes, usec;
	} row[] = {
		{ NULL, 0, U64_MAX, 0 },
		{ "", 0, U64_MAX, 0 },
		{ "1000000,50000", 0, 1000000, 50000 },
		{ "1,1", 0, 1, 1 },
		{ "1000,0", 0, U64_MAX, 0 },
		{ "0,50000", -EINVAL, U64_MAX, 0 },
		{ "1000", -EINVAL, U64_MAX, 0 },
		{ "1000,", -EINVAL, U64_MAX, 0 },
		{ ",1000", -EINVAL, U64_MAX, 0 },
		{ "1000,x", -EINVAL, U64_MAX, 0 },
		{ "x,1000", -EINVAL, U64_MAX, 0 },
		{ "-1,1000", -EINVAL, U64_MAX, 0 },
		{ "1000,1000,1000", -EINVAL, U64_MAX, 0 },
		{ "1000,4294967296", -EINVAL, U64_MAX, 0 },
		{ "99999999999999999999999999,1", -EINVAL, U64_MAX, 0 },
		{ "18446744073709551616,1", -EINVAL, U64_MAX, 0 },
	};
	u64 bytes, usec;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		KUNIT_EXPECT_EQ_MSG(test, xnb_rate_parse(row[i].text, &bytes,
							 &usec),
				    row[i].err, "%s", row[i].text);
		KUNIT_EXPECT_EQ(test, bytes, row[i].bytes);
		KUNIT_EXPECT_EQ(test, usec, row[i].usec);
	}
}

static void credit_unlimited(struct kunit *test)
{
	struct xnb_credit c;
	unsigned int i;

	xnb_credit_set(&c, U64_MAX, 0, 5);
	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_TRUE(test, xnb_credit_take(&c, 65535, 5));
}

/* Over many periods no more passes than the rate and one burst. */
static void credit_holds_rate(struct kunit *test)
{
	const u64 rate = 200000, period = 10, turns = 1000;
	struct xnb_credit c;
	u64 now, sent = 0;

	xnb_credit_set(&c, rate, period * 1000000 / HZ, 0);
	KUNIT_ASSERT_EQ(test, c.period, period);
	for (now = 1; now < turns * period; now++)
		while (xnb_credit_take(&c, 1500, now))
			sent += 1500;
	KUNIT_EXPECT_LE(test, sent, rate * (turns + 1));
	/* What is left at the end of a full period is less than a frame. */
	KUNIT_EXPECT_GE(test, sent, (rate - 1500) * (turns - 1));
}

/* One byte a period: the largest frame still passes in the end. */
static void credit_small_rate_passes_large_frame(struct kunit *test)
{
	struct xnb_credit c;
	u64 now;

	xnb_credit_set(&c, 1, 1000000 / HZ, 0);
	KUNIT_EXPECT_TRUE(test, xnb_credit_take(&c, 65535, 0));
	KUNIT_EXPECT_TRUE(test, xnb_credit_take(&c, 65535, 0));
	KUNIT_EXPECT_FALSE(test, xnb_credit_take(&c, 65535, 0));
	for (now = 1; now < 70000; now++)
		if (xnb_credit_take(&c, 65535, now))
			break;
	KUNIT_EXPECT_EQ(test, now, 65533);
}

static void credit_never_wraps(struct kunit *test)
{
	struct xnb_credit c;
	u64 now;

	xnb_credit_set(&c, U64_MAX - 1, 1000000 / HZ, 0);
	for (now = 0; now < 100; now++)
		KUNIT_ASSERT_TRUE(test, xnb_credit_take(&c, 65535, now));
	KUNIT_EXPECT_GT(test, c.left, 1ULL << 60);
}

static struct kunit_case rate_cases[] = {
	KUNIT_CASE(rate_parse_texts),
	KUNIT_CASE(credit_unlimited),
	KUNIT_CASE(credit_holds_rate),
	KUNIT_CASE(credit_small_rate_passes_large_frame),
	KUNIT_CASE(credit_never_wraps),
	{}
};

static struct kunit_suite rate_suite = {
	.name = "xpv_netback_rate",
	.test_cases = rate_cases,
};

kunit_test_suite(rate_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * The pure parts of blkback, tried over whole ranges of what a guest can send,
 * and its two stores of memory.
 */
#include <linux/slab.h>
#include "fake_blkguest.h"

static const struct xbb_limits plain = {
	.sectors = 1000, .block = 1, .discard = true, .secure = true,
};

/* Room for a request; tests use one at a time. */
struct scratch {
	u8 raw[XBB_SLOT_MAX];
	struct xbb_ask a;
	struct xbb_seg seg[XBB_INDIRECT_SEGS];
	struct blkguest_ask ask;
};

static struct scratch *scratch(struct kunit *test)
{
	struct scratch *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	return s;
}

/* ------------------------------------------------------------------ */
/* Parsing                                                             */
/* ------------------------------------------------------------------ */

/* The layout of this kernel's own header is the native one. */
static void parse_native_header(struct kunit *test)
{
	struct scratch *s = scratch(test);
	struct blkif_request req = {
		.operation = BLKIF_OP_WRITE,
		.u.rw = {
			.nr_segments = 11, .handle = 0xffff,
			.id = 0x8000000000000001, .sector_number = 77,
		},
	};
	unsigned int i;

	for (i = 0; i < 11; i++)
		req.u.rw.seg[i] = (struct blkif_request_segment) {
			.gref = 100 + i, .first_sect = i % 8, .last_sect = 7,
		};
	memcpy(s->raw, &req, sizeof(req));
	KUNIT_EXPECT_EQ(test, sizeof(req), xbb_slot_size(XBB_ABI_NATIVE));
	KUNIT_EXPECT_EQ(test, xbb_parse(s->raw, XBB_ABI_NATIVE, &s->a, s->seg), 0);
	KUNIT_EXPECT_EQ(test, s->a.id, req.u.rw.id);
	KUNIT_EXPECT_EQ(test, s->a.sector, 77);
	KUNIT_EXPECT_EQ(test, s->a.nsegs, 11);
	for (i = 0; i < 11; i++) {
		KUNIT_EXPECT_EQ(test, s->seg[i].gref, 100 + i);
		KUNIT_EXPECT_EQ(test, s->seg[i].first, i % 8);
		KUNIT_EXPECT_EQ(test, s->seg[i].last, 7);
	}
}

static void parse_native_indirect_header(struct kunit *test)
{
	struct scratch *s = scratch(test);
	struct blkif_request req = {
		.operation = BLKIF_OP_INDIRECT,
		.u.indirect = {
			.indirect_op = BLKIF_OP_READ, .nr_segments = 256,
			.id = ~0ULL, .sector_number = 5, .handle = 9,
			.indirect_grefs = { 0x01020304, 1, 2, 3, 4, 5, 6, 7 },
		},
	};

	memcpy(s->raw, &req, sizeof(req));
	KUNIT_EXPECT_EQ(test, xbb_parse(s->raw, XBB_ABI_NATIVE, &s->a, s->seg), 0);
	KUNIT_EXPECT_EQ(test, s->a.op, BLKIF_OP_READ);
	/* What stock blkfront compares an answer with. */
	KUNIT_EXPECT_EQ(test, s->a.wire_op, BLKIF_OP_READ);
	KUNIT_EXPECT_EQ(test, s->a.id, ~0ULL);
	KUNIT_EXPECT_EQ(test, s->a.sector, 5);
	KUNIT_EXPECT_EQ(test, s->a.list_gref, 0x01020304);
	KUNIT_EXPECT_EQ(test, s->a.nsegs, 256);
}

static void parse_native_discard_header(struct kunit *test)
{
	struct scratch *s = scratch(test);
	struct blkif_request req = {
		.operation = BLKIF_OP_DISCARD,
		.u.discard = {
			.flag = BLKIF_DISCARD_SECURE, .id = 3,
			.sector_number = 1ULL << 40, .nr_sectors = 1ULL << 33,
		},
	};

	memcpy(s->raw, &req, sizeof(req));
	KUNIT_EXPECT_EQ(test, xbb_parse(s->raw, XBB_ABI_NATIVE, &s->a, s->seg), 0);
	KUNIT_EXPECT_TRUE(test, s->a.secure);
	KUNIT_EXPECT_EQ(test, s->a.sector, 1ULL << 40);
	KUNIT_EXPECT_EQ(test, s->a.nr_sectors, 1ULL << 33);
}

/* The 32-bit layout, byte by byte. */
static void parse_abi32_bytes(struct kunit *test)
{
	struct scratch *s = scratch(test);
	unsigned int i;

	for (i = 0; i < 108; i++)
		s->raw[i] = i;
	s->raw[0] = BLKIF_OP_READ;
	s->raw[1] = 2;
	KUNIT_EXPECT_EQ(test, xbb_slot_size(XBB_ABI_32), 108);
	KUNIT_EXPECT_EQ(test, xbb_parse(s->raw, XBB_ABI_32, &s->a, s->seg), 0);
	KUNIT_EXPECT_EQ(test, s->a.id, 0x0b0a090807060504);
	KUNIT_EXPECT_EQ(test, s->a.sector, 0x131211100f0e0d0c);
	KUNIT_EXPECT_EQ(test, s->seg[0].gref, 0x17161514);
	KUNIT_EXPECT_EQ(test, s->seg[0].first, 0x18);
	KUNIT_EXPECT_EQ(test, s->seg[1].last, 0x21);
}

static void parse_segment_count_grid(struct kunit *test)
{
	static const u8 ops[] = {
		BLKIF_OP_READ, BLKIF_OP_WRITE, BLKIF_OP_FLUSH_DISKCACHE,
	};
	struct scratch *s = scratch(test);
	unsigned int abi, op, n;

	for (abi = 0; abi < 2; abi++)
		for (op = 0; op < ARRAY_SIZE(ops); op++)
			for (n = 0; n < 256; n++) {
				bool good = n <= 11 && (n || op == 2);
				int err;

				s->raw[0] = ops[op];
				s->raw[1] = n;
				err = xbb_parse(s->raw, abi, &s->a, s->seg);
				if (err != (good ? 0 : -EPROTO))
					KUNIT_FAIL(test, "abi %u op %u n %u: %d",
						   abi, ops[op], n, err);
			}
}

static void parse_indirect_count_grid(struct kunit *test)
{
	struct scratch *s = scratch(test);
	unsigned int abi, n, bad = 0;

	for (abi = 0; abi < 2; abi++)
		for (n = 0; n < 65536; n++) {
			int want = n && n <= 256 ? 0 : -EPROTO;
			u16 count = n;

			s->raw[0] = BLKIF_OP_INDIRECT;
			s->raw[1] = BLKIF_OP_WRITE;
			memcpy(s->raw + 2, &count, 2);
			bad += xbb_parse(s->raw, abi, &s->a, s->seg) != want;
		}
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static void parse_every_operation(struct kunit *test)
{
	struct scratch *s = scratch(test);
	unsigned int op;

	for (op = 0; op < 256; op++) {
		bool known = op == BLKIF_OP_READ || op == BLKIF_OP_WRITE ||
			     op == BLKIF_OP_FLUSH_DISKCACHE ||
			     op == BLKIF_OP_DISCARD;
		u64 id = op * 0x0101010101010101;

		s->raw[0] = op;
		s->raw[1] = 1;
		memcpy(s->raw + 8, &id, 8);
		if (op == BLKIF_OP_INDIRECT)
			continue;
		KUNIT_EXPECT_EQ(test, xbb_parse(s->raw, XBB_ABI_64, &s->a, s->seg),
				known ? 0 : -EOPNOTSUPP);
		/* Also what is refused is answered by its name. */
		KUNIT_EXPECT_EQ(test, s->a.id, id);
		KUNIT_EXPECT_EQ(test, s->a.wire_op, op);
	}
}

static void parse_every_indirect_operation(struct kunit *test)
{
	struct scratch *s = scratch(test);
	unsigned int op;

	for (op = 0; op < 256; op++) {
		s->raw[0] = BLKIF_OP_INDIRECT;
		s->raw[1] = op;
		s->raw[2] = 1;
		KUNIT_EXPECT_EQ(test, xbb_parse(s->raw, XBB_ABI_64, &s->a, s->seg),
				op <= BLKIF_OP_WRITE ? 0 : -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, s->a.wire_op, op);
	}
}

/* ------------------------------------------------------------------ */
/* The gate                                                            */
/* ------------------------------------------------------------------ */

static void check_first_last_grid(struct kunit *test)
{
	struct scratch *s = scratch(test);
	unsigned int first, last, bad = 0;

	for (first = 0; first < 256; first++)
		for (last = 0; last < 256; last++) {
			bool good = first <= last && last <= 7;

			s->a = (struct xbb_ask) { .op = BLKIF_OP_READ, .nsegs = 1 };
			s->seg[0].first = first;
			s->seg[0].last = last;
			bad += xbb_check(&s->a, s->seg, &plain) !=
			       (good ? 0 : -EPROTO);
			bad += good && s->a.nr_sectors != last - first + 1;
		}
	KUNIT_EXPECT_EQ(test, bad, 0);
}

/* A bad segment is found wherever it stands. */
static void check_bad_segment_at_every_place(struct kunit *test)
{
	struct scratch *s = scratch(test);
	unsigned int i, n = XBB_INDIRECT_SEGS;
	struct xbb_limits l = plain;

	l.sectors = 1 << 20;
	for (i = 0; i < n; i++)
		s->seg[i].last = 7;
	for (i = 0; i < n; i++) {
		s->a = (struct xbb_ask) { .op = BLKIF_OP_WRITE, .nsegs = n };
		s->seg[i].last = 8;
		KUNIT_EXPECT_EQ(test, xbb_check(&s->a, s->seg, &l), -EPROTO);
		s->seg[i].last = 7;
	}
	KUNIT_EXPECT_EQ(test, xbb_check(&s->a, s->seg, &l), 0);
	KUNIT_EXPECT_EQ(test, s->a.nr_sectors, n * 8);
}

static void check_operation_access_range(struct kunit *test)
{
	static const struct {
		u8 op;
		u64 sector, n;
		bool ro, discard;
		int want;
	} row[] = {
		{ BLKIF_OP_READ, 0, 8, false, true, 0 },
		{ BLKIF_OP_READ, 0, 8, true, true, 0 },
		{ BLKIF_OP_READ, 992, 8, false, true, 0 },
		{ BLKIF_OP_READ, 993, 8, false, true, -ERANGE },
		{ BLKIF_OP_READ, 1000, 1, false, true, -ERANGE },
		{ BLKIF_OP_READ, 1001, 1, false, true, -ERANGE },
		{ BLKIF_OP_READ, U64_MAX, 8, false, true, -ERANGE },
		{ BLKIF_OP_READ, U64_MAX - 7, 8, false, true, -ERANGE },
		{ BLKIF_OP_READ, 1ULL << 63, 8, false, true, -ERANGE },
		{ BLKIF_OP_WRITE, 0, 8, false, true, 0 },
		{ BLKIF_OP_WRITE, 0, 8, true, true, -EROFS },
		{ BLKIF_OP_WRITE, 993, 8, false, true, -ERANGE },
		{ BLKIF_OP_FLUSH_DISKCACHE, 0, 8, false, true, 0 },
		{ BLKIF_OP_FLUSH_DISKCACHE, 0, 8, true, true, -EROFS },
		{ BLKIF_OP_FLUSH_DISKCACHE, 999, 8, false, true, -ERANGE },
		{ BLKIF_OP_FLUSH_DISKCACHE, 5000, 0, true, true, 0 },
		{ BLKIF_OP_DISCARD, 0, 1000, false, true, 0 },
		{ BLKIF_OP_DISCARD, 0, 1001, false, true, -ERANGE },
		{ BLKIF_OP_DISCARD, 1, U64_MAX, false, true, -ERANGE },
		{ BLKIF_OP_DISCARD, 0, 0, false, true, -EPROTO },
		{ BLKIF_OP_DISCARD, 0, 8, true, true, -EROFS },
		{ BLKIF_OP_DISCARD, 0, 8, false, false, -EOPNOTSUPP },
		{ BLKIF_OP_WRITE_BARRIER, 0, 8, false, true, -EOPNOTSUPP },
		{ XBB_OP_BAD, 0, 8, false, true, -EOPNOTSUPP },
	};
	struct scratch *s = scratch(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		struct xbb_limits l = plain;
		bool discard = row[i].op == BLKIF_OP_DISCARD;

		l.readonly = row[i].ro;
		l.discard = row[i].discard;
		s->a = (struct xbb_ask) {
			.op = row[i].op, .sector = row[i].sector,
			.nsegs = !discard && row[i].n,
			.nr_sectors = discard ? row[i].n : 0,
		};
		s->seg[0] = (struct xbb_seg) { .last = row[i].n - 1 };
		KUNIT_EXPECT_EQ_MSG(test, xbb_check(&s->a, s->seg, &l),
				    row[i].want, "row %u", i);
	}
}

static void check_secure_discard_only_if_offered(struct kunit *test)
{
	struct xbb_ask a = {
		.op = BLKIF_OP_DISCARD, .nr_sectors = 8, .secure = true,
	};
	struct xbb_limits l = plain;

	KUNIT_EXPECT_EQ(test, xbb_check(&a, NULL, &l), 0);
	l.secure = false;
	KUNIT_EXPECT_EQ(test, xbb_check(&a, NULL, &l), -EOPNOTSUPP);
}

/* Blocks of 4096 bytes: only whole pages at multiples of eight sectors. */
static void check_block_4096_grid(struct kunit *test)
{
	struct scratch *s = scratch(test);
	struct xbb_limits l = plain;
	unsigned int sector, first, last;

	l.block = 8;
	for (sector = 0; sector < 17; sector++)
		for (first = 0; first < 8; first++)
			for (last = first; last < 8; last++) {
				bool good = !(sector % 8) && !first && last == 7;

				s->a = (struct xbb_ask) {
					.op = BLKIF_OP_WRITE, .nsegs = 1,
					.sector = sector,
				};
				s->seg[0].first = first;
				s->seg[0].last = last;
				KUNIT_EXPECT_EQ(test,
						xbb_check(&s->a, s->seg, &l),
						good ? 0 : -ERANGE);
			}
}

/* Blocks larger than a page: whole pages that make whole blocks. */
static void check_block_16384(struct kunit *test)
{
	struct scratch *s = scratch(test);
	struct xbb_limits l = plain;
	unsigned int n;

	l.block = 32;
	for (n = 1; n <= 11; n++) {
		s->a = (struct xbb_ask) {
			.op = BLKIF_OP_READ, .nsegs = n, .sector = 32,
		};
		s->seg[n - 1].last = 7;
		KUNIT_EXPECT_EQ(test, xbb_check(&s->a, s->seg, &l),
				n % 4 ? -ERANGE : 0);
	}
}

/* ------------------------------------------------------------------ */
/* Responses                                                           */
/* ------------------------------------------------------------------ */

/* Every byte is defined, whatever was in the buffer before (XSA-216). */
static void response_bytes(struct kunit *test)
{
	static const u8 want[16] = {
		0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 6, 0, 0xff, 0xff,
	};
	const struct xbb_ask a = { .id = 0x0123456789abcdef, .wire_op = 6 };
	unsigned int abi, poison;
	u8 out[16];

	for (abi = 0; abi < 2; abi++)
		for (poison = 0; poison < 256; poison += 51) {
			memset(out, poison, sizeof(out));
			KUNIT_EXPECT_EQ(test, xbb_response(out, abi, &a, -EIO),
					abi == XBB_ABI_64 ? 16 : 12);
			KUNIT_EXPECT_EQ(test, memcmp(out, want, 16), 0);
		}
}

static void response_matches_header(struct kunit *test)
{
	const struct xbb_ask a = { .id = 7, .wire_op = BLKIF_OP_DISCARD };
	struct blkif_response rsp;
	u8 out[16];

	xbb_response(out, XBB_ABI_NATIVE, &a, -EOPNOTSUPP);
	memcpy(&rsp, out, sizeof(rsp));
	KUNIT_EXPECT_EQ(test, rsp.id, 7);
	KUNIT_EXPECT_EQ(test, rsp.operation, BLKIF_OP_DISCARD);
	KUNIT_EXPECT_EQ(test, rsp.status, BLKIF_RSP_EOPNOTSUPP);
}

static void status_of_errors(struct kunit *test)
{
	int err;

	KUNIT_EXPECT_EQ(test, xbb_status(0), BLKIF_RSP_OKAY);
	for (err = -1; err > -200; err--)
		KUNIT_EXPECT_EQ(test, xbb_status(err),
				err == -EOPNOTSUPP ? BLKIF_RSP_EOPNOTSUPP :
				BLKIF_RSP_ERROR);
}

static void ring_sizes_of_layouts(struct kunit *test)
{
	unsigned int pages;

	for (pages = 1; pages <= 16; pages *= 2) {
		KUNIT_EXPECT_EQ(test, xpv_ring_size(pages, xbb_slot_size(XBB_ABI_64)),
				32 * pages);
		KUNIT_EXPECT_EQ(test, xpv_ring_size(pages, xbb_slot_size(XBB_ABI_32)),
				32 * pages);
	}
}

static void disk_number_texts(struct kunit *test)
{
	static const struct {
		const char *text;
		dev_t dev;
	} row[] = {
		{ "1:0", MKDEV(1, 0) }, { "ca:10", MKDEV(202, 16) },
		{ "fd:fffff", MKDEV(253, 0xfffff) }, { "0:0", 0 }, { "", 0 },
		{ "1", 0 }, { "1:", 0 }, { ":1", 0 }, { "1:2:3", 0 },
		{ "1:0 ", 0 }, { "xyz", 0 }, { "1000:0", 0 },
		{ "1:100000", 0 }, { "-1:1", 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		dev_t dev = 0;
		int err = xbb_disk_parse(row[i].text, &dev);

		KUNIT_EXPECT_EQ_MSG(test, err, row[i].dev ? 0 : -EINVAL, "%s",
				    row[i].text);
		if (row[i].dev)
			KUNIT_EXPECT_EQ(test, dev, row[i].dev);
	}
}

/* ------------------------------------------------------------------ */
/* Looks before sleeping                                               */
/* ------------------------------------------------------------------ */

#define MOST	100000

static void poll_opens_and_closes(struct kunit *test)
{
	struct xbb_poll p = {};
	unsigned int i;

	xbb_poll_slept(&p, MOST, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, p.window, 0);
	for (i = 0; i < 5; i++) {
		u32 last = p.window;

		xbb_poll_slept(&p, MOST, 30000);
		KUNIT_EXPECT_GT(test, p.window, last);
	}
	KUNIT_EXPECT_EQ(test, p.window, MOST);
	/* Idle: closed after a few pauses, however long it was open. */
	for (i = 0; i < 5; i++)
		xbb_poll_slept(&p, MOST, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, p.window, 0);
}

static void poll_off(struct kunit *test)
{
	struct xbb_poll p = {};
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		xbb_poll_slept(&p, 0, i % 3);
		KUNIT_EXPECT_EQ(test, p.window, 0);
	}
	/* Switched off while open. */
	p.window = MOST;
	xbb_poll_slept(&p, 0, 5);
	xbb_poll_slept(&p, 0, 5);
	KUNIT_EXPECT_LE(test, p.window, MOST / 2);
}

/* Requests come soon after each look and never during one: it only hinders. */
static void poll_in_vain_is_given_up(struct kunit *test)
{
	struct xbb_poll p = {};
	unsigned int i, open = 0;

	for (i = 0; i < 10000; i++) {
		open += p.window != 0;
		xbb_poll_slept(&p, MOST, 20000);
	}
	KUNIT_EXPECT_GT(test, open, 0);
	KUNIT_EXPECT_LE(test, open, 10000 / 25);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(poll_opens_and_closes),
	KUNIT_CASE(poll_off),
	KUNIT_CASE(poll_in_vain_is_given_up),
	KUNIT_CASE(parse_native_header),
	KUNIT_CASE(parse_native_indirect_header),
	KUNIT_CASE(parse_native_discard_header),
	KUNIT_CASE(parse_abi32_bytes),
	KUNIT_CASE(parse_segment_count_grid),
	KUNIT_CASE(parse_indirect_count_grid),
	KUNIT_CASE(parse_every_operation),
	KUNIT_CASE(parse_every_indirect_operation),
	KUNIT_CASE(check_first_last_grid),
	KUNIT_CASE(check_bad_segment_at_every_place),
	KUNIT_CASE(check_operation_access_range),
	KUNIT_CASE(check_secure_discard_only_if_offered),
	KUNIT_CASE(check_block_4096_grid),
	KUNIT_CASE(check_block_16384),
	KUNIT_CASE(response_bytes),
	KUNIT_CASE(response_matches_header),
	KUNIT_CASE(status_of_errors),
	KUNIT_CASE(ring_sizes_of_layouts),
	KUNIT_CASE(disk_number_texts),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkback",
	.test_cases = cases,
};

kunit_test_suite(suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * Requests and responses of xpv-blkback, as bytes and as checked structs.
 *
 * Decides whether a request may be carried out at all.  Pure: the caller has
 * copied the bytes out of shared memory once, nothing here looks back.  Called
 * by a ring's thread, xbb_response() also by a completing context.
 *
 * Two layouts exist. They differ only in the place of the 64-bit id, behind
 * which all other fields follow at fixed distances:
 *
 *	byte 0	operation
 *	byte 1	segments / flags of a discard / inner operation of an indirect
 *	byte 2	device handle (ignored) / segments of an indirect
 *	id	at 8, or at 4 for x86_32
 *	+8	first sector
 *	+16	segments / sectors of a discard / handle of an indirect
 *	+20	list pages of an indirect
 */
#include <linux/string.h>
#include "blkback.h"

/* Bytes of one segment on the wire: gref, first sector, last sector, padding. */
#define SEG_BYTES	8

#define OFF_SECTOR	8
#define OFF_BODY	16
#define OFF_LIST	20

static_assert(sizeof(struct blkif_request_segment) == SEG_BYTES);
static_assert(XBB_INDIRECT_SEGS * SEG_BYTES <= XPV_PAGE_SIZE);

static unsigned int id_offset(enum xbb_abi abi)
{
	return abi == XBB_ABI_32 ? 4 : 8;
}

unsigned int xbb_slot_size(enum xbb_abi abi)
{
	return id_offset(abi) + OFF_BODY + XBB_DIRECT_SEGS * SEG_BYTES;
}

/* Fields of a slot may stand at any address. */
static u64 get_u64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u32 get_u32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u16 get_u16(const u8 *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

void xbb_parse_list(const u8 *list, struct xbb_seg *seg, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++, list += SEG_BYTES)
		seg[i] = (struct xbb_seg) {
			.gref = get_u32(list),
			.first = list[4],
			.last = list[5],
		};
}

static int refuse(struct xbb_ask *a, enum xpv_fault why, int err)
{
	a->why = why;
	return err;
}

static int parse_direct(const u8 *raw, const u8 *body, struct xbb_ask *a,
			struct xbb_seg *seg)
{
	unsigned int min = a->op == BLKIF_OP_FLUSH_DISKCACHE ? 0 : 1;

	a->nsegs = raw[1];
	if (a->nsegs < min || a->nsegs > XBB_DIRECT_SEGS)
		return refuse(a, XPV_FAULT_SLOTS, -EPROTO);
	xbb_parse_list(body, seg, a->nsegs);
	return 0;
}

/*
 * An indirect request stands for a read or a write, for nothing else.  Linux
 * frontends expect to be answered with what it stands for, and disable the disk
 * when they are not.
 */
static int parse_indirect(const u8 *raw, const u8 *id, struct xbb_ask *a)
{
	a->op = raw[1];
	a->wire_op = raw[1];
	a->nsegs = get_u16(raw + 2);
	a->indirect = true;
	a->list_gref = get_u32(id + OFF_LIST);
	if (a->op != BLKIF_OP_READ && a->op != BLKIF_OP_WRITE) {
		a->op = XBB_OP_BAD;
		return refuse(a, XPV_FAULT_OP, -EOPNOTSUPP);
	}
	if (!a->nsegs || a->nsegs > XBB_INDIRECT_SEGS)
		return refuse(a, XPV_FAULT_SLOTS, -EPROTO);
	return 0;
}

int xbb_parse(const u8 *raw, enum xbb_abi abi, struct xbb_ask *a,
	      struct xbb_seg *seg)
{
	const u8 *id = raw + id_offset(abi);

	*a = (struct xbb_ask) {
		.id = get_u64(id),
		.sector = get_u64(id + OFF_SECTOR),
		.wire_op = raw[0],
		.op = raw[0],
	};
	switch (a->op) {
	case BLKIF_OP_READ:
	case BLKIF_OP_WRITE:
	case BLKIF_OP_FLUSH_DISKCACHE:
		return parse_direct(raw, id + OFF_BODY, a, seg);
	case BLKIF_OP_INDIRECT:
		return parse_indirect(raw, id, a);
	case BLKIF_OP_DISCARD:
		a->secure = raw[1] & BLKIF_DISCARD_SECURE;
		a->nr_sectors = get_u64(id + OFF_BODY);
		return 0;
	default:
		a->op = XBB_OP_BAD;
		return refuse(a, XPV_FAULT_OP, -EOPNOTSUPP);
	}
}

static int check_segments(struct xbb_ask *a, const struct xbb_seg *seg,
			  const struct xbb_limits *l)
{
	u32 mask = min_t(u32, l->block, XPV_BLK_SECTORS_PER_PAGE) - 1;
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < a->nsegs; i++) {
		if (seg[i].first > seg[i].last ||
		    seg[i].last >= XPV_BLK_SECTORS_PER_PAGE)
			return refuse(a, XPV_FAULT_SIZE, -EPROTO);
		if ((seg[i].first | (seg[i].last + 1)) & mask)
			return refuse(a, XPV_FAULT_RANGE, -ERANGE);
		sum += seg[i].last - seg[i].first + 1;
	}
	a->nr_sectors = sum;
	return 0;
}

static int check_range(struct xbb_ask *a, const struct xbb_limits *l)
{
	if ((a->sector | a->nr_sectors) & (l->block - 1))
		return refuse(a, XPV_FAULT_RANGE, -ERANGE);
	/* Subtraction only: no sum that could wrap. */
	if (a->sector > l->sectors || a->nr_sectors > l->sectors - a->sector)
		return refuse(a, XPV_FAULT_RANGE, -ERANGE);
	return 0;
}

int xbb_check(struct xbb_ask *a, const struct xbb_seg *seg,
	      const struct xbb_limits *l)
{
	int err;

	switch (a->op) {
	case BLKIF_OP_READ:
		break;
	case BLKIF_OP_FLUSH_DISKCACHE:
		if (!a->nsegs)
			return 0;
		fallthrough;
	case BLKIF_OP_WRITE:
		if (l->readonly)
			return refuse(a, XPV_FAULT_ACCESS, -EROFS);
		break;
	case BLKIF_OP_DISCARD:
		if (l->readonly)
			return refuse(a, XPV_FAULT_ACCESS, -EROFS);
		if (!l->discard || (a->secure && !l->secure))
			return refuse(a, XPV_FAULT_OP, -EOPNOTSUPP);
		if (!a->nr_sectors)
			return refuse(a, XPV_FAULT_SIZE, -EPROTO);
		return check_range(a, l);
	default:
		return refuse(a, XPV_FAULT_OP, -EOPNOTSUPP);
	}
	err = check_segments(a, seg, l);
	return err ?: check_range(a, l);
}

s16 xbb_status(int err)
{
	switch (err) {
	case 0:
		return BLKIF_RSP_OKAY;
	case -EOPNOTSUPP:
		return BLKIF_RSP_EOPNOTSUPP;
	default:
		return BLKIF_RSP_ERROR;
	}
}

unsigned int xbb_response(u8 *out, enum xbb_abi abi, const struct xbb_ask *a,
			  int err)
{
	s16 status = xbb_status(err);

	/* Same fields in both layouts, only the padding at the end differs. */
	memset(out, 0, 16);
	memcpy(out, &a->id, sizeof(a->id));
	out[8] = a->wire_op;
	memcpy(out + 10, &status, sizeof(status));
	return abi == XBB_ABI_32 ? 12 : 16;
}

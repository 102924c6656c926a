/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests and responses of xpv-blkback: from bytes to a checked struct and
 * back.  Pure, see request.c.
 */
#ifndef XPV_BLKBACK_REQUEST_H
#define XPV_BLKBACK_REQUEST_H

#include <linux/kconfig.h>
#include <xen/interface/io/blkif.h>
#include <xpv/stats.h>

/** XBB_SLOT_MAX - bytes of the largest request of any layout. */
#define XBB_SLOT_MAX		112

/** XBB_DIRECT_SEGS - segments that fit a slot. */
#define XBB_DIRECT_SEGS		BLKIF_MAX_SEGMENTS_PER_REQUEST

/** XBB_INDIRECT_SEGS - most segments of an indirect request: one list page. */
#define XBB_INDIRECT_SEGS	256

/** XBB_OP_BAD - stands for every operation code that is not one of ours. */
#define XBB_OP_BAD		0xff

/** enum xbb_abi - layouts of requests and responses; native is one of them. */
enum xbb_abi {
	XBB_ABI_64,		/* 64-bit fields at multiples of 8 */
	XBB_ABI_32,		/* x86_32: at multiples of 4 */
};

#ifdef CONFIG_X86_32
#define XBB_ABI_NATIVE		XBB_ABI_32
#else
#define XBB_ABI_NATIVE		XBB_ABI_64
#endif

/*
 * XBB_ABI_ABSENT - layout of a frontend that does not name one: on x86 that of
 * x86_32, as Linux and QEMU have it.
 */
#if IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_UML_X86)
#define XBB_ABI_ABSENT		XBB_ABI_32
#else
#define XBB_ABI_ABSENT		XBB_ABI_NATIVE
#endif

struct xbb_pgrant;

/**
 * struct xbb_seg - one segment
 * @pg: cached grant in use for it, NULL: private page or none yet
 * @gref: the guest's page
 * @first: first sector of 512 bytes in the page
 * @last: last one, inclusive
 */
struct xbb_seg {
	struct xbb_pgrant *pg;
	grant_ref_t gref;
	u8 first;
	u8 last;
};

/**
 * struct xbb_ask - what a request asks for
 * @id: echoed bit for bit
 * @sector: first sector
 * @nr_sectors: sum of the segments, or length of the discard
 * @list_gref: page with the segments of an indirect request
 * @nsegs: segments
 * @wire_op: echoed: operation as received, of an indirect request the inner one
 * @op: BLKIF_OP_READ, _WRITE, _FLUSH_DISKCACHE, _DISCARD or XBB_OP_BAD
 * @indirect: segments are in @list_gref
 * @secure: discard must erase
 * @why: reason when it is refused
 */
struct xbb_ask {
	u64 id;
	u64 sector;
	u64 nr_sectors;
	grant_ref_t list_gref;
	u16 nsegs;
	u8 wire_op;
	u8 op;
	bool indirect;
	bool secure;
	enum xpv_fault why;
};

/**
 * struct xbb_limits - what the disk allows now
 * @sectors: capacity
 * @block: logical block in sectors, a power of two
 * @readonly: no writes and no discards
 * @discard: the disk can discard
 * @secure: the disk can discard for good
 */
struct xbb_limits {
	u64 sectors;
	u32 block;
	bool readonly;
	bool discard;
	bool secure;
};

/** xbb_slot_size() - bytes a request takes on the ring. */
unsigned int xbb_slot_size(enum xbb_abi abi);

/**
 * xbb_parse() - private copy of a slot to a request
 * @raw: XBB_SLOT_MAX bytes
 * @abi: its layout
 * @a: result, complete also on error
 * @seg: XBB_DIRECT_SEGS segments, filled unless indirect
 *
 * Return: 0; -EOPNOTSUPP unknown operation; -EPROTO counts out of bounds.
 */
int xbb_parse(const u8 *raw, enum xbb_abi abi, struct xbb_ask *a,
	      struct xbb_seg *seg);

/** xbb_parse_list() - private copy of a list page to @n segments. */
void xbb_parse_list(const u8 *list, struct xbb_seg *seg, unsigned int n);

/**
 * xbb_check() - the one gate for all operations
 * @a: request; @nr_sectors is set from the segments
 * @seg: its segments
 * @l: limits
 *
 * Return: 0; -EOPNOTSUPP not with this disk; -EROFS; -EPROTO segment malformed;
 * -ERANGE beyond the disk or misaligned.
 */
int xbb_check(struct xbb_ask *a, const struct xbb_seg *seg,
	      const struct xbb_limits *l);

/** xbb_status() - errno to the status of a response. */
s16 xbb_status(int err);

/**
 * xbb_response() - build a response
 * @out: 16 bytes, all of them written
 *
 * Return: bytes that belong to the layout.
 */
unsigned int xbb_response(u8 *out, enum xbb_abi abi, const struct xbb_ask *a,
			  int err);

#endif /* XPV_BLKBACK_REQUEST_H */

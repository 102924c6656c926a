/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest under the control of a test: plays the frontend of a vbd against the
 * real blkback, which has a disk in memory behind it.
 */
#ifndef XPV_FAKE_BLKGUEST_H
#define XPV_FAKE_BLKGUEST_H

#include "../../drivers/blkback/blkback.h"
#include "fake_disk.h"
#include "fake_hyp.h"

#define BLKGUEST_QUEUES		2
#define BLKGUEST_SECTORS	4096
#define BLKGUEST_PAGES		300

/**
 * struct blkguest_rsp - one response
 * @raw: bytes of the slot
 * @id: echoed id
 * @op: echoed operation
 * @status: BLKIF_RSP_*
 */
struct blkguest_rsp {
	u8 raw[16];
	u64 id;
	u8 op;
	s16 status;
};

/**
 * struct blkguest_ask - one request to send
 * @op: operation
 * @inner: operation within an indirect one
 * @id: any
 * @sector: first sector
 * @nr_sectors: of a discard
 * @seg: segments
 * @nsegs: how many; indirect when @op says so
 * @list: page of the list
 * @list_gref: its grant
 */
struct blkguest_ask {
	u8 op, inner, flags;
	u64 id, sector, nr_sectors;
	struct xbb_seg seg[XBB_INDIRECT_SEGS];
	unsigned int nsegs;
	struct page *list;
	grant_ref_t list_gref;
};

/* The guest's end of one ring. */
struct blkguest_ring {
	struct xpv_ring_mem mem;
	struct xpv_front ring;
	struct xpv_evt evt;
	unsigned int events;
};

/**
 * struct blkguest - one guest with one vbd
 * @test: running test
 * @w: world
 * @p: pair whose back end has the real driver
 * @d: front end
 * @disk: behind the back end
 * @abi: layout used by blkguest_send()
 * @nrings: rings shared
 * @order: their size
 * @r: rings
 * @page: pages, granted read-write
 * @gref: their grants
 * @ask: for the convenience of tests, too large for their stack
 */
struct blkguest {
	struct kunit *test;
	struct fake_world *w;
	struct fake_pair *p;
	struct xpv_dev *d;
	struct fake_disk *disk;
	enum xbb_abi abi;
	unsigned int nrings;
	unsigned int order;
	struct blkguest_ring r[BLKGUEST_QUEUES];
	struct page *page[BLKGUEST_PAGES];
	grant_ref_t gref[BLKGUEST_PAGES];
	struct blkguest_ask ask;
};

/** blkguest_limits() - a disk that can do everything. */
struct queue_limits blkguest_limits(unsigned int block);

/** blkguest_new() - world, disk with @lim, backend probed, no disk key yet. */
struct blkguest *blkguest_new(struct kunit *test,
			      const struct queue_limits *lim);

/** blkguest_disk() - what the hotplug script does. */
void blkguest_disk(struct blkguest *g);

/** blkguest_dev() - blkback's device. */
struct xbb_dev *blkguest_dev(struct blkguest *g);

/** blkguest_stat() - one of its counters. */
u64 blkguest_stat(struct blkguest *g, const char *name);

/** blkguest_share() - rings and keys, no state. */
void blkguest_share(struct blkguest *g, unsigned int nrings, unsigned int order,
		    bool persistent);

/** blkguest_unshare() - take the rings back. */
void blkguest_unshare(struct blkguest *g);

/** blkguest_state() - write our state, run. Return: the backend's then. */
enum xenbus_state blkguest_state(struct blkguest *g, enum xenbus_state state);

/** blkguest_connect() - disk, share and state 3; the backend must connect. */
void blkguest_connect(struct blkguest *g, unsigned int nrings,
		      unsigned int order, bool persistent);

/** blkguest_ready() - blkguest_new() with a default disk, connected. */
struct blkguest *blkguest_ready(struct kunit *test, unsigned int nrings,
				unsigned int order, bool persistent);

/** blkguest_again() - close in order, take the rings back, state 1. */
void blkguest_again(struct blkguest *g);

/** blkguest_end() - close in order, remove, check that nothing is left. */
void blkguest_end(struct blkguest *g);

/** blkguest_encode() - bytes of a request. */
void blkguest_encode(u8 *raw, enum xbb_abi abi, const struct blkguest_ask *a);

/** blkguest_rw() - fill g->ask: @n whole pages from @first. */
struct blkguest_ask *blkguest_rw(struct blkguest *g, u8 op, u64 sector,
				 unsigned int first, unsigned int n);

/** blkguest_send() - one request on the ring, kick if wanted; no running. */
void blkguest_send(struct blkguest *g, unsigned int ring,
		   const struct blkguest_ask *a);

/** blkguest_take() - a response if there is one. */
bool blkguest_take(struct blkguest *g, unsigned int ring,
		   struct blkguest_rsp *rsp);

/** blkguest_do() - send, run, take. Return: status, 1 without a response. */
int blkguest_do(struct blkguest *g, unsigned int ring,
		const struct blkguest_ask *a);

/** blkguest_fill() - a pattern into pages. */
void blkguest_fill(struct blkguest *g, unsigned int first, unsigned int n,
		   u8 seed);

/** blkguest_bad() - bytes of a page that differ from blkguest_fill(). */
unsigned int blkguest_bad(const u8 *bytes, unsigned int page, u8 seed);

#endif /* XPV_FAKE_BLKGUEST_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A backend under the control of a test: plays the other end of a vbd against
 * the real blkfront, with the disk's bytes in memory.
 *
 * It serves in its event handler, so that a test may wait for I/O.
 */
#ifndef XPV_FAKE_BLKPEER_H
#define XPV_FAKE_BLKPEER_H

#include <linux/completion.h>
#include "../../drivers/blkfront/blkfront.h"
#include "fake_hyp.h"

#define BLKPEER_QUEUES	4
#define BLKPEER_SECTORS	8192
#define BLKPEER_LOG	64

struct blkpeer;

/** struct blkpeer_ring - its end of one ring. */
struct blkpeer_ring {
	struct blkpeer *peer;
	struct xpv_ring_mem mem;
	struct xpv_back ring;
	struct xpv_evt evt;
	bool mapped;
};

/** struct blkpeer_seen - what a request looked like. */
struct blkpeer_seen {
	u8 op, inner;
	unsigned int segs;
	u64 sector;
	u8 first, last;
};

/**
 * struct blkpeer - one backend with one vbd
 * @test: running test
 * @w: world
 * @p: pair whose front end has the real driver
 * @d: back end
 * @data: bytes of the disk
 * @nrings: rings mapped
 * @r: rings
 * @hold: take no request
 * @answer: status for each operation
 * @wrap: echo the wrapper of indirect requests
 * @lock: guards what follows
 * @seen: requests taken, the first BLKPEER_LOG of them
 * @nseen: how many were taken
 * @bad: segments that made no sense
 */
struct blkpeer {
	struct kunit *test;
	struct fake_world *w;
	struct fake_pair *p;
	struct xpv_dev *d;
	u8 *data;
	unsigned int nrings;
	struct blkpeer_ring r[BLKPEER_QUEUES];
	bool hold;
	s16 answer[8];
	bool wrap;
	spinlock_t lock; /* as above */
	struct blkpeer_seen seen[BLKPEER_LOG];
	unsigned int nseen;
	unsigned int bad;
};

/** blkpeer_new() - world and pair, no driver bound, no key offered. */
struct blkpeer *blkpeer_new(struct kunit *test);

/** blkpeer_dev() - blkfront's device. */
struct xbf_dev *blkpeer_dev(struct blkpeer *b);

/** blkpeer_stat() - one of its counters. */
u64 blkpeer_stat(struct blkpeer *b, const char *name);

/** blkpeer_set() - offer a number. */
void blkpeer_set(struct blkpeer *b, const char *key, u64 val);

/** blkpeer_state() - write our state, run. Return: the frontend's then. */
enum xenbus_state blkpeer_state(struct blkpeer *b, enum xenbus_state state);

/** blkpeer_probe() - bind blkfront, state 2; it must reach 3. */
void blkpeer_probe(struct blkpeer *b);

/** blkpeer_attach() - map the rings it published. */
void blkpeer_attach(struct blkpeer *b);

/** blkpeer_detach() - unmap them. */
void blkpeer_detach(struct blkpeer *b);

/** blkpeer_live() - probe, attach, state 4; the disk must appear. */
void blkpeer_live(struct blkpeer *b);

/** blkpeer_keys() - new and live; @keys are "name=number" words to offer. */
struct blkpeer *blkpeer_keys(struct kunit *test, const char *keys);

/** blkpeer_again() - after fake_resume(): offer, attach, state 4. */
void blkpeer_again(struct blkpeer *b);

/** blkpeer_end() - close in order, check that nothing is left. */
void blkpeer_end(struct blkpeer *b);

/** blkpeer_end_late() - the same by a backend that unmaps only after Closed. */
void blkpeer_end_late(struct blkpeer *b);

/** blkpeer_unbind() - without order; keys stay, as a boot loader leaves them. */
void blkpeer_unbind(struct blkpeer *b);

/** blkpeer_done() - the same, and check that nothing is left. */
void blkpeer_done(struct blkpeer *b);

/** blkpeer_front() - number in a key of the frontend, -1 when absent. */
long long blkpeer_front(struct blkpeer *b, const char *key);

/** blkpeer_serve() - take what waits, whether or not held. */
void blkpeer_serve(struct blkpeer *b);

/** blkpeer_raw() - put one response of any content, push, notify, run. */
void blkpeer_raw(struct blkpeer *b, u64 id, u8 op, s16 status);

/**
 * struct blkpeer_io - one bio in flight
 * @test: running test
 * @bio: it
 * @page: its pages
 * @pages: how many
 * @done: when it ended, with @status
 * @ends: how often it ended
 */
struct blkpeer_io {
	struct kunit *test;
	struct bio *bio;
	struct page **page;
	unsigned int pages;
	struct completion done;
	int status;
	unsigned int ends;
};

/**
 * blkpeer_io() - submit without waiting
 * @b: peer
 * @op: REQ_OP_*, with flags
 * @sector: first sector
 * @bytes: size; of a discard, without pages
 * @off: offset in the first page, multiple of 512
 */
struct blkpeer_io *blkpeer_io(struct blkpeer *b, blk_opf_t op, u64 sector,
			      unsigned int bytes, unsigned int off);

/** blkpeer_wait() - until it ended. Return: errno; 1 when it did not. */
int blkpeer_wait(struct blkpeer *b, struct blkpeer_io *io);

/** blkpeer_do() - submit and wait. Return: errno. */
int blkpeer_do(struct blkpeer *b, blk_opf_t op, u64 sector, unsigned int bytes);

/** blkpeer_same() - does it hold what the disk has at @sector? */
bool blkpeer_same(struct blkpeer *b, struct blkpeer_io *io, u64 sector);

#endif /* XPV_FAKE_BLKPEER_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * The backend that the suites of blkfront play; see fake_blkpeer.h.
 */
#include <linux/bio.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "fake_blkpeer.h"

struct xbf_dev *blkpeer_dev(struct blkpeer *b)
{
	return fake_end(b->p, XPV_FRONT)->priv;
}

u64 blkpeer_stat(struct blkpeer *b, const char *name)
{
	struct xbf_dev *x = blkpeer_dev(b);
	unsigned int i, k;
	u64 sum = 0;

	for (i = 0; i < xbf_stat_count; i++) {
		if (strcmp(xbf_stat_table[i].name, name))
			continue;
		sum = xpv_stat_get(&x->old, &xbf_stat_table[i]);
		for (k = 0; x->rings && k < x->nr_rings; k++)
			sum += xpv_stat_get(&x->rings[k].stats,
					    &xbf_stat_table[i]);
		return sum;
	}
	KUNIT_FAIL(b->test, "no counter %s", name);
	return 0;
}

/* ------------------------------------------------------------------ */
/* Serving                                                             */
/* ------------------------------------------------------------------ */

static void move(struct blkpeer *b, u8 op, u64 *sector, grant_ref_t ref,
		 u8 first, u8 last)
{
	struct page *page = fake_granted(b->w, ref);
	unsigned int n = (last - first + 1) * SECTOR_SIZE;
	u8 *ours = b->data + *sector * SECTOR_SIZE;
	u8 *theirs;

	if (!page || first > last || last > 7 ||
	    *sector + n / SECTOR_SIZE > BLKPEER_SECTORS) {
		b->bad++;
		return;
	}
	theirs = (u8 *)page_address(page) + first * SECTOR_SIZE;
	if (op == BLKIF_OP_READ)
		memcpy(theirs, ours, n);
	else
		memcpy(ours, theirs, n);
	*sector += n / SECTOR_SIZE;
}

static unsigned int serve_segments(struct blkpeer *b,
				   const struct blkif_request *req, u8 op,
				   struct blkpeer_seen *seen)
{
	const struct blkif_request_segment *seg = req->u.rw.seg;
	unsigned int i, n = req->u.rw.nr_segments;
	u64 sector = req->u.rw.sector_number;
	struct page *list;

	if (req->operation == BLKIF_OP_INDIRECT) {
		n = req->u.indirect.nr_segments;
		sector = req->u.indirect.sector_number;
		list = fake_granted(b->w, req->u.indirect.indirect_grefs[0]);
		if (!list) {
			b->bad++;
			return 0;
		}
		seg = page_address(list);
	}
	seen->sector = sector;
	for (i = 0; i < n; i++) {
		if (!i)
			seen->first = seg[i].first_sect;
		seen->last = seg[i].last_sect;
		move(b, op, &sector, seg[i].gref, seg[i].first_sect,
		     seg[i].last_sect);
	}
	return n;
}

static void serve_one(struct blkpeer *b, struct blkpeer_ring *r,
		      const struct blkif_request *req)
{
	struct blkif_response rsp = {
		.id = req->u.rw.id, .operation = req->operation,
	};
	struct blkpeer_seen seen = { .op = req->operation };
	u8 op = req->operation;

	if (op == BLKIF_OP_INDIRECT) {
		op = req->u.indirect.indirect_op;
		if (!b->wrap)
			rsp.operation = op;
	}
	seen.inner = op;
	rsp.status = op < ARRAY_SIZE(b->answer) ? b->answer[op] :
						  BLKIF_RSP_EOPNOTSUPP;
	if (op == BLKIF_OP_DISCARD) {
		seen.sector = req->u.discard.sector_number;
		seen.first = req->u.discard.flag;
	} else {
		seen.segs = serve_segments(b, req, op, &seen);
	}
	if (b->nseen < BLKPEER_LOG)
		b->seen[b->nseen] = seen;
	b->nseen++;
	xpv_back_put(&r->ring, &rsp, sizeof(rsp));
}

static void serve_ring(struct blkpeer_ring *r, bool force)
{
	struct blkpeer *b = r->peer;
	struct blkif_request req;
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&b->lock, flags);
	while (r->mapped && (force || !b->hold)) {
		int n = xpv_back_pending(&r->ring);

		if (n < 0)
			b->bad++;
		if (n <= 0 && !(n == 0 && xpv_back_arm(&r->ring, 1)))
			break;
		while (n-- > 0) {
			xpv_back_get(&r->ring, &req, sizeof(req));
			serve_one(b, r, &req);
		}
	}
	notify = r->mapped && xpv_back_push(&r->ring);
	spin_unlock_irqrestore(&b->lock, flags);
	if (notify)
		hyp_evt_notify(&r->evt);
}

static void got_event(void *arg)
{
	struct blkpeer_ring *r = arg;

	xpv_evt_got(&r->evt);
	serve_ring(r, false);
	xpv_evt_work(&r->evt);
	xpv_evt_done(&r->evt);
}

void blkpeer_serve(struct blkpeer *b)
{
	unsigned int i;

	for (i = 0; i < b->nrings; i++)
		serve_ring(&b->r[i], true);
	KUNIT_EXPECT_TRUE(b->test, fake_run(b->w));
}

void blkpeer_raw(struct blkpeer *b, u64 id, u8 op, s16 status)
{
	struct blkif_response rsp = {
		.id = id, .operation = op, .status = status,
	};
	struct blkpeer_ring *r = &b->r[0];
	unsigned long flags;

	spin_lock_irqsave(&b->lock, flags);
	xpv_back_put(&r->ring, &rsp, sizeof(rsp));
	xpv_back_push(&r->ring);
	spin_unlock_irqrestore(&b->lock, flags);
	hyp_evt_notify(&r->evt);
	KUNIT_EXPECT_TRUE(b->test, fake_run(b->w));
}

/* ------------------------------------------------------------------ */
/* Connecting                                                          */
/* ------------------------------------------------------------------ */

static void unmap_rings(void *arg)
{
	blkpeer_detach(arg);
}

struct blkpeer *blkpeer_new(struct kunit *test)
{
	struct blkpeer *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->test = test;
	spin_lock_init(&b->lock);
	b->data = kunit_kmalloc(test, BLKPEER_SECTORS * SECTOR_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, b->data);
	for (i = 0; i < BLKPEER_SECTORS * SECTOR_SIZE; i++)
		b->data[i] = i * 7 + i / 509;
	b->w = fake_world_create(test);
	b->p = fake_pair_create(b->w, "vbd", 0);
	b->d = fake_end(b->p, XPV_BACK);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, unmap_rings, b), 0);
	return b;
}

void blkpeer_set(struct blkpeer *b, const char *key, u64 val)
{
	fake_set(b->p, XPV_BACK, key, "%llu", val);
}

enum xenbus_state blkpeer_state(struct blkpeer *b, enum xenbus_state state)
{
	fake_state_set(b->p, XPV_BACK, state);
	KUNIT_EXPECT_TRUE(b->test, fake_run(b->w));
	return fake_state(b->p, XPV_FRONT);
}

void blkpeer_probe(struct blkpeer *b)
{
	KUNIT_ASSERT_EQ(b->test, fake_probe(b->p, XPV_FRONT), 0);
	KUNIT_ASSERT_EQ(b->test, blkpeer_state(b, XenbusStateInitWait),
			XenbusStateInitialised);
}

static u32 front_num(struct blkpeer *b, int queue, const char *key)
{
	char path[48];

	if (queue < 0)
		return fake_get_num(b->p, XPV_FRONT, key, 0);
	snprintf(path, sizeof(path), "queue-%d/%s", queue, key);
	return fake_get_num(b->p, XPV_FRONT, path, 0);
}

static void attach_ring(struct blkpeer *b, struct blkpeer_ring *r, int queue)
{
	u32 order = front_num(b, -1, "ring-page-order");
	char key[16];
	unsigned int i;

	r->peer = b;
	r->mem.npages = 1 << order;
	r->mem.gref[0] = front_num(b, queue, "ring-ref");
	for (i = 0; order && i < r->mem.npages; i++) {
		snprintf(key, sizeof(key), "ring-ref%u", i);
		r->mem.gref[i] = front_num(b, queue, key);
	}
	KUNIT_ASSERT_EQ(b->test, hyp_ring_map(b->d, &r->mem), 0);
	KUNIT_ASSERT_EQ(b->test,
			xpv_back_attach(&r->ring, &r->mem,
					sizeof(struct blkif_request)), 0);
	r->mapped = true;
	r->evt.fn = got_event;
	r->evt.arg = r;
	KUNIT_ASSERT_EQ(b->test,
			hyp_evt_bind(b->d, &r->evt,
				     front_num(b, queue, "event-channel"), "peer"),
			0);
}

void blkpeer_attach(struct blkpeer *b)
{
	unsigned int i, n = front_num(b, -1, "multi-queue-num-queues");

	b->nrings = n ?: 1;
	KUNIT_ASSERT_LE(b->test, b->nrings, BLKPEER_QUEUES);
	for (i = 0; i < b->nrings; i++)
		attach_ring(b, &b->r[i], n ? (int)i : -1);
}

void blkpeer_detach(struct blkpeer *b)
{
	unsigned int i;

	for (i = 0; i < b->nrings; i++) {
		struct blkpeer_ring *r = &b->r[i];

		hyp_evt_close(&r->evt);
		if (r->mapped)
			hyp_ring_unmap(b->d, &r->mem);
		memset(r, 0, sizeof(*r));
	}
	b->nrings = 0;
}

static bool disk_there(void *arg)
{
	struct xbf_dev *x = blkpeer_dev(arg);

	return x && READ_ONCE(x->added);
}

void blkpeer_live(struct blkpeer *b)
{
	blkpeer_probe(b);
	blkpeer_attach(b);
	if (fake_get_num(b->p, XPV_BACK, "sectors", -1) < 0)
		blkpeer_set(b, "sectors", BLKPEER_SECTORS);
	KUNIT_ASSERT_EQ(b->test, blkpeer_state(b, XenbusStateConnected),
			XenbusStateConnected);
	KUNIT_ASSERT_TRUE(b->test, fake_until(b->w, disk_there, b, 5000));
	b->nseen = 0;
}

struct blkpeer *blkpeer_keys(struct kunit *test, const char *keys)
{
	struct blkpeer *b = blkpeer_new(test);
	char *word, *all = kunit_kstrdup(test, keys, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, all);
	while ((word = strsep(&all, " "))) {
		char *val = strchr(word, '=');
		unsigned int n;

		if (!val)
			continue;
		*val++ = 0;
		KUNIT_ASSERT_EQ(test, kstrtouint(val, 10, &n), 0);
		blkpeer_set(b, word, n);
	}
	blkpeer_live(b);
	return b;
}

void blkpeer_again(struct blkpeer *b)
{
	KUNIT_ASSERT_EQ(b->test, blkpeer_state(b, XenbusStateInitWait),
			XenbusStateInitialised);
	blkpeer_attach(b);
	blkpeer_set(b, "sectors", BLKPEER_SECTORS);
	KUNIT_ASSERT_EQ(b->test, blkpeer_state(b, XenbusStateConnected),
			XenbusStateConnected);
}

static bool front_closing(void *arg)
{
	struct blkpeer *b = arg;

	return fake_state(b->p, XPV_FRONT) >= XenbusStateClosing;
}

static bool front_closed(void *arg)
{
	struct blkpeer *b = arg;

	return fake_state(b->p, XPV_FRONT) == XenbusStateClosed;
}

static void end(struct blkpeer *b, bool late)
{
	b->hold = false;
	fake_set(b->p, XPV_BACK, "online", "0");
	fake_state_set(b->p, XPV_BACK, XenbusStateClosing);
	KUNIT_EXPECT_TRUE(b->test, fake_until(b->w, front_closing, b, 5000));
	if (!late)
		blkpeer_detach(b);
	fake_state_set(b->p, XPV_BACK, XenbusStateClosing);
	KUNIT_EXPECT_TRUE(b->test, fake_until(b->w, front_closed, b, 5000));
	if (late)
		blkpeer_detach(b);
	fake_state_set(b->p, XPV_BACK, XenbusStateClosed);
	KUNIT_EXPECT_TRUE(b->test, fake_run(b->w));
	fake_remove(b->p, XPV_FRONT);
	KUNIT_EXPECT_EQ(b->test, b->bad, 0);
	fake_check_clean(b->w);
}

void blkpeer_end(struct blkpeer *b)
{
	end(b, false);
}

void blkpeer_end_late(struct blkpeer *b)
{
	end(b, true);
}

long long blkpeer_front(struct blkpeer *b, const char *key)
{
	return fake_get_num(b->p, XPV_FRONT, key, -1);
}

void blkpeer_unbind(struct blkpeer *b)
{
	blkpeer_detach(b);
	/* A living backend would be given a second to let go. */
	fake_state_set(b->p, XPV_BACK, XenbusStateClosed);
	fake_remove(b->p, XPV_FRONT);
	fake_state_set(b->p, XPV_FRONT, XenbusStateInitialising);
	fake_state_set(b->p, XPV_BACK, XenbusStateInitialising);
	KUNIT_EXPECT_TRUE(b->test, fake_run(b->w));
}

void blkpeer_done(struct blkpeer *b)
{
	blkpeer_unbind(b);
	fake_check_clean(b->w);
}

/* ------------------------------------------------------------------ */
/* I/O                                                                 */
/* ------------------------------------------------------------------ */

static void io_end(struct bio *bio)
{
	struct blkpeer_io *io = bio->bi_private;

	io->status = blk_status_to_errno(bio->bi_status);
	io->ends++;
	complete(&io->done);
}

static void io_free(void *arg)
{
	struct blkpeer_io *io = arg;
	struct kunit *test = io->test;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, io->ends, 1);
	bio_put(io->bio);
	for (i = 0; i < io->pages; i++)
		__free_page(io->page[i]);
}

static void io_pages(struct blkpeer *b, struct blkpeer_io *io,
		     unsigned int bytes, unsigned int off)
{
	unsigned int i;

	for (i = 0; i < io->pages; i++) {
		unsigned int n = min_t(unsigned int, bytes, PAGE_SIZE - off);

		io->page[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(b->test, io->page[i]);
		memset(page_address(io->page[i]), 0xa0 + i, PAGE_SIZE);
		KUNIT_ASSERT_EQ(b->test,
				bio_add_page(io->bio, io->page[i], n, off), n);
		bytes -= n;
		off = 0;
	}
}

struct blkpeer_io *blkpeer_io(struct blkpeer *b, blk_opf_t op, u64 sector,
			      unsigned int bytes, unsigned int off)
{
	bool data = (op & REQ_OP_MASK) <= REQ_OP_WRITE;
	struct blkpeer_io *io = kunit_kzalloc(b->test, sizeof(*io), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(b->test, io);
	io->test = b->test;
	init_completion(&io->done);
	io->pages = data ? DIV_ROUND_UP(off + bytes, PAGE_SIZE) : 0;
	io->page = kunit_kcalloc(b->test, io->pages + 1, sizeof(*io->page),
				 GFP_KERNEL);
	io->bio = bio_alloc(blkpeer_dev(b)->disk->part0, io->pages, op,
			    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(b->test, io->page);
	KUNIT_ASSERT_NOT_NULL(b->test, io->bio);
	io->bio->bi_iter.bi_sector = sector;
	io->bio->bi_end_io = io_end;
	io->bio->bi_private = io;
	io_pages(b, io, bytes, off);
	if (!data)
		io->bio->bi_iter.bi_size = bytes;
	submit_bio(io->bio);
	return io;
}

int blkpeer_wait(struct blkpeer *b, struct blkpeer_io *io)
{
	if (!wait_for_completion_timeout(&io->done, 5 * HZ))
		return 1;
	kunit_add_action(b->test, io_free, io);
	return io->status;
}

int blkpeer_do(struct blkpeer *b, blk_opf_t op, u64 sector, unsigned int bytes)
{
	return blkpeer_wait(b, blkpeer_io(b, op, sector, bytes, 0));
}

bool blkpeer_same(struct blkpeer *b, struct blkpeer_io *io, u64 sector)
{
	const u8 *disk = b->data + sector * SECTOR_SIZE;
	struct bio_vec *bv;
	unsigned int i;

	for (i = 0; i < io->bio->bi_vcnt; i++) {
		bv = &io->bio->bi_io_vec[i];
		if (memcmp(page_address(bv->bv_page) + bv->bv_offset, disk,
			   bv->bv_len))
			return false;
		disk += bv->bv_len;
	}
	return true;
}

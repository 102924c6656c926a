// SPDX-License-Identifier: GPL-2.0
/*
 * blkfront moving data: the real driver against a backend the test plays.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include "fake_blkpeer.h"

/* What is written arrives, what is read is what is there, in all sizes. */
static void moves(struct kunit *test, const char *keys)
{
	static const unsigned int sizes[] = { 512, 1024, 3584, 4096, 4608, 45056,
					      45568, 49152, 131072, 1 << 20 };
	struct blkpeer *b = blkpeer_keys(test, keys);
	unsigned int i, off;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (off = 0; off < 4096; off += 1536) {
			struct blkpeer_io *io;

			/* A bio holds no more pages. */
			if (off + sizes[i] > 1 << 20)
				break;
			io = blkpeer_io(b, REQ_OP_READ, 8 * i + 3, sizes[i], off);
			KUNIT_ASSERT_EQ(test, blkpeer_wait(b, io), 0);
			KUNIT_ASSERT_TRUE(test, blkpeer_same(b, io, 8 * i + 3));
			io = blkpeer_io(b, REQ_OP_WRITE, 4096 + i, sizes[i], off);
			KUNIT_ASSERT_EQ(test, blkpeer_wait(b, io), 0);
			KUNIT_ASSERT_TRUE(test, blkpeer_same(b, io, 4096 + i));
		}
	}
	blkpeer_end(b);
}

static void rw_plain_direct(struct kunit *test)
{
	moves(test, "");
}

static void rw_plain_indirect(struct kunit *test)
{
	moves(test, "feature-max-indirect-segments=256");
}

static void rw_plain_indirect_few(struct kunit *test)
{
	moves(test, "feature-max-indirect-segments=16");
}

static void rw_persistent_direct(struct kunit *test)
{
	moves(test, "feature-persistent=1");
}

static void rw_persistent_indirect(struct kunit *test)
{
	moves(test, "feature-persistent=1 feature-max-indirect-segments=256 max-ring-page-order=4");
}

static void rw_untrusted(struct kunit *test)
{
	struct blkpeer *b = blkpeer_new(test);
	struct blkpeer_io *io;

	fake_set(b->p, XPV_FRONT, "trusted", "0");
	blkpeer_live(b);
	KUNIT_EXPECT_TRUE(test, blkpeer_dev(b)->lim.copy);
	io = blkpeer_io(b, REQ_OP_WRITE, 9, 1024, 512);
	KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io), 0);
	KUNIT_EXPECT_TRUE(test, blkpeer_same(b, io, 9));
	/* Packed at the start of a page of ours, which holds nothing else. */
	KUNIT_EXPECT_EQ(test, b->seen[0].first, 0);
	KUNIT_EXPECT_EQ(test, b->seen[0].last, 1);
	blkpeer_end(b);
}

static void rw_indirect_from_twelve(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-max-indirect-segments=256");

	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 11 * 4096), 0);
	KUNIT_EXPECT_EQ(test, b->seen[0].op, BLKIF_OP_READ);
	KUNIT_EXPECT_EQ(test, b->seen[0].segs, 11);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 12 * 4096), 0);
	KUNIT_EXPECT_EQ(test, b->seen[1].op, BLKIF_OP_INDIRECT);
	KUNIT_EXPECT_EQ(test, b->seen[1].segs, 12);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 256 * 4096), 0);
	KUNIT_EXPECT_EQ(test, b->seen[2].segs, 256);
	KUNIT_EXPECT_EQ(test, b->nseen, 3);
	blkpeer_end(b);
}

static void rw_wrapper_echoed(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-max-indirect-segments=64");

	b->wrap = true;
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 64 * 4096), 0);
	blkpeer_end(b);
}

static void rw_plain_first_and_last_sector(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");
	unsigned int first, n, i = 0;

	for (first = 0; first < 8; first++) {
		for (n = 1; n <= 8 - first; n++) {
			struct blkpeer_io *io;

			b->nseen = 0;
			io = blkpeer_io(b, i++ % 2 ? REQ_OP_READ : REQ_OP_WRITE,
					100, n * 512, first * 512);
			KUNIT_ASSERT_EQ(test, blkpeer_wait(b, io), 0);
			KUNIT_ASSERT_EQ(test, b->seen[0].first, first);
			KUNIT_ASSERT_EQ(test, b->seen[0].last, first + n - 1);
			KUNIT_ASSERT_TRUE(test, blkpeer_same(b, io, 100));
		}
	}
	blkpeer_end(b);
}

static void rw_errors_reported(struct kunit *test)
{
	static const s16 bad[] = { -1, -2, -3, 1, S16_MIN, S16_MAX };
	struct blkpeer *b = blkpeer_keys(test, "feature-flush-cache=1");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		b->answer[BLKIF_OP_READ] = bad[i];
		KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 4096), -EIO);
		b->answer[BLKIF_OP_WRITE] = bad[i];
		KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_WRITE, 0, 4096), -EIO);
	}
	KUNIT_EXPECT_EQ(test, blkpeer_dev(b)->lim.flush_op,
			BLKIF_OP_FLUSH_DISKCACHE);
	b->answer[BLKIF_OP_READ] = 0;
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 4096), 0);
	blkpeer_end(b);
}

/* Many at once: every one answered once, and the ring never overruns. */
static void rw_many_at_once(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-persistent=1 max-ring-page-order=2");
	struct blkpeer_io *io[90];
	unsigned int i;

	b->hold = true;
	for (i = 0; i < ARRAY_SIZE(io); i++)
		io[i] = blkpeer_io(b, i % 3 ? REQ_OP_READ : REQ_OP_WRITE,
				   i * 88, 4096 * (1 + i % 11), 0);
	fake_run(b->w);
	KUNIT_EXPECT_EQ(test, b->nseen, 0);
	b->hold = false;
	blkpeer_serve(b);
	for (i = 0; i < ARRAY_SIZE(io); i++) {
		KUNIT_ASSERT_EQ(test, blkpeer_wait(b, io[i]), 0);
		KUNIT_ASSERT_TRUE(test, blkpeer_same(b, io[i], i * 88));
	}
	blkpeer_end(b);
}

/*
 * A queue stopped by us would wait for ever when the room came before the
 * block layer had the request back: only its own retry cannot be missed.
 */
static void rw_no_room_leaves_queue_running(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test,
			"feature-persistent=1 feature-max-indirect-segments=256");
	struct blkpeer_io *io[6];
	struct blk_mq_hw_ctx *hctx;
	unsigned long nr;
	unsigned int i;

	b->hold = true;
	for (i = 0; i < ARRAY_SIZE(io); i++)
		io[i] = blkpeer_io(b, REQ_OP_READ, i * 8, 1 << 20, 0);
	fake_run(b->w);
	KUNIT_EXPECT_GE(test, blkpeer_stat(b, "stalls"), 1);
	queue_for_each_hw_ctx(blkpeer_dev(b)->disk->queue, hctx, nr)
		KUNIT_EXPECT_FALSE(test, test_bit(BLK_MQ_S_STOPPED, &hctx->state));
	b->hold = false;
	blkpeer_serve(b);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io[i]), 0);
	blkpeer_end(b);
}

static void rw_batch_one_push(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-persistent=1");
	struct blkpeer_io *io[16];
	u64 batches, sent, listed;
	struct blk_plug plug;
	unsigned int i;

	listed = blkpeer_stat(b, "listed");
	batches = blkpeer_stat(b, "batches");
	sent = blkpeer_stat(b, "events_sent");
	blk_start_plug(&plug);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		io[i] = blkpeer_io(b, REQ_OP_READ, i * 80, 4096, 0);
	blk_finish_plug(&plug);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io[i]), 0);
	KUNIT_EXPECT_EQ(test, blkpeer_stat(b, "listed") - listed, ARRAY_SIZE(io));
	KUNIT_EXPECT_EQ(test, blkpeer_stat(b, "batches") - batches, 1);
	KUNIT_EXPECT_LE(test, blkpeer_stat(b, "events_sent") - sent, 1);
	blkpeer_end(b);
}

/* A list that finds no room ends there; the rest goes when there is some. */
static void rw_list_without_room(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test,
			"feature-persistent=1 feature-max-indirect-segments=256");
	struct blkpeer_io *io[6];
	struct blk_plug plug;
	unsigned int i;
	u64 listed, requests;

	requests = blkpeer_stat(b, "requests");
	listed = blkpeer_stat(b, "listed");
	b->hold = true;
	blk_start_plug(&plug);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		io[i] = blkpeer_io(b, REQ_OP_READ, i * 1000, 1 << 20, 0);
	blk_finish_plug(&plug);
	fake_run(b->w);
	listed = blkpeer_stat(b, "listed") - listed;
	KUNIT_EXPECT_GE(test, listed, 1);
	KUNIT_EXPECT_LT(test, listed, ARRAY_SIZE(io));
	KUNIT_EXPECT_GE(test, blkpeer_stat(b, "stalls"), 1);
	b->hold = false;
	blkpeer_serve(b);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io[i]), 0);
	KUNIT_EXPECT_EQ(test, blkpeer_stat(b, "requests") - requests, ARRAY_SIZE(io));
	blkpeer_end(b);
}

/* Only reads and writes go in lists; another kind ends one, and is done. */
static void rw_list_cut(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-persistent=1 feature-discard=1");
	struct blkpeer_io *io[9];
	struct blk_plug plug;
	unsigned int i;
	u64 discards;

	discards = blkpeer_stat(b, "discards");
	blk_start_plug(&plug);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		io[i] = blkpeer_io(b, i == 4 ? REQ_OP_DISCARD : REQ_OP_READ, i * 80,
				   4096, 0);
	blk_finish_plug(&plug);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io[i]), 0);
	KUNIT_EXPECT_EQ(test, blkpeer_stat(b, "discards") - discards, 1);
	blkpeer_end(b);
}

static void rw_pages_reused(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-persistent=1");
	u64 misses, grants;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 45056), 0);
	misses = blkpeer_stat(b, "persistent_misses");
	grants = fake_calls(b->w, FAKE_GRANT);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_WRITE, i, 45056), 0);
	KUNIT_EXPECT_EQ(test, blkpeer_stat(b, "persistent_misses"), misses);
	KUNIT_EXPECT_EQ(test, fake_calls(b->w, FAKE_GRANT), grants);
	KUNIT_EXPECT_EQ(test, fake_calls(b->w, FAKE_UNGRANT), 0);
	blkpeer_end(b);
}

static void rw_plain_revoked_each_time(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");
	unsigned int grants;

	grants = fake_use(b->w).grants;
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 45056), 0);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_WRITE, 0, 45056), 0);
	KUNIT_EXPECT_EQ(test, fake_use(b->w).grants, grants);
	blkpeer_end(b);
}

/* A buffer of the slab allocator must not be shared itself. */
static void rw_slab_page_bounced(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");
	u8 *buf = kunit_kzalloc(test, 512, GFP_KERNEL);
	struct bio bio;
	struct bio_vec bv;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	bio_init(&bio, blkpeer_dev(b)->disk->part0, &bv, 1, REQ_OP_READ);
	bio.bi_iter.bi_sector = 77;
	KUNIT_ASSERT_EQ(test, bio_add_page(&bio, virt_to_page(buf), 512,
					   offset_in_page(buf)), 512);
	KUNIT_EXPECT_EQ(test, submit_bio_wait(&bio), 0);
	KUNIT_EXPECT_EQ(test, memcmp(buf, b->data + 77 * 512, 512), 0);
	KUNIT_EXPECT_EQ(test, blkpeer_stat(b, "bounces"), 1);
	bio_uninit(&bio);
	blkpeer_end(b);
}

/* ------------------------------------------------------------------ */
/* Flush and discard                                                   */
/* ------------------------------------------------------------------ */

static int flush(struct blkpeer *b)
{
	return blkpeer_do(b, REQ_OP_WRITE | REQ_PREFLUSH, 0, 0);
}

static void flush_cache(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-flush-cache=1 feature-barrier=1");

	KUNIT_EXPECT_EQ(test, flush(b), 0);
	KUNIT_EXPECT_EQ(test, b->nseen, 1);
	KUNIT_EXPECT_EQ(test, b->seen[0].op, BLKIF_OP_FLUSH_DISKCACHE);
	KUNIT_EXPECT_EQ(test, b->seen[0].segs, 0);
	blkpeer_end(b);
}

static void flush_barrier_only(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-barrier=1");

	KUNIT_EXPECT_EQ(test, flush(b), 0);
	KUNIT_EXPECT_EQ(test, b->seen[0].op, BLKIF_OP_WRITE_BARRIER);
	KUNIT_EXPECT_EQ(test, b->seen[0].segs, 0);
	blkpeer_end(b);
}

static void flush_not_offered(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");

	KUNIT_EXPECT_EQ(test, flush(b), 0);
	KUNIT_EXPECT_EQ(test, b->nseen, 0);
	blkpeer_end(b);
}

/* No backend has FUA: the block layer flushes after the write. */
static void flush_fua_is_write_then_flush(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-flush-cache=1");

	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_WRITE | REQ_FUA, 8, 4096), 0);
	KUNIT_EXPECT_EQ(test, b->nseen, 2);
	KUNIT_EXPECT_EQ(test, b->seen[0].op, BLKIF_OP_WRITE);
	KUNIT_EXPECT_EQ(test, b->seen[1].op, BLKIF_OP_FLUSH_DISKCACHE);
	blkpeer_end(b);
}

static void flush_error_every_time(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-flush-cache=1");
	unsigned int i;

	b->answer[BLKIF_OP_FLUSH_DISKCACHE] = BLKIF_RSP_ERROR;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, flush(b), -EIO);
	KUNIT_EXPECT_EQ(test, b->nseen, 3);
	b->answer[BLKIF_OP_FLUSH_DISKCACHE] = 0;
	KUNIT_EXPECT_EQ(test, flush(b), 0);
	blkpeer_end(b);
}

static void flush_refused_revokes(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-flush-cache=1");

	b->answer[BLKIF_OP_FLUSH_DISKCACHE] = BLKIF_RSP_EOPNOTSUPP;
	KUNIT_EXPECT_EQ(test, flush(b), -EOPNOTSUPP);
	fake_run(b->w);
	KUNIT_EXPECT_FALSE(test,
			   blk_queue_write_cache(blkpeer_dev(b)->disk->queue));
	KUNIT_EXPECT_EQ(test, flush(b), 0);
	KUNIT_EXPECT_EQ(test, b->nseen, 1);
	blkpeer_end(b);
}

static void flush_refused_barrier_stands_in(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-flush-cache=1 feature-barrier=1");

	b->answer[BLKIF_OP_FLUSH_DISKCACHE] = BLKIF_RSP_EOPNOTSUPP;
	KUNIT_EXPECT_EQ(test, flush(b), 0);
	KUNIT_EXPECT_EQ(test, b->nseen, 2);
	KUNIT_EXPECT_EQ(test, b->seen[1].op, BLKIF_OP_WRITE_BARRIER);
	KUNIT_EXPECT_TRUE(test,
			  blk_queue_write_cache(blkpeer_dev(b)->disk->queue));
	b->answer[BLKIF_OP_WRITE_BARRIER] = BLKIF_RSP_EOPNOTSUPP;
	KUNIT_EXPECT_EQ(test, flush(b), -EOPNOTSUPP);
	fake_run(b->w);
	KUNIT_EXPECT_FALSE(test,
			   blk_queue_write_cache(blkpeer_dev(b)->disk->queue));
	blkpeer_end(b);
}

static void discard_offered(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test,
			"feature-discard=1 discard-granularity=4096 discard-secure=1");

	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_DISCARD, 64, 32768), 0);
	KUNIT_EXPECT_EQ(test, b->seen[0].op, BLKIF_OP_DISCARD);
	KUNIT_EXPECT_EQ(test, b->seen[0].sector, 64);
	KUNIT_EXPECT_EQ(test, b->seen[0].first, 0);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_SECURE_ERASE, 64, 32768), 0);
	KUNIT_EXPECT_EQ(test, b->seen[1].first, BLKIF_DISCARD_SECURE);
	blkpeer_end(b);
}

static void discard_not_offered(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "discard-secure=1");

	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_DISCARD, 64, 4096),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_SECURE_ERASE, 64, 4096),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, b->nseen, 0);
	blkpeer_end(b);
}

static void discard_refused_revokes(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-discard=1 discard-secure=1");

	b->answer[BLKIF_OP_DISCARD] = BLKIF_RSP_EOPNOTSUPP;
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_SECURE_ERASE, 64, 4096),
			-EOPNOTSUPP);
	KUNIT_EXPECT_TRUE(test, blkpeer_dev(b)->lim.discard);
	KUNIT_EXPECT_FALSE(test, blkpeer_dev(b)->lim.secure);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_DISCARD, 64, 4096),
			-EOPNOTSUPP);
	fake_run(b->w);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_DISCARD, 64, 4096),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, b->nseen, 2);
	blkpeer_end(b);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(rw_plain_direct),
	KUNIT_CASE(rw_plain_indirect),
	KUNIT_CASE(rw_plain_indirect_few),
	KUNIT_CASE(rw_persistent_direct),
	KUNIT_CASE(rw_persistent_indirect),
	KUNIT_CASE(rw_untrusted),
	KUNIT_CASE(rw_indirect_from_twelve),
	KUNIT_CASE(rw_wrapper_echoed),
	KUNIT_CASE(rw_plain_first_and_last_sector),
	KUNIT_CASE(rw_errors_reported),
	KUNIT_CASE(rw_many_at_once),
	KUNIT_CASE(rw_no_room_leaves_queue_running),
	KUNIT_CASE(rw_batch_one_push),
	KUNIT_CASE(rw_list_without_room),
	KUNIT_CASE(rw_list_cut),
	KUNIT_CASE(rw_pages_reused),
	KUNIT_CASE(rw_plain_revoked_each_time),
	KUNIT_CASE(rw_slab_page_bounced),
	KUNIT_CASE(flush_cache),
	KUNIT_CASE(flush_barrier_only),
	KUNIT_CASE(flush_not_offered),
	KUNIT_CASE(flush_fua_is_write_then_flush),
	KUNIT_CASE(flush_error_every_time),
	KUNIT_CASE(flush_refused_revokes),
	KUNIT_CASE(flush_refused_barrier_stands_in),
	KUNIT_CASE(discard_offered),
	KUNIT_CASE(discard_not_offered),
	KUNIT_CASE(discard_refused_revokes),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkfront_data",
	.test_cases = cases,
};

kunit_test_suite(suite);

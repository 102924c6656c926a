// SPDX-License-Identifier: GPL-2.0
/*
 * blkfront against a hostile backend, and in a new place after a resume.
 */
#include <kunit/test.h>
#include "fake_blkpeer.h"

/* ------------------------------------------------------------------ */
/* Hostile answers                                                     */
/* ------------------------------------------------------------------ */

static bool is_dead(void *arg)
{
	return READ_ONCE(blkpeer_dev(arg)->dead);
}

/* After one bad answer: everything fails, nothing hangs, nothing leaks. */
static void breaks(struct kunit *test, const char *keys, u64 id, u8 op)
{
	struct blkpeer *b = blkpeer_keys(test, keys);
	struct blkpeer_io *io[3];
	unsigned int i;

	b->hold = true;
	for (i = 0; i < ARRAY_SIZE(io); i++)
		io[i] = blkpeer_io(b, i ? REQ_OP_READ : REQ_OP_WRITE, 64 * i,
				   8192, 0);
	fake_run(b->w);
	blkpeer_raw(b, id, op, BLKIF_RSP_OKAY);
	KUNIT_EXPECT_TRUE(test, fake_until(b->w, is_dead, b, 5000));
	for (i = 0; i < ARRAY_SIZE(io); i++)
		KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io[i]), -EIO);
	KUNIT_EXPECT_EQ(test, blkpeer_stat(b, "faults"), 1);
	KUNIT_EXPECT_NOT_NULL(test, fake_error(b->p, XPV_FRONT));
	KUNIT_EXPECT_GE(test, fake_state(b->p, XPV_FRONT), XenbusStateClosing);
	blkpeer_end(b);
}

static void hostile_id_not_in_flight(struct kunit *test)
{
	breaks(test, "feature-persistent=1", 31, BLKIF_OP_READ);
}

static void hostile_id_beyond_table(struct kunit *test)
{
	breaks(test, "", 0x100000000ULL, BLKIF_OP_WRITE);
}

static void hostile_other_operation(struct kunit *test)
{
	breaks(test, "", 0, BLKIF_OP_FLUSH_DISKCACHE);
}

static void hostile_answer_twice(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");
	struct blkpeer_io *io, *other;

	b->hold = true;
	io = blkpeer_io(b, REQ_OP_WRITE, 0, 4096, 0);
	other = blkpeer_io(b, REQ_OP_WRITE, 64, 4096, 0);
	fake_run(b->w);
	blkpeer_raw(b, 0, BLKIF_OP_WRITE, BLKIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io), 0);
	blkpeer_raw(b, 0, BLKIF_OP_WRITE, BLKIF_RSP_OKAY);
	KUNIT_EXPECT_TRUE(test, fake_until(b->w, is_dead, b, 5000));
	KUNIT_EXPECT_EQ(test, blkpeer_wait(b, other), -EIO);
	blkpeer_end(b);
}

static void hostile_more_answers_than_requests(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");
	struct blkpeer_ring *r = &b->r[0];

	r->ring.rsp_prod += 5;
	xpv_back_push(&r->ring);
	hyp_evt_notify(&r->evt);
	KUNIT_EXPECT_TRUE(test, fake_until(b->w, is_dead, b, 5000));
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 4096), -EIO);
	blkpeer_end(b);
}

static void hostile_page_kept_after_answer(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");

	fake_keep(b->w, true);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 4096), -EIO);
	KUNIT_EXPECT_TRUE(test, fake_until(b->w, is_dead, b, 5000));
	KUNIT_EXPECT_GE(test, fake_use(b->w).abandoned, 1);
	fake_keep(b->w, false);
	blkpeer_end(b);
}

static void hostile_events_for_nothing(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");
	u64 before = fake_calls(b->w, FAKE_EOI_SPURIOUS);
	unsigned int i;

	for (i = 0; i < 10; i++) {
		hyp_evt_notify(&b->r[0].evt);
		fake_run(b->w);
	}
	KUNIT_EXPECT_EQ(test, fake_calls(b->w, FAKE_EOI_SPURIOUS) - before, 10);
	KUNIT_EXPECT_EQ(test, blkpeer_stat(b, "events_spurious"), 10);
	KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, 0, 4096), 0);
	blkpeer_end(b);
}

/* Honest traffic never looks spurious. */
static void events_of_traffic_not_spurious(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-persistent=1");
	u64 before = fake_calls(b->w, FAKE_EOI_SPURIOUS);
	unsigned int i;

	for (i = 0; i < 50; i++)
		KUNIT_EXPECT_EQ(test, blkpeer_do(b, REQ_OP_READ, i, 4096), 0);
	KUNIT_EXPECT_EQ(test, fake_calls(b->w, FAKE_EOI_SPURIOUS), before);
	blkpeer_end(b);
}

/* ------------------------------------------------------------------ */
/* Resume                                                              */
/* ------------------------------------------------------------------ */

#define AGAIN	20

static void resumes(struct kunit *test, const char *keys, const char *change,
		    u64 val)
{
	struct blkpeer *b = blkpeer_keys(test, keys);
	struct blkpeer_io *io[AGAIN];
	unsigned int i;

	b->hold = true;
	for (i = 0; i < AGAIN; i++)
		io[i] = blkpeer_io(b, i % 2 ? REQ_OP_READ : REQ_OP_WRITE,
				   i * 320, i % 3 ? 4096 : 160 * 1024, 0);
	fake_run(b->w);
	KUNIT_EXPECT_EQ(test, b->nseen, 0);
	blkpeer_detach(b);
	KUNIT_ASSERT_EQ(test, fake_resume(b->p), 0);
	b->hold = false;
	if (change)
		blkpeer_set(b, change, val);
	else
		fake_del(b->p, XPV_BACK, "feature-max-indirect-segments");
	blkpeer_again(b);
	for (i = 0; i < AGAIN; i++) {
		KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io[i]), 0);
		KUNIT_EXPECT_TRUE(test, blkpeer_same(b, io[i], i * 320));
	}
	KUNIT_EXPECT_GE(test, blkpeer_stat(b, "requeues"), AGAIN);
	blkpeer_end(b);
}

static void resume_in_flight_plain(struct kunit *test)
{
	resumes(test, "feature-max-indirect-segments=256",
		"feature-max-indirect-segments", 256);
}

static void resume_in_flight_persistent(struct kunit *test)
{
	resumes(test, "feature-persistent=1 feature-max-indirect-segments=256",
		"feature-persistent", 1);
}

static void resume_to_smaller_limits(struct kunit *test)
{
	resumes(test, "feature-max-indirect-segments=256 max-ring-page-order=4",
		NULL, 0);
}

static void resume_to_few_segments(struct kunit *test)
{
	resumes(test, "feature-persistent=1 feature-max-indirect-segments=256",
		"feature-max-indirect-segments", 16);
}

/* One ring, sectors tell the order. */
static void resume_same_order(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");
	struct blkpeer_io *io[AGAIN];
	unsigned int i;

	b->hold = true;
	for (i = 0; i < AGAIN; i++)
		io[i] = blkpeer_io(b, REQ_OP_WRITE, 4000 - i * 80, 4096, 0);
	fake_run(b->w);
	blkpeer_detach(b);
	KUNIT_ASSERT_EQ(test, fake_resume(b->p), 0);
	b->hold = false;
	b->nseen = 0;
	blkpeer_again(b);
	for (i = 0; i < AGAIN; i++)
		KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io[i]), 0);
	KUNIT_EXPECT_EQ(test, b->nseen, AGAIN);
	for (i = 0; i < AGAIN; i++)
		KUNIT_EXPECT_EQ(test, b->seen[i].sector, 4000 - i * 80);
	blkpeer_end(b);
}

static void resume_answered_not_repeated(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");
	struct blkpeer_io *one, *two;

	b->hold = true;
	one = blkpeer_io(b, REQ_OP_WRITE, 0, 4096, 0);
	two = blkpeer_io(b, REQ_OP_WRITE, 80, 4096, 0);
	fake_run(b->w);
	blkpeer_raw(b, 0, BLKIF_OP_WRITE, BLKIF_RSP_OKAY);
	KUNIT_EXPECT_EQ(test, blkpeer_wait(b, one), 0);
	blkpeer_detach(b);
	KUNIT_ASSERT_EQ(test, fake_resume(b->p), 0);
	b->hold = false;
	b->nseen = 0;
	blkpeer_again(b);
	KUNIT_EXPECT_EQ(test, blkpeer_wait(b, two), 0);
	KUNIT_EXPECT_EQ(test, b->nseen, 1);
	KUNIT_EXPECT_EQ(test, b->seen[0].sector, 80);
	blkpeer_end(b);
}

static void resume_larger_blocks_refused(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "");
	struct blkpeer_io *io;

	b->hold = true;
	io = blkpeer_io(b, REQ_OP_WRITE, 0, 4096, 0);
	fake_run(b->w);
	blkpeer_detach(b);
	KUNIT_ASSERT_EQ(test, fake_resume(b->p), 0);
	blkpeer_state(b, XenbusStateInitWait);
	blkpeer_attach(b);
	blkpeer_set(b, "sectors", BLKPEER_SECTORS);
	blkpeer_set(b, "sector-size", 4096);
	KUNIT_EXPECT_GE(test, blkpeer_state(b, XenbusStateConnected),
			XenbusStateClosing);
	KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io), -EIO);
	blkpeer_end(b);
}

static void resume_then_removed(struct kunit *test)
{
	struct blkpeer *b = blkpeer_keys(test, "feature-persistent=1");
	struct blkpeer_io *io;

	b->hold = true;
	io = blkpeer_io(b, REQ_OP_WRITE, 0, 4096, 0);
	fake_run(b->w);
	blkpeer_detach(b);
	KUNIT_ASSERT_EQ(test, fake_resume(b->p), 0);
	fake_remove(b->p, XPV_FRONT);
	KUNIT_EXPECT_EQ(test, blkpeer_wait(b, io), -EIO);
	fake_check_clean(b->w);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(hostile_id_not_in_flight),
	KUNIT_CASE(hostile_id_beyond_table),
	KUNIT_CASE(hostile_other_operation),
	KUNIT_CASE(hostile_answer_twice),
	KUNIT_CASE(hostile_more_answers_than_requests),
	KUNIT_CASE(hostile_page_kept_after_answer),
	KUNIT_CASE(hostile_events_for_nothing),
	KUNIT_CASE(events_of_traffic_not_spurious),
	KUNIT_CASE(resume_in_flight_plain),
	KUNIT_CASE(resume_in_flight_persistent),
	KUNIT_CASE(resume_to_smaller_limits),
	KUNIT_CASE(resume_to_few_segments),
	KUNIT_CASE(resume_same_order),
	KUNIT_CASE(resume_answered_not_repeated),
	KUNIT_CASE(resume_larger_blocks_refused),
	KUNIT_CASE(resume_then_removed),
	{}
};

static struct kunit_suite suite = {
	.name = "xpv_blkfront_fault",
	.test_cases = cases,
};

kunit_test_suite(suite);

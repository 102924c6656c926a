// SPDX-License-Identifier: GPL-2.0
/*
 * Suite xpv_ring: index arithmetic, notify decision, and the other end played
 * by the macros of Xen's own ring.h on the same page.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <xen/interface/xen.h>
#include <asm/barrier.h>
#include <xpv/ring.h>

/*
 * The kernel's copy of Xen's ring.h needs only this of Xen; its page size is a
 * page's.
 */
#ifndef XEN_PAGE_SIZE
#define XEN_PAGE_SIZE 4096
#endif
#include <xen/interface/io/ring.h>

/* A protocol of the suite's own; sizes like those of a network ring. */
struct probe_req {
	u32 id;
	u32 data[2];
};

struct probe_rsp {
	u32 id;
	s32 status;
};

DEFINE_RING_TYPES(probe, struct probe_req, struct probe_rsp);

#define SLOT	sizeof(union probe_sring_entry)

struct ctx {
	struct xpv_ring_mem mem;
	struct xpv_front front;
	struct xpv_back back;
	struct probe_sring *sring;
	struct probe_front_ring xen_front;
	struct probe_back_ring xen_back;
};

static void page_end(void *addr)
{
	free_page((unsigned long)addr);
}

static int ring_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	void *page = (void *)get_zeroed_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, page_end, page), 0);
	test->priv = c;
	c->mem.addr = (void __peer __force *)page;
	c->mem.npages = 1;
	c->sring = page;
	return 0;
}

/* Both of our ends and both of Xen's at index @start of an empty ring. */
static void start_at(struct kunit *test, u32 start)
{
	struct ctx *c = test->priv;

	memset(c->sring, 0, XPV_PAGE_SIZE);
	xpv_front_init(&c->front, &c->mem, SLOT);
	c->front.req_prod = start;
	c->front.req_pushed = start;
	c->front.rsp_cons = start;
	c->sring->req_prod = start;
	c->sring->rsp_prod = start;
	c->sring->req_event = start + 1;
	c->sring->rsp_event = start + 1;
	KUNIT_ASSERT_EQ(test, xpv_back_attach(&c->back, &c->mem, SLOT), 0);
	FRONT_RING_ATTACH(&c->xen_front, c->sring, start, XPV_PAGE_SIZE);
	BACK_RING_ATTACH(&c->xen_back, c->sring, start, XPV_PAGE_SIZE);
}

/* ------------------------------------------------------------------ */
/* Every start index                                                   */
/* ------------------------------------------------------------------ */

static const u32 starts[] = {
	0, 1, 2, 127, 128, 254, 255, 256, 257, 0xfffe, 0xffff, 0x10000, 0x10001,
	0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xffffff00, 0xffffff01,
	0xfffffffe, 0xffffffff,
};

static void start_name(const u32 *start, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "start %#x", *start);
}

KUNIT_ARRAY_PARAM(start, starts, start_name);

/* Fill, drain and answer the whole ring: ours against ours. */
static void pair_carries_a_full_ring(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	struct probe_req req = {};
	struct probe_rsp rsp = {};
	u32 i, n;

	start_at(test, *start);
	n = c->front.size;
	KUNIT_EXPECT_EQ(test, xpv_front_free(&c->front), n);
	for (i = 0; i < n; i++) {
		req.id = i;
		KUNIT_EXPECT_EQ(test, xpv_front_put(&c->front, &req,
						    sizeof(req)), *start + i);
	}
	KUNIT_EXPECT_EQ(test, xpv_front_free(&c->front), 0);
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), 0);
	KUNIT_EXPECT_TRUE(test, xpv_front_push(&c->front));
	KUNIT_EXPECT_FALSE(test, xpv_front_push(&c->front));
	KUNIT_EXPECT_EQ(test, xpv_front_inflight(&c->front), n);
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), n);
	for (i = 0; i < n; i++) {
		xpv_back_get(&c->back, &req, sizeof(req));
		KUNIT_EXPECT_EQ(test, req.id, i);
	}
	KUNIT_EXPECT_EQ(test, xpv_back_open(&c->back), n);
	for (i = 0; i < n; i++) {
		rsp.id = i;
		xpv_back_put(&c->back, &rsp, sizeof(rsp));
	}
	KUNIT_EXPECT_TRUE(test, xpv_back_push(&c->back));
	KUNIT_EXPECT_FALSE(test, xpv_back_push(&c->back));
	KUNIT_EXPECT_EQ(test, xpv_front_pending(&c->front), n);
	for (i = 0; i < n; i++) {
		xpv_front_get(&c->front, &rsp, sizeof(rsp));
		KUNIT_EXPECT_EQ(test, rsp.id, i);
	}
	KUNIT_EXPECT_EQ(test, xpv_front_free(&c->front), n);
	KUNIT_EXPECT_EQ(test, xpv_front_pending(&c->front), 0);
}

/* Our frontend, Xen's backend macros, one request at a time past the start. */
static void front_meets_xen_back(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	struct probe_req req = {}, got;
	struct probe_rsp rsp, *slot;
	int notify, more;
	u32 i;

	start_at(test, *start);
	for (i = 0; i < 600; i++) {
		req.id = i;
		xpv_front_put(&c->front, &req, sizeof(req));
		KUNIT_EXPECT_TRUE(test, xpv_front_push(&c->front));
		KUNIT_EXPECT_EQ(test, XEN_RING_NR_UNCONSUMED_REQUESTS(&c->xen_back), 1);
		RING_COPY_REQUEST(&c->xen_back, c->xen_back.req_cons++, &got);
		KUNIT_EXPECT_EQ(test, got.id, i);
		RING_FINAL_CHECK_FOR_REQUESTS(&c->xen_back, more);
		KUNIT_EXPECT_FALSE(test, more);
		slot = RING_GET_RESPONSE(&c->xen_back, c->xen_back.rsp_prod_pvt++);
		slot->id = i;
		RING_PUSH_RESPONSES_AND_CHECK_NOTIFY(&c->xen_back, notify);
		KUNIT_EXPECT_TRUE(test, notify);
		KUNIT_EXPECT_EQ(test, xpv_front_pending(&c->front), 1);
		xpv_front_get(&c->front, &rsp, sizeof(rsp));
		KUNIT_EXPECT_EQ(test, rsp.id, i);
		KUNIT_EXPECT_FALSE(test, xpv_front_arm(&c->front, 1));
	}
}

/* Xen's frontend macros, our backend. */
static void back_meets_xen_front(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	struct probe_rsp rsp = {}, got;
	struct probe_req req;
	int notify, more;
	u32 i;

	start_at(test, *start);
	for (i = 0; i < 600; i++) {
		RING_GET_REQUEST(&c->xen_front, c->xen_front.req_prod_pvt)->id = i;
		c->xen_front.req_prod_pvt++;
		RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(&c->xen_front, notify);
		KUNIT_EXPECT_TRUE(test, notify);
		KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), 1);
		xpv_back_get(&c->back, &req, sizeof(req));
		KUNIT_EXPECT_EQ(test, req.id, i);
		KUNIT_EXPECT_FALSE(test, xpv_back_arm(&c->back, 1));
		rsp.id = i;
		xpv_back_put(&c->back, &rsp, sizeof(rsp));
		KUNIT_EXPECT_TRUE(test, xpv_back_push(&c->back));
		KUNIT_EXPECT_EQ(test, XEN_RING_NR_UNCONSUMED_RESPONSES(&c->xen_front), 1);
		RING_COPY_RESPONSE(&c->xen_front, c->xen_front.rsp_cons++, &got);
		KUNIT_EXPECT_EQ(test, got.id, i);
		RING_FINAL_CHECK_FOR_RESPONSES(&c->xen_front, more);
		KUNIT_EXPECT_FALSE(test, more);
	}
}

/*
 * The definition in ring.h, step by step: the peer wants an event when the
 * index it named is one of those that publishing went over.
 */
static bool notify_by_walking(u32 old, u32 new, u32 event)
{
	u32 i;

	for (i = old; i != new; i++)
		if (i + 1 == event)
			return true;
	return false;
}

static void notify_is_the_definition(struct kunit *test)
{
	const u32 *start = test->param_value;
	u32 n, e;

	for (n = 0; n <= 64; n++)
		for (e = 0; e <= 140; e++)
			KUNIT_EXPECT_EQ(test,
					xpv_ring_notify(*start, *start + n,
							*start + e - 70),
					notify_by_walking(*start, *start + n,
							  *start + e - 70));
}

/* One event for a batch, wherever in it the peer's mark lies: ours and Xen's. */
static void notify_agrees_with_xen(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	struct probe_req req = {};
	u32 n, e, i;
	int xen;

	for (n = 1; n <= 20; n++) {
		for (e = 0; e <= 24; e++) {
			start_at(test, *start);
			c->sring->req_event = *start + e;
			for (i = 0; i < n; i++)
				xpv_front_put(&c->front, &req, sizeof(req));
			c->xen_front.req_prod_pvt = *start + n;
			RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(&c->xen_front, xen);
			c->sring->req_prod = *start;
			KUNIT_EXPECT_EQ(test, xpv_front_push(&c->front), !!xen);
		}
	}
}

/* ------------------------------------------------------------------ */
/* A peer that lies                                                    */
/* ------------------------------------------------------------------ */

static void back_pending_beyond_the_ring(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	u32 size;

	start_at(test, *start);
	size = c->back.size;
	c->sring->req_prod = *start + size;
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), size);
	c->sring->req_prod = *start + size + 1;
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), -EPROTO);
	c->sring->req_prod = *start + 0x80000000;
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), -EPROTO);
	c->sring->req_prod = *start - 1;
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), -EPROTO);
	c->sring->req_prod = *start + 0x12345678;
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), -EPROTO);
}

/* With responses owed, a full ring of new requests is one too many. */
static void back_pending_counts_what_is_owed(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	struct probe_req req;
	u32 size;

	start_at(test, *start);
	size = c->back.size;
	c->sring->req_prod = *start + 10;
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), 10);
	xpv_back_get(&c->back, &req, sizeof(req));
	c->sring->req_prod = *start + size;
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), size - 1);
	c->sring->req_prod = *start + size + 1;
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), -EPROTO);
	/* Going back behind what was taken. */
	c->sring->req_prod = *start;
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), -EPROTO);
}

static void front_pending_beyond_the_requests(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	struct probe_req req = {};

	start_at(test, *start);
	c->sring->rsp_prod = *start + 1;
	KUNIT_EXPECT_EQ(test, xpv_front_pending(&c->front), -EPROTO);
	xpv_front_put(&c->front, &req, sizeof(req));
	/* Filled is not published. */
	KUNIT_EXPECT_EQ(test, xpv_front_pending(&c->front), -EPROTO);
	xpv_front_push(&c->front);
	KUNIT_EXPECT_EQ(test, xpv_front_pending(&c->front), 1);
	c->sring->rsp_prod = *start + 2;
	KUNIT_EXPECT_EQ(test, xpv_front_pending(&c->front), -EPROTO);
	c->sring->rsp_prod = *start - 1;
	KUNIT_EXPECT_EQ(test, xpv_front_pending(&c->front), -EPROTO);
	c->sring->rsp_prod = *start + 0x80000000;
	KUNIT_EXPECT_EQ(test, xpv_front_pending(&c->front), -EPROTO);
}

/* The index we publish is ours: what the peer writes over it has no effect. */
static void front_never_reads_back_its_index(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	struct probe_req req = {};

	start_at(test, *start);
	xpv_front_put(&c->front, &req, sizeof(req));
	xpv_front_push(&c->front);
	c->sring->req_prod = 0xdeadbeef;
	KUNIT_EXPECT_EQ(test, xpv_front_inflight(&c->front), 1);
	xpv_front_put(&c->front, &req, sizeof(req));
	xpv_front_push(&c->front);
	KUNIT_EXPECT_EQ(test, c->sring->req_prod, *start + 2);
}

/* ------------------------------------------------------------------ */
/* Arming, attaching, sizes                                            */
/* ------------------------------------------------------------------ */

static void arm_asks_for_the_nth(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	struct probe_req req = {};
	u32 ahead, n;

	for (ahead = 1; ahead <= 8; ahead++) {
		start_at(test, *start);
		KUNIT_EXPECT_FALSE(test, xpv_back_arm(&c->back, ahead));
		KUNIT_EXPECT_EQ(test, c->sring->req_event, *start + ahead);
		for (n = 1; n <= 8; n++) {
			xpv_front_put(&c->front, &req, sizeof(req));
			KUNIT_EXPECT_EQ(test, xpv_front_push(&c->front),
					n == ahead);
			/* Arming late says at once that enough are there. */
			KUNIT_EXPECT_EQ(test, xpv_back_arm(&c->back, ahead),
					n >= ahead);
		}
	}
}

static void front_arm_sees_what_came_before(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	struct probe_req req = {};
	struct probe_rsp rsp = {};

	start_at(test, *start);
	xpv_front_put(&c->front, &req, sizeof(req));
	xpv_front_push(&c->front);
	c->sring->rsp_event = *start + 100;
	xpv_back_get(&c->back, &req, sizeof(req));
	xpv_back_put(&c->back, &rsp, sizeof(rsp));
	KUNIT_EXPECT_FALSE(test, xpv_back_push(&c->back));
	KUNIT_EXPECT_TRUE(test, xpv_front_arm(&c->front, 1));
	KUNIT_EXPECT_FALSE(test, xpv_front_arm(&c->front, 2));
	KUNIT_EXPECT_EQ(test, c->sring->rsp_event, *start + 2);
}

/* A backend that joins a ring in use sees all that has no response yet. */
static void attach_to_a_ring_in_use(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	struct probe_req req = {};
	u32 i;

	start_at(test, *start);
	for (i = 0; i < 5; i++) {
		req.id = 100 + i;
		xpv_front_put(&c->front, &req, sizeof(req));
	}
	xpv_front_push(&c->front);
	c->sring->rsp_prod = *start + 2;
	KUNIT_ASSERT_EQ(test, xpv_back_attach(&c->back, &c->mem, SLOT), 0);
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&c->back), 3);
	xpv_back_peek(&c->back, 1, &req, sizeof(req));
	KUNIT_EXPECT_EQ(test, req.id, 103);
	xpv_back_get(&c->back, &req, sizeof(req));
	KUNIT_EXPECT_EQ(test, req.id, 102);
	c->sring->req_prod = c->sring->rsp_prod + c->back.size + 1;
	KUNIT_EXPECT_EQ(test, xpv_back_attach(&c->back, &c->mem, SLOT), -EPROTO);
}

static void init_leaves_the_ring_empty_and_armed(struct kunit *test)
{
	struct ctx *c = test->priv;

	xpv_front_init(&c->front, &c->mem, SLOT);
	KUNIT_EXPECT_EQ(test, c->sring->req_prod, 0);
	KUNIT_EXPECT_EQ(test, c->sring->rsp_prod, 0);
	KUNIT_EXPECT_EQ(test, c->sring->req_event, 1);
	KUNIT_EXPECT_EQ(test, c->sring->rsp_event, 1);
	KUNIT_EXPECT_EQ(test, c->front.size, RING_SIZE(&c->xen_front) ?:
			__CONST_RING_SIZE(probe, XPV_PAGE_SIZE));
}

/* Slots that fit, for the slot sizes of the public protocols. */
static void ring_size_is_the_largest_power_of_two(struct kunit *test)
{
	static const struct {
		unsigned int npages, slot, size;
	} want[] = {
		{ 1, 12, 256 }, { 1, 8, 256 }, { 1, 16, 128 },	/* network */
		{ 1, 112, 32 }, { 2, 112, 64 }, { 4, 112, 128 },	/* block */
		{ 8, 112, 256 }, { 16, 112, 512 }, { 1, 108, 32 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(want); i++)
		KUNIT_EXPECT_EQ(test, xpv_ring_size(want[i].npages, want[i].slot),
				want[i].size);
}

/* No slot leaves the pages, at any index. */
static void slot_stays_inside_the_pages(struct kunit *test)
{
	const u32 *start = test->param_value;
	struct ctx *c = test->priv;
	unsigned long off;
	u32 i;

	start_at(test, *start);
	for (i = 0; i < 2 * c->front.size; i++) {
		off = (unsigned long)(xpv_ring_slot(c->front.s, c->front.size,
						    SLOT, *start + i) -
				      (void __peer *)c->front.s);
		KUNIT_EXPECT_GE(test, off, sizeof(struct xpv_sring));
		KUNIT_EXPECT_LE(test, off + SLOT, XPV_PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, off,
				(unsigned long)RING_GET_REQUEST(&c->xen_front,
								*start + i) -
				(unsigned long)c->sring);
	}
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE_PARAM(pair_carries_a_full_ring, start_gen_params),
	KUNIT_CASE_PARAM(front_meets_xen_back, start_gen_params),
	KUNIT_CASE_PARAM(back_meets_xen_front, start_gen_params),
	KUNIT_CASE_PARAM(notify_is_the_definition, start_gen_params),
	KUNIT_CASE_PARAM(notify_agrees_with_xen, start_gen_params),
	KUNIT_CASE_PARAM(back_pending_beyond_the_ring, start_gen_params),
	KUNIT_CASE_PARAM(back_pending_counts_what_is_owed, start_gen_params),
	KUNIT_CASE_PARAM(front_pending_beyond_the_requests, start_gen_params),
	KUNIT_CASE_PARAM(front_never_reads_back_its_index, start_gen_params),
	KUNIT_CASE_PARAM(arm_asks_for_the_nth, start_gen_params),
	KUNIT_CASE_PARAM(front_arm_sees_what_came_before, start_gen_params),
	KUNIT_CASE_PARAM(attach_to_a_ring_in_use, start_gen_params),
	KUNIT_CASE_PARAM(slot_stays_inside_the_pages, start_gen_params),
	KUNIT_CASE(init_leaves_the_ring_empty_and_armed),
	KUNIT_CASE(ring_size_is_the_largest_power_of_two),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "xpv_ring",
	.init = ring_init,
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);

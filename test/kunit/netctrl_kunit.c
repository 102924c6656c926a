// SPDX-License-Identifier: GPL-2.0
/*
 * netback's control ring and its tables of static grants; the test plays the
 * guest, also one that breaks the rules.
 */
#include <kunit/test.h>
#include "fake_netguest.h"

#define PAGES	8

/* The guest's end of the control ring, and pages to be mapped. */
struct ctrl {
	struct kunit *test;
	struct guest *g;
	struct xpv_ring_mem mem;
	struct xpv_front ring;
	struct xpv_evt evt;
	u16 id;
	struct page *list;
	grant_ref_t list_ref;
	struct page *page[PAGES];
	grant_ref_t ref[PAGES];
};

static void ctrl_event(void *arg)
{
	struct ctrl *c = arg;

	xpv_evt_got(&c->evt);
	xpv_evt_work(&c->evt);
	xpv_evt_done(&c->evt);
}

static struct ctrl *ctrl_new(struct kunit *test, unsigned int nq)
{
	struct ctrl *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->test = test;
	c->g = guest_new(test);
	KUNIT_ASSERT_EQ(test, hyp_ring_share(c->g->d, &c->mem, 1), 0);
	xpv_front_init(&c->ring, &c->mem, sizeof(struct xen_netif_ctrl_request));
	c->evt = (struct xpv_evt) { .fn = ctrl_event, .arg = c };
	KUNIT_ASSERT_EQ(test, hyp_evt_listen(c->g->d, &c->evt, "ctrl"), 0);
	fake_set(c->g->p, XPV_FRONT, "ctrl-ring-ref", "%u", c->mem.gref[0]);
	fake_set(c->g->p, XPV_FRONT, "event-channel-ctrl", "%u", c->evt.port);
	c->list = alloc_page(GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(test, c->list);
	c->list_ref = fake_grant_page(c->g->d, c->list, false);
	for (i = 0; i < PAGES; i++) {
		c->page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		KUNIT_ASSERT_NOT_NULL(test, c->page[i]);
		c->ref[i] = fake_grant_page(c->g->d, c->page[i], false);
	}
	guest_connect(c->g, nq, true);
	return c;
}

/* All pages are free again once the backend has gone. */
static void ctrl_end(struct ctrl *c)
{
	struct guest *g = c->g;
	unsigned int i;

	guest_untap(g);
	fake_remove(g->p, XPV_BACK);
	hyp_evt_close(&c->evt);
	hyp_ring_unshare(g->d, &c->mem);
	KUNIT_EXPECT_TRUE(c->test, fake_grant_end(c->list_ref));
	__free_page(c->list);
	for (i = 0; i < PAGES; i++) {
		KUNIT_EXPECT_TRUE(c->test, fake_grant_end(c->ref[i]));
		__free_page(c->page[i]);
	}
	guest_end(g);
}

static void ctrl_put(struct ctrl *c, u16 type, u32 a, u32 b, u32 n)
{
	struct xen_netif_ctrl_request req = {
		.id = ++c->id, .type = type, .data = { a, b, n },
	};

	xpv_front_put(&c->ring, &req, sizeof(req));
}

static void ctrl_push(struct ctrl *c)
{
	if (xpv_front_push(&c->ring))
		hyp_evt_notify(&c->evt);
	KUNIT_EXPECT_TRUE(c->test, fake_run(c->g->w));
}

/* One message. Return: its status; the data go to @out. */
static u32 ctrl_call(struct ctrl *c, u16 type, u32 a, u32 b, u32 n, u32 *out)
{
	struct xen_netif_ctrl_response rsp = {};

	ctrl_put(c, type, a, b, n);
	ctrl_push(c);
	KUNIT_ASSERT_EQ(c->test, xpv_front_pending(&c->ring), 1);
	xpv_front_get(&c->ring, &rsp, sizeof(rsp));
	KUNIT_EXPECT_EQ(c->test, rsp.id, c->id);
	KUNIT_EXPECT_EQ(c->test, rsp.type, type);
	if (out)
		*out = rsp.data;
	return rsp.status;
}

static struct xpv_net_gref *ctrl_list(struct ctrl *c)
{
	return page_address(c->list);
}

/* Pages @first.. of the guest, @n of them, with @flags. */
static u32 ctrl_add(struct ctrl *c, unsigned int first, unsigned int n, u16 flags)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		ctrl_list(c)[i] = (struct xpv_net_gref) {
			.ref = c->ref[first + i], .flags = flags,
		};
	return ctrl_call(c, XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING, 0,
			 c->list_ref, n, NULL);
}

#define OK		XEN_NETIF_CTRL_STATUS_SUCCESS
#define NO		XEN_NETIF_CTRL_STATUS_NOT_SUPPORTED
#define INVALID		XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER
#define OVERFLOW_	XEN_NETIF_CTRL_STATUS_BUFFER_OVERFLOW

static void poke_ctrl(void *arg)
{
	struct ctrl *c = arg;

	queue_work(xnb_wq, &c->g->vif->ctrl.work);
	flush_work(&c->g->vif->ctrl.work);
}

/* A message that nobody announced is found in the midst of a disconnect. */
static void ctrl_disconnect_while_busy(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);

	ctrl_put(c, XEN_NETIF_CTRL_TYPE_INVALID, 0, 0, 0);
	xpv_front_push(&c->ring);
	xpv_front_arm(&c->ring, 1);
	fake_on_close(c->g->w, poke_ctrl, c);
	guest_again(c->g);
	fake_on_close(c->g->w, NULL, NULL);
	KUNIT_EXPECT_EQ(test, fake_blamed(c->g->w), 0);
	ctrl_end(c);
}

/* ------------------------------------------------------------------ */
/* Messages                                                            */
/* ------------------------------------------------------------------ */

static void ctrl_unknown_messages(struct kunit *test)
{
	static const u16 type[] = { 0, 1, 7, 11, 12, 255, 0x7fff, 0x8000, 0xffff };
	struct ctrl *c = ctrl_new(test, 1);
	unsigned int i;
	u32 out;

	KUNIT_EXPECT_EQ(test, fake_get_num(c->g->p, XPV_BACK,
					   "feature-ctrl-ring", -1), 1);
	for (i = 0; i < ARRAY_SIZE(type); i++) {
		out = 1;
		KUNIT_EXPECT_EQ_MSG(test, ctrl_call(c, type[i], U32_MAX, U32_MAX,
						    U32_MAX, &out), NO,
				    "type %u", type[i]);
		KUNIT_EXPECT_EQ(test, out, 0);
	}
	ctrl_end(c);
}

static void ctrl_size_by_queue(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 2);
	unsigned int was = xnb_statics;
	u32 out;

	KUNIT_EXPECT_EQ(test, ctrl_call(c, 8, 0, 0, 0, &out), OK);
	KUNIT_EXPECT_EQ(test, out, xnb_statics);
	KUNIT_EXPECT_EQ(test, ctrl_call(c, 8, 1, 0, 0, &out), OK);
	KUNIT_EXPECT_EQ(test, ctrl_call(c, 8, 2, 0, 0, &out), INVALID);
	KUNIT_EXPECT_EQ(test, out, 0);
	KUNIT_EXPECT_EQ(test, ctrl_call(c, 8, U32_MAX, 0, 0, &out), INVALID);
	xnb_statics = U32_MAX;
	KUNIT_EXPECT_EQ(test, ctrl_call(c, 8, 0, 0, 0, &out), OK);
	KUNIT_EXPECT_EQ(test, out, XNB_STATICS_MAX);
	xnb_statics = 0;
	KUNIT_EXPECT_EQ(test, ctrl_call(c, 8, 0, 0, 0, &out), NO);
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 0, 1, 0), NO);
	xnb_statics = was;
	ctrl_end(c);
}

static void ctrl_bad_arguments(struct kunit *test)
{
	static const struct {
		u32 queue, n, status;
		bool bad_ref;
	} row[] = {
		{ 0, 0, INVALID }, { 1, 1, INVALID }, { U32_MAX, 1, INVALID },
		{ 0, 513, OVERFLOW_ }, { 0, U32_MAX, OVERFLOW_ },
		{ 0, U32_MAX - 3, OVERFLOW_ }, { 0, 1, INVALID, true },
	};
	struct ctrl *c = ctrl_new(test, 1);
	struct fake_use use = fake_use(c->g->w);
	unsigned int i;
	u32 ref;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		ref = row[i].bad_ref ? 4000000000U : c->list_ref;
		KUNIT_EXPECT_EQ_MSG(test, ctrl_call(c, 9, row[i].queue, ref,
						    row[i].n, NULL),
				    row[i].status, "add, row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, ctrl_call(c, 10, row[i].queue, ref,
						    row[i].n, NULL),
				    row[i].status, "del, row %u", i);
	}
	KUNIT_EXPECT_EQ(test, fake_use(c->g->w).maps, use.maps);
	KUNIT_EXPECT_EQ(test, fake_use(c->g->w).pages, 0);
	ctrl_end(c);
}

static void ctrl_add_and_del(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);
	unsigned int maps = fake_use(c->g->w).maps;
	u32 out;

	KUNIT_EXPECT_EQ(test, ctrl_add(c, 0, 4, 0), OK);
	KUNIT_EXPECT_EQ(test, fake_use(c->g->w).maps, maps + 4);
	KUNIT_EXPECT_EQ(test, c->g->vif->queues[0].nmapped, 4);
	/* One that is there already: none of the list is taken. */
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 3, 3, 0), INVALID);
	KUNIT_EXPECT_EQ(test, fake_use(c->g->w).maps, maps + 4);
	/* Twice in one list. */
	ctrl_list(c)[0].ref = c->ref[5];
	ctrl_list(c)[1].ref = c->ref[5];
	KUNIT_EXPECT_EQ(test, ctrl_call(c, 9, 0, c->list_ref, 2, NULL), INVALID);
	/* A flag that nobody knows. */
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 5, 1, 2), INVALID);
	KUNIT_EXPECT_EQ(test, fake_use(c->g->w).maps, maps + 4);

	ctrl_list(c)[0].ref = c->ref[1];
	ctrl_list(c)[1].ref = c->ref[7];
	ctrl_list(c)[2].ref = c->ref[1];
	ctrl_list(c)[3].ref = c->ref[2];
	KUNIT_EXPECT_EQ(test, ctrl_call(c, 10, 0, c->list_ref, 4, &out), INVALID);
	KUNIT_EXPECT_EQ(test, out, 2);
	KUNIT_EXPECT_EQ(test, ctrl_list(c)[0].status, OK);
	KUNIT_EXPECT_EQ(test, ctrl_list(c)[1].status, INVALID);
	KUNIT_EXPECT_EQ(test, ctrl_list(c)[2].status, INVALID);
	KUNIT_EXPECT_EQ(test, ctrl_list(c)[3].status, OK);
	KUNIT_EXPECT_EQ(test, fake_use(c->g->w).maps, maps + 2);
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 1, 2, XPV_NET_GREF_READONLY), OK);
	KUNIT_EXPECT_EQ(test, c->g->vif->queues[0].nmapped, 4);
	ctrl_end(c);
}

static void ctrl_table_is_bounded(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);
	unsigned int was = xnb_statics;

	xnb_statics = 6;
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 0, 7, 0), OVERFLOW_);
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 0, 4, 0), OK);
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 4, 3, 0), OVERFLOW_);
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 4, 2, 0), OK);
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 6, 1, 0), OVERFLOW_);
	xnb_statics = was;
	ctrl_end(c);
}

/* The n-th mapping fails, for all n: all or nothing, and nothing leaks. */
static void ctrl_every_map_fails(struct kunit *test)
{
	static const int err[] = { -EIO, FAKE_UNTOUCHED, FAKE_POSITIVE };
	struct ctrl *c = ctrl_new(test, 1);
	unsigned int maps = fake_use(c->g->w).maps;
	unsigned int n, e;

	for (e = 0; e < ARRAY_SIZE(err); e++) {
		for (n = 1; n <= PAGES; n++) {
			fake_fail_op(c->g->w, FAKE_MAP, n, 1, err[e]);
			KUNIT_EXPECT_EQ(test, ctrl_add(c, 0, PAGES, 0), INVALID);
			KUNIT_EXPECT_EQ(test, fake_use(c->g->w).maps, maps);
			KUNIT_EXPECT_EQ(test, fake_use(c->g->w).pages, 0);
			KUNIT_EXPECT_EQ(test, c->g->vif->queues[0].nmapped, 0);
		}
	}
	fake_fail_op(c->g->w, FAKE_MAP, 0, 0, 0);
	fake_fail(c->g->w, FAKE_PAGES_GET, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 0, PAGES, 0), OVERFLOW_);
	KUNIT_EXPECT_EQ(test, ctrl_add(c, 0, PAGES, 0), OK);
	ctrl_end(c);
}

/* ------------------------------------------------------------------ */
/* Data                                                                */
/* ------------------------------------------------------------------ */

/* @n more frames from Tx page @page; Return: copies that the hypervisor did. */
static u64 send_from(struct ctrl *c, unsigned int page, unsigned int n)
{
	u64 before = fake_ops(c->g->w, FAKE_COPY);
	unsigned int i;

	for (i = 0; i < n; i++)
		guest_put(&c->g->q[0], page, 0, 200, 0);
	guest_push(c->g, &c->g->q[0]);
	guest_expect_rsp(c->g, &c->g->q[0], n, 0, 0);
	return fake_ops(c->g->w, FAKE_COPY) - before;
}

static void expect_pattern(struct ctrl *c, unsigned int page)
{
	struct sk_buff *skb = skb_dequeue(&c->g->got);
	unsigned int i, bad = 0;

	KUNIT_ASSERT_NOT_NULL(c->test, skb);
	KUNIT_EXPECT_EQ(c->test, skb->len, 200);
	for (i = 0; i < skb->len; i++)
		bad += skb->data[i] != guest_pattern(page, i);
	KUNIT_EXPECT_EQ(c->test, bad, 0);
	kfree_skb(skb);
}

static u32 change_tx_page(struct ctrl *c, u16 type, unsigned int page)
{
	ctrl_list(c)[0] = (struct xpv_net_gref) {
		.ref = c->g->q[0].gref[page], .flags = XPV_NET_GREF_READONLY,
	};
	return ctrl_call(c, type, 0, c->list_ref, 1, NULL);
}

/* Pages in the table need no hypercall, the others of a batch still do. */
static void static_tx(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);

	KUNIT_EXPECT_EQ(test, send_from(c, 3, 2), 2);
	KUNIT_EXPECT_EQ(test, change_tx_page(c, 9, 3), OK);
	skb_queue_purge(&c->g->got);
	KUNIT_EXPECT_EQ(test, send_from(c, 3, 2), 0);
	expect_pattern(c, 3);
	expect_pattern(c, 3);
	KUNIT_EXPECT_EQ(test, host_sum(c->g, "tx_static_copies"), 2);
	/* As if another reference had taken its place in the first table. */
	c->g->vif->queues[0].quick[c->g->q[0].gref[3] % XNB_QUICK] = NULL;
	KUNIT_EXPECT_EQ(test, send_from(c, 3, 1), 0);
	expect_pattern(c, 3);
	ctrl_end(c);
}

static void static_tx_mixed_batch(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);
	struct guest_queue *q = &c->g->q[0];
	unsigned int i;
	u64 before;

	KUNIT_EXPECT_EQ(test, change_tx_page(c, 9, 3), OK);
	before = fake_ops(c->g->w, FAKE_COPY);
	for (i = 2; i < 6; i++)
		guest_put(q, i, 0, 200, 0);
	guest_push(c->g, q);
	guest_expect_rsp(c->g, q, 4, 0, 0);
	KUNIT_EXPECT_EQ(test, fake_ops(c->g->w, FAKE_COPY) - before, 3);
	for (i = 2; i < 6; i++)
		expect_pattern(c, i);
	/* A failed copy hits the packet it belongs to. */
	fake_fail_op(c->g->w, FAKE_COPY, 2, 1, -EIO);
	for (i = 2; i < 6; i++)
		guest_put(q, i, 0, 200, 0);
	guest_push(c->g, q);
	guest_expect_rsp(c->g, q, 3, 1, 0);
	expect_pattern(c, 2);
	expect_pattern(c, 3);
	expect_pattern(c, 5);
	ctrl_end(c);
}

/* Taken out of the table it is an ordinary grant again. */
static void static_tx_after_del(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);

	KUNIT_EXPECT_EQ(test, change_tx_page(c, 9, 3), OK);
	KUNIT_EXPECT_EQ(test, send_from(c, 3, 1), 0);
	KUNIT_EXPECT_EQ(test, change_tx_page(c, 10, 3), OK);
	KUNIT_EXPECT_EQ(test, send_from(c, 3, 1), 1);
	skb_queue_purge(&c->g->got);
	ctrl_end(c);
}

/* A mapping that does not allow it is not written through. */
static void static_rx_needs_write(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);
	struct guest_queue *q = &c->g->q[0];
	u8 *buf = kunit_kmalloc(test, 66000, GFP_KERNEL);
	u16 flags, gso, ro;
	u64 before;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (ro = 0; ro <= XPV_NET_GREF_READONLY; ro++) {
		guest_post(c->g, q, 1);
		ctrl_list(c)[0] = (struct xpv_net_gref) {
			.ref = q->rx_gref[ro], .flags = ro,
		};
		KUNIT_EXPECT_EQ(test, ctrl_call(c, 9, 0, c->list_ref, 1, NULL),
				OK);
		before = fake_ops(c->g->w, FAKE_COPY);
		host_send(c->g, 300, 0);
		KUNIT_EXPECT_EQ(test, fake_ops(c->g->w, FAKE_COPY) - before, ro ? 2 : 0);
		ctrl_call(c, 10, 0, c->list_ref, 1, NULL);
		KUNIT_EXPECT_EQ(test, guest_receive(q, buf, &flags, &gso), 300);
		KUNIT_EXPECT_EQ(test, buf[100], (u8)(100 * 3));
	}
	ctrl_end(c);
}

/* ------------------------------------------------------------------ */
/* Life and rules                                                      */
/* ------------------------------------------------------------------ */

/* Disconnecting takes all mappings along, also when nobody deletes them. */
static void static_ends_with_connection(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);

	KUNIT_EXPECT_EQ(test, ctrl_add(c, 0, PAGES, 0), OK);
	KUNIT_EXPECT_EQ(test, guest_state(c->g, XenbusStateClosing),
			XenbusStateClosing);
	KUNIT_EXPECT_EQ(test, fake_use(c->g->w).maps, 0);
	KUNIT_EXPECT_EQ(test, fake_use(c->g->w).pages, 0);
	ctrl_end(c);
}

static void ctrl_index_beyond_ring(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);

	KUNIT_EXPECT_EQ(test, ctrl_add(c, 0, PAGES, 0), OK);
	c->ring.req_prod += c->ring.size + 1;
	ctrl_push(c);
	KUNIT_EXPECT_EQ(test, fake_state(c->g->p, XPV_BACK), XenbusStateClosing);
	KUNIT_EXPECT_EQ(test, atomic64_read(&c->g->vif->faults.count[XPV_FAULT_INDEX]), 1);
	KUNIT_EXPECT_EQ(test, fake_use(c->g->w).maps, 0);
	ctrl_end(c);
}

/* A ring full of requests at once: each is answered, in order. */
static void ctrl_full_ring(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);
	struct xen_netif_ctrl_response rsp;
	unsigned int i;

	for (i = 0; i < c->ring.size; i++)
		ctrl_put(c, i % 12, 0, c->list_ref, i % 3);
	ctrl_push(c);
	KUNIT_EXPECT_EQ(test, xpv_front_pending(&c->ring), (int)c->ring.size);
	for (i = 0; i < c->ring.size; i++) {
		xpv_front_get(&c->ring, &rsp, sizeof(rsp));
		KUNIT_EXPECT_EQ(test, rsp.id, i + 1);
	}
	ctrl_end(c);
}

/* Half a control ring is none, and no reason to stay apart. */
static void half_of_the_keys(struct kunit *test, const char *gone)
{
	struct ctrl *c = ctrl_new(test, 1);

	guest_again(c->g);
	guest_unshare(c->g);
	fake_del(c->g->p, XPV_FRONT, gone);
	guest_connect(c->g, 1, false);
	KUNIT_EXPECT_NULL(test, c->g->vif->ctrl.mem.addr);
	ctrl_end(c);
}

static void ctrl_without_channel(struct kunit *test)
{
	half_of_the_keys(test, "event-channel-ctrl");
}

static void ctrl_without_ring(struct kunit *test)
{
	half_of_the_keys(test, "ctrl-ring-ref");
}

static void ctrl_ring_cannot_be_mapped(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test, 1);

	guest_again(c->g);
	guest_unshare(c->g);
	fake_set(c->g->p, XPV_FRONT, "ctrl-ring-ref", "4000000000");
	guest_share(c->g, 1, false);
	KUNIT_EXPECT_EQ(test, guest_state(c->g, XenbusStateConnected),
			XenbusStateClosing);
	KUNIT_EXPECT_EQ(test, fake_use(c->g->w).maps, 0);
	ctrl_end(c);
}

static struct kunit_case netctrl_cases[] = {
	KUNIT_CASE(ctrl_disconnect_while_busy),
	KUNIT_CASE(ctrl_unknown_messages),
	KUNIT_CASE(ctrl_size_by_queue),
	KUNIT_CASE(ctrl_bad_arguments),
	KUNIT_CASE(ctrl_add_and_del),
	KUNIT_CASE(ctrl_table_is_bounded),
	KUNIT_CASE(ctrl_every_map_fails),
	KUNIT_CASE(static_tx),
	KUNIT_CASE(static_tx_mixed_batch),
	KUNIT_CASE(static_tx_after_del),
	KUNIT_CASE(static_rx_needs_write),
	KUNIT_CASE(static_ends_with_connection),
	KUNIT_CASE(ctrl_index_beyond_ring),
	KUNIT_CASE(ctrl_full_ring),
	KUNIT_CASE(ctrl_without_channel),
	KUNIT_CASE(ctrl_without_ring),
	KUNIT_CASE(ctrl_ring_cannot_be_mapped),
	{}
};

static struct kunit_suite netctrl_suite = {
	.name = "xpv_netctrl",
	.test_cases = netctrl_cases,
};

kunit_test_suite(netctrl_suite);

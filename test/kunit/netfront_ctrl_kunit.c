// SPDX-License-Identifier: GPL-2.0
/*
 * netfront's control ring and its pages that stay mapped, against a backend
 * that the test plays: one that can, one that cannot, one that lies.
 */
#include <linux/delay.h>
#include "netfront_peer.h"

struct ctrl {
	struct nf_peer *n;
	struct xpv_ring_mem mem;
	struct xpv_back ring;
	struct xpv_evt evt;
	unsigned int ms;
};

static struct ctrl *ctrl_new(struct kunit *test)
{
	struct ctrl *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct nf_peer *n = nf_create(test);

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->n = n;
	c->ms = xnf_ctrl_ms;
	fake_set(n->p, XPV_BACK, "feature-ctrl-ring", "1");
	nf_probe(n);
	nf_map(n, &c->mem, nf_key(n, 0, "ctrl-ring-ref"));
	KUNIT_ASSERT_EQ(test, xpv_back_attach(&c->ring, &c->mem, 16), 0);
	nf_bind(n, &c->evt, nf_key(n, 0, "event-channel-ctrl"));
	nf_join(n);
	nf_open(n);
	return c;
}

static void ctrl_end(struct ctrl *c)
{
	hyp_evt_close(&c->evt);
	hyp_ring_unmap(c->n->d, &c->mem);
	xnf_ctrl_ms = c->ms;
	nf_down(c->n);
}

/* The next message within a second. Return: there is one. */
static bool ctrl_get(struct ctrl *c, struct xen_netif_ctrl_request *req)
{
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		if (xpv_back_pending(&c->ring) > 0) {
			xpv_back_get(&c->ring, req, sizeof(*req));
			return true;
		}
		xpv_back_arm(&c->ring, 1);
		usleep_range(1000, 2000);
	}
	return false;
}

static void ctrl_expect(struct ctrl *c, struct xen_netif_ctrl_request *req,
			u16 type)
{
	*req = (struct xen_netif_ctrl_request) {};
	KUNIT_ASSERT_TRUE(c->n->test, ctrl_get(c, req));
	KUNIT_ASSERT_EQ(c->n->test, req->type, type);
	KUNIT_ASSERT_EQ(c->n->test, req->data[0], 0);
}

static void ctrl_put(struct ctrl *c, u16 id, u16 type, u32 status, u32 data)
{
	struct xen_netif_ctrl_response rsp = {
		.id = id, .type = type, .status = status, .data = data,
	};

	xpv_back_put(&c->ring, &rsp, sizeof(rsp));
	if (xpv_back_push(&c->ring))
		hyp_evt_notify(&c->evt);
	fake_run(c->n->w);
}

static void ctrl_reply(struct ctrl *c, const struct xen_netif_ctrl_request *req,
		       u32 status, u32 data)
{
	ctrl_put(c, req->id, req->type, status, data);
}

/* Nothing more comes. */
static void ctrl_silent(struct ctrl *c)
{
	flush_work(&c->n->x->ctrl.work);
	KUNIT_EXPECT_EQ(c->n->test, xpv_back_pending(&c->ring), 0);
}

static struct xpv_net_gref *ctrl_list(struct ctrl *c,
				      const struct xen_netif_ctrl_request *req)
{
	struct page *page = fake_granted(c->n->w, req->data[1]);

	KUNIT_ASSERT_NOT_NULL(c->n->test, page);
	return page_address(page);
}

/* Accept everything up to the pages for large Tx packets. */
static void ctrl_accept(struct ctrl *c, u32 room)
{
	struct xen_netif_ctrl_request req;

	ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE);
	ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_SUCCESS, room);
	while (room >= XNF_COPY_PAGES) {
		ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING);
		room -= req.data[2];
		ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_SUCCESS, 0);
	}
	ctrl_silent(c);
}

/* ------------------------------------------------------------------ */
/* Messages                                                            */
/* ------------------------------------------------------------------ */

static void ctrl_only_when_offered(struct kunit *test)
{
	struct nf_peer *n = nf_create(test);

	fake_set(n->p, XPV_FRONT, "ctrl-ring-ref", "17");
	fake_set(n->p, XPV_FRONT, "event-channel-ctrl", "18");
	nf_probe(n);
	KUNIT_EXPECT_EQ(test, nf_key(n, 0, "ctrl-ring-ref"), -1);
	KUNIT_EXPECT_EQ(test, nf_key(n, 0, "event-channel-ctrl"), -1);
	nf_join(n);
	KUNIT_EXPECT_NULL(test, n->x->ctrl.mem.addr);
	nf_down(n);
}

static void ctrl_backend_has_no_tables(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test);
	struct xen_netif_ctrl_request req;

	ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE);
	ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_NOT_SUPPORTED, 0);
	ctrl_silent(c);
	KUNIT_EXPECT_EQ(test, nf_stats(c->n)->static_pages, 0);
	ctrl_end(c);
}

/* What is offered: small Tx pages read-only, Rx pages, large Tx read-only. */
static void ctrl_offers_all(struct kunit *test)
{
	static const struct {
		u32 n;
		u16 flags;
	} want[] = {
		{ XNF_COPY_PAGES, XPV_NET_GREF_READONLY }, { XNF_RING, 0 },
		{ XNF_STAGE_PAGES, XPV_NET_GREF_READONLY },
	};
	struct ctrl *c = ctrl_new(test);
	struct xen_netif_ctrl_request req;
	unsigned int i, k;

	ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE);
	ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_SUCCESS, U32_MAX);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING);
		KUNIT_ASSERT_EQ(test, req.data[2], want[i].n);
		for (k = 0; k < req.data[2]; k++) {
			const struct xpv_net_gref *e = &ctrl_list(c, &req)[k];

			KUNIT_EXPECT_EQ(test, e->flags, want[i].flags);
			KUNIT_EXPECT_NOT_NULL(test, fake_granted(c->n->w, e->ref));
		}
		ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_SUCCESS, 0);
	}
	ctrl_silent(c);
	KUNIT_EXPECT_EQ(test, nf_stats(c->n)->static_pages, XNF_STATIC_PAGES);
	ctrl_end(c);
}

/* Nothing is offered that the backend said it has no room for. */
static void ctrl_keeps_to_room(struct kunit *test)
{
	static const struct {
		u32 room, lists;
	} row[] = {
		{ 0, 0 }, { XNF_COPY_PAGES - 1, 0 }, { XNF_COPY_PAGES, 1 },
		{ XNF_COPY_PAGES + XNF_RING - 1, 1 },
		{ XNF_COPY_PAGES + XNF_RING, 2 }, { XNF_STATIC_PAGES - 1, 2 },
	};
	struct ctrl *c = ctrl_new(test);
	struct xen_netif_ctrl_request req;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		if (i)
			schedule_work(&c->n->x->ctrl.work);
		ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE);
		ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_SUCCESS, row[i].room);
		for (k = 0; k < row[i].lists; k++) {
			ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING);
			/* The last one is refused, so that the next row begins anew. */
			ctrl_reply(c, &req, k ? XEN_NETIF_CTRL_STATUS_BUFFER_OVERFLOW :
						XEN_NETIF_CTRL_STATUS_SUCCESS, 0);
		}
		ctrl_silent(c);
	}
	ctrl_end(c);
}

/* Refused, with any status: the pages are free again at once. */
static void ctrl_add_refused(struct kunit *test)
{
	static const u32 status[] = { 1, 2, 3, 4, 0x80000000, U32_MAX };
	struct ctrl *c = ctrl_new(test);
	struct xen_netif_ctrl_request req;
	struct fake_use use;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(status); i++) {
		use = fake_use(c->n->w);
		if (i)
			schedule_work(&c->n->x->ctrl.work);
		ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE);
		ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_SUCCESS, 4096);
		ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING);
		ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_SUCCESS, 0);
		ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING);
		ctrl_reply(c, &req, status[i], 0);
		ctrl_silent(c);
		KUNIT_EXPECT_EQ(test, fake_use(c->n->w).refs, use.refs);
		KUNIT_EXPECT_FALSE(test, c->n->x->q[0].rx.fixed.on);
	}
	ctrl_end(c);
}

/* It maps them and says that it did not: they are kept from reuse. */
static void ctrl_refused_but_mapped(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test);
	struct xen_netif_ctrl_request req;

	ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE);
	ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_SUCCESS, 4096);
	ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING);
	ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_SUCCESS, 0);
	ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING);
	fake_keep(c->n->w, true);
	ctrl_reply(c, &req, XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER, 0);
	ctrl_silent(c);
	KUNIT_EXPECT_GE(test, fake_use(c->n->w).abandoned, XNF_RING);
	fake_keep(c->n->w, false);
	ctrl_end(c);
}

/* A backend that never lets go: every page is kept from reuse, none is lost. */
static void ctrl_kept_for_ever(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test);

	ctrl_accept(c, XNF_STATIC_PAGES);
	KUNIT_EXPECT_EQ(test, fake_use(c->n->w).abandoned, 0);
	fake_keep(c->n->w, true);
	/* It may still have to hear of us, so nothing is taken back yet. */
	fake_state_set(c->n->p, XPV_BACK, XenbusStateClosing);
	KUNIT_EXPECT_TRUE(test, fake_run(c->n->w));
	KUNIT_EXPECT_EQ(test, fake_use(c->n->w).abandoned, 0);
	fake_state_set(c->n->p, XPV_BACK, XenbusStateClosed);
	KUNIT_EXPECT_TRUE(test, fake_run(c->n->w));
	KUNIT_EXPECT_GE(test, fake_use(c->n->w).abandoned, XNF_STATIC_PAGES);
	fake_keep(c->n->w, false);
	ctrl_end(c);
}

/* ------------------------------------------------------------------ */
/* Rules                                                               */
/* ------------------------------------------------------------------ */

static void ctrl_breaks(struct kunit *test, int id, int type, unsigned int n)
{
	struct ctrl *c = ctrl_new(test);
	struct xen_netif_ctrl_request req;

	ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE);
	c->ring.rsp_prod += n;
	ctrl_put(c, req.id + id, req.type + type, 0, 4096);
	flush_work(&c->n->x->ctrl.work);
	KUNIT_EXPECT_TRUE(test, fake_run(c->n->w));
	KUNIT_EXPECT_TRUE(test, test_bit(XNF_BROKEN, &c->n->x->flags));
	KUNIT_EXPECT_EQ(test, fake_state(c->n->p, XPV_FRONT), XenbusStateClosing);
	ctrl_end(c);
}

static void ctrl_wrong_id(struct kunit *test)
{
	ctrl_breaks(test, 1, 0, 0);
}

static void ctrl_wrong_type(struct kunit *test)
{
	ctrl_breaks(test, 0, 1, 0);
}

static void ctrl_too_many_responses(struct kunit *test)
{
	ctrl_breaks(test, 0, 0, 1);
}

/* No answer: one message, and packets pass as if there were no control ring. */
static void ctrl_no_answer(struct kunit *test)
{
	struct ctrl *c = ctrl_new(test);
	struct xen_netif_ctrl_request req;

	xnf_ctrl_ms = 20;
	c->n->x->tx_copybreak = 0;
	ctrl_expect(c, &req, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE);
	fake_state_set(c->n->p, XPV_BACK, XenbusStateClosing);
	KUNIT_EXPECT_TRUE(test, fake_run(c->n->w));
	KUNIT_EXPECT_EQ(test, fake_state(c->n->p, XPV_FRONT), XenbusStateClosed);
	ctrl_end(c);
}

/* ------------------------------------------------------------------ */
/* Data                                                                */
/* ------------------------------------------------------------------ */

/* Packets until all posted pages stay mapped. */
static void ctrl_warm_up(struct ctrl *c)
{
	union xnf_rx_slot s = { .rsp = { .status = 1000 } };
	u8 *data = kunit_kzalloc(c->n->test, 1000, GFP_KERNEL);
	unsigned int i;

	for (i = 0; i < 2 * XNF_RING; i++) {
		nf_deliver(c->n, &s, data, 1000);
		nf_push_rx(c->n);
	}
	__skb_queue_purge(&c->n->got);
}

/*
 * What the stack has is out of the backend's reach: a page that it keeps mapped
 * may change, the packet may not, and is not made of such pages.
 */
static void static_rx_is_private(struct kunit *test)
{
	static const unsigned int len[] = { 60, 200, 257, 1000, 4096 };
	struct ctrl *c = ctrl_new(test);
	u8 *data = kunit_kmalloc(test, XPV_PAGE_SIZE, GFP_KERNEL);
	unsigned int i, k;

	KUNIT_ASSERT_NOT_NULL(test, data);
	ctrl_accept(c, XNF_COPY_PAGES + XNF_RING);
	ctrl_warm_up(c);
	for (i = 0; i < ARRAY_SIZE(len); i++) {
		union xnf_rx_slot s = { .rsp = { .status = len[i] } };
		struct sk_buff *skb;
		struct page *page;
		unsigned int bad = 0;
		u8 *got;

		for (k = 0; k < len[i]; k++)
			data[k] = k * 7 + i;
		page = fake_granted(c->n->w, nf_deliver(c->n, &s, data, len[i]));
		nf_push_rx(c->n);
		memset(page_address(page), 0xee, XPV_PAGE_SIZE);
		skb = __skb_dequeue(&c->n->got);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		for (k = 0; k < skb_shinfo(skb)->nr_frags; k++)
			KUNIT_EXPECT_PTR_NE(test, skb_frag_page(&skb_shinfo(skb)->frags[k]),
					    page);
		skb_push(skb, ETH_HLEN);
		KUNIT_EXPECT_EQ(test, skb->len, len[i]);
		got = kunit_kmalloc(test, len[i], GFP_KERNEL);
		KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, 0, got, len[i]), 0);
		for (k = 0; k < len[i]; k++)
			bad += got[k] != data[k];
		KUNIT_EXPECT_EQ(test, bad, 0);
		kfree_skb(skb);
	}
	KUNIT_EXPECT_GE(test, nf_stats(c->n)->rx_static_slots, ARRAY_SIZE(len));
	ctrl_end(c);
}

/* No packet needs a grant; up to 2048 bytes it is done with when it is copied. */
static void static_tx_by_size(struct kunit *test)
{
	static const struct {
		unsigned int len, grants, held;
	} row[] = {
		{ 60, 0, 0 }, { 256, 0, 0 }, { 257, 0, 0 }, { 1514, 0, 0 },
		{ XNF_WHOLE, 0, 0 }, { XNF_WHOLE + 1, 0, 1 },
	};
	struct ctrl *c = ctrl_new(test);
	struct nf_peer *n = c->n;
	unsigned int i, k, bad, sent;
	u64 grants;

	ctrl_accept(c, XNF_STATIC_PAGES);
	for (i = 0; i < 3 * ARRAY_SIZE(row); i++) {
		unsigned int len = row[i % ARRAY_SIZE(row)].len;
		struct sk_buff *skb = nf_skb(n, len);
		struct xen_netif_tx_request req;
		const u8 *data;

		memset(skb->data, i, skb_headlen(skb));
		grants = fake_calls(n->w, FAKE_GRANT);
		nf_send(n, skb, false);
		KUNIT_EXPECT_EQ(test, fake_calls(n->w, FAKE_GRANT) - grants,
				row[i % ARRAY_SIZE(row)].grants);
		KUNIT_EXPECT_EQ(test, n->x->q[0].tx.held,
				row[i % ARRAY_SIZE(row)].held);
		for (sent = 0; nf_take(n, &req); sent++) {
			data = page_address(fake_granted(n->w, req.gref));
			for (k = 0, bad = 0; k < req.size; k++)
				bad += data[req.offset + k] != (u8)i;
			KUNIT_EXPECT_EQ_MSG(test, bad, 0, "%u bytes", len);
			KUNIT_EXPECT_EQ(test, req.size, len);
			nf_answer(n, req.id, XEN_NETIF_RSP_OKAY);
		}
		KUNIT_EXPECT_EQ(test, sent, 1);
		nf_push_tx(n);
		KUNIT_EXPECT_EQ(test, n->x->q[0].tx.held, 0);
	}
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_staged, 12);
	ctrl_end(c);
}

static struct kunit_case netfront_ctrl_cases[] = {
	KUNIT_CASE(ctrl_only_when_offered),
	KUNIT_CASE(ctrl_backend_has_no_tables),
	KUNIT_CASE(ctrl_offers_all),
	KUNIT_CASE(ctrl_keeps_to_room),
	KUNIT_CASE(ctrl_add_refused),
	KUNIT_CASE(ctrl_refused_but_mapped),
	KUNIT_CASE(ctrl_kept_for_ever),
	KUNIT_CASE(ctrl_wrong_id),
	KUNIT_CASE(ctrl_wrong_type),
	KUNIT_CASE(ctrl_too_many_responses),
	KUNIT_CASE(ctrl_no_answer),
	KUNIT_CASE(static_rx_is_private),
	KUNIT_CASE(static_tx_by_size),
	{}
};

static struct kunit_suite netfront_ctrl_suite = {
	.name = "xpv_netfront_ctrl",
	.test_cases = netfront_ctrl_cases,
};

kunit_test_suite(netfront_ctrl_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * netfront's pure steps on the way in: making packets of slots that any peer
 * may have written, and of flags that may be lies.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/prandom.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include "../../drivers/netfront/netfront.h"

/* Slots are written S(flags, offset, status) and E(type, flags, gso type, size). */
#define S(f, o, s)	{ .rsp = { .flags = (f), .offset = (o), .status = (s) } }
#define E(t, f, g, s)	{ .extra = { .type = (t), .flags = (f), \
				     .u.gso = { .type = (g), .size = (s) } } }
#define MORE		XEN_NETRXF_more_data
#define INFO		XEN_NETRXF_extra_info
#define EMORE		XEN_NETIF_EXTRA_FLAG_MORE
#define GSO		XEN_NETIF_EXTRA_TYPE_GSO

struct parse_case {
	const char *name;
	union xnf_rx_slot slot[8];
	unsigned int n, nseg, len, gso_size;
	enum xpv_fault fault;
	bool failed;
};

static const struct parse_case parse_cases[] = {
	{ "one slot", { S(0, 0, 60) }, 1, 1, 60, 0, XNF_NO_FAULT },
	{ "offset", { S(0, 2, 4094) }, 1, 1, 4094, 0, XNF_NO_FAULT },
	{ "three slots", { S(MORE, 0, 4096), S(MORE, 0, 4096), S(0, 0, 1) },
	  3, 3, 8193, 0, XNF_NO_FAULT },
	{ "gso", { S(INFO, 0, 4000), E(GSO, 0, 1, 1448) }, 2, 1, 4000, 1448,
	  XNF_NO_FAULT },
	{ "gso and data", { S(INFO | MORE, 0, 4096), E(GSO, 0, 2, 1428),
	  S(0, 0, 9) }, 3, 2, 4105, 1428, XNF_NO_FAULT },
	{ "empty slot between", { S(MORE, 0, 60), S(MORE, 0, 0), S(0, 0, 5) },
	  3, 2, 65, 0, XNF_NO_FAULT },
	{ "first empty", { S(0, 0, 0) }, 1, 0, 0, 0, XPV_FAULT_SIZE },
	{ "first 13 bytes", { S(0, 0, 13) }, 1, 0, 0, 0, XPV_FAULT_SIZE },
	{ "first short, rest long", { S(MORE, 0, 13), S(0, 0, 1000) },
	  2, 0, 0, 0, XPV_FAULT_SIZE },
	{ "offset past page", { S(0, 4096, 14) }, 1, 0, 0, 0, XPV_FAULT_SIZE },
	{ "offset 65535", { S(0, 65535, 32767) }, 1, 0, 0, 0, XPV_FAULT_SIZE },
	{ "one byte past page", { S(0, 1, 4096) }, 1, 0, 0, 0, XPV_FAULT_SIZE },
	{ "second past page", { S(MORE, 0, 60), S(0, 4000, 97) },
	  2, 1, 60, 0, XPV_FAULT_SIZE },
	{ "failed", { S(0, 0, -1) }, 1, 0, 0, 0, XNF_NO_FAULT, true },
	{ "failed -32768", { S(0, 0, -32768) }, 1, 0, 0, 0, XNF_NO_FAULT, true },
	{ "failed in the middle", { S(MORE, 0, 60), S(MORE, 0, -1), S(0, 0, 9) },
	  3, 1, 60, 0, XNF_NO_FAULT, true },
	{ "extra type 0", { S(INFO, 0, 60), E(0, 0, 0, 0) }, 2, 1, 60, 0,
	  XPV_FAULT_EXTRA },
	{ "extra type hash", { S(INFO, 0, 60), E(4, 0, 0, 0) }, 2, 1, 60, 0,
	  XPV_FAULT_EXTRA },
	{ "extra type xdp", { S(INFO, 0, 60), E(5, 0, 0, 0) }, 2, 1, 60, 0,
	  XPV_FAULT_EXTRA },
	{ "extra type 255", { S(INFO, 0, 60), E(255, 0, 0, 0) }, 2, 1, 60, 0,
	  XPV_FAULT_EXTRA },
	{ "unknown extra, then data", { S(INFO | MORE, 0, 60), E(9, EMORE, 0, 0),
	  E(GSO, 0, 1, 100), S(0, 0, 50) }, 4, 1, 60, 100, XPV_FAULT_EXTRA },
	{ "gso twice", { S(INFO, 0, 60), E(GSO, EMORE, 1, 10), E(GSO, 0, 1, 20) },
	  3, 1, 60, 10, XPV_FAULT_EXTRA },
	{ "gso size 0", { S(INFO, 0, 60), E(GSO, 0, 1, 0) }, 2, 1, 60, 0,
	  XPV_FAULT_OFFLOAD },
	{ "gso type 0", { S(INFO, 0, 60), E(GSO, 0, 0, 9) }, 2, 1, 60, 0,
	  XPV_FAULT_OFFLOAD },
	{ "gso type 3", { S(INFO, 0, 60), E(GSO, 0, 3, 9) }, 2, 1, 60, 0,
	  XPV_FAULT_OFFLOAD },
	{ "gso prefix", { S(XEN_NETRXF_gso_prefix, 0, 60) }, 1, 0, 0, 0,
	  XPV_FAULT_EXTRA },
	{ "chain of extras", { S(INFO, 0, 60), E(2, EMORE, 0, 0),
	  E(2, EMORE, 0, 0), E(2, EMORE, 0, 0), E(2, EMORE, 0, 0),
	  E(2, EMORE, 0, 0), E(2, 0, 0, 0) }, 7, 1, 60, 0, XPV_FAULT_EXTRA },
};

static void parse_desc(const struct parse_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(parse, parse_cases, parse_desc);

/* Ends at its last slot and not before, and the next packet is not harmed. */
static void rx_parse_shapes(struct kunit *test)
{
	const struct parse_case *c = test->param_value;
	const union xnf_rx_slot next = S(0, 0, 100);
	struct xnf_rx_pkt p = {};
	unsigned int i, step;

	for (i = 0; i < c->n; i++) {
		step = xnf_rx_parse(&p, &c->slot[i]);
		KUNIT_EXPECT_EQ(test, !!(step & XNF_RX_END), i + 1 == c->n);
	}
	KUNIT_EXPECT_EQ(test, p.nseg, c->nseg);
	KUNIT_EXPECT_EQ(test, p.len, c->len);
	KUNIT_EXPECT_EQ(test, p.gso_size, c->gso_size);
	KUNIT_EXPECT_EQ(test, p.fault, c->fault);
	KUNIT_EXPECT_EQ(test, p.failed, c->failed);

	step = xnf_rx_parse(&p, &next);
	KUNIT_EXPECT_EQ(test, step, XNF_RX_KEEP | XNF_RX_END);
	KUNIT_EXPECT_EQ(test, p.fault, XNF_NO_FAULT);
	KUNIT_EXPECT_EQ(test, p.len, 100);
}

/* Chains of every length: kept up to the limit, ended where the peer ends. */
static void rx_parse_overlong_chains(struct kunit *test)
{
	const union xnf_rx_slot more = S(MORE, 0, 64), last = S(0, 0, 64);
	struct xnf_rx_pkt p = {};
	unsigned int n, i, kept;

	for (n = 1; n <= 64; n++) {
		for (kept = 0, i = 1; i < n; i++) {
			unsigned int step = xnf_rx_parse(&p, &more);

			KUNIT_ASSERT_EQ(test, step & XNF_RX_END, 0);
			kept += step & XNF_RX_KEEP;
		}
		kept += xnf_rx_parse(&p, &last) & XNF_RX_KEEP;
		KUNIT_EXPECT_EQ(test, kept, min_t(unsigned int, n, XNF_RX_SEGS));
		KUNIT_EXPECT_EQ(test, p.state, XNF_RX_FIRST);
		KUNIT_EXPECT_EQ(test, p.fault, n > XNF_RX_SEGS ?
				XPV_FAULT_SLOTS : XNF_NO_FAULT);
	}
}

static void rx_parse_largest_frame(struct kunit *test)
{
	const union xnf_rx_slot more = S(MORE, 0, 4096);
	const union xnf_rx_slot fits = S(0, 0, 4095), above = S(0, 0, 4096);
	struct xnf_rx_pkt p = {};
	unsigned int i;

	for (i = 0; i < 15; i++)
		xnf_rx_parse(&p, &more);
	xnf_rx_parse(&p, &fits);
	KUNIT_EXPECT_EQ(test, p.len, XPV_NET_MAX_FRAME);
	KUNIT_EXPECT_EQ(test, p.fault, XNF_NO_FAULT);
	for (i = 0; i < 15; i++)
		xnf_rx_parse(&p, &more);
	xnf_rx_parse(&p, &above);
	KUNIT_EXPECT_EQ(test, p.fault, XPV_FAULT_SIZE);
}

static void rx_parse_random_slots(struct kunit *test)
{
	struct rnd_state rnd;
	struct xnf_rx_pkt p = {};
	unsigned int i;

	prandom_seed_state(&rnd, 20261201);
	for (i = 0; i < 200000; i++) {
		union xnf_rx_slot s;
		unsigned int step;

		prandom_bytes_state(&rnd, &s, sizeof(s));
		if (i & 1)
			s.rsp.offset &= 4095;
		if (i & 2)
			s.rsp.status &= 4095;
		step = xnf_rx_parse(&p, &s);
		KUNIT_ASSERT_LE(test, p.nseg, XNF_RX_SEGS);
		if (step & XNF_RX_END)
			KUNIT_ASSERT_EQ(test, p.state, XNF_RX_FIRST);
		if (step & XNF_RX_KEEP) {
			const struct xnf_rx_seg *g = &p.seg[p.nseg - 1];

			KUNIT_ASSERT_GT(test, g->len, 0);
			KUNIT_ASSERT_LE(test, g->off + g->len, PAGE_SIZE);
		}
	}
}

/* ------------------------------------------------------------------ */
/* Headers and offload                                                 */
/* ------------------------------------------------------------------ */

struct frame {
	u8 b[256];
	unsigned int len;
};

/* A frame with right headers: @v6, @l4 protocol, TCP options of @opt bytes. */
static void make_frame(struct frame *f, bool v6, u8 l4, unsigned int opt)
{
	struct ethhdr *eth = (struct ethhdr *)f->b;
	unsigned int off = ETH_HLEN + (v6 ? 40 : 20);

	memset(f, 0, sizeof(*f));
	f->len = 200;
	eth->h_proto = v6 ? htons(ETH_P_IPV6) : htons(ETH_P_IP);
	if (v6) {
		struct ipv6hdr *ip = (struct ipv6hdr *)(f->b + ETH_HLEN);

		ip->version = 6;
		ip->nexthdr = l4;
		ip->payload_len = htons(f->len - off);
	} else {
		struct iphdr *ip = (struct iphdr *)(f->b + ETH_HLEN);

		ip->version = 4;
		ip->ihl = 5;
		ip->protocol = l4;
		ip->tot_len = htons(f->len - ETH_HLEN);
	}
	f->b[off + 12] = (20 + opt) / 4 << 4;
}

static void rx_headlen_tcp_exact(struct kunit *test)
{
	unsigned int opt;
	struct frame f;

	for (opt = 0; opt <= 40; opt += 4) {
		make_frame(&f, false, IPPROTO_TCP, opt);
		KUNIT_EXPECT_EQ(test, xnf_rx_headlen(f.b, f.len), 54 + opt);
		make_frame(&f, true, IPPROTO_TCP, opt);
		KUNIT_EXPECT_EQ(test, xnf_rx_headlen(f.b, f.len), 74 + opt);
	}
}

static void rx_headlen_never_beyond_data(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int i, len;
	struct frame f;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < 50000; i++) {
		u8 *exact;

		make_frame(&f, i & 1, IPPROTO_TCP, 0);
		prandom_bytes_state(&rnd, f.b + 14 + i % 40, 8);
		len = ETH_HLEN + prandom_u32_state(&rnd) % 180;
		/* Of exactly this size, so that KASAN sees a byte too many. */
		exact = kmemdup(f.b, len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, exact);
		KUNIT_ASSERT_LE(test, xnf_rx_headlen(exact, len), min(len, 128U));
		KUNIT_ASSERT_GE(test, xnf_rx_headlen(exact, len), ETH_HLEN);
		kfree(exact);
	}
}

struct rx_offload_case {
	const char *name;
	bool v6;
	u8 l4;
	u16 flags;
	u8 gso_type;
	u16 gso_size;
	int err;
	u8 summed;
	bool fixed;
};

#define RXBLANK	XEN_NETRXF_csum_blank
#define RXOK	XEN_NETRXF_data_validated

static const struct rx_offload_case rx_offload_cases[] = {
	{ "none", false, IPPROTO_TCP, 0, 0, 0, 0, CHECKSUM_NONE },
	{ "verified", false, IPPROTO_TCP, RXOK, 0, 0, 0, CHECKSUM_UNNECESSARY },
	{ "tcp blank", false, IPPROTO_TCP, RXBLANK, 0, 0, 0, CHECKSUM_PARTIAL },
	{ "tcp6 blank", true, IPPROTO_TCP, RXBLANK | RXOK, 0, 0, 0,
	  CHECKSUM_PARTIAL },
	{ "udp blank", false, IPPROTO_UDP, RXBLANK, 0, 0, 0, CHECKSUM_PARTIAL },
	{ "udp6 blank", true, IPPROTO_UDP, RXBLANK, 0, 0, 0, CHECKSUM_PARTIAL },
	{ "icmp blank", false, IPPROTO_ICMP, RXBLANK, 0, 0, -EPROTO },
	{ "gso v4", false, IPPROTO_TCP, RXBLANK, 1, 100, 0, CHECKSUM_PARTIAL },
	{ "gso v6", true, IPPROTO_TCP, RXBLANK, 2, 100, 0, CHECKSUM_PARTIAL },
	{ "gso without flag", false, IPPROTO_TCP, 0, 1, 100, 0,
	  CHECKSUM_PARTIAL, true },
	{ "gso v6 on v4", false, IPPROTO_TCP, RXBLANK, 2, 100, -EPROTO },
	{ "gso v4 on v6", true, IPPROTO_TCP, RXBLANK, 1, 100, -EPROTO },
	{ "gso on udp", false, IPPROTO_UDP, RXBLANK, 1, 100, -EPROTO },
};

static void rx_offload_desc(const struct rx_offload_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rx_offload, rx_offload_cases, rx_offload_desc);

static struct sk_buff *skb_of(struct kunit *test, const struct frame *f)
{
	struct sk_buff *skb = alloc_skb(512, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_data(skb, f->b, f->len);
	skb->protocol = ((struct ethhdr *)skb->data)->h_proto;
	skb_pull(skb, ETH_HLEN);
	return skb;
}

static void rx_offload_flags(struct kunit *test)
{
	const struct rx_offload_case *c = test->param_value;
	struct xnf_rx_pkt p = {
		.flags = c->flags,
		.gso_type = c->gso_type,
		.gso_size = c->gso_size,
	};
	struct sk_buff *skb;
	bool fixed = false;
	struct frame f;

	make_frame(&f, c->v6, c->l4, 0);
	skb = skb_of(test, &f);
	KUNIT_EXPECT_EQ(test, xnf_rx_offload(skb, &p, &fixed), c->err);
	if (!c->err) {
		KUNIT_EXPECT_EQ(test, (int)skb->ip_summed, c->summed);
		KUNIT_EXPECT_EQ(test, fixed, c->fixed);
		KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->gso_size, c->gso_size);
		KUNIT_EXPECT_EQ(test, !!(skb_shinfo(skb)->gso_type & SKB_GSO_DODGY),
				!!c->gso_size);
	}
	kfree_skb(skb);
}

static void rx_offload_not_ip(struct kunit *test)
{
	struct xnf_rx_pkt p = { .flags = RXBLANK };
	struct sk_buff *skb;
	struct frame f;
	bool fixed;

	make_frame(&f, false, IPPROTO_TCP, 0);
	f.b[12] = 0x08;
	f.b[13] = 0x06;
	skb = skb_of(test, &f);
	KUNIT_EXPECT_EQ(test, xnf_rx_offload(skb, &p, &fixed), -EPROTO);
	kfree_skb(skb);
}

/* Any bytes behind any flags: an answer, and no access beyond them. */
static void rx_offload_random_headers(struct kunit *test)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 7);
	for (i = 0; i < 20000; i++) {
		struct xnf_rx_pkt p = {
			.flags = RXBLANK,
			.gso_type = i & 4 ? 2 : 1,
			.gso_size = i & 8 ? i : 0,
		};
		struct sk_buff *skb;
		struct frame f;
		bool fixed;

		make_frame(&f, i & 1, i & 2 ? IPPROTO_TCP : IPPROTO_UDP, 0);
		f.len = 15 + prandom_u32_state(&rnd) % 100;
		prandom_bytes_state(&rnd, f.b + 14 + i % 50, 6);
		skb = skb_of(test, &f);
		xnf_rx_offload(skb, &p, &fixed);
		kfree_skb(skb);
	}
}

static struct kunit_case netfront_rx_cases[] = {
	KUNIT_CASE_PARAM(rx_parse_shapes, parse_gen_params),
	KUNIT_CASE(rx_parse_overlong_chains),
	KUNIT_CASE(rx_parse_largest_frame),
	KUNIT_CASE(rx_parse_random_slots),
	KUNIT_CASE(rx_headlen_tcp_exact),
	KUNIT_CASE(rx_headlen_never_beyond_data),
	KUNIT_CASE_PARAM(rx_offload_flags, rx_offload_gen_params),
	KUNIT_CASE(rx_offload_not_ip),
	KUNIT_CASE(rx_offload_random_headers),
	{}
};

static struct kunit_suite netfront_rx_suite = {
	.name = "xpv_netfront_rx",
	.test_cases = netfront_rx_cases,
};

kunit_test_suite(netfront_rx_suite);
MODULE_LICENSE("GPL");

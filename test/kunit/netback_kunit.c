// SPDX-License-Identifier: GPL-2.0
/*
 * netback, slots to packets: every check on what a guest may write into the Tx
 * ring, on private copies.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include "netback_slots.h"

static void parse_empty_ring_waits(struct kunit *test)
{
	struct slots *s = new_slots(test);
	struct xnb_tx_pkt p;

	KUNIT_EXPECT_EQ(test, parse(s, &p), XNB_WAIT);
}

static void parse_one_slot(struct kunit *test)
{
	struct slots *s = new_slots(test);
	struct xnb_tx_pkt p;

	put(s, 96, 1500, XEN_NETTXF_csum_blank | XEN_NETTXF_data_validated);
	KUNIT_ASSERT_EQ(test, parse(s, &p), XNB_PACKET);
	KUNIT_EXPECT_EQ(test, p.nslots, 1);
	KUNIT_EXPECT_EQ(test, p.nraw, 1);
	KUNIT_EXPECT_EQ(test, p.len, 1500);
	KUNIT_EXPECT_EQ(test, p.slot[0].gref, 100);
	KUNIT_EXPECT_EQ(test, p.slot[0].off, 96);
	KUNIT_EXPECT_EQ(test, p.slot[0].len, 1500);
	KUNIT_EXPECT_EQ(test, p.flags, XEN_NETTXF_csum_blank |
				       XEN_NETTXF_data_validated);
	KUNIT_EXPECT_EQ(test, p.gso_size, 0);
}

/* The first slot carries the total; its own share is the rest. */
static void parse_first_slot_is_total(struct kunit *test)
{
	static const u16 size[] = { 1000, 300 };
	struct slots *s = new_slots(test);
	struct xnb_tx_pkt p;

	chain(s, 1400, size, 2);
	KUNIT_ASSERT_EQ(test, parse(s, &p), XNB_PACKET);
	KUNIT_EXPECT_EQ(test, p.nslots, 3);
	KUNIT_EXPECT_EQ(test, p.slot[0].len, 100);
	KUNIT_EXPECT_EQ(test, p.slot[1].len, 1000);
	KUNIT_EXPECT_EQ(test, p.slot[2].len, 300);
}

/* Only the slots of the first packet are taken. */
static void parse_two_packets(struct kunit *test)
{
	static const u16 size[] = { 10 };
	struct slots *s = new_slots(test);
	struct xnb_tx_pkt p;

	chain(s, 60, size, 1);
	chain(s, 77, NULL, 0);
	KUNIT_ASSERT_EQ(test, parse(s, &p), XNB_PACKET);
	KUNIT_EXPECT_EQ(test, p.nraw, 2);
	KUNIT_ASSERT_EQ(test, xnb_tx_parse(s->raw + 2, 1, FATAL_SLOTS, &p),
			XNB_PACKET);
	KUNIT_EXPECT_EQ(test, p.len, 77);
	KUNIT_EXPECT_EQ(test, p.nraw, 1);
}

/* Whatever part of a packet is there: it waits, and nothing is decided. */
static void parse_partial_packet_waits(struct kunit *test)
{
	static const u16 size[] = { 100, 100, 100 };
	struct slots *s = new_slots(test);
	struct xnb_tx_pkt p;
	unsigned int i;

	put(s, 0, 1000, XEN_NETTXF_extra_info | XEN_NETTXF_more_data);
	gso(s, XEN_NETIF_GSO_TYPE_TCPV4, 500, true);
	extra(s, XEN_NETIF_EXTRA_TYPE_HASH, false);
	for (i = 0; i < 3; i++)
		put(s, 0, size[i], i < 2 ? XEN_NETTXF_more_data : 0);
	for (i = 0; i < s->n; i++)
		KUNIT_EXPECT_EQ(test, xnb_tx_parse(s->raw, i, FATAL_SLOTS, &p),
				XNB_WAIT);
	KUNIT_EXPECT_EQ(test, parse(s, &p), XNB_PACKET);
	KUNIT_EXPECT_EQ(test, p.nraw, 6);
	KUNIT_EXPECT_EQ(test, p.nextras, 2);
	KUNIT_EXPECT_EQ(test, p.nslots, 4);
}

/* 18 slots after the first pass, 19 and 20 do not, 21 are hostile. */
static void parse_slot_limits(struct kunit *test)
{
	u16 size[24];
	unsigned int n, i;

	for (i = 0; i < ARRAY_SIZE(size); i++)
		size[i] = 20;
	for (n = 0; n <= 22; n++) {
		struct slots *s = new_slots(test);
		enum xnb_verdict want = n <= 18 ? XNB_PACKET :
					n <= 20 ? XNB_DROP : XNB_FATAL;
		struct xnb_tx_pkt p;

		chain(s, 1000, size, n);
		KUNIT_EXPECT_EQ_MSG(test, parse(s, &p), want, "%u slots", n);
		if (want != XNB_FATAL)
			KUNIT_EXPECT_EQ(test, p.nraw, 1 + n);
		if (want != XNB_PACKET)
			KUNIT_EXPECT_EQ(test, p.why, XPV_FAULT_SLOTS);
	}
}

/* Hostility shows before the last slot is there. */
static void parse_endless_chain_is_fatal(struct kunit *test)
{
	struct slots *s = new_slots(test);
	struct xnb_tx_pkt p;
	unsigned int i;

	for (i = 0; i < 1 + FATAL_SLOTS; i++)
		put(s, 0, i ? 1 : 1000, XEN_NETTXF_more_data);
	KUNIT_EXPECT_EQ(test, parse(s, &p), XNB_FATAL);
	KUNIT_EXPECT_EQ(test, p.why, XPV_FAULT_SLOTS);
}

/* Frames of 64 KiB and more wrap the 16-bit total of old frontends. */
static void parse_slot_larger_than_rest(struct kunit *test)
{
	static const u16 size[] = { 4096, 100 };
	struct slots *s = new_slots(test);
	struct xnb_tx_pkt p;

	chain(s, 60, size, 2);
	KUNIT_EXPECT_EQ(test, parse(s, &p), XNB_DROP);
	KUNIT_EXPECT_EQ(test, p.why, XPV_FAULT_SIZE);
	KUNIT_EXPECT_EQ(test, p.nraw, 3);
}

static void parse_slot_leaves_page(struct kunit *test)
{
	unsigned int off, i;

	for (i = 0; i < 3; i++) {
		for (off = 3995; off <= 3998; off++) {
			struct slots *s = new_slots(test);
			struct xnb_tx_pkt p;

			put(s, i == 0 ? off : 0, 300, XEN_NETTXF_more_data);
			put(s, i == 1 ? off : 0, 100, XEN_NETTXF_more_data);
			put(s, i == 2 ? off : 0, 100, 0);
			KUNIT_EXPECT_EQ(test, parse(s, &p),
					off <= 3996 ? XNB_PACKET : XNB_FATAL);
		}
	}
}

static void parse_short_frame(struct kunit *test)
{
	unsigned int len;

	for (len = 0; len <= 20; len++) {
		struct slots *s = new_slots(test);
		struct xnb_tx_pkt p;

		put(s, 0, len, 0);
		KUNIT_EXPECT_EQ(test, parse(s, &p),
				len < ETH_HLEN ? XNB_DROP : XNB_PACKET);
	}
}

static void parse_gso_types(struct kunit *test)
{
	unsigned int type;

	for (type = 0; type < 256; type++) {
		struct slots *s = new_slots(test);
		bool ok = type == XEN_NETIF_GSO_TYPE_TCPV4 ||
			  type == XEN_NETIF_GSO_TYPE_TCPV6;
		struct xnb_tx_pkt p;

		put(s, 0, 4000, XEN_NETTXF_extra_info | XEN_NETTXF_csum_blank);
		gso(s, type, 1448, false);
		KUNIT_EXPECT_EQ(test, parse(s, &p), ok ? XNB_PACKET : XNB_DROP);
		KUNIT_EXPECT_EQ(test, p.nraw, 2);
		if (ok)
			KUNIT_EXPECT_EQ(test, p.gso_size, 1448);
		else
			KUNIT_EXPECT_EQ(test, p.why, XPV_FAULT_OFFLOAD);
	}
}

static void parse_gso_size_limits(struct kunit *test)
{
	static const u16 size[] = { 0, 1, XNB_GSO_MIN - 1, XNB_GSO_MIN, 1448,
				    65535 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		struct slots *s = new_slots(test);
		struct xnb_tx_pkt p;

		put(s, 0, 4000, XEN_NETTXF_extra_info);
		gso(s, XEN_NETIF_GSO_TYPE_TCPV4, size[i], false);
		KUNIT_EXPECT_EQ(test, parse(s, &p),
				size[i] < XNB_GSO_MIN ? XNB_DROP : XNB_PACKET);
	}
}

static void parse_extra_types(struct kunit *test)
{
	unsigned int type;

	for (type = 0; type < 256; type++) {
		struct slots *s = new_slots(test);
		enum xnb_verdict want = XNB_FATAL;
		struct xnb_tx_pkt p;

		if (type == XEN_NETIF_EXTRA_TYPE_GSO ||
		    type == XEN_NETIF_EXTRA_TYPE_MCAST_ADD ||
		    type == XEN_NETIF_EXTRA_TYPE_MCAST_DEL)
			want = XNB_DROP;
		if (type == XEN_NETIF_EXTRA_TYPE_HASH ||
		    type == XEN_NETIF_EXTRA_TYPE_XDP)
			want = XNB_PACKET;
		put(s, 0, 100, XEN_NETTXF_extra_info);
		extra(s, type, false);
		/* Multicast control comes without data, so this is refused. */
		KUNIT_EXPECT_EQ_MSG(test, parse(s, &p), want, "type %u", type);
		if (want != XNB_FATAL)
			KUNIT_EXPECT_EQ(test, p.nraw, 2);
	}
}

static void parse_extra_twice(struct kunit *test)
{
	struct slots *s = new_slots(test);
	struct xnb_tx_pkt p;

	put(s, 0, 100, XEN_NETTXF_extra_info);
	gso(s, XEN_NETIF_GSO_TYPE_TCPV4, 1448, true);
	gso(s, XEN_NETIF_GSO_TYPE_TCPV6, 9999, false);
	KUNIT_EXPECT_EQ(test, parse(s, &p), XNB_DROP);
	KUNIT_EXPECT_EQ(test, p.why, XPV_FAULT_EXTRA);
	KUNIT_EXPECT_EQ(test, p.nraw, 3);
}

static void parse_extra_chain_too_long(struct kunit *test)
{
	unsigned int n, i;

	for (n = 1; n <= XNB_TX_EXTRAS + 2; n++) {
		struct slots *s = new_slots(test);
		struct xnb_tx_pkt p;

		put(s, 0, 100, XEN_NETTXF_extra_info);
		for (i = 0; i < n; i++)
			extra(s, XEN_NETIF_EXTRA_TYPE_HASH, i + 1 < n);
		KUNIT_EXPECT_EQ_MSG(test, parse(s, &p),
				    n == 1 ? XNB_PACKET :
				    n <= XNB_TX_EXTRAS ? XNB_DROP : XNB_FATAL,
				    "%u extras", n);
	}
}

/* Flags of an extra info are no flags of a data slot. */
static void parse_extra_then_slots(struct kunit *test)
{
	struct slots *s = new_slots(test);
	struct xnb_tx_pkt p;

	put(s, 10, 4000, XEN_NETTXF_extra_info | XEN_NETTXF_more_data);
	gso(s, XEN_NETIF_GSO_TYPE_TCPV6, 1000, false);
	put(s, 20, 3000, XEN_NETTXF_more_data);
	put(s, 30, 500, 0);
	KUNIT_ASSERT_EQ(test, parse(s, &p), XNB_PACKET);
	KUNIT_EXPECT_EQ(test, p.nextras, 1);
	KUNIT_EXPECT_EQ(test, p.nraw, 4);
	KUNIT_EXPECT_EQ(test, p.slot[0].len, 500);
	KUNIT_EXPECT_EQ(test, p.slot[1].off, 20);
	KUNIT_EXPECT_EQ(test, p.slot[2].gref, 103);
	KUNIT_EXPECT_EQ(test, p.gso_type, XEN_NETIF_GSO_TYPE_TCPV6);
}

static struct kunit_case netback_parse_cases[] = {
	KUNIT_CASE(parse_empty_ring_waits),
	KUNIT_CASE(parse_one_slot),
	KUNIT_CASE(parse_first_slot_is_total),
	KUNIT_CASE(parse_two_packets),
	KUNIT_CASE(parse_partial_packet_waits),
	KUNIT_CASE(parse_slot_limits),
	KUNIT_CASE(parse_endless_chain_is_fatal),
	KUNIT_CASE(parse_slot_larger_than_rest),
	KUNIT_CASE(parse_slot_leaves_page),
	KUNIT_CASE(parse_short_frame),
	KUNIT_CASE(parse_gso_types),
	KUNIT_CASE(parse_gso_size_limits),
	KUNIT_CASE(parse_extra_types),
	KUNIT_CASE(parse_extra_twice),
	KUNIT_CASE(parse_extra_chain_too_long),
	KUNIT_CASE(parse_extra_then_slots),
	{}
};

static struct kunit_suite netback_parse_suite = {
	.name = "xpv_netback_parse",
	.test_cases = netback_parse_cases,
};

kunit_test_suite(netback_parse_suite);

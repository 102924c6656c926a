/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest under the control of a test: plays the frontend of a vif against the
 * real netback, and watches the net stack behind it.
 */
#ifndef XPV_FAKE_NETGUEST_H
#define XPV_FAKE_NETGUEST_H

#include <kunit/test.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include "../../drivers/netback/netback.h"
#include "fake_hyp.h"

#define GUEST_QUEUES	2
#define GUEST_TX_PAGES	32

/**
 * struct guest_queue - the guest's end of one ring pair
 * @g: guest
 * @tx_mem: Tx ring pages
 * @rx_mem: Rx ring pages
 * @tx: Tx ring
 * @rx: Rx ring
 * @tx_evt: channel of Tx or of both
 * @rx_evt: channel of Rx when split
 * @split: two channels
 * @events: events received
 * @page: pages of Tx packets, filled with a pattern
 * @gref: their grants
 * @rx_page: page posted under each Rx id
 * @rx_gref: its grant, or XPV_GREF_NONE
 */
struct guest_queue {
	struct guest *g;
	struct xpv_ring_mem tx_mem, rx_mem;
	struct xpv_front tx, rx;
	struct xpv_evt tx_evt, rx_evt;
	bool split;
	unsigned int events;
	struct page *page[GUEST_TX_PAGES];
	grant_ref_t gref[GUEST_TX_PAGES];
	struct page *rx_page[XNB_RING_SLOTS];
	grant_ref_t rx_gref[XNB_RING_SLOTS];
};

/**
 * struct guest - one guest with one vif
 * @test: running test
 * @w: world
 * @p: pair whose back end has the real driver
 * @d: front end
 * @vif: netback's
 * @nq: queues shared
 * @q: queues
 * @got: what the host's net stack received, Ethernet header included
 * @tap: takes it
 * @max_queues: the module parameter as it was
 */
struct guest {
	struct kunit *test;
	struct fake_world *w;
	struct fake_pair *p;
	struct xpv_dev *d;
	struct xnb_vif *vif;
	unsigned int nq;
	struct guest_queue q[GUEST_QUEUES];
	struct sk_buff_head got;
	struct packet_type tap;
	unsigned int max_queues;
};

/** guest_new() - world, pair, netback probed, vif up. Ends by guest_end(). */
struct guest *guest_new(struct kunit *test);

/** guest_end() - leave, remove the backend, check that nothing is left. */
void guest_end(struct guest *g);

/** guest_untap() - stop looking at the vif, which is about to leave. */
void guest_untap(struct guest *g);

/** guest_again() - close and offer again: the backend is in InitWait. */
void guest_again(struct guest *g);

/** guest_share() - rings, channels and keys for @nq queues; state unchanged. */
void guest_share(struct guest *g, unsigned int nq, bool split);

/** guest_connect() - share and go to Connected; asserts the answer. */
void guest_connect(struct guest *g, unsigned int nq, bool split);

/** guest_unshare() - give back what was shared. */
void guest_unshare(struct guest *g);

/** guest_state() - set the guest's state, run, return the backend's. */
enum xenbus_state guest_state(struct guest *g, enum xenbus_state s);

/** guest_put() - one Tx data slot from page @page. */
void guest_put(struct guest_queue *q, unsigned int page, u16 off, u16 size,
	       u16 flags);

/** guest_put_gso() - one GSO extra info slot. */
void guest_put_gso(struct guest_queue *q, u8 type, u16 size);

/** guest_push() - publish, send the event if wanted, let the world run. */
void guest_push(struct guest *g, struct guest_queue *q);

/** guest_rsp() - take all Tx responses. Return: how many; statuses summed up
 * in @ok, @error, @null and @dropped.
 */
struct guest_rsp {
	unsigned int n, ok, error, null, dropped;
};

struct guest_rsp guest_rsp(struct guest_queue *q);

/** guest_expect_rsp() - all Tx responses are exactly these. */
void guest_expect_rsp(struct guest *g, struct guest_queue *q, unsigned int ok,
		      unsigned int error, unsigned int null);

/** guest_post() - post @n Rx pages and let the world run. */
void guest_post(struct guest *g, struct guest_queue *q, unsigned int n);

/**
 * guest_receive() - take one packet from the Rx ring
 * @buf: at least 66000 bytes
 * @flags: of the first response
 * @gso_size: of the extra info, or 0
 *
 * Return: its length; 0 when there is none; negative status.
 */
int guest_receive(struct guest_queue *q, u8 *buf, u16 *flags, u16 *gso_size);

/** guest_pattern() - byte @off of Tx page @page. */
u8 guest_pattern(unsigned int page, unsigned int off);

/**
 * net_frame() - a frame of @len bytes to send through @dev
 * @gso: segment size, 0 for none
 *
 * From 54 bytes on it is TCP over IPv4 with a blank checksum. Byte i of the
 * payload is i * 3 + (i >> 8).
 */
struct sk_buff *net_frame(struct kunit *test, struct net_device *dev,
			  unsigned int len, unsigned int gso);

/** net_group() - address of the @n-th group, which no stack joins by itself. */
const u8 *net_group(unsigned int n);

/** host_send() - the host sends such a frame through the vif. */
void host_send(struct guest *g, unsigned int len, unsigned int gso);

/** host_sum() - one counter summed over all queues. */
u64 host_sum(struct guest *g, const char *name);

/** host_headers() - Ethernet, IPv4 and TCP header, sum of the pseudo header. */
void host_headers(u8 *at, unsigned int len);

#define HOST_HEADERS	(14 + 20 + 20)

#endif /* XPV_FAKE_NETGUEST_H */

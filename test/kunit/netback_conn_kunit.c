// SPDX-License-Identifier: GPL-2.0
/*
 * netback on the fake Xen: connecting, closing, keys, faults while connecting.
 * A test plays the guest.
 */
#include <linux/rtnetlink.h>
#include "fake_netguest.h"

/* ------------------------------------------------------------------ */
/* Handshake                                                           */
/* ------------------------------------------------------------------ */

static void probe_offers_features(struct kunit *test)
{
	static const struct {
		const char *key;
		long long val;
	} row[] = {
		{ "feature-sg", 1 }, { "feature-gso-tcpv4", 1 },
		{ "feature-gso-tcpv6", 1 }, { "feature-ipv6-csum-offload", 1 },
		{ "feature-rx-copy", 1 }, { "feature-rx-flip", 0 },
		{ "feature-split-event-channels", 1 }, { "feature-ctrl-ring", 1 },
	};
	struct guest *g = guest_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(row); i++)
		KUNIT_EXPECT_EQ_MSG(test, fake_get_num(g->p, XPV_BACK,
						       row[i].key, -1),
				    row[i].val, "%s", row[i].key);
	KUNIT_EXPECT_EQ(test, fake_get_num(g->p, XPV_BACK,
					   "multi-queue-max-queues", -1),
			g->vif->max_queues);
	KUNIT_EXPECT_STREQ(test, g->vif->dev->name, "vif1.0");
	KUNIT_EXPECT_EQ(test, g->vif->dev->dev_addr[0], 0xfe);
	KUNIT_EXPECT_EQ(test, g->vif->dev->max_mtu, 65517);
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(g->vif->dev));
	guest_end(g);
}

static void connect_shapes(struct kunit *test)
{
	struct guest *g = guest_new(test);
	unsigned int nq, split;

	for (nq = 1; nq <= GUEST_QUEUES; nq++) {
		for (split = 0; split <= 1; split++) {
			guest_connect(g, nq, split);
			KUNIT_EXPECT_TRUE(test, netif_carrier_ok(g->vif->dev));
			KUNIT_EXPECT_EQ(test, g->vif->dev->real_num_tx_queues,
					nq);
			KUNIT_EXPECT_EQ(test, g->vif->feat.split, !!split);
			guest_again(g);
			guest_unshare(g);
		}
	}
	guest_end(g);
}

/* Firmware and systems close and come back, with fresh keys each time. */
static void reconnect_many_times(struct kunit *test)
{
	struct guest *g = guest_new(test);
	unsigned int i;

	for (i = 0; i < 10; i++) {
		guest_connect(g, 1 + i % GUEST_QUEUES, i & 1);
		if (i & 2)
			KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateClosing),
					XenbusStateClosing);
		KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateClosed),
				XenbusStateClosed);
		KUNIT_EXPECT_FALSE(test, netif_carrier_ok(g->vif->dev));
		KUNIT_EXPECT_FALSE(test, g->vif->connected);
		guest_unshare(g);
		KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateInitialising),
				XenbusStateInitWait);
	}
	guest_end(g);
}

/* Windows normalises the device before it connects for the first time. */
static void close_cycle_before_connect(struct kunit *test)
{
	struct guest *g = guest_new(test);

	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateClosing),
			XenbusStateClosing);
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateClosed),
			XenbusStateClosed);
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateInitialising),
			XenbusStateInitWait);
	guest_connect(g, 1, true);
	guest_end(g);
}

/* iPXE jumps to Closed; a crashed guest to Initialising. */
static void front_skips_states(struct kunit *test)
{
	struct guest *g = guest_new(test);

	guest_connect(g, 1, false);
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateInitialising),
			XenbusStateInitWait);
	KUNIT_EXPECT_FALSE(test, g->vif->connected);
	guest_unshare(g);
	guest_connect(g, 1, false);
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateClosed),
			XenbusStateClosed);
	guest_unshare(g);
	/* Connected again without Initialising in between. */
	guest_connect(g, 1, false);
	guest_end(g);
}

static void front_initialised_is_ignored(struct kunit *test)
{
	struct guest *g = guest_new(test);

	guest_share(g, 1, false);
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateInitialised),
			XenbusStateInitWait);
	KUNIT_EXPECT_FALSE(test, g->vif->connected);
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateConnected),
			XenbusStateConnected);
	guest_end(g);
}

/* The state waits for the script, the rings do not. */
static void hotplug_status_delays_state(struct kunit *test)
{
	static const char *const not_yet[] = { "", "error", "busy",
					       "connected ", "Connected" };
	struct guest *g = guest_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(not_yet); i++) {
		fake_set(g->p, XPV_BACK, "hotplug-status", "%s", not_yet[i]);
		if (!i) {
			guest_share(g, 1, true);
			guest_state(g, XenbusStateConnected);
		}
		KUNIT_EXPECT_TRUE(test, fake_run(g->w));
		KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK),
				XenbusStateInitWait);
		KUNIT_EXPECT_TRUE(test, g->vif->connected);
	}
	fake_set(g->p, XPV_BACK, "hotplug-status", "connected");
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK), XenbusStateConnected);
	guest_end(g);
}

static void hotplug_status_absent(struct kunit *test)
{
	struct guest *g = guest_new(test);

	/* With a script it will come. */
	fake_del(g->p, XPV_BACK, "hotplug-status");
	guest_share(g, 1, true);
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateConnected),
			XenbusStateInitWait);
	guest_again(g);
	guest_unshare(g);
	/* Without one nobody writes it. */
	kfree(g->vif->script);
	g->vif->script = NULL;
	guest_connect(g, 1, true);
	guest_end(g);
}

static void remove_forgets_hotplug_status(struct kunit *test)
{
	struct guest *g = guest_new(test);

	guest_connect(g, 1, true);
	guest_untap(g);
	fake_remove(g->p, XPV_BACK);
	KUNIT_EXPECT_NULL(test, fake_get(g->p, XPV_BACK, "hotplug-status"));
	guest_end(g);
}

static void toolstack_detaches(struct kunit *test)
{
	struct guest *g = guest_new(test);

	guest_connect(g, 2, true);
	guest_untap(g);
	fake_detach(g->p);
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	guest_state(g, XenbusStateClosed);
	KUNIT_EXPECT_FALSE(test, fake_bound(g->p, XPV_BACK));
	KUNIT_EXPECT_EQ(test, fake_state(g->p, XPV_BACK), XenbusStateClosed);
	guest_end(g);
}

static void guest_vanishes(struct kunit *test)
{
	struct guest *g = guest_new(test);

	guest_connect(g, 2, true);
	guest_untap(g);
	fake_vanish(g->p, XPV_FRONT);
	KUNIT_EXPECT_TRUE(test, fake_run(g->w));
	KUNIT_EXPECT_FALSE(test, fake_bound(g->p, XPV_BACK));
	guest_end(g);
}

/* ------------------------------------------------------------------ */
/* Keys                                                                */
/* ------------------------------------------------------------------ */

/* Refused: the state says so, an error names the key, nothing is left. */
static void expect_refused(struct guest *g, const char *key)
{
	struct kunit *test = g->test;
	struct fake_use use;

	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateConnected),
			XenbusStateClosing);
	KUNIT_EXPECT_FALSE(test, g->vif->connected);
	KUNIT_ASSERT_NOT_NULL(test, fake_error(g->p, XPV_BACK));
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(fake_error(g->p, XPV_BACK), key),
				  "no %s in: %s", key,
				  fake_error(g->p, XPV_BACK));
	use = fake_use(g->w);
	KUNIT_EXPECT_EQ(test, use.maps, 0);
}

static void required_keys_matrix(struct kunit *test)
{
	static const char *const keys[] = { "tx-ring-ref", "rx-ring-ref",
					    "event-channel" };
	static const char *const bad[] = { NULL, "", "0", "-1", "x", "1x",
					   "4294967296", "99999999999999999999",
					   "0x10", "1 1" };
	struct guest *g = guest_new(test);
	const char *good;
	unsigned int i, k;

	guest_share(g, 1, false);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		good = fake_get(g->p, XPV_FRONT, keys[i]);
		for (k = 0; k < ARRAY_SIZE(bad); k++) {
			if (bad[k])
				fake_set(g->p, XPV_FRONT, keys[i], "%s", bad[k]);
			else
				fake_del(g->p, XPV_FRONT, keys[i]);
			expect_refused(g, keys[i]);
			guest_again(g);
		}
		fake_set(g->p, XPV_FRONT, keys[i], "%s", good);
	}
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateConnected),
			XenbusStateConnected);
	guest_end(g);
}

/* Half a pair of split channels is none; the shared one is used. */
static void split_channels_incomplete(struct kunit *test)
{
	struct guest *g = guest_new(test);

	guest_share(g, 1, true);
	fake_set(g->p, XPV_FRONT, "event-channel-rx", "0");
	expect_refused(g, "event-channel");
	guest_again(g);
	fake_set(g->p, XPV_FRONT, "event-channel", "%u", g->q[0].tx_evt.port);
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateConnected),
			XenbusStateConnected);
	KUNIT_EXPECT_FALSE(test, g->vif->feat.split);
	guest_end(g);
}

static void queue_count_matrix(struct kunit *test)
{
	static const char *const bad[] = { "0", "-1", "x", "5", "4294967295",
					   "4294967296" };
	struct guest *g = guest_new(test);
	unsigned int k;

	KUNIT_ASSERT_EQ(test, g->vif->max_queues, 4);
	guest_share(g, 1, false);
	for (k = 0; k < ARRAY_SIZE(bad); k++) {
		fake_set(g->p, XPV_FRONT, "multi-queue-num-queues", "%s",
			 bad[k]);
		expect_refused(g, "multi-queue-num-queues");
		guest_again(g);
	}
	/* Windows always writes the count, with flat keys for one queue. */
	fake_set(g->p, XPV_FRONT, "multi-queue-num-queues", "1");
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateConnected),
			XenbusStateConnected);
	guest_end(g);
}

static void rx_copy_is_required(struct kunit *test)
{
	struct guest *g = guest_new(test);

	guest_share(g, 1, true);
	fake_set(g->p, XPV_FRONT, "request-rx-copy", "0");
	expect_refused(g, "request-rx-copy");
	guest_again(g);
	fake_del(g->p, XPV_FRONT, "request-rx-copy");
	expect_refused(g, "request-rx-copy");
	guest_end(g);
}

struct feature_row {
	const char *key;
	const char *val;
	netdev_features_t gone;
	unsigned int mtu;
};

static void feature_keys_matrix(struct kunit *test)
{
	const netdev_features_t tso = NETIF_F_TSO | NETIF_F_TSO6;
	const struct feature_row row[] = {
		{ "feature-sg", "1", 0, 9000 },
		{ "feature-sg", "7", 0, 9000 },
		{ "feature-sg", "0", tso, 1500 },
		{ "feature-sg", NULL, tso, 1500 },
		{ "feature-sg", "x", tso, 1500 },
		{ "feature-gso-tcpv4", "0", NETIF_F_TSO, 9000 },
		{ "feature-gso-tcpv4", NULL, NETIF_F_TSO, 9000 },
		{ "feature-gso-tcpv6", NULL, NETIF_F_TSO6, 9000 },
		{ "feature-no-csum-offload", "1", NETIF_F_IP_CSUM | NETIF_F_TSO,
		  9000 },
		{ "feature-no-csum-offload", "0", 0, 9000 },
		{ "feature-ipv6-csum-offload", NULL,
		  NETIF_F_IPV6_CSUM | NETIF_F_TSO6, 9000 },
	};
	const netdev_features_t all = tso | NETIF_F_IP_CSUM | NETIF_F_IPV6_CSUM;
	struct guest *g = guest_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		guest_share(g, 1, true);
		if (row[i].val)
			fake_set(g->p, XPV_FRONT, row[i].key, "%s", row[i].val);
		else
			fake_del(g->p, XPV_FRONT, row[i].key);
		rtnl_lock();
		KUNIT_EXPECT_EQ(test, dev_set_mtu(g->vif->dev, 9000), 0);
		rtnl_unlock();
		KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateConnected),
				XenbusStateConnected);
		KUNIT_EXPECT_EQ_MSG(test, g->vif->dev->features & all,
				    all & ~row[i].gone, "%s = %s", row[i].key,
				    row[i].val);
		KUNIT_EXPECT_EQ(test, g->vif->dev->mtu, row[i].mtu);
		guest_again(g);
		guest_unshare(g);
		fake_del(g->p, XPV_FRONT, "feature-no-csum-offload");
	}
	guest_end(g);
}

/* ------------------------------------------------------------------ */
/* Faults while connecting                                             */
/* ------------------------------------------------------------------ */

/* Whatever call fails: refused, nothing left, and the next time it works. */
static void fail_each_call(struct kunit *test, enum fake_call call)
{
	struct guest *g = guest_new(test);
	unsigned int n, failed = 0;

	for (n = 1; n < 40; n++) {
		struct fake_use use;
		enum xenbus_state s;

		guest_share(g, 2, true);
		fake_fail(g->w, call, n, 1, -ENOMEM);
		s = guest_state(g, XenbusStateConnected);
		fake_fail(g->w, call, 0, 0, 0);
		if (s == XenbusStateConnected)
			break;
		failed++;
		KUNIT_EXPECT_EQ(test, s, XenbusStateClosing);
		KUNIT_EXPECT_FALSE(test, g->vif->connected);
		use = fake_use(g->w);
		KUNIT_EXPECT_EQ(test, use.maps, 0);
		/* The guest's four ports, not ours. */
		KUNIT_EXPECT_EQ(test, use.ports, 4);
		guest_again(g);
		guest_unshare(g);
	}
	KUNIT_EXPECT_GE(test, failed, 4);
	guest_end(g);
}

static void fail_each_ring_map(struct kunit *test)
{
	fail_each_call(test, FAKE_RING_MAP);
}

static void fail_each_event_bind(struct kunit *test)
{
	fail_each_call(test, FAKE_EVT_BIND);
}

static void fail_each_probe_step(struct kunit *test)
{
	static const enum fake_call calls[] = { FAKE_STORE_READ,
						FAKE_STORE_WRITE, FAKE_WATCH };
	struct fake_world *w = fake_world_create(test);
	struct fake_pair *p = fake_pair_create(w, "vif", 0);
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		for (n = 1; n < 8; n++) {
			fake_state_set(p, XPV_BACK, XenbusStateInitialising);
			fake_fail(w, calls[i], n, 1, -ENOMEM);
			fake_probe(p, XPV_BACK);
			KUNIT_EXPECT_TRUE(test, fake_run(w));
			fake_fail(w, calls[i], 0, 0, 0);
			fake_remove(p, XPV_BACK);
			KUNIT_EXPECT_TRUE(test, fake_run(w));
			fake_check_clean(w);
		}
	}
}

/* A ring whose indices cannot be is refused at attach. */
static void attach_bad_indices(struct kunit *test)
{
	struct guest *g = guest_new(test);
	struct xpv_sring __peer *s;

	guest_share(g, 1, true);
	s = g->q[0].rx.s;
	xpv_peer_write(&s->req_prod, 257);
	expect_refused(g, "rx-ring-ref");
	guest_again(g);
	xpv_peer_write(&s->req_prod, 0x80000000);
	xpv_peer_write(&s->rsp_prod, 0x80000000 - 256);
	KUNIT_EXPECT_EQ(test, guest_state(g, XenbusStateConnected),
			XenbusStateConnected);
	guest_end(g);
}

/* Everything that can make the backend look at its rings does so. */
static void poke_queues(void *arg)
{
	struct guest *g = arg;
	unsigned int i;

	local_bh_disable();
	for (i = 0; i < g->vif->max_queues; i++)
		napi_schedule(&g->vif->queues[i].napi);
	local_bh_enable();
}

/* Requests that nobody announced are found in the midst of a disconnect. */
static void disconnect_while_busy(struct kunit *test)
{
	struct guest *g = guest_new(test);
	unsigned int split, i;

	for (split = 0; split <= 1; split++) {
		guest_connect(g, GUEST_QUEUES, split);
		for (i = 0; i < GUEST_QUEUES; i++) {
			guest_put(&g->q[i], 0, 0, 60, 0);
			xpv_front_push(&g->q[i].tx);
			xpv_front_arm(&g->q[i].tx, 1);
		}
		fake_on_close(g->w, poke_queues, g);
		guest_again(g);
		fake_on_close(g->w, NULL, NULL);
		KUNIT_EXPECT_EQ(test, fake_blamed(g->w), 0);
		guest_unshare(g);
	}
	guest_end(g);
}

/* Counters belong to the vif, not to a connection. */
static void counters_survive_reconnect(struct kunit *test)
{
	struct guest *g = guest_new(test);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		guest_connect(g, 1, true);
		guest_put(&g->q[0], 0, 0, 60, 0);
		guest_push(g, &g->q[0]);
		KUNIT_EXPECT_EQ(test, host_sum(g, "tx_packets"), i + 1);
		guest_again(g);
		guest_unshare(g);
		KUNIT_EXPECT_EQ(test, host_sum(g, "tx_packets"), i + 1);
	}
	guest_end(g);
}

static struct kunit_case netback_conn_cases[] = {
	KUNIT_CASE(probe_offers_features),
	KUNIT_CASE(connect_shapes),
	KUNIT_CASE(reconnect_many_times),
	KUNIT_CASE(close_cycle_before_connect),
	KUNIT_CASE(front_skips_states),
	KUNIT_CASE(front_initialised_is_ignored),
	KUNIT_CASE(hotplug_status_delays_state),
	KUNIT_CASE(hotplug_status_absent),
	KUNIT_CASE(remove_forgets_hotplug_status),
	KUNIT_CASE(toolstack_detaches),
	KUNIT_CASE(guest_vanishes),
	KUNIT_CASE(required_keys_matrix),
	KUNIT_CASE(split_channels_incomplete),
	KUNIT_CASE(queue_count_matrix),
	KUNIT_CASE(rx_copy_is_required),
	KUNIT_CASE(feature_keys_matrix),
	KUNIT_CASE(fail_each_ring_map),
	KUNIT_CASE(fail_each_event_bind),
	KUNIT_CASE(fail_each_probe_step),
	KUNIT_CASE(attach_bad_indices),
	KUNIT_CASE(disconnect_while_busy),
	KUNIT_CASE(counters_survive_reconnect),
	{}
};

static struct kunit_suite netback_conn_suite = {
	.name = "xpv_netback_conn",
	.test_cases = netback_conn_cases,
};

kunit_test_suite(netback_conn_suite);

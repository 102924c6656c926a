// SPDX-License-Identifier: GPL-2.0
/*
 * netfront's way up and down: which keys it reads and writes, every pair of
 * states, and every failure on the way, with nothing left behind.
 */
#include "netfront_peer.h"

/* ------------------------------------------------------------------ */
/* Keys                                                                */
/* ------------------------------------------------------------------ */

struct keys_case {
	const char *name;
	const char *max;	/* multi-queue-max-queues, NULL = absent */
	const char *split;
	unsigned int own;	/* module parameter */
	unsigned int nq;
	bool num;		/* multi-queue-num-queues is written */
};

static const struct keys_case keys_cases[] = {
	{ "one queue, split", NULL, "1", 4, 1, false },
	{ "one queue, single", NULL, "0", 4, 1, false },
	{ "split absent", NULL, NULL, 4, 1, false },
	{ "max 0", "0", "1", 4, 1, false },
	{ "max 1", "1", "1", 4, 1, true },
	{ "max 2", "2", "1", 4, 2, true },
	{ "max 2, single", "2", "0", 4, 2, true },
	{ "max 4", "4", "1", 4, 4, true },
	{ "max above ours", "4", "1", 2, 2, true },
	{ "ours is 1", "4", "1", 1, 1, true },
	{ "max huge", "4294967295", "1", 4, 4, true },
	{ "max beyond 32 bits", "99999999999999999999", "1", 4, 4, true },
	{ "max negative", "-1", "1", 4, 1, false },
	{ "max text", "many", "1", 4, 1, false },
	{ "max empty", "", "1", 4, 1, false },
	{ "split garbage", NULL, "yes", 4, 1, false },
	{ "split 7", NULL, "7", 4, 1, false },
};

static void keys_desc(const struct keys_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(keys, keys_cases, keys_desc);

static void key_or_absent(struct nf_peer *n, const char *key, const char *value)
{
	if (value)
		fake_set(n->p, XPV_BACK, key, "%s", value);
	else
		fake_del(n->p, XPV_BACK, key);
}

static void expect_queue_keys(struct nf_peer *n, unsigned int i, bool split)
{
	KUNIT_EXPECT_GT(n->test, nf_key(n, i, "tx-ring-ref"), 0);
	KUNIT_EXPECT_GT(n->test, nf_key(n, i, "rx-ring-ref"), 0);
	KUNIT_EXPECT_EQ(n->test, nf_key(n, i, "event-channel-tx") > 0, split);
	KUNIT_EXPECT_EQ(n->test, nf_key(n, i, "event-channel-rx") > 0, split);
	KUNIT_EXPECT_EQ(n->test, nf_key(n, i, "event-channel") > 0, !split);
}

static long long front_num(struct nf_peer *n, const char *key)
{
	return fake_get_num(n->p, XPV_FRONT, key, -1);
}

static void connect_keys_matrix(struct kunit *test)
{
	const struct keys_case *c = test->param_value;
	struct nf_peer *n = nf_create(test);
	bool split = c->split && (*c->split == '1' || *c->split == '7');
	unsigned int i;

	xnf_max_queues = c->own;
	key_or_absent(n, "multi-queue-max-queues", c->max);
	key_or_absent(n, "feature-split-event-channels", c->split);
	nf_probe(n);
	n->nq = c->nq;
	KUNIT_EXPECT_EQ(test, n->x->nq, c->nq);
	KUNIT_EXPECT_EQ(test, front_num(n, "multi-queue-num-queues"),
			c->num ? (long long)c->nq : -1);
	for (i = 0; i < c->nq; i++)
		expect_queue_keys(n, i, split);
	KUNIT_EXPECT_EQ(test, front_num(n, "tx-ring-ref") > 0, c->nq == 1);
	KUNIT_EXPECT_EQ(test, front_num(n, "queue-0/tx-ring-ref") > 0, c->nq > 1);
	KUNIT_EXPECT_EQ(test, front_num(n, "request-rx-copy"), 1);
	KUNIT_EXPECT_EQ(test, front_num(n, "feature-rx-notify"), 1);
	KUNIT_EXPECT_EQ(test, front_num(n, "feature-sg"), 1);
	KUNIT_EXPECT_EQ(test, front_num(n, "feature-gso-tcpv4"), 1);
	KUNIT_EXPECT_EQ(test, front_num(n, "feature-gso-tcpv6"), 1);
	KUNIT_EXPECT_EQ(test, front_num(n, "feature-ipv6-csum-offload"), 1);
	nf_join(n);
	nf_open(n);
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(n->x->dev));
	KUNIT_EXPECT_EQ(test, n->x->dev->real_num_tx_queues, c->nq);
	nf_down(n);
}

/* What firmware or another driver left must not mislead the backend. */
static void connect_removes_stale_keys(struct kunit *test)
{
	static const char * const stale[] = {
		"queue-0/tx-ring-ref", "queue-1/event-channel",
		"multi-queue-num-queues", "event-channel",
		"feature-no-csum-offload",
	};
	struct nf_peer *n = nf_create(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(stale); i++)
		fake_set(n->p, XPV_FRONT, stale[i], "1");
	nf_probe(n);
	for (i = 0; i < ARRAY_SIZE(stale); i++)
		KUNIT_EXPECT_NULL_MSG(test, fake_get(n->p, XPV_FRONT, stale[i]),
				      "%s", stale[i]);
	nf_down(n);
}

static void connect_needs_rx_copy(struct kunit *test)
{
	struct nf_peer *n = nf_create(test);

	fake_set(n->p, XPV_BACK, "feature-rx-copy", "0");
	nf_probe(n);
	KUNIT_EXPECT_EQ(test, fake_state(n->p, XPV_FRONT), XenbusStateClosing);
	KUNIT_EXPECT_NOT_NULL(test, fake_error(n->p, XPV_FRONT));
	nf_down(n);
}

struct caps_case {
	const char *key;
	const char *value;
	netdev_features_t lost;
	unsigned int max_mtu;
};

static const struct caps_case caps_cases[] = {
	{ "feature-sg", "0", NETIF_F_SG | NETIF_F_TSO | NETIF_F_TSO6, 1500 },
	{ "feature-gso-tcpv4", "0", NETIF_F_TSO, 65517 },
	{ "feature-gso-tcpv6", "0", NETIF_F_TSO6, 65517 },
	{ "feature-ipv6-csum-offload", "0", NETIF_F_IPV6_CSUM | NETIF_F_TSO6,
	  65517 },
	{ "feature-no-csum-offload", "1", NETIF_F_IP_CSUM | NETIF_F_TSO, 65517 },
	{ "feature-unheard-of", "1", 0, 65517 },
};

static void caps_desc(const struct caps_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s=%s", c->key, c->value);
}

KUNIT_ARRAY_PARAM(caps, caps_cases, caps_desc);

static void connect_features_follow_backend(struct kunit *test)
{
	const netdev_features_t all = NETIF_F_SG | NETIF_F_IP_CSUM |
				      NETIF_F_IPV6_CSUM | NETIF_F_TSO | NETIF_F_TSO6;
	const struct caps_case *c = test->param_value;
	struct nf_peer *n = nf_create(test);

	fake_set(n->p, XPV_BACK, c->key, "%s", c->value);
	nf_probe(n);
	KUNIT_EXPECT_EQ(test, n->x->dev->features & all, all & ~c->lost);
	KUNIT_EXPECT_EQ(test, n->x->dev->max_mtu, c->max_mtu);
	nf_down(n);
}

static void connect_lowers_mtu_without_sg(struct kunit *test)
{
	struct nf_peer *n = nf_create(test);

	KUNIT_ASSERT_EQ(test, fake_probe(n->p, XPV_FRONT), 0);
	fake_run(n->w);
	n->x = fake_end(n->p, XPV_FRONT)->priv;
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, dev_set_mtu(n->x->dev, 9000), 0);
	rtnl_unlock();
	fake_set(n->p, XPV_BACK, "feature-sg", "0");
	fake_state_set(n->p, XPV_BACK, XenbusStateInitWait);
	fake_run(n->w);
	KUNIT_EXPECT_EQ(test, n->x->dev->mtu, 1500);
	nf_down(n);
}

static void mac_comes_from_either_end(struct kunit *test)
{
	static const u8 want[ETH_ALEN] = { 2, 0, 0, 0, 0, 9 };
	struct nf_peer *n = nf_create(test);

	fake_del(n->p, XPV_FRONT, "mac");
	fake_set(n->p, XPV_BACK, "mac", "02:00:00:00:00:09");
	nf_probe(n);
	KUNIT_EXPECT_EQ(test, memcmp(n->x->dev->dev_addr, want, ETH_ALEN), 0);
	nf_down(n);
}

static void mac_missing_or_wrong_fails_probe(struct kunit *test)
{
	static const char * const wrong[] = {
		"", "x", "00:00:00:00:00:00", "01:00:5e:00:00:01", "2:0:0:0:0:1",
	};
	struct nf_peer *n = nf_create(test);
	unsigned int i;

	fake_del(n->p, XPV_BACK, "mac");
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		fake_set(n->p, XPV_FRONT, "mac", "%s", wrong[i]);
		KUNIT_EXPECT_EQ(test, fake_probe(n->p, XPV_FRONT), -ENOENT);
	}
	KUNIT_EXPECT_NOT_NULL(test, fake_error(n->p, XPV_FRONT));
	fake_check_clean(n->w);
}

static void trusted_key_is_obeyed(struct kunit *test)
{
	static const struct {
		const char *value;
		bool trusted;
	} c[] = { { "1", true }, { "0", false }, { "no", false } };
	struct nf_peer *n = nf_create(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		fake_set(n->p, XPV_FRONT, "trusted", "%s", c[i].value);
		fake_state_set(n->p, XPV_FRONT, XenbusStateInitialising);
		nf_probe(n);
		KUNIT_EXPECT_EQ(test, n->x->trusted, c[i].trusted);
		nf_down(n);
	}
}

/* ------------------------------------------------------------------ */
/* Failures                                                            */
/* ------------------------------------------------------------------ */

static void connect_with_fewer_queues(struct kunit *test)
{
	struct nf_peer *n = nf_create(test);

	xnf_max_queues = 4;
	fake_set(n->p, XPV_BACK, "multi-queue-max-queues", "4");
	/* A queue takes 530 references. */
	fake_grant_limit(n->w, 1500);
	nf_probe(n);
	n->nq = 2;
	KUNIT_EXPECT_EQ(test, n->x->nq, 2);
	KUNIT_EXPECT_EQ(test, front_num(n, "multi-queue-num-queues"), 2);
	nf_join(n);
	KUNIT_EXPECT_EQ(test, fake_state(n->p, XPV_FRONT), XenbusStateConnected);
	fake_grant_limit(n->w, 60000);
	nf_down(n);
}

static void connect_with_store_quota(struct kunit *test)
{
	struct nf_peer *n = nf_create(test);

	xnf_max_queues = 4;
	fake_set(n->p, XPV_BACK, "multi-queue-max-queues", "4");
	fake_fail(n->w, FAKE_STORE_WRITE, 1, 2, -ENOSPC);
	nf_probe(n);
	KUNIT_EXPECT_EQ(test, n->x->nq, 1);
	KUNIT_EXPECT_EQ(test, fake_state(n->p, XPV_FRONT), XenbusStateConnected);
	nf_down(n);
}

struct sweep_case {
	const char *name;
	enum fake_call call;
	int err;
	unsigned int least;	/* calls of two queues */
};

static const struct sweep_case sweep_cases[] = {
	{ "grant references", FAKE_GREF_ALLOC, -ENOMEM, 4 },
	{ "rings", FAKE_RING_SHARE, -ENOMEM, 4 },
	{ "event channels", FAKE_EVT_LISTEN, -EMFILE, 4 },
	{ "store writes", FAKE_STORE_WRITE, -EIO, 1 },
	{ "store reads", FAKE_STORE_READ, -EIO, 8 },
};

static void sweep_desc(const struct sweep_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sweep, sweep_cases, sweep_desc);

/*
 * The n-th call and all later ones fail, for every n up to the first connect that works. Return
 * false when the call did not stop the connect.
 */
static bool connect_failing_at(struct fake_world *w, struct kunit *test,
			       const struct sweep_case *c, unsigned int nth)
{
	struct nf_peer *n = nf_create_at(test, w, nth);
	bool failed;

	xnf_max_queues = 2;
	fake_set(n->p, XPV_BACK, "multi-queue-max-queues", "2");
	KUNIT_ASSERT_EQ(test, fake_probe(n->p, XPV_FRONT), 0);
	fake_run(n->w);
	n->x = fake_end(n->p, XPV_FRONT)->priv;
	fake_fail(n->w, c->call, nth, FAKE_ALL, c->err);
	fake_state_set(n->p, XPV_BACK, XenbusStateInitWait);
	KUNIT_EXPECT_TRUE(test, fake_run(n->w));
	failed = fake_state(n->p, XPV_FRONT) != XenbusStateConnected;
	if (failed) {
		struct fake_use use = fake_use(n->w);

		KUNIT_EXPECT_EQ(test, use.refs, 0);
		KUNIT_EXPECT_EQ(test, use.ports, 0);
		KUNIT_EXPECT_EQ(test, use.rings, 0);
	}
	fake_fail(n->w, c->call, 1, 0, 0);
	nf_down(n);
	return failed;
}

static void connect_fails_at_every_call(struct kunit *test)
{
	const struct sweep_case *c = test->param_value;
	struct fake_world *w = fake_world_create(test);
	unsigned int nth = 1;

	while (nth < 64 && connect_failing_at(w, test, c, nth))
		nth++;
	KUNIT_EXPECT_GT(test, nth, c->least);
	KUNIT_EXPECT_LT(test, nth, 64);
}

/* ------------------------------------------------------------------ */
/* States                                                              */
/* ------------------------------------------------------------------ */

enum own {
	OWN_PROBED,	/* Initialising */
	OWN_PUBLISHED,	/* Connected, the backend is not */
	OWN_LIVE,
	OWN_DOWN,	/* live, interface down */
	OWN_FAILED,	/* Closing after an error */
	OWN_CLOSED,
	OWNS,
};

static void bring_to(struct nf_peer *n, enum own own)
{
	if (own == OWN_FAILED)
		fake_set(n->p, XPV_BACK, "feature-rx-copy", "0");
	if (own == OWN_PROBED) {
		KUNIT_ASSERT_EQ(n->test, fake_probe(n->p, XPV_FRONT), 0);
		fake_run(n->w);
		n->x = fake_end(n->p, XPV_FRONT)->priv;
		return;
	}
	nf_probe(n);
	if (own == OWN_LIVE || own == OWN_DOWN)
		nf_join(n);
	if (own == OWN_LIVE)
		nf_open(n);
	if (own == OWN_CLOSED) {
		fake_state_set(n->p, XPV_BACK, XenbusStateClosing);
		fake_run(n->w);
		KUNIT_EXPECT_EQ(n->test, fake_state(n->p, XPV_FRONT),
				XenbusStateClosed);
	}
}

/* The peer shows any state, then another; remove ends it in any case. */
static void every_pair_of_states(struct kunit *test)
{
	enum own own = (enum own)(uintptr_t)test->param_value - 1;
	struct fake_world *w = fake_world_create(test);
	unsigned int s;

	for (s = XenbusStateUnknown; s <= XenbusStateReconfigured; s++) {
		struct nf_peer *n = nf_create_at(test, w, s);
		enum xenbus_state front;

		bring_to(n, own);
		nf_unjoin(n);
		fake_state_set(n->p, XPV_BACK, s);
		KUNIT_EXPECT_TRUE(test, fake_run(n->w));
		front = fake_state(n->p, XPV_FRONT);
		if (s == XenbusStateClosing)
			KUNIT_EXPECT_EQ(test, front, XenbusStateClosed);
		KUNIT_EXPECT_TRUE(test, front == XenbusStateConnected ||
				  !netif_carrier_ok(n->x->dev));
		KUNIT_EXPECT_EQ(test, n->x->connected && !n->x->stopped,
				front == XenbusStateConnected);
		/* A backend that is closed maps nothing any more. */
		if (s == XenbusStateClosed)
			KUNIT_EXPECT_FALSE(test, n->x->connected);
		nf_down(n);
	}
}

static const void *own_gen_params(const void *prev, char *desc)
{
	static const char * const name[OWNS] = {
		"probed", "published", "live", "live but down", "failed", "closed",
	};
	uintptr_t i = (uintptr_t)prev;

	if (i == OWNS)
		return NULL;
	strscpy(desc, name[i], KUNIT_PARAM_DESC_SIZE);
	return (void *)(i + 1);
}

static void carrier_follows_the_backend(struct kunit *test)
{
	struct nf_peer *n = nf_create(test);

	nf_probe(n);
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(n->x->dev));
	nf_join(n);
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(n->x->dev));
	nf_unjoin(n);
	fake_state_set(n->p, XPV_BACK, XenbusStateClosing);
	fake_run(n->w);
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(n->x->dev));
	KUNIT_EXPECT_EQ(test, fake_state(n->p, XPV_FRONT), XenbusStateClosed);
	nf_down(n);
}

/* A silent backend delays remove for a bounded time only. */
static void remove_does_not_wait_for_ever(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	unsigned long t0 = jiffies;

	xnf_close_ms = 200;
	nf_down(n);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - t0), 200);
	KUNIT_EXPECT_LE(test, jiffies_to_msecs(jiffies - t0), 3000);
}

static void backend_vanishes_under_us(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);

	nf_unjoin(n);
	fake_vanish(n->p, XPV_BACK);
	KUNIT_EXPECT_TRUE(test, fake_run(n->w));
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(n->x->dev));
	nf_down(n);
}

static void own_node_vanishes(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);

	nf_unjoin(n);
	fake_vanish(n->p, XPV_FRONT);
	KUNIT_EXPECT_TRUE(test, fake_run(n->w));
	KUNIT_EXPECT_FALSE(test, fake_bound(n->p, XPV_FRONT));
	fake_check_clean(n->w);
}

static void resume_connects_again(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);
	u64 packets;

	nf_send(n, nf_skb(n, 100), false);
	packets = nf_stats(n)->tx_packets;
	nf_unjoin(n);
	KUNIT_EXPECT_EQ(test, fake_resume(n->p), 0);
	fake_set(n->p, XPV_BACK, "feature-rx-copy", "1");
	fake_state_set(n->p, XPV_BACK, XenbusStateInitWait);
	KUNIT_EXPECT_TRUE(test, fake_run(n->w));
	KUNIT_ASSERT_EQ(test, fake_state(n->p, XPV_FRONT), XenbusStateConnected);
	nf_join(n);
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(n->x->dev));
	KUNIT_EXPECT_EQ(test, nf_stats(n)->tx_packets, packets);
#ifdef CONFIG_BQL
	/* What was lost on the way no longer counts against the limit. */
	KUNIT_EXPECT_EQ(test, netdev_get_tx_queue(n->x->dev, 0)->dql.num_queued, 0);
#endif
	nf_send(n, nf_skb(n, 100), false);
	KUNIT_EXPECT_EQ(test, xpv_back_pending(&n->q[0].tx), 1);
	nf_down(n);
}

static void resume_then_remove_at_once(struct kunit *test)
{
	struct nf_peer *n = nf_up(test);

	nf_unjoin(n);
	KUNIT_EXPECT_EQ(test, fake_resume(n->p), 0);
	nf_down(n);
}

static struct kunit_case netfront_conn_cases[] = {
	KUNIT_CASE_PARAM(connect_keys_matrix, keys_gen_params),
	KUNIT_CASE(connect_removes_stale_keys),
	KUNIT_CASE(connect_needs_rx_copy),
	KUNIT_CASE_PARAM(connect_features_follow_backend, caps_gen_params),
	KUNIT_CASE(connect_lowers_mtu_without_sg),
	KUNIT_CASE(mac_comes_from_either_end),
	KUNIT_CASE(mac_missing_or_wrong_fails_probe),
	KUNIT_CASE(trusted_key_is_obeyed),
	KUNIT_CASE(connect_with_fewer_queues),
	KUNIT_CASE(connect_with_store_quota),
	KUNIT_CASE_PARAM(connect_fails_at_every_call, sweep_gen_params),
	KUNIT_CASE_PARAM(every_pair_of_states, own_gen_params),
	KUNIT_CASE(carrier_follows_the_backend),
	KUNIT_CASE(remove_does_not_wait_for_ever),
	KUNIT_CASE(backend_vanishes_under_us),
	KUNIT_CASE(own_node_vanishes),
	KUNIT_CASE(resume_connects_again),
	KUNIT_CASE(resume_then_remove_at_once),
	{}
};

static int netfront_conn_init(struct kunit *test)
{
	xnf_close_ms = 20;
	xnf_max_queues = 0;
	return 0;
}

static struct kunit_suite netfront_conn_suite = {
	.name = "xpv_netfront_conn",
	.init = netfront_conn_init,
	.test_cases = netfront_conn_cases,
};

kunit_test_suite(netfront_conn_suite);
MODULE_LICENSE("GPL");

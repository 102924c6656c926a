// SPDX-License-Identifier: GPL-2.0
/*
 * Suite xpv_negotiate: every kind of key with every kind of text, every pair of
 * states, and the sequences of states that real peers are known for.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <xpv/negotiate.h>
#include "fake_hyp.h"

/* ------------------------------------------------------------------ */
/* Keys                                                                */
/* ------------------------------------------------------------------ */

/* One of each kind in use. */
static const struct xpv_key flag = XPV_KEY_FLAG("feature-x");

static const struct xpv_key limit = {
	.name = "multi-queue-max-queues", .min = 1, .max = 8, .absent = 1,
	.clamp = true,
};

static const struct xpv_key count = {
	.name = "multi-queue-num-queues", .min = 1, .max = 8, .absent = 1,
};

static const struct xpv_key needed = {
	.name = "event-channel", .min = 1, .max = U32_MAX, .required = true,
};

struct text {
	const char *what;
	const struct xpv_key *k;
	const char *text;
	int err;
	u32 val;
};

/* On error the value is that of an absent key. */
static const struct text texts[] = {
	{ "flag absent", &flag, NULL, 0, 0 },
	{ "flag empty", &flag, "", 0, 0 },
	{ "flag spaces", &flag, "\t\n \t", 0, 0 },
	{ "flag 0", &flag, "0", 0, 0 },
	{ "flag 1", &flag, "1", 0, 1 },
	{ "flag 2", &flag, "2", 0, 1 },
	{ "flag padded", &flag, "  1\n", 0, 1 },
	{ "flag leading zeros", &flag, "0001", 0, 1 },
	{ "flag huge", &flag, "99999999999999999999999999", 0, 1 },
	{ "flag minus", &flag, "-1", -EINVAL, 0 },
	{ "flag plus", &flag, "+1", -EINVAL, 0 },
	{ "flag hex", &flag, "0x1", -EINVAL, 0 },
	{ "flag word", &flag, "true", -EINVAL, 0 },
	{ "flag trailing", &flag, "1 2", -EINVAL, 0 },
	{ "flag percent", &flag, "%s%n", -EINVAL, 0 },
	{ "limit absent", &limit, NULL, 0, 1 },
	{ "limit empty", &limit, "", 0, 1 },
	{ "limit low", &limit, "0", -ERANGE, 1 },
	{ "limit min", &limit, "1", 0, 1 },
	{ "limit max", &limit, "8", 0, 8 },
	{ "limit high", &limit, "9", 0, 8 },
	{ "limit 2^32", &limit, "4294967296", 0, 8 },
	{ "limit 2^32+1", &limit, "4294967297", 0, 8 },
	{ "limit 2^64", &limit, "18446744073709551616", 0, 8 },
	{ "limit 2^64+1", &limit, "18446744073709551617", 0, 8 },
	{ "limit garbage", &limit, "8k", -EINVAL, 1 },
	{ "count absent", &count, NULL, 0, 1 },
	{ "count low", &count, "0", -ERANGE, 1 },
	{ "count max", &count, "8", 0, 8 },
	{ "count high", &count, "9", -ERANGE, 1 },
	{ "count 2^32", &count, "4294967296", -ERANGE, 1 },
	{ "count 2^32+1", &count, "4294967297", -ERANGE, 1 },
	{ "count 2^64+2", &count, "18446744073709551618", -ERANGE, 1 },
	{ "count minus", &count, "-8", -EINVAL, 1 },
	{ "needed absent", &needed, NULL, -ENOENT, 0 },
	{ "needed empty", &needed, "", -ENOENT, 0 },
	{ "needed spaces", &needed, "  ", -ENOENT, 0 },
	{ "needed low", &needed, "0", -ERANGE, 0 },
	{ "needed 1", &needed, "1", 0, 1 },
	{ "needed 2^32-1", &needed, "4294967295", 0, U32_MAX },
	{ "needed 2^32", &needed, "4294967296", -ERANGE, 0 },
	{ "needed garbage", &needed, "\xff\x01", -EINVAL, 0 },
};

static void text_name(const struct text *t, char *desc)
{
	strscpy(desc, t->what, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(text, texts, text_name);

static void key_parse(struct kunit *test)
{
	const struct text *t = test->param_value;
	u32 val = 0xdeadbeef;

	KUNIT_EXPECT_EQ(test, xpv_key_parse(t->k, t->text, &val), t->err);
	KUNIT_EXPECT_EQ(test, val, t->val);
}

struct ctx {
	struct fake_world *w;
	struct fake_pair *p;
	struct xpv_dev *back;
};

static struct ctx ctx_make(struct kunit *test)
{
	struct ctx c = { .w = fake_world_create(test) };

	c.p = fake_pair_create(c.w, "vif", 0);
	c.back = fake_end(c.p, XPV_BACK);
	return c;
}

/* The same texts through the store, as a key of queue 3. */
static void key_read(struct kunit *test)
{
	const struct text *t = test->param_value;
	struct ctx c = ctx_make(test);
	u32 val = 0xdeadbeef;
	char key[64];

	snprintf(key, sizeof(key), "queue-3/%s", t->k->name);
	if (t->text)
		fake_set(c.p, XPV_FRONT, key, "%s", t->text);
	KUNIT_EXPECT_EQ(test, xpv_key_read(c.back, XPV_PEER, 3, t->k, &val),
			t->err);
	KUNIT_EXPECT_EQ(test, val, t->val);
	KUNIT_EXPECT_EQ(test, !!fake_error(c.p, XPV_BACK), !!t->err);
}

/* A number out of limits, a terminal's escape code, and too many words. */
#define LOUD	"9\n\x1b[2J and a lot of text that nobody wants to see"

static void key_read_error_names_all(struct kunit *test)
{
	struct ctx c = ctx_make(test);
	const char *text;
	u32 val;

	fake_set(c.p, XPV_FRONT, count.name, LOUD);
	KUNIT_EXPECT_EQ(test, xpv_key_read(c.back, XPV_PEER, XPV_QUEUE_FLAT,
					   &count, &val), -EINVAL);
	text = fake_error(c.p, XPV_BACK);
	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, count.name));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "1 to 8"));
	/* What the peer wrote is shown, but not as it is. */
	KUNIT_EXPECT_NULL(test, strchr(text, '\x1b'));
	KUNIT_EXPECT_NULL(test, strchr(text, '\n'));
	KUNIT_EXPECT_NULL(test, strstr(text, "nobody wants"));
}

static void key_read_when_the_store_fails(struct kunit *test)
{
	struct ctx c = ctx_make(test);
	u32 val = 0;

	fake_set(c.p, XPV_FRONT, limit.name, "4");
	fake_fail(c.w, FAKE_STORE_READ, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, xpv_key_read(c.back, XPV_PEER, XPV_QUEUE_FLAT,
					   &limit, &val), -EIO);
	KUNIT_EXPECT_EQ(test, val, limit.absent);
}

static void key_read_with_a_name_too_long(struct kunit *test)
{
	static const struct xpv_key k = {
		.name = "a-name-longer-than-any-key-of-the-protocol-has-ever-been-and-more",
	};
	struct ctx c = ctx_make(test);
	u32 val;

	KUNIT_EXPECT_EQ(test, xpv_key_read(c.back, XPV_PEER, 0, &k, &val),
			-ENAMETOOLONG);
}

/* ------------------------------------------------------------------ */
/* Lists of changes                                                    */
/* ------------------------------------------------------------------ */

static void kvs_write_all(struct kunit *test)
{
	struct ctx c = ctx_make(test);
	struct xpv_kvs l;

	fake_set(c.p, XPV_BACK, "old", "1");
	xpv_kvs_init(&l);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "flat", U32_MAX);
	xpv_kvs_set(&l, 2, "ring-ref", 8);
	xpv_kvs_str(&l, XPV_QUEUE_FLAT, "text", "");
	xpv_kvs_del(&l, XPV_QUEUE_FLAT, "old");
	KUNIT_EXPECT_EQ(test, xpv_kvs_commit(&l, c.back), 0);
	KUNIT_EXPECT_STREQ(test, fake_get(c.p, XPV_BACK, "flat"), "4294967295");
	KUNIT_EXPECT_STREQ(test, fake_get(c.p, XPV_BACK, "queue-2/ring-ref"),
			   "8");
	KUNIT_EXPECT_STREQ(test, fake_get(c.p, XPV_BACK, "text"), "");
	KUNIT_EXPECT_NULL(test, fake_get(c.p, XPV_BACK, "old"));
	KUNIT_EXPECT_EQ(test, fake_calls(c.w, FAKE_STORE_WRITE), 1);
}

static void kvs_remembers_the_first_error(struct kunit *test)
{
	struct ctx c = ctx_make(test);
	struct xpv_kvs l;
	unsigned int i;

	xpv_kvs_init(&l);
	for (i = 0; i <= XPV_KVS_MAX; i++)
		xpv_kvs_set(&l, i, "k", i);
	xpv_kvs_str(&l, XPV_QUEUE_FLAT, "after", "1");
	KUNIT_EXPECT_EQ(test, xpv_kvs_commit(&l, c.back), -E2BIG);
	KUNIT_EXPECT_NULL(test, fake_get(c.p, XPV_BACK, "queue-0/k"));
	KUNIT_EXPECT_EQ(test, fake_calls(c.w, FAKE_STORE_WRITE), 0);
}

static void kvs_of_nothing(struct kunit *test)
{
	struct ctx c = ctx_make(test);
	struct xpv_kvs l;

	xpv_kvs_init(&l);
	KUNIT_EXPECT_EQ(test, xpv_kvs_commit(&l, c.back), 0);
	KUNIT_EXPECT_EQ(test, fake_calls(c.w, FAKE_STORE_WRITE), 0);
}

static void kvs_when_the_store_fails(struct kunit *test)
{
	struct ctx c = ctx_make(test);
	struct xpv_kvs l;

	xpv_kvs_init(&l);
	xpv_kvs_set(&l, XPV_QUEUE_FLAT, "a", 1);
	fake_fail(c.w, FAKE_STORE_WRITE, 1, 1, -ENOSPC);
	KUNIT_EXPECT_EQ(test, xpv_kvs_commit(&l, c.back), -ENOSPC);
	KUNIT_EXPECT_NULL(test, fake_get(c.p, XPV_BACK, "a"));
}

/* ------------------------------------------------------------------ */
/* Every pair of states                                                */
/* ------------------------------------------------------------------ */

#define STATES	(XenbusStateReconfigured + 1)

/* One parameter a pair: the place in a table of own state by peer's. */
static const char pairs[STATES * STATES];

static const void *pair_gen_params(const void *prev, char *desc)
{
	const char *next = prev ? (const char *)prev + 1 : pairs;
	int i = next - pairs;

	if (i >= STATES * STATES)
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s and %s",
		 xpv_state_name(i / STATES), xpv_state_name(i % STATES));
	return next;
}

#define NO	XPV_FRONT_NOTHING
#define CN	XPV_FRONT_CONNECT
#define ST	XPV_FRONT_START
#define RF	XPV_FRONT_REFRESH
#define CL	XPV_FRONT_CLOSE
#define GO	XPV_FRONT_GONE

static void front_next_of_every_pair(struct kunit *test)
{
	static const u8 want[STATES][STATES] = {
		{ NO, NO, NO, NO, NO, NO, NO, NO, NO },
		{ NO, NO, CN, CN, CN, CL, NO, NO, NO },
		{ NO, NO, CN, CN, CN, CL, NO, NO, NO },
		{ GO, NO, NO, NO, ST, CL, GO, NO, NO },
		{ GO, NO, NO, NO, RF, CL, GO, NO, NO },
		{ GO, NO, NO, NO, NO, CL, CL, NO, NO },
		{ NO, NO, NO, NO, NO, CL, NO, NO, NO },
		{ GO, NO, NO, NO, NO, CL, GO, NO, RF },
		{ GO, NO, NO, NO, RF, CL, GO, NO, NO },
	};
	int i = (const char *)test->param_value - pairs;

	KUNIT_EXPECT_EQ(test, xpv_front_next(i / STATES, i % STATES),
			want[i / STATES][i % STATES]);
}

#undef NO
#undef CN
#undef CL

#define NO	XPV_BACK_NOTHING
#define OF	XPV_BACK_OFFER
#define CN	XPV_BACK_CONNECT
#define DI	XPV_BACK_DISCONNECT
#define CL	XPV_BACK_CLOSE
#define RM	XPV_BACK_REMOVE
#define RC	XPV_BACK_RECONFIGURE

static void back_next_of_every_pair(struct kunit *test)
{
	static const u8 want[STATES][STATES] = {
		{ NO, NO, NO, NO, NO, NO, NO, NO, NO },
		{ RM, OF, NO, OF, OF, DI, CL, NO, NO },
		{ RM, NO, NO, CN, CN, DI, CL, NO, NO },
		{ RM, OF, NO, CN, CN, DI, CL, NO, NO },
		{ RM, OF, NO, NO, NO, DI, CL, RC, NO },
		{ RM, OF, NO, NO, NO, DI, CL, NO, NO },
		{ RM, OF, NO, OF, OF, DI, CL, NO, NO },
		{ RM, OF, NO, NO, NO, DI, CL, RC, NO },
		{ RM, OF, NO, NO, NO, DI, CL, RC, NO },
	};
	int i = (const char *)test->param_value - pairs;

	KUNIT_EXPECT_EQ(test, xpv_back_next(i / STATES, i % STATES),
			want[i / STATES][i % STATES]);
}

/* A state node may hold any number. */
static void next_of_states_that_do_not_exist(struct kunit *test)
{
	static const int odd[] = { -1, 9, 100, S32_MAX, S32_MIN };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		for (k = 0; k <= XenbusStateReconfigured; k++) {
			KUNIT_EXPECT_EQ(test, xpv_front_next(k, odd[i]),
					XPV_FRONT_NOTHING);
			KUNIT_EXPECT_EQ(test, xpv_front_next(odd[i], k),
					XPV_FRONT_NOTHING);
			KUNIT_EXPECT_EQ(test, xpv_back_next(k, odd[i]), NO);
			KUNIT_EXPECT_EQ(test, xpv_back_next(odd[i], k), NO);
		}
		KUNIT_EXPECT_STREQ(test, xpv_state_name(odd[i]), "invalid");
	}
}

/* ------------------------------------------------------------------ */
/* Peers that are known                                                */
/* ------------------------------------------------------------------ */

#define MAX_STEPS	12

/* What a frontend writes, and the state a backend must then show. */
struct life {
	const char *who;
	struct { int front, back; } step[MAX_STEPS];
};

static const struct life lives[] = {
	{ "Linux network", { { 1, 2 }, { 4, 4 }, { 5, 5 }, { 6, 6 }, { 1, 2 },
		{ 4, 4 } } },
	{ "Linux block", { { 1, 2 }, { 3, 4 }, { 4, 4 }, { 5, 5 }, { 6, 6 } } },
	{ "OVMF, then the guest", { { 1, 2 }, { 4, 4 }, { 5, 5 }, { 6, 6 },
		{ 1, 2 }, { 3, 4 }, { 4, 4 } } },
	{ "GRUB, then the guest", { { 1, 2 }, { 3, 4 }, { 6, 6 }, { 1, 2 },
		{ 3, 4 }, { 4, 4 } } },
	{ "iPXE, then the guest", { { 1, 2 }, { 4, 4 }, { 6, 6 }, { 1, 2 },
		{ 4, 4 }, { 6, 6 }, { 1, 2 }, { 4, 4 } } },
	{ "Windows", { { 1, 2 }, { 5, 5 }, { 6, 6 }, { 1, 2 }, { 4, 4 },
		{ 5, 5 }, { 6, 6 }, { 5, 5 }, { 6, 6 }, { 1, 2 }, { 4, 4 } } },
	{ "crash and reboot", { { 1, 2 }, { 4, 4 }, { 1, 2 }, { 4, 4 } } },
	{ "faster than our watch", { { 1, 2 }, { 4, 4 }, { 6, 6 }, { 4, 4 } } },
	{ "XDP", { { 1, 2 }, { 4, 4 }, { 7, 4 }, { 4, 4 } } },
};

static void life_name(const struct life *l, char *desc)
{
	strscpy(desc, l->who, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(life, lives, life_name);

/* The state a backend ends in when it does what it is told, until at rest. */
static int back_obeys(int own, int peer)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		switch (xpv_back_next(own, peer)) {
		case OF:
			own = XenbusStateInitWait;
			break;
		case CN:
			own = XenbusStateConnected;
			break;
		case DI:
			return XenbusStateClosing;
		case CL:
			return XenbusStateClosed;
		default:
			return own;
		}
	}
	return -1;
}

static void back_next_through_a_life(struct kunit *test)
{
	const struct life *l = test->param_value;
	int own = XenbusStateInitialising;
	unsigned int i;

	for (i = 0; i < MAX_STEPS && l->step[i].front; i++) {
		own = back_obeys(own, l->step[i].front);
		KUNIT_EXPECT_EQ_MSG(test, own, l->step[i].back,
				    "step %u, frontend %d", i, l->step[i].front);
	}
}

/* Whatever both were, a frontend that starts, connects and closes gets there. */
static void back_next_leads_out_of_every_pair(struct kunit *test)
{
	int own, peer;

	for (own = XenbusStateInitialising; own <= XenbusStateReconfigured; own++)
		for (peer = 0; peer <= XenbusStateReconfigured; peer++) {
			int s = back_obeys(own, peer);

			KUNIT_EXPECT_NE(test, s, -1);
			s = back_obeys(s, XenbusStateClosed);
			KUNIT_EXPECT_EQ(test, s, XenbusStateClosed);
			s = back_obeys(s, XenbusStateInitialising);
			KUNIT_EXPECT_EQ(test, s, XenbusStateInitWait);
			s = back_obeys(s, XenbusStateConnected);
			KUNIT_EXPECT_EQ(test, s, XenbusStateConnected);
		}
}

static struct kunit_case negotiate_cases[] = {
	KUNIT_CASE_PARAM(key_parse, text_gen_params),
	KUNIT_CASE_PARAM(key_read, text_gen_params),
	KUNIT_CASE(key_read_error_names_all),
	KUNIT_CASE(key_read_when_the_store_fails),
	KUNIT_CASE(key_read_with_a_name_too_long),
	KUNIT_CASE(kvs_write_all),
	KUNIT_CASE(kvs_remembers_the_first_error),
	KUNIT_CASE(kvs_of_nothing),
	KUNIT_CASE(kvs_when_the_store_fails),
	KUNIT_CASE_PARAM(front_next_of_every_pair, pair_gen_params),
	KUNIT_CASE_PARAM(back_next_of_every_pair, pair_gen_params),
	KUNIT_CASE(next_of_states_that_do_not_exist),
	KUNIT_CASE_PARAM(back_next_through_a_life, life_gen_params),
	KUNIT_CASE(back_next_leads_out_of_every_pair),
	{}
};

static struct kunit_suite negotiate_suite = {
	.name = "xpv_negotiate",
	.test_cases = negotiate_cases,
};

kunit_test_suite(negotiate_suite);

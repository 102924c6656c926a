/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Negotiation: what a key may say, and what each pair of states calls for.
 *
 * Pure tables.  A driver lists its keys once; text from the store goes in, a
 * value within limits comes out, or an error that names key, value and limit.
 * The state functions map (my state, peer's state) to one thing to do; the
 * driver does it.  They cover every pair, including those that only odd or
 * hostile peers produce.
 */
#ifndef XPV_NEGOTIATE_H
#define XPV_NEGOTIATE_H

#include <xpv/hyp.h>

/**
 * struct xpv_key - one number in the store
 * @name: key name, without "queue-N/"
 * @min: smallest value that makes sense
 * @max: largest value we take
 * @absent: value when the key is absent or empty
 * @required: absence is an error
 * @clamp: a value above @max means @max (limits); without it, it is an error
 */
struct xpv_key {
	const char *name;
	u32 min;
	u32 max;
	u32 absent;
	bool required;
	bool clamp;
};

/** XPV_KEY_FLAG() - a feature key: absent is 0, anything above 1 counts as 1. */
#define XPV_KEY_FLAG(n)	{ .name = (n), .max = 1, .clamp = true }

/**
 * xpv_key_parse() - text of a key to its value
 * @k: key
 * @text: as the peer wrote it, NULL when absent
 * @val: result, always set: on error @k->absent
 *
 * Decimal, surrounding white space allowed.
 * Return: 0; -ENOENT required but absent or empty; -EINVAL not a number;
 * -ERANGE outside the limits.
 */
int xpv_key_parse(const struct xpv_key *k, const char *text, u32 *val);

/** XPV_QUEUE_FLAT - keys of a single queue stand directly in the directory. */
#define XPV_QUEUE_FLAT	(-1)

/**
 * xpv_key_read() - read and parse one key
 * @d: device
 * @side: whose directory
 * @queue: queue number for keys below "queue-N/", or XPV_QUEUE_FLAT
 * @k: key
 * @val: result, always set
 *
 * A bad value is reported with hyp_error(), naming key, value and limits; the
 * peer's text is escaped. Context: process.
 * Return: as xpv_key_parse(), or the store's errno.
 */
int xpv_key_read(struct xpv_dev *d, enum xpv_side side, int queue,
		 const struct xpv_key *k, u32 *val);

/** XPV_KVS_MAX - most changes of one transaction. */
#define XPV_KVS_MAX	256

/**
 * struct xpv_kvs - a growing list of store changes
 * @kv: changes
 * @n: how many
 * @err: first failure, reported by xpv_kvs_commit()
 */
struct xpv_kvs {
	struct xpv_kv *kv;
	unsigned int n;
	int err;
};

/** xpv_kvs_init() - empty list; allocation failure is remembered. */
void xpv_kvs_init(struct xpv_kvs *l);

/** xpv_kvs_set() - write "queue-@queue/@name" (or flat) = decimal @val. */
void xpv_kvs_set(struct xpv_kvs *l, int queue, const char *name, u32 val);

/** xpv_kvs_str() - the same with a text. */
void xpv_kvs_str(struct xpv_kvs *l, int queue, const char *name,
		 const char *val);

/** xpv_kvs_del() - remove a key. */
void xpv_kvs_del(struct xpv_kvs *l, int queue, const char *name);

/**
 * xpv_kvs_commit() - write all in one transaction and free the list
 *
 * Return: 0, -ENOMEM, -E2BIG or as hyp_store_write().
 */
int xpv_kvs_commit(struct xpv_kvs *l, struct xpv_dev *d);

/** enum xpv_front_do - what a frontend does after a change of the peer. */
enum xpv_front_do {
	XPV_FRONT_NOTHING,
	XPV_FRONT_CONNECT,	/* peer is ready: make rings, publish keys */
	XPV_FRONT_START,	/* peer is connected: read its keys, go live */
	XPV_FRONT_REFRESH,	/* both live: peer announces a change (resize) */
	XPV_FRONT_CLOSE,	/* peer is closing: stop, then Closed */
	XPV_FRONT_GONE,		/* peer closed or vanished without asking */
};

/**
 * xpv_front_next() - decide from both states
 * @own: our state
 * @peer: the peer's state
 *
 * For a vif, which is Connected as soon as it has published, START and REFRESH
 * come alike once the peer is Connected; the driver remembers if it is live.
 */
enum xpv_front_do xpv_front_next(enum xenbus_state own, enum xenbus_state peer);

/** enum xpv_back_do - what a backend does after a change of the peer. */
enum xpv_back_do {
	XPV_BACK_NOTHING,
	XPV_BACK_OFFER,		/* frontend starts (again): write features, InitWait */
	XPV_BACK_CONNECT,	/* frontend published: map rings, start */
	XPV_BACK_DISCONNECT,	/* frontend is closing: stop, unmap, Closing */
	XPV_BACK_CLOSE,		/* frontend is closed: stop if needed, Closed */
	XPV_BACK_REMOVE,	/* frontend's node is gone: stop, Closed, leave */
	XPV_BACK_RECONFIGURE,	/* frontend asks to re-read run-time keys */
};

/**
 * xpv_back_next() - decide from both states
 * @own: our state
 * @peer: the peer's state
 *
 * CONNECT comes for a peer that is Initialised or Connected; a network backend
 * ignores the former, since a vif's keys are complete only when Connected.
 * OFFER may come while rings are up: stop first.  After an OFFER ask again: the
 * peer may have gone ahead.  DISCONNECT and CLOSE may come twice; the Closing
 * state then stays until the peer is Closed.
 */
enum xpv_back_do xpv_back_next(enum xenbus_state own, enum xenbus_state peer);

/** xpv_state_name() - state as a word for logs and tests. */
const char *xpv_state_name(enum xenbus_state state);

#endif /* XPV_NEGOTIATE_H */

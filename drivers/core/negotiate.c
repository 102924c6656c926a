// SPDX-License-Identifier: GPL-2.0
/*
 * Negotiation: text of keys to values, pairs of states to actions.
 *
 * Decides everything about keys and states that does not depend on the kind of
 * device; does nothing itself.  Parsing and the state functions are pure.
 * Called from probe, peer_changed and watches, in process context.
 */
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <xpv/compat.h>
#include <xpv/negotiate.h>

/* No key of the protocol is longer, "queue-N/" included. */
#define KEY_MAX		64

/* How much of a bad value is repeated in the error. */
#define SHOWN_MAX	32

/* ------------------------------------------------------------------ */
/* Keys                                                                */
/* ------------------------------------------------------------------ */

/*
 * Digits to a number; one too large for 32 bits becomes U32_MAX + 1, which is
 * above every limit.  Returns the rest of the text, or NULL without a digit.
 */
static const char *parse_digits(const char *s, u64 *val)
{
	const char *start = s;

	*val = 0;
	for (; isdigit(*s); s++)
		*val = min_t(u64, *val * 10 + (*s - '0'), (u64)U32_MAX + 1);
	return s == start ? NULL : s;
}

int xpv_key_parse(const struct xpv_key *k, const char *text, u32 *val)
{
	const char *rest;
	u64 v;

	*val = k->absent;
	if (text)
		text = skip_spaces(text);
	/* Firmware empties keys in place of removing them. */
	if (!text || !*text)
		return k->required ? -ENOENT : 0;
	rest = parse_digits(text, &v);
	if (!rest || *skip_spaces(rest))
		return -EINVAL;
	if (v > k->max && k->clamp)
		v = k->max;
	if (v < k->min || v > k->max)
		return -ERANGE;
	*val = v;
	return 0;
}
XPV_EXPORT(xpv_key_parse);

/* Path of a key below a device's directory. */
static int key_path(char *buf, int queue, const char *name)
{
	int len;

	if (queue == XPV_QUEUE_FLAT)
		len = snprintf(buf, KEY_MAX, "%s", name);
	else
		len = snprintf(buf, KEY_MAX, "queue-%d/%s", queue, name);
	return len < KEY_MAX ? 0 : -ENAMETOOLONG;
}

static void key_complain(struct xpv_dev *d, const char *path,
			 const struct xpv_key *k, const char *text, int err)
{
	if (err == -ENOENT)
		hyp_error(d, err, "key %s is missing", path);
	else if (text)
		hyp_error(d, err, "key %s is \"%*pE\", not a number from %u to %u",
			  path, (int)strnlen(text, SHOWN_MAX), text, k->min,
			  k->max);
	else
		hyp_error(d, err, "key %s cannot be read", path);
}

int xpv_key_read(struct xpv_dev *d, enum xpv_side side, int queue,
		 const struct xpv_key *k, u32 *val)
{
	char path[KEY_MAX];
	char *text;
	int err;

	*val = k->absent;
	err = key_path(path, queue, k->name);
	if (err)
		return err;
	text = hyp_store_read(d, side, path);
	if (IS_ERR(text)) {
		err = PTR_ERR(text);
		text = NULL;
		if (err == -ENOENT)
			err = xpv_key_parse(k, NULL, val);
	} else {
		err = xpv_key_parse(k, text, val);
	}
	if (err)
		key_complain(d, path, k, text, err);
	kfree(text);
	return err;
}
XPV_EXPORT(xpv_key_read);

/* ------------------------------------------------------------------ */
/* Lists of changes                                                    */
/* ------------------------------------------------------------------ */

void xpv_kvs_init(struct xpv_kvs *l)
{
	*l = (struct xpv_kvs) {
		.kv = kcalloc(XPV_KVS_MAX, sizeof(*l->kv), GFP_KERNEL),
	};
	if (!l->kv)
		l->err = -ENOMEM;
}
XPV_EXPORT(xpv_kvs_init);

/* Takes over @value, which is NULL to remove the key. */
static void kvs_add(struct xpv_kvs *l, int queue, const char *name,
		    const char *value)
{
	char path[KEY_MAX];
	char *key = NULL;

	if (!l->err && l->n == XPV_KVS_MAX)
		l->err = -E2BIG;
	if (!l->err)
		l->err = key_path(path, queue, name);
	if (!l->err) {
		key = kstrdup(path, GFP_KERNEL);
		if (!key)
			l->err = -ENOMEM;
	}
	if (l->err) {
		kfree(value);
		return;
	}
	l->kv[l->n++] = (struct xpv_kv) { .key = key, .value = value };
}

void xpv_kvs_set(struct xpv_kvs *l, int queue, const char *name, u32 val)
{
	char text[sizeof("4294967295")];

	snprintf(text, sizeof(text), "%u", val);
	xpv_kvs_str(l, queue, name, text);
}
XPV_EXPORT(xpv_kvs_set);

void xpv_kvs_str(struct xpv_kvs *l, int queue, const char *name,
		 const char *val)
{
	char *copy;

	if (l->err)
		return;
	copy = kstrdup(val, GFP_KERNEL);
	if (copy)
		kvs_add(l, queue, name, copy);
	else
		l->err = -ENOMEM;
}
XPV_EXPORT(xpv_kvs_str);

void xpv_kvs_del(struct xpv_kvs *l, int queue, const char *name)
{
	kvs_add(l, queue, name, NULL);
}
XPV_EXPORT(xpv_kvs_del);

int xpv_kvs_commit(struct xpv_kvs *l, struct xpv_dev *d)
{
	int err = l->err;
	unsigned int i;

	if (!err && l->n)
		err = hyp_store_write(d, l->kv, l->n);
	for (i = 0; i < l->n; i++) {
		kfree(l->kv[i].key);
		kfree(l->kv[i].value);
	}
	kfree(l->kv);
	*l = (struct xpv_kvs) {};
	return err;
}
XPV_EXPORT(xpv_kvs_commit);

/* ------------------------------------------------------------------ */
/* States                                                              */
/* ------------------------------------------------------------------ */

#define NSTATES	(XenbusStateReconfigured + 1)

static bool state_known(enum xenbus_state s)
{
	return (unsigned int)s < NSTATES;
}

/* Short names for one row a state. */
#define ____	XPV_FRONT_NOTHING
#define CONN	XPV_FRONT_CONNECT
#define STRT	XPV_FRONT_START
#define FRSH	XPV_FRONT_REFRESH
#define CLOS	XPV_FRONT_CLOSE
#define GONE	XPV_FRONT_GONE

/*
 * Rows: own state, columns: the peer's.  What is not obvious:
 *  - Initialising, peer Initialised or Connected: some backends do not wait for
 *    us; our keys are still to come, so it is the same as InitWait.
 *  - Initialising, peer Closed: the backend of our former life has not offered
 *    again yet.
 *  - Closed: only a new probe or a resume starts again.
 *  - own node absent (0): the device is on its way out, nothing may be written.
 */
static const u8 front_table[NSTATES][NSTATES] = {
	/* peer:   0     1     2     3     4     5     6     7     8 */
	/* 0 */ { ____, ____, ____, ____, ____, ____, ____, ____, ____ },
	/* 1 */ { ____, ____, CONN, CONN, CONN, CLOS, ____, ____, ____ },
	/* 2 */ { ____, ____, CONN, CONN, CONN, CLOS, ____, ____, ____ },
	/* 3 */ { GONE, ____, ____, ____, STRT, CLOS, GONE, ____, ____ },
	/* 4 */ { GONE, ____, ____, ____, FRSH, CLOS, GONE, ____, ____ },
	/* 5 */ { GONE, ____, ____, ____, ____, CLOS, CLOS, ____, ____ },
	/* 6 */ { ____, ____, ____, ____, ____, CLOS, ____, ____, ____ },
	/* 7 */ { GONE, ____, ____, ____, ____, CLOS, GONE, ____, FRSH },
	/* 8 */ { GONE, ____, ____, ____, FRSH, CLOS, GONE, ____, ____ },
};

#undef ____
#undef CONN
#undef STRT
#undef FRSH
#undef CLOS
#undef GONE

enum xpv_front_do xpv_front_next(enum xenbus_state own, enum xenbus_state peer)
{
	if (!state_known(own) || !state_known(peer))
		return XPV_FRONT_NOTHING;
	return front_table[own][peer];
}
XPV_EXPORT(xpv_front_next);

#define ____	XPV_BACK_NOTHING
#define OFFR	XPV_BACK_OFFER
#define CONN	XPV_BACK_CONNECT
#define DISC	XPV_BACK_DISCONNECT
#define CLOS	XPV_BACK_CLOSE
#define REMV	XPV_BACK_REMOVE
#define RCNF	XPV_BACK_RECONFIGURE

/*
 * Rows: own state, columns: the peer's.  What is not obvious:
 *  - peer Initialising while we are Connected, Closing or Closed: a boot loader
 *    or a crashed guest starts again; whatever runs is stopped first.
 *  - peer Initialised or Connected while we are Closed: it went on without
 *    waiting for our offer; offer, then look again.
 *  - peer Closing in every state, even Closed: Windows and OVMF wait to see
 *    Closing before they go on.
 *  - peer Closed without Closing: GRUB, iPXE and some toolstacks do that.
 *  - own Closing, peer alive: we closed because of an error; it is its turn.
 */
static const u8 back_table[NSTATES][NSTATES] = {
	/* peer:   0     1     2     3     4     5     6     7     8 */
	/* 0 */ { ____, ____, ____, ____, ____, ____, ____, ____, ____ },
	/* 1 */ { REMV, OFFR, ____, OFFR, OFFR, DISC, CLOS, ____, ____ },
	/* 2 */ { REMV, ____, ____, CONN, CONN, DISC, CLOS, ____, ____ },
	/* 3 */ { REMV, OFFR, ____, CONN, CONN, DISC, CLOS, ____, ____ },
	/* 4 */ { REMV, OFFR, ____, ____, ____, DISC, CLOS, RCNF, ____ },
	/* 5 */ { REMV, OFFR, ____, ____, ____, DISC, CLOS, ____, ____ },
	/* 6 */ { REMV, OFFR, ____, OFFR, OFFR, DISC, CLOS, ____, ____ },
	/* 7 */ { REMV, OFFR, ____, ____, ____, DISC, CLOS, RCNF, ____ },
	/* 8 */ { REMV, OFFR, ____, ____, ____, DISC, CLOS, RCNF, ____ },
};

#undef ____
#undef OFFR
#undef CONN
#undef DISC
#undef CLOS
#undef REMV
#undef RCNF

enum xpv_back_do xpv_back_next(enum xenbus_state own, enum xenbus_state peer)
{
	if (!state_known(own) || !state_known(peer))
		return XPV_BACK_NOTHING;
	return back_table[own][peer];
}
XPV_EXPORT(xpv_back_next);

const char *xpv_state_name(enum xenbus_state state)
{
	static const char * const name[NSTATES] = {
		[XenbusStateUnknown] = "Unknown",
		[XenbusStateInitialising] = "Initialising",
		[XenbusStateInitWait] = "InitWait",
		[XenbusStateInitialised] = "Initialised",
		[XenbusStateConnected] = "Connected",
		[XenbusStateClosing] = "Closing",
		[XenbusStateClosed] = "Closed",
		[XenbusStateReconfiguring] = "Reconfiguring",
		[XenbusStateReconfigured] = "Reconfigured",
	};

	return state_known(state) ? name[state] : "invalid";
}
XPV_EXPORT(xpv_state_name);

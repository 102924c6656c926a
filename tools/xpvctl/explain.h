/* SPDX-License-Identifier: GPL-2.0 */
/*
 * explain.h: why a device is not connected. Facts are gathered once by
 * facts.c; the verdict over them is pure; every reason has a stable code.
 */
#ifndef XPVCTL_EXPLAIN_H
#define XPVCTL_EXPLAIN_H

#include "device.h"

enum reason {
	REASON_NONE,
	REASON_NO_DEVICE,
	REASON_NO_PERMISSION,
	REASON_DOMAIN_GONE,
	REASON_DOMAIN_ZOMBIE,
	REASON_BACKEND_DOMAIN_GONE,
	REASON_NO_BACKEND_DIR,
	REASON_NO_FRONTEND_DIR,
	REASON_PAIRING,
	REASON_NODE_PERMS,
	REASON_STATE,
	REASON_NO_BACKEND_DRIVER,
	REASON_BACKEND_UNBOUND,
	REASON_NO_DEVICE_MODEL,
	REASON_BACKEND_DOMAIN_SILENT,
	REASON_NO_DISK,
	REASON_NO_SCRIPT,
	REASON_HOTPLUG_FAILED,
	REASON_NO_HOTPLUG,
	REASON_GUEST_PAUSED,
	REASON_LIMIT_GRANTS,
	REASON_LIMIT_EVENTS,
	REASON_KEY_MISSING,
	REASON_KEY_BAD,
	REASON_BACKEND_ERROR,
	REASON_FRONTEND_ERROR,
	REASON_DETACH_PENDING,
	REASON_BACKEND_CLOSED,
	REASON_FRONTEND_CLOSED,
	REASON_NO_FRONTEND_DRIVER,
	REASON_BACKEND_WAITS,
	REASON_FRONTEND_WAITS,
	REASON_VIF_DOWN,
	REASON_NO_BRIDGE,
	REASON_MTU,
	NR_REASONS,
};

/* Where on the way from nothing to traffic a reason is found. */
enum step {
	STEP_DOMAINS, STEP_NODES, STEP_DRIVER, STEP_HOTPLUG, STEP_FRONTEND, STEP_CONNECT,
	STEP_NETWORK, NR_STEPS,
};

struct reason_row {
	const char *code;
	enum step step;
	const char *what;	/* what is wrong */
	const char *waits;	/* who waits for what */
	const char *todo;
};

extern const struct reason_row reason_rows[NR_REASONS];
const char *step_name(enum step step);

enum domain_fact { DOMAIN_UNKNOWN, DOMAIN_ALIVE, DOMAIN_PAUSED, DOMAIN_DYING, DOMAIN_GONE };

/* One end, as its directory and the error node of its driver tell. */
struct end_facts {
	enum domain_fact domain;
	bool there;
	bool denied;		/* the store does not let us look */
	unsigned int state;	/* STATE_UNKNOWN with bad_state or when missing */
	char *bad_state;	/* a state key that is no state */
	char *points_to;	/* what it says the other end is; NULL: nothing */
	bool points_right;
	bool perms_ok;
	char *error;
};

/* Strings that a peer chose are escaped. */
struct facts {
	struct dev_id id;
	bool local;		/* the backend runs in this domain */
	struct end_facts front, back;
	bool module_ours;	/* loaded in this domain */
	bool module_stock;
	enum driver_kind driver;
	char *driver_name;
	bool online;
	char *script;
	bool script_there;
	char *hotplug;		/* hotplug-status; NULL: no such key */
	char *hotplug_error;
	bool disk_known;	/* physical-device is written */
	char *params;
	bool params_there;
	char *missing_key;	/* of the frontend's, "key" */
	char *bad_key;		/* "key = value: limits" */
	char *holders;		/* who may hold a dead domain's pages */
	unsigned int grant_frames, max_grant_frames;	/* of the guest; 0: not known */
	/* of a connected vif with its backend here */
	bool netdev;		/* there is one to look at */
	bool netdev_up;
	char *bridge;		/* asked for by the bridge key */
	char *master;		/* the interface it is a port of */
	unsigned int mtu, bridge_mtu, store_mtu, guest_mtu;	/* 0: not known */
};

struct verdict {
	enum reason reason;
	char *detail;		/* NULL or what makes this case special */
};

void facts_load(struct ctx *c, const struct dev_id *id, struct facts *f);
void facts_free(struct facts *f);

/* keys.c: first required key that lacks, first that makes no sense. */
void keys_check(struct store *st, const struct paths *p, enum dev_class class,
		char **missing, char **bad);

/* Pure. The caller frees detail. */
struct verdict explain_decide(const struct facts *f);

#endif

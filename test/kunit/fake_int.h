/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the fake share: fake_hyp.c (world, threads, faults),
 * fake_store.c, fake_bus.c, fake_grant.c and fake_event.c.
 *
 * Locks, outermost first:
 *   watch_mutex	held around every callback, as xenwatch does
 *   store_mutex	nodes and watches
 *   lock		grants, ports, scripts, counters; taken with interrupts off
 */
#ifndef XPV_FAKE_INT_H
#define XPV_FAKE_INT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include "fake_hyp.h"

#define FAKE_REFS	65536U
#define FAKE_FIRST_REF	8U
#define FAKE_PORTS	1024U

/* A script of failures: skip some, then fail some. */
struct fake_script {
	unsigned int skip;
	unsigned int count;
	int err;
};

/* A node of the store. */
struct fake_node {
	struct list_head list;
	char *path;
	char *value;
	bool by_driver;		/* gone after a resume */
};

struct fake_watch {
	struct list_head list;
	char *path;
	bool pending;
	void (*fn)(struct fake_watch *fw);
};

struct fake_grant {
	struct page *page;
	unsigned int maps;
	domid_t peer;
	bool reserved;
	bool granted;
	bool ro;
	bool abandoned;		/* ours is one reference of the page */
};

struct fake_port {
	struct xpv_evt *e;
	struct xpv_dev *d;
	evtchn_port_t peer;	/* 0: unbound or the peer closed */
	unsigned long due;	/* jiffies */
	bool pending;
	bool masked;		/* handler ran, EOI owed */
	bool unbound;
};

/* One end of a pair; what the bus knows. */
struct fake_dev {
	struct xpv_dev d;
	struct fake_pair *p;
	enum xpv_end end;
	struct device *root;
	char *path;
	char *error;
	enum xenbus_state state;	/* last one set through the seam */
	bool known;			/* the bus has made a device of it */
	bool bound;
	bool closed;
	struct fake_watch peer_watch;
	struct fake_watch own_watch;
};

struct fake_pair {
	struct list_head list;
	struct fake_world *w;
	char type[8];
	unsigned int handle;
	struct fake_dev dev[2];		/* by enum xpv_end */
};

struct fake_world {
	struct kunit *test;
	struct mutex watch_mutex;	/* around every callback */
	struct mutex store_mutex;	/* nodes and watches */
	spinlock_t lock;		/* grants, ports, scripts, counters */

	struct task_struct *watch_task;
	struct task_struct *event_task;
	wait_queue_head_t watch_wq;
	wait_queue_head_t event_wq;
	bool hold_watches;
	bool hold_events;
	bool watch_kick;	/* something may wait */
	bool watch_busy;
	unsigned int event_delay;
	void (*on_close)(void *arg);
	void *on_close_arg;

	struct list_head nodes;
	struct list_head watches;
	struct list_head pairs;

	struct fake_grant *grant;
	grant_ref_t *free_ref;
	unsigned int nfree;
	bool keep;
	struct xarray maps;		/* by frame number: struct fake_map */
	grant_handle_t handle;
	unsigned int rings;

	struct fake_port port[FAKE_PORTS];

	struct fake_script script[FAKE_CALLS];
	struct fake_script op_script[FAKE_CALLS];
	u64 calls[FAKE_CALLS];
	u64 ops[FAKE_CALLS];
	u64 activity;
	unsigned int store_watches;
	unsigned int leaked;

	unsigned int blamed;
	char first_blame[160];
};

/* The one world, or NULL. */
extern struct fake_world *fake_now;

static inline struct fake_dev *to_fake(struct xpv_dev *d)
{
	return container_of(d, struct fake_dev, d);
}

static inline domid_t fake_own_dom(const struct xpv_dev *d)
{
	return d->peer == FAKE_FRONT_DOM ? FAKE_BACK_DOM : FAKE_FRONT_DOM;
}

/* Count a call or operation; 0 or the errno its script says. Any context. */
int fake_call(struct fake_world *w, enum fake_call call);
int fake_op(struct fake_world *w, enum fake_call call);

void fake_watch_kick(struct fake_world *w);

/* fake_store.c */
char *fake_read(struct fake_world *w, const char *dir, const char *key);
int fake_write(struct fake_world *w, const char *dir, const char *key,
	       const char *value, bool by_driver);
void fake_rm(struct fake_world *w, const char *dir, const char *key);
void fake_rm_driver_keys(struct fake_world *w, const char *dir);
enum xenbus_state fake_read_state(struct fake_world *w, const char *dir);
int fake_watch_add(struct fake_world *w, struct fake_watch *fw,
		   const char *dir, const char *key);
void fake_watch_del(struct fake_world *w, struct fake_watch *fw);
struct fake_watch *fake_watch_next(struct fake_world *w);
bool fake_watch_waits(struct fake_world *w);
void fake_store_free(struct fake_world *w);

/* fake_bus.c */
void fake_pair_free(struct fake_pair *p);
void fake_unbind(struct fake_dev *e);

/* fake_event.c */
bool fake_event_deliver(struct fake_world *w);
bool fake_event_waits(struct fake_world *w);
void fake_event_kill(struct fake_world *w, struct xpv_dev *d);

/* fake_grant.c */
int fake_grant_setup(struct fake_world *w);
void fake_grant_sweep(struct fake_world *w);
void fake_grant_free(struct fake_world *w);
void fake_grant_count(struct fake_world *w, struct fake_use *u);

#endif /* XPV_FAKE_INT_H */

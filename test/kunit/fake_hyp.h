/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fake: Xen with two kinds of domain in memory, below the seam of hyp.h.
 *
 * Domain 0 holds backends, domain 1 frontends.  A pair is one vif or vbd with
 * both ends; each end is driven by its real driver or by the test, which then
 * calls hyp_*() itself with fake_end() and writes keys with fake_set().
 *
 * Time runs by itself: one thread of the fake delivers watches and state
 * changes (as xenwatch does), another delivers events, in hard interrupt
 * context with softirqs run on the way out.  A test that has done something
 * calls fake_run() to let everything come to rest.
 *
 * A granted page that is mapped is the very same memory under two addresses.
 * This needs User-Mode Linux, whose "physical" memory is a file of the host.
 *
 * Misuse of the seam (a grant reference granted twice, an EOI without an event,
 * a ring page freed while mapped, ...) is written down with fake_blame() and
 * fails the test at the next fake_run(), fake_check_clean() or at its end.
 *
 * Typical use:
 *
 *	w = fake_world_create(test);
 *	p = fake_pair_create(w, "vif", 0);
 *	fake_set(p, XPV_BACK, "hotplug-status", "connected");
 *	fake_probe(p, XPV_BACK);
 *	fake_probe(p, XPV_FRONT);
 *	KUNIT_ASSERT_TRUE(test, fake_run(w));
 *	KUNIT_EXPECT_EQ(test, fake_state(p, XPV_FRONT), XenbusStateConnected);
 *	...
 *	fake_remove(p, XPV_FRONT);
 *	fake_remove(p, XPV_BACK);
 *	fake_check_clean(w);
 *
 * Everything is torn down when the test ends, also when an assertion ended it.
 */
#ifndef XPV_FAKE_HYP_H
#define XPV_FAKE_HYP_H

#include <kunit/test.h>
#include <xpv/hyp.h>

#define FAKE_BACK_DOM	0
#define FAKE_FRONT_DOM	1

struct fake_world;
struct fake_pair;

/* ------------------------------------------------------------------ */
/* World and pairs                                                     */
/* ------------------------------------------------------------------ */

/** fake_world_create() - an empty Xen; one at a time. Ends with the test. */
struct fake_world *fake_world_create(struct kunit *test);

/**
 * fake_run() - let threads, events, watches, timers and NAPI work until idle
 *
 * Idle means: nothing waits to be delivered and no seam call was made for two
 * ticks.  Held or delayed deliveries do not count as waiting.
 *
 * Return: true when idle; false after 5 seconds without rest.
 */
bool fake_run(struct fake_world *w);

/**
 * fake_until() - fake_run() in steps until @done
 *
 * Return: true when @done(@arg) became true within @ms milliseconds.
 */
bool fake_until(struct fake_world *w, bool (*done)(void *arg), void *arg,
		unsigned int ms);

/**
 * fake_pair_create() - store directories of one device, as libxl writes them
 * @w: world
 * @type: "vif" or "vbd"
 * @handle: device number, 0..
 *
 * Both ends stand in state Initialising; nothing is probed yet.
 * vif: front backend, backend-id, handle, mac 00:16:3e:00:00:<handle>; back
 * frontend, frontend-id, online 1, handle, mac, bridge, script, type "vif".
 * vbd: front backend, backend-id, virtual-device 51712 + 16 * handle,
 * device-type disk; back frontend, frontend-id, online 1, removable 0, dev
 * xvda.., mode w, device-type disk, type phy, params.  What a hotplug script
 * writes (hotplug-status, physical-device) is left to the test.
 */
struct fake_pair *fake_pair_create(struct fake_world *w, const char *type,
				   unsigned int handle);

/** fake_end() - the device of one end, to call hyp_*() with; never NULL. */
struct xpv_dev *fake_end(struct fake_pair *p, enum xpv_end end);

/** fake_bound() - is a driver bound to this end now? */
bool fake_bound(struct fake_pair *p, enum xpv_end end);

/**
 * fake_probe() - bind the registered driver of this type and end
 *
 * The state must be Initialising, as on the real bus (-EPERM otherwise).
 * peer_changed is called once soon after.
 * Return: 0, -ENOENT without such a driver, or what its probe returned.
 */
int fake_probe(struct fake_pair *p, enum xpv_end end);

/**
 * fake_remove() - unbind the driver, as unloading the module does
 *
 * Afterwards the state is Closed, unless the driver allows rebinding and the
 * state was not Closing.  Nothing happens when none is bound.
 */
void fake_remove(struct fake_pair *p, enum xpv_end end);

/**
 * fake_detach() - what "xl network-detach" does: online 0, backend state 5
 *
 * Run the world afterwards; both ends should reach Closed and unbind.
 */
void fake_detach(struct fake_pair *p);

/** fake_vanish() - the end's store directory is deleted, its driver removed. */
void fake_vanish(struct fake_pair *p, enum xpv_end end);

/**
 * fake_resume() - the guest wakes up in a new place
 *
 * All ports and grants of the frontend are dead, the old backend is gone, new
 * store directories stand in state Initialising; calls the frontend's resume,
 * then probes the backend if it had a driver before. Return: resume's.
 */
int fake_resume(struct fake_pair *p);

/* ------------------------------------------------------------------ */
/* Store                                                               */
/* ------------------------------------------------------------------ */

/** fake_set() - write a key of an end's directory, as its domain would. */
__printf(4, 5)
void fake_set(struct fake_pair *p, enum xpv_end end, const char *key,
	      const char *fmt, ...);

/** fake_del() - remove a key and everything below it. */
void fake_del(struct fake_pair *p, enum xpv_end end, const char *key);

/** fake_get() - value of a key or NULL; freed with the test. */
const char *fake_get(struct fake_pair *p, enum xpv_end end, const char *key);

/** fake_get_num() - number in a key; @absent when absent or not a number. */
long long fake_get_num(struct fake_pair *p, enum xpv_end end, const char *key,
		       long long absent);

/** fake_state() - an end's state node. */
enum xenbus_state fake_state(struct fake_pair *p, enum xpv_end end);

/** fake_state_set() - write an end's state node. */
void fake_state_set(struct fake_pair *p, enum xpv_end end,
		    enum xenbus_state state);

/** fake_error() - last text an end gave to hyp_error(), or NULL. */
const char *fake_error(struct fake_pair *p, enum xpv_end end);

/* ------------------------------------------------------------------ */
/* Faults and counters                                                 */
/* ------------------------------------------------------------------ */

/** enum fake_call - calls of the seam that can fail and are counted. */
enum fake_call {
	FAKE_COPY,		/* ops: hyp_copy */
	FAKE_MAP,		/* ops: hyp_map */
	FAKE_UNMAP,		/* ops: hyp_unmap; a failed one leaks its page */
	FAKE_GREF_ALLOC,	/* hyp_gref_alloc: -ENOSPC */
	FAKE_PAGES_GET,		/* hyp_pages_get: -ENOMEM */
	FAKE_RING_SHARE,
	FAKE_RING_MAP,
	FAKE_EVT_LISTEN,
	FAKE_EVT_BIND,
	FAKE_STORE_READ,
	FAKE_STORE_WRITE,	/* per transaction, -EAGAIN is retried inside */
	FAKE_WATCH,
	FAKE_GRANT,		/* counted only */
	FAKE_UNGRANT,		/* fails = the peer still maps it */
	FAKE_ABANDON,		/* counted only, of pages still mapped */
	FAKE_NOTIFY,		/* fails = the event is lost */
	FAKE_EOI,		/* counted only */
	FAKE_EOI_SPURIOUS,	/* counted only, part of FAKE_EOI */
	FAKE_CALLS,
};

/* Extra values for @err of operations: what a hypervisor may leave behind. */
#define FAKE_UNTOUCHED	(-9999)	/* status not written at all */
#define FAKE_POSITIVE	(-9998)	/* status positive */

/** FAKE_ALL - fail from @nth on, without end. */
#define FAKE_ALL	(~0U)

/**
 * fake_fail() - make whole calls fail
 * @w: world
 * @call: which
 * @nth: first one to fail, counted from now: 1 is the next
 * @count: how many in a row, or FAKE_ALL
 * @err: negative errno
 *
 * One script per call kind; a new one replaces the old, @count 0 ends it.
 */
void fake_fail(struct fake_world *w, enum fake_call call, unsigned int nth,
	       unsigned int count, int err);

/**
 * fake_fail_op() - make single operations of FAKE_COPY, FAKE_MAP or FAKE_UNMAP
 * fail; @nth counts operations over all calls from now on
 */
void fake_fail_op(struct fake_world *w, enum fake_call call, unsigned int nth,
		  unsigned int count, int err);

/** fake_calls() - calls of this kind since the world began. */
u64 fake_calls(struct fake_world *w, enum fake_call call);

/** fake_ops() - operations of this kind since the world began. */
u64 fake_ops(struct fake_world *w, enum fake_call call);

/** fake_keep() - from now on the peer lets go of no grant (@on) / of all. */
void fake_keep(struct fake_world *w, bool on);

/** fake_grant_limit() - grant references that still can be reserved. */
void fake_grant_limit(struct fake_world *w, unsigned int n);

/** fake_hold_events() - deliver no event until called with false. */
void fake_hold_events(struct fake_world *w, bool on);

/** fake_hold_watches() - the same for watches and state changes. */
void fake_hold_watches(struct fake_world *w, bool on);

/** fake_on_close() - call @fn after an event channel was closed; NULL ends it. */
void fake_on_close(struct fake_world *w, void (*fn)(void *arg), void *arg);

/** fake_delay_events() - deliver each event @ms milliseconds later. */
void fake_delay_events(struct fake_world *w, unsigned int ms);

/**
 * struct fake_use - what is alive now
 * @refs: grant references reserved
 * @grants: of these, granting a page
 * @maps: mappings of single pages, rings included
 * @rings: shared plus mapped rings
 * @pages: pages from hyp_pages_get()
 * @ports: open event channel ends
 * @watches: registered by hyp_store_watch()
 * @abandoned: grants on the deferred list, their page not yet freed
 * @leaked: pages lost because an unmap was refused
 */
struct fake_use {
	unsigned int refs, grants, maps, rings, pages, ports, watches;
	unsigned int abandoned, leaked;
};

/** fake_use() - count what is alive. */
struct fake_use fake_use(struct fake_world *w);

/** fake_check_clean() - fail the test if anything of struct fake_use is left. */
void fake_check_clean(struct fake_world *w);

/** fake_blame() - note misuse; fails the test later. Any context. */
__printf(2, 3)
void fake_blame(struct fake_world *w, const char *fmt, ...);

/**
 * fake_blamed() - how much misuse was noted, and forget it
 *
 * For tests of the fake itself, and for hostile tests that expect it.
 */
unsigned int fake_blamed(struct fake_world *w);

/* ------------------------------------------------------------------ */
/* Playing one end                                                     */
/* ------------------------------------------------------------------ */

/**
 * fake_grant_page() - grant a page of the test to the peer of @d
 *
 * Return: reference, XPV_GREF_NONE when none is left.
 */
grant_ref_t fake_grant_page(struct xpv_dev *d, struct page *page, bool ro);

/** fake_grant_end() - revoke and free it. Return: false when still mapped. */
bool fake_grant_end(grant_ref_t ref);

/** fake_granted() - page behind a reference (any owner), or NULL. */
struct page *fake_granted(struct fake_world *w, grant_ref_t ref);

#endif /* XPV_FAKE_HYP_H */

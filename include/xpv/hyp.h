/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The seam: everything the drivers ask of Xen, and nothing else.
 *
 * Two files implement it.  drivers/core/hyp_xen.c talks to the hypervisor and
 * to xenbus; test/kunit/fake_hyp.c keeps two domains in memory so that both
 * ends of a device can face each other in one kernel.  The linker chooses.
 * Everything above the seam decides; only what is below it does.
 *
 * Nothing here names a machine frame: operations carry struct page and offset
 * and are translated below the seam.
 */
#ifndef XPV_HYP_H
#define XPV_HYP_H

#include <linux/bits.h>
#include <linux/device.h>
#include <linux/mm_types.h>
#include <linux/types.h>
#include <xen/interface/xen.h>
#include <xen/interface/event_channel.h>
#include <xen/interface/grant_table.h>
#include <xen/interface/io/xenbus.h>

#define XPV_PAGE_SHIFT	12
/** XPV_PAGE_SIZE - the unit of a grant, whatever the kernel's page size is. */
#define XPV_PAGE_SIZE	BIT(XPV_PAGE_SHIFT)

/** XPV_RING_MAX_PAGES - most pages of one ring (ring order 4, xenbus' limit). */
#define XPV_RING_MAX_PAGES	16

/** XPV_GREF_NONE - a grant reference that no domain uses (0 is reserved). */
#define XPV_GREF_NONE	0

/*
 * Memory that the peer can write at any time.  Only include/xpv/ring.h may
 * look inside; sparse makes any other access a build error.
 */
#ifdef __CHECKER__
#define __peer	__attribute__((noderef, address_space(__peer)))
#else
#define __peer
#endif

/* ------------------------------------------------------------------ */
/* Devices and drivers                                                 */
/* ------------------------------------------------------------------ */

/** enum xpv_end - which end of the split device a driver is. */
enum xpv_end {
	XPV_FRONT,
	XPV_BACK,
};

/** enum xpv_side - whose store directory a key stands in. */
enum xpv_side {
	XPV_OWN,
	XPV_PEER,
};

struct xpv_driver;

/**
 * struct xpv_dev - one end of one vif or vbd, as the bus made it
 * @dev: for log lines and as parent of the net device or disk
 * @drv: the driver bound to it
 * @priv: the driver's own
 * @own_path: our directory in the store
 * @peer_path: the peer's directory in the store
 * @peer: domain at the other end
 * @vanished: the device's node is gone or belongs to a new incarnation; the
 *            driver must not write to the store for it any more
 * @hyp: private to the seam
 *
 * Created before probe, freed after remove.  The fields are constant between
 * the two, but a frontend's @peer_path and @peer may change before resume.
 */
struct xpv_dev {
	struct device *dev;
	const struct xpv_driver *drv;
	void *priv;
	const char *own_path;
	const char *peer_path;
	domid_t peer;
	bool vanished;
	void *hyp;
};

/**
 * struct xpv_driver - what a driver offers the bus
 * @name: driver name as seen in sysfs, e.g. "xpv-netfront"
 * @type: device type in the store: "vif" or "vbd"
 * @end: which end it drives
 * @allow_rebind: backend can be unbound and bound again under a live frontend
 * @probe: a device appeared in state Initialising (process context, may sleep)
 * @remove: the device goes away; valid in every state, may sleep
 * @peer_changed: the peer's state node was written; called in the one xenwatch
 *                thread, so it must never wait for a peer
 * @resume: frontend only: domain was restored, rings and grants are dead
 * @uevent: backend only: add variables to the hotplug event, may be NULL
 */
struct xpv_driver {
	const char *name;
	const char *type;
	enum xpv_end end;
	bool allow_rebind;
	int (*probe)(struct xpv_dev *d);
	void (*remove)(struct xpv_dev *d);
	void (*peer_changed)(struct xpv_dev *d, enum xenbus_state peer);
	int (*resume)(struct xpv_dev *d);
	int (*uevent)(const struct xpv_dev *d, struct kobj_uevent_env *env);
};

/**
 * hyp_driver_register() - make a driver known to the bus
 * @drv: driver, must stay until unregistered
 * @owner: THIS_MODULE
 *
 * Return: 0; -ENODEV when not running on Xen, or frontend devices were
 * switched off; or the bus' errno.
 */
int hyp_driver_register(const struct xpv_driver *drv, struct module *owner);

/** hyp_driver_unregister() - remove all its devices, then the driver. */
void hyp_driver_unregister(const struct xpv_driver *drv);

/* ------------------------------------------------------------------ */
/* Store and states                                                    */
/* ------------------------------------------------------------------ */

/**
 * hyp_store_read() - read one key
 * @d: device
 * @side: whose directory
 * @key: path below that directory, e.g. "queue-0/tx-ring-ref"
 *
 * Context: process, may sleep.
 * Return: NUL-terminated kmalloc'ed text, to be kfreed; ERR_PTR(-ENOENT) when
 * absent, other ERR_PTR on failure.  The text is whatever the peer wrote.
 */
char *hyp_store_read(struct xpv_dev *d, enum xpv_side side, const char *key);

/** struct xpv_kv - one change of the store: @value NULL removes @key. */
struct xpv_kv {
	const char *key;
	const char *value;
};

/**
 * hyp_store_write() - change keys of our own directory in one transaction
 * @d: device; nothing is written when it has vanished
 * @kv: changes, in order; removing an absent key is not an error
 * @n: how many
 *
 * Conflicts are retried a bounded number of times inside.
 * Context: process, may sleep.
 * Return: 0, -ENODEV when vanished, -EAGAIN when conflicts did not end, or the
 * store's errno (-ENOSPC for a quota); on error nothing was changed.
 */
int hyp_store_write(struct xpv_dev *d, const struct xpv_kv *kv, unsigned int n);

/**
 * struct xpv_watch - a watch on one key
 * @fn: called in the xenwatch thread after every write to the key, and once
 *      after registration; at most one call is pending per watch
 * @hyp: private to the seam, NULL while not registered
 */
struct xpv_watch {
	void (*fn)(struct xpv_watch *w);
	void *hyp;
};

/** hyp_store_watch() - start @w on a key, present or not. Return: 0 or errno. */
int hyp_store_watch(struct xpv_dev *d, enum xpv_side side, const char *key,
		    struct xpv_watch *w);

/**
 * hyp_store_unwatch() - stop @w; no call is running or comes afterwards
 *
 * Does nothing when not registered.  Must not be called from @w's own fn.
 */
void hyp_store_unwatch(struct xpv_watch *w);

/** hyp_state_set() - write our state node, unless already so or vanished. */
void hyp_state_set(struct xpv_dev *d, enum xenbus_state state);

/** hyp_state_get() - read a state node now; absent reads as Unknown (0). */
enum xenbus_state hyp_state_get(struct xpv_dev *d, enum xpv_side side);

/**
 * hyp_error() - tell the operator: log line and the error node of the store
 * @d: device
 * @err: negative errno
 * @fmt: what failed, naming key, value and limit
 */
__printf(3, 4)
void hyp_error(struct xpv_dev *d, int err, const char *fmt, ...);

/** hyp_fatal() - hyp_error(), then state Closing. */
__printf(3, 4)
void hyp_fatal(struct xpv_dev *d, int err, const char *fmt, ...);

/**
 * hyp_closed() - this end reached Closed
 *
 * Frontend: write Closed and wake whoever waits for it.  Backend: write
 * Closed, and unregister the device when "online" is not 1 or the peer's node
 * is gone.  May call the driver's remove later, never from within.
 */
void hyp_closed(struct xpv_dev *d);

/* ------------------------------------------------------------------ */
/* Event channels                                                      */
/* ------------------------------------------------------------------ */

/**
 * struct xpv_evt - one event channel end; see include/xpv/event.h for its use
 * @port: local port, what a frontend writes to the store
 * @irq: Linux interrupt, 0 when closed
 * @fn: handler, hard interrupt context; must lead to one hyp_evt_eoi()
 * @arg: for @fn
 * @flags: owned by event.h
 * @hyp: private to the seam
 */
struct xpv_evt {
	evtchn_port_t port;
	int irq;
	void (*fn)(void *arg);
	void *arg;
	unsigned long flags;
	void *hyp;
};

/**
 * hyp_evt_listen() - frontend: open a port for the peer and bind @e->fn to it
 * @d: device
 * @e: @fn and @arg set by the caller
 * @name: interrupt name, copied
 *
 * Context: process. Return: 0 or errno. Late EOI: after each call of @fn no
 * other comes until hyp_evt_eoi().
 */
int hyp_evt_listen(struct xpv_dev *d, struct xpv_evt *e, const char *name);

/** hyp_evt_bind() - backend: bind @e->fn to the peer's @remote port. */
int hyp_evt_bind(struct xpv_dev *d, struct xpv_evt *e, evtchn_port_t remote,
		 const char *name);

/**
 * hyp_evt_close() - close the port; the handler is not running afterwards
 *
 * Does nothing when closed. Context: process, no lock of the handler held.
 */
void hyp_evt_close(struct xpv_evt *e);

/** hyp_evt_notify() - send an event. Any context. */
void hyp_evt_notify(struct xpv_evt *e);

/**
 * hyp_evt_eoi() - end one event, allow the next
 * @e: event channel
 * @spurious: nothing was found to do; the peer may then be slowed down
 *
 * Any context. Drivers call it through event.h only.
 */
void hyp_evt_eoi(struct xpv_evt *e, bool spurious);

/* ------------------------------------------------------------------ */
/* Grants we give (frontends)                                          */
/* ------------------------------------------------------------------ */

/**
 * hyp_gref_alloc() - reserve grant references
 * @n: how many
 * @refs: filled
 *
 * Context: process. Return: 0 or -ENOSPC; all or nothing.
 */
int hyp_gref_alloc(unsigned int n, grant_ref_t *refs);

/** hyp_gref_free() - give back references that grant nothing now. */
void hyp_gref_free(unsigned int n, const grant_ref_t *refs);

/** hyp_grant() - let @peer use @page through @ref. Any context, no hypercall. */
void hyp_grant(grant_ref_t ref, domid_t peer, struct page *page, bool readonly);

/**
 * hyp_ungrant() - revoke and check in one step
 *
 * Any context.
 * Return: true when the peer has no access any more and @ref may be reused;
 * false when the peer still maps the page: then only hyp_grant_abandon() is
 * allowed.
 */
bool hyp_ungrant(grant_ref_t ref);

/**
 * hyp_grant_abandon() - hand reference and page to the seam's deferred list
 * @ref: reference the peer may still use
 * @page: one page reference is taken over and dropped when the peer lets go;
 *        another page may stand in for granted memory that has no count of its
 *        own and that the caller never frees
 */
void hyp_grant_abandon(grant_ref_t ref, struct page *page);

/* ------------------------------------------------------------------ */
/* Grants we use (backends)                                            */
/* ------------------------------------------------------------------ */

/**
 * struct xpv_copy - one grant copy; neither side crosses a page
 * @page: local page
 * @gref: the peer's grant
 * @page_off: offset in @page
 * @gref_off: offset in the granted page
 * @len: bytes, 1 to 4096
 * @status: out: 0 or -errno
 * @to_peer: direction
 */
struct xpv_copy {
	struct page *page;
	grant_ref_t gref;
	u16 page_off;
	u16 gref_off;
	u16 len;
	s16 status;
	bool to_peer;
};

/**
 * hyp_copy() - run copies in one hypercall
 * @d: device, names the peer
 * @op: operations; every @status is set
 * @raw: scratch of at least @n entries
 * @n: how many, 1 or more
 *
 * A status that the hypervisor left untouched counts as failed.
 * Context: any, does not sleep.
 */
void hyp_copy(struct xpv_dev *d, struct xpv_copy *op, struct gnttab_copy *raw,
	      unsigned int n);

/**
 * struct xpv_map - one granted page mapped at a page of ours
 * @page: from hyp_pages_get()
 * @gref: the peer's grant
 * @handle: out of map, in of unmap
 * @status: out of map: 0 or -errno
 * @readonly: same value for map and unmap
 */
struct xpv_map {
	struct page *page;
	grant_ref_t gref;
	grant_handle_t handle;
	s16 status;
	bool readonly;
};

/**
 * hyp_map() - map granted pages
 * @d: device
 * @op: operations; every @status is set
 * @n: how many
 *
 * Context: process, may sleep.
 */
void hyp_map(struct xpv_dev *d, struct xpv_map *op, unsigned int n);

/**
 * hyp_unmap() - unmap what hyp_map() mapped with status 0
 *
 * Never fails upwards: a page the hypervisor refuses to unmap is logged once
 * and leaked, and @page of its operation is NULL afterwards.
 * Context: process, may sleep; no user of the pages is left.
 */
void hyp_unmap(struct xpv_dev *d, struct xpv_map *op, unsigned int n);

/** hyp_pages_get() - @n pages for hyp_map(). Process context. 0 or -ENOMEM. */
int hyp_pages_get(unsigned int n, struct page **pages);

/** hyp_pages_put() - give them back, unmapped; NULLs are skipped. Process. */
void hyp_pages_put(unsigned int n, struct page **pages);

/* ------------------------------------------------------------------ */
/* Ring pages                                                          */
/* ------------------------------------------------------------------ */

/**
 * struct xpv_ring_mem - the pages of one ring, contiguous in our address space
 * @addr: first byte, NULL while there is none
 * @npages: 1 to XPV_RING_MAX_PAGES
 * @gref: one grant a page
 * @hyp: private to the seam
 */
struct xpv_ring_mem {
	void __peer *addr;
	unsigned int npages;
	grant_ref_t gref[XPV_RING_MAX_PAGES];
	void *hyp;
};

/**
 * hyp_ring_share() - frontend: zeroed pages, granted read-write to the peer
 * @d: device
 * @m: filled
 * @npages: how many
 *
 * Context: process. Return: 0, -ENOMEM or -ENOSPC (no grant left).
 */
int hyp_ring_share(struct xpv_dev *d, struct xpv_ring_mem *m,
		   unsigned int npages);

/** hyp_ring_unshare() - undo it; pages the peer keeps are freed later. */
void hyp_ring_unshare(struct xpv_dev *d, struct xpv_ring_mem *m);

/**
 * hyp_ring_map() - backend: map the peer's ring
 * @d: device
 * @m: @gref and @npages set by the caller, rest filled
 *
 * Context: process. Return: 0 or errno; on error nothing is mapped and @m can
 * be unmapped again without harm.
 */
int hyp_ring_map(struct xpv_dev *d, struct xpv_ring_mem *m);

/** hyp_ring_unmap() - undo it; does nothing when not mapped. */
void hyp_ring_unmap(struct xpv_dev *d, struct xpv_ring_mem *m);

#endif /* XPV_HYP_H */

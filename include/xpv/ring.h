/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared rings: the only code that touches memory the peer can write.
 *
 * The layout is that of Xen's public io/ring.h: four indices, padding up to 64
 * bytes, then a power of two of slots in which requests and responses share
 * the space.  Indices run freely through 2^32; only their differences mean
 * anything.
 *
 * Rules kept here so that no driver has to remember them:
 *  - a slot or index is read once, into private memory; what is checked is
 *    what is used;
 *  - what we publish we remember and never read back;
 *  - a producer index more than the ring can hold ahead of us is the peer's
 *    fault (-EPROTO), not a number to loop over;
 *  - one place decides whether the peer wants an event.
 *
 * Each ring end has one owner at a time (a NAPI context, a thread or a lock);
 * nothing here locks.
 */
#ifndef XPV_RING_H
#define XPV_RING_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/string.h>
#include <asm/barrier.h>
#include <xpv/hyp.h>

/** struct xpv_sring - the shared page(s); io/ring.h, "shared ring page". */
struct xpv_sring {
	u32 req_prod;
	u32 req_event;
	u32 rsp_prod;
	u32 rsp_event;
	u8 pvt[48];
	u8 slot[];
};

static_assert(sizeof(struct xpv_sring) == 64);

/**
 * struct xpv_front - a frontend's end of a ring
 * @s: shared pages
 * @size: slots, a power of two
 * @slot_size: bytes a slot
 * @req_prod: next request slot to fill
 * @req_pushed: requests up to here are published
 * @rsp_cons: next response to take
 */
struct xpv_front {
	struct xpv_sring __peer *s;
	u32 size;
	u32 slot_size;
	u32 req_prod;
	u32 req_pushed;
	u32 rsp_cons;
};

/**
 * struct xpv_back - a backend's end of a ring
 * @s: shared pages
 * @size: slots, a power of two
 * @slot_size: bytes a slot
 * @rsp_prod: next response slot to fill
 * @rsp_pushed: responses up to here are published
 * @req_cons: next request to take
 */
struct xpv_back {
	struct xpv_sring __peer *s;
	u32 size;
	u32 slot_size;
	u32 rsp_prod;
	u32 rsp_pushed;
	u32 req_cons;
};

/**
 * xpv_ring_size() - slots that fit
 * @npages: ring pages
 * @slot_size: bytes of the larger of request and response
 *
 * Return: largest power of two of slots behind the 64-byte header.
 */
static inline u32 xpv_ring_size(unsigned int npages, u32 slot_size)
{
	return rounddown_pow_of_two((npages * XPV_PAGE_SIZE -
				     sizeof(struct xpv_sring)) / slot_size);
}

/*
 * The notify rule of io/ring.h: the peer asked for an event when the producer
 * passes @event; publishing moved it from @old to @new.
 */
static inline bool xpv_ring_notify(u32 old, u32 new, u32 event)
{
	return (u32)(new - event) < (u32)(new - old);
}

/* Peer memory loses its mark here and nowhere else. */
static inline u32 xpv_peer_read(const u32 __peer *p)
{
	return READ_ONCE(*(const u32 __force *)p);
}

static inline void xpv_peer_write(u32 __peer *p, u32 v)
{
	WRITE_ONCE(*(u32 __force *)p, v);
}

/**
 * xpv_peer_copy_in() - one private copy of shared bytes
 *
 * The barrier keeps the compiler from going back to the source afterwards.
 */
static __always_inline void xpv_peer_copy_in(void *dst, const void __peer *src,
					     size_t len)
{
	memcpy(dst, (const void __force *)src, len);
	barrier();
}

/** xpv_peer_copy_out() - write private bytes to shared memory. */
static __always_inline void xpv_peer_copy_out(void __peer *dst, const void *src,
					      size_t len)
{
	memcpy((void __force *)dst, src, len);
}

static __always_inline void __peer *
xpv_ring_slot(struct xpv_sring __peer *s, u32 size, u32 slot_size, u32 idx)
{
	return (void __peer *)s + sizeof(struct xpv_sring) +
	       (idx & (size - 1)) * slot_size;
}

/* ------------------------------------------------------------------ */
/* Frontend end                                                        */
/* ------------------------------------------------------------------ */

/**
 * xpv_front_init() - start an empty ring on fresh pages
 * @r: ring end
 * @m: pages from hyp_ring_share(), not yet told to the peer
 * @slot_size: bytes a slot
 */
static inline void xpv_front_init(struct xpv_front *r,
				  const struct xpv_ring_mem *m, u32 slot_size)
{
	*r = (struct xpv_front) {
		.s = m->addr,
		.size = xpv_ring_size(m->npages, slot_size),
		.slot_size = slot_size,
	};
	xpv_peer_write(&r->s->req_event, 1);
	xpv_peer_write(&r->s->rsp_event, 1);
}

/** xpv_front_free() - request slots that may be filled now. */
static inline u32 xpv_front_free(const struct xpv_front *r)
{
	return r->size - (r->req_prod - r->rsp_cons);
}

/** xpv_front_inflight() - published requests without a consumed response. */
static inline u32 xpv_front_inflight(const struct xpv_front *r)
{
	return r->req_pushed - r->rsp_cons;
}

/**
 * xpv_front_put() - fill the next request slot, unpublished
 * @r: ring end; the caller checked xpv_front_free()
 * @req: complete request, no byte uninitialised
 * @len: its size, a compile-time constant not above the slot size
 *
 * Return: index of the slot.
 */
static __always_inline u32 xpv_front_put(struct xpv_front *r, const void *req,
					 size_t len)
{
	u32 idx = r->req_prod++;

	xpv_peer_copy_out(xpv_ring_slot(r->s, r->size, r->slot_size, idx), req,
			  len);
	return idx;
}

/**
 * xpv_front_push() - publish all filled requests
 *
 * Return: true when the peer wants an event for them; one event covers the
 * whole batch.
 */
static inline bool xpv_front_push(struct xpv_front *r)
{
	u32 old = r->req_pushed;
	u32 new = r->req_prod;

	if (old == new)
		return false;
	/* Slots before index: pairs with virt_rmb() in xpv_back_pending(). */
	virt_wmb();
	xpv_peer_write(&r->s->req_prod, new);
	r->req_pushed = new;
	/* Index before event: pairs with virt_mb() in xpv_back_ask(). */
	virt_mb();
	return xpv_ring_notify(old, new, xpv_peer_read(&r->s->req_event));
}

/**
 * xpv_front_pending() - how many responses wait
 *
 * Return: 0 up to the number in flight; -EPROTO when the peer claims more
 * responses than there are requests. After -EPROTO the ring must not be used.
 */
static inline int xpv_front_pending(const struct xpv_front *r)
{
	u32 n = xpv_peer_read(&r->s->rsp_prod) - r->rsp_cons;

	if (unlikely(n > xpv_front_inflight(r)))
		return -EPROTO;
	/* Index before slots: pairs with virt_wmb() in xpv_back_push(). */
	virt_rmb();
	return n;
}

/**
 * xpv_front_get() - take the next response
 * @r: ring end; the caller knows that one is pending
 * @rsp: private copy
 * @len: its size, a compile-time constant
 *
 * Return: index of the slot.
 */
static __always_inline u32 xpv_front_get(struct xpv_front *r, void *rsp,
					 size_t len)
{
	u32 idx = r->rsp_cons++;

	xpv_peer_copy_in(rsp, xpv_ring_slot(r->s, r->size, r->slot_size, idx),
			 len);
	return idx;
}

static inline void xpv_front_ask(const struct xpv_front *r, u32 ahead)
{
	xpv_peer_write(&r->s->rsp_event, r->rsp_cons + ahead);
	/* Event before index: pairs with virt_mb() in xpv_back_push(). */
	virt_mb();
}

/**
 * xpv_front_arm() - ask for an event when @ahead more responses are there
 * @r: ring end
 * @ahead: 1 = the very next one
 *
 * Return: true when so many wait already: the peer will send no event for
 * them, so the caller must go on consuming.
 */
static inline bool xpv_front_arm(const struct xpv_front *r, u32 ahead)
{
	xpv_front_ask(r, ahead);
	return xpv_peer_read(&r->s->rsp_prod) - r->rsp_cons >= ahead;
}

/**
 * xpv_front_doze() - ask for an event when @ahead more responses are there
 *
 * Return: true when anything waits already; the caller must go on consuming.
 */
static inline bool xpv_front_doze(const struct xpv_front *r, u32 ahead)
{
	xpv_front_ask(r, ahead);
	return xpv_peer_read(&r->s->rsp_prod) != r->rsp_cons;
}

/* ------------------------------------------------------------------ */
/* Backend end                                                         */
/* ------------------------------------------------------------------ */

/**
 * xpv_back_attach() - join a ring, new or in use
 * @r: ring end
 * @m: pages from hyp_ring_map()
 * @slot_size: bytes a slot
 *
 * On a ring in use every request without a response is seen again, as after
 * the reload of a backend.
 *
 * Return: 0; -EPROTO when the indices cannot be those of such a ring.
 */
static inline int xpv_back_attach(struct xpv_back *r,
				  const struct xpv_ring_mem *m, u32 slot_size)
{
	struct xpv_sring __peer *s = m->addr;
	u32 rsp_prod = xpv_peer_read(&s->rsp_prod);
	u32 req_prod = xpv_peer_read(&s->req_prod);

	*r = (struct xpv_back) {
		.s = s,
		.size = xpv_ring_size(m->npages, slot_size),
		.slot_size = slot_size,
		.rsp_prod = rsp_prod,
		.rsp_pushed = rsp_prod,
		.req_cons = rsp_prod,
	};
	return req_prod - rsp_prod > r->size ? -EPROTO : 0;
}

/** xpv_back_open() - requests taken and not yet answered (filled slot). */
static inline u32 xpv_back_open(const struct xpv_back *r)
{
	return r->req_cons - r->rsp_prod;
}

/**
 * xpv_back_pending() - how many requests wait
 *
 * Return: 0 up to the ring size; -EPROTO when the peer's producer index leaves
 * less than no room for the responses still owed. After -EPROTO the ring must
 * not be used.
 */
static inline int xpv_back_pending(const struct xpv_back *r)
{
	u32 prod = xpv_peer_read(&r->s->req_prod);

	if (unlikely(prod - r->rsp_prod > r->size ||
		     prod - r->req_cons > r->size))
		return -EPROTO;
	/* Index before slots: pairs with virt_wmb() in xpv_front_push(). */
	virt_rmb();
	return prod - r->req_cons;
}

/** xpv_back_peek() - private copy of request @ahead places on, not taken. */
static __always_inline void xpv_back_peek(const struct xpv_back *r, u32 ahead,
					  void *req, size_t len)
{
	xpv_peer_copy_in(req, xpv_ring_slot(r->s, r->size, r->slot_size,
					    r->req_cons + ahead), len);
}

/** xpv_back_get() - take the next request. Return: index of its slot. */
static __always_inline u32 xpv_back_get(struct xpv_back *r, void *req,
					size_t len)
{
	u32 idx = r->req_cons++;

	xpv_peer_copy_in(req, xpv_ring_slot(r->s, r->size, r->slot_size, idx),
			 len);
	return idx;
}

/**
 * xpv_back_put() - fill the next response slot, unpublished
 * @r: ring end; the caller owes a response (xpv_back_open() > 0)
 * @rsp: complete response, no byte uninitialised
 * @len: its size, a compile-time constant not above the slot size
 */
static __always_inline void xpv_back_put(struct xpv_back *r, const void *rsp,
					 size_t len)
{
	xpv_peer_copy_out(xpv_ring_slot(r->s, r->size, r->slot_size,
					r->rsp_prod++), rsp, len);
}

/** xpv_back_push() - publish responses. Return: true when an event is wanted. */
static inline bool xpv_back_push(struct xpv_back *r)
{
	u32 old = r->rsp_pushed;
	u32 new = r->rsp_prod;

	if (old == new)
		return false;
	/* Slots before index: pairs with virt_rmb() in xpv_front_pending(). */
	virt_wmb();
	xpv_peer_write(&r->s->rsp_prod, new);
	r->rsp_pushed = new;
	/* Index before event: pairs with virt_mb() in xpv_front_ask(). */
	virt_mb();
	return xpv_ring_notify(old, new, xpv_peer_read(&r->s->rsp_event));
}

static inline void xpv_back_ask(const struct xpv_back *r, u32 ahead)
{
	xpv_peer_write(&r->s->req_event, r->req_cons + ahead);
	/* Event before index: pairs with virt_mb() in xpv_front_push(). */
	virt_mb();
}

/**
 * xpv_back_arm() - ask for an event when @ahead more requests are there
 *
 * Return: true when so many wait already; the caller must go on consuming.
 */
static inline bool xpv_back_arm(const struct xpv_back *r, u32 ahead)
{
	xpv_back_ask(r, ahead);
	return xpv_peer_read(&r->s->req_prod) - r->req_cons >= ahead;
}

/** xpv_back_waits() - is anything there? A hint, believe xpv_back_pending(). */
static inline bool xpv_back_waits(const struct xpv_back *r)
{
	return xpv_peer_read(&r->s->req_prod) != r->req_cons;
}

/**
 * xpv_back_doze() - ask for an event when @ahead more requests are there
 *
 * Return: true when anything waits already; the caller must go on consuming.
 */
static inline bool xpv_back_doze(const struct xpv_back *r, u32 ahead)
{
	xpv_back_ask(r, ahead);
	return xpv_back_waits(r);
}

#endif /* XPV_RING_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * The control ring: requests of the frontend that are not packets.
 *
 * Decides which messages exist (one table), takes requests, has each carried
 * out and answered.  What a message does is in the file of its feature.  A work
 * item is the only one to touch the ring; it takes at most a ring full of
 * requests before others get their turn, and reports a peer that broke the
 * rules in place of going on.  Connect and disconnect call the rest with the
 * device's lock held; the work item must never take that lock.
 */
#include "netback.h"

static_assert(sizeof(struct xen_netif_ctrl_request) == 16);
static_assert(sizeof(struct xen_netif_ctrl_response) == 12);

/**
 * typedef ctrl_fn - carry out one message
 * @vif: device
 * @arg: data of the request, three words of any value
 * @out: data of the response, 0 beforehand
 *
 * Return: XEN_NETIF_CTRL_STATUS_*.
 */
typedef u32 (*ctrl_fn)(struct xnb_vif *vif, const u32 *arg, u32 *out);

/* A type without a line here is answered "not supported". */
static const ctrl_fn ctrl_messages[] = {
	[XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE] = xnb_static_size,
	[XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING] = xnb_static_add,
	[XEN_NETIF_CTRL_TYPE_DEL_GREF_MAPPING] = xnb_static_del,
};

void xnb_ctrl_answer(struct xnb_vif *vif,
		     const struct xen_netif_ctrl_request *req,
		     struct xen_netif_ctrl_response *rsp)
{
	*rsp = (struct xen_netif_ctrl_response) {
		.id = req->id,
		.type = req->type,
		.status = XEN_NETIF_CTRL_STATUS_NOT_SUPPORTED,
	};
	if (req->type >= ARRAY_SIZE(ctrl_messages) || !ctrl_messages[req->type])
		return;
	rsp->status = ctrl_messages[req->type](vif, req->data, &rsp->data);
}

/* One request after the other, each answered at once. */
static void ctrl_take(struct xnb_vif *vif, int n)
{
	struct xnb_ctrl *c = &vif->ctrl;
	struct xen_netif_ctrl_response rsp;
	struct xen_netif_ctrl_request req;

	for (; n; n--) {
		xpv_back_get(&c->ring, &req, sizeof(req));
		xnb_ctrl_answer(vif, &req, &rsp);
		xpv_back_put(&c->ring, &rsp, sizeof(rsp));
		if (xpv_back_push(&c->ring))
			hyp_evt_notify(&c->evt);
		cond_resched();
	}
}

static void ctrl_work(struct work_struct *w)
{
	struct xnb_vif *vif = container_of(w, struct xnb_vif, ctrl.work);
	struct xnb_ctrl *c = &vif->ctrl;
	int n;

	if (READ_ONCE(c->closing))
		return;
	n = xpv_back_pending(&c->ring);
	if (n < 0 || (!n && c->promised)) {
		xpv_evt_dead(&c->evt);
		xnb_broken(&vif->queues[0], XPV_FAULT_INDEX,
			   "control ring: request producer outside the ring of %u slots",
			   c->ring.size);
		return;
	}
	if (n)
		xpv_evt_work(&c->evt);
	ctrl_take(vif, n);
	c->promised = xpv_back_arm(&c->ring, 1);
	if (c->promised) {
		xpv_evt_stale(&c->evt);
		queue_work(xnb_wq, &c->work);
		return;
	}
	xpv_evt_done(&c->evt);
}

static void ctrl_event(void *arg)
{
	struct xnb_vif *vif = arg;

	xpv_evt_got(&vif->ctrl.evt);
	queue_work(xnb_wq, &vif->ctrl.work);
}

void xnb_ctrl_init(struct xnb_vif *vif)
{
	INIT_WORK(&vif->ctrl.work, ctrl_work);
}

int xnb_ctrl_open(struct xnb_vif *vif, const struct xnb_features *f)
{
	struct xnb_ctrl *c = &vif->ctrl;
	int err;

	c->queues = f->queues;
	c->promised = false;
	WRITE_ONCE(c->closing, false);
	if (!f->ctrl_ref)
		return 0;
	c->mem.npages = 1;
	c->mem.gref[0] = f->ctrl_ref;
	err = hyp_ring_map(vif->d, &c->mem);
	if (!err)
		err = xpv_back_attach(&c->ring, &c->mem,
				      sizeof(struct xen_netif_ctrl_request));
	if (err) {
		hyp_error(vif->d, err, "ctrl-ring-ref %u", f->ctrl_ref);
		return err;
	}
	c->evt = (struct xpv_evt) { .fn = ctrl_event, .arg = vif };
	err = hyp_evt_bind(vif->d, &c->evt, f->ctrl_port, netdev_name(vif->dev));
	if (err) {
		hyp_error(vif->d, err, "event-channel-ctrl %u", f->ctrl_port);
		return err;
	}
	/* Binding makes an event of its own; so does what waits already. */
	xpv_evt_stale(&c->evt);
	return 0;
}

/* Requests may have come before the channel was bound: look once. */
void xnb_ctrl_start(struct xnb_vif *vif)
{
	if (vif->ctrl.evt.irq)
		queue_work(xnb_wq, &vif->ctrl.work);
}

void xnb_ctrl_close(struct xnb_vif *vif)
{
	struct xnb_ctrl *c = &vif->ctrl;

	/* The work item notifies the guest, events start it: none starts any more. */
	WRITE_ONCE(c->closing, true);
	cancel_work_sync(&c->work);
	hyp_evt_close(&c->evt);
	cancel_work_sync(&c->work);
	hyp_ring_unmap(vif->d, &c->mem);
}

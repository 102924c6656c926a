// SPDX-License-Identifier: GPL-2.0
/*
 * The control ring: messages to the backend that are not packets.
 *
 * Decides when a response is the one that was asked for, and when to give up.
 * One message is under way at a time.  A backend that does not answer in time
 * is not asked again on this connection; one that answers what was not asked
 * has broken the rules.
 *
 * Open and close are called with xnf.lock held, messages in process context
 * without it: close waits for whoever is sending one.
 */
#include "netfront.h"

unsigned int xnf_ctrl_ms = 2000;

static_assert(sizeof(struct xen_netif_ctrl_request) == 16);
static_assert(sizeof(struct xen_netif_ctrl_response) == 12);

/* The event is ended by the next message, so idle ones come once at most. */
static void xnf_ctrl_event(void *arg)
{
	struct xnf_ctrl *c = arg;

	xpv_evt_got(&c->evt);
	wake_up(&c->wait);
}

static bool xnf_ctrl_stirs(struct xnf_ctrl *c)
{
	return test_bit(XPV_EVT_OWED, &c->evt.flags) || READ_ONCE(c->dead);
}

/* Return: 0 once a response waits; -ENODEV, -ETIMEDOUT or -EPROTO. */
static int xnf_ctrl_wait(struct xnf_ctrl *c)
{
	unsigned long left = msecs_to_jiffies(xnf_ctrl_ms);
	int n;

	for (;;) {
		if (READ_ONCE(c->dead))
			return -ENODEV;
		n = xpv_front_pending(&c->ring);
		if (n)
			return min(n, 0);
		if (!left)
			return -ETIMEDOUT;
		if (xpv_front_arm(&c->ring, 1))
			continue;
		xpv_evt_done(&c->evt);
		left = wait_event_timeout(c->wait, xnf_ctrl_stirs(c), left);
	}
}

static int xnf_ctrl_send(struct xnf *x, struct xen_netif_ctrl_request *req,
			 struct xen_netif_ctrl_response *rsp)
{
	struct xnf_ctrl *c = &x->ctrl;
	int err;

	if (!c->mem.addr || READ_ONCE(c->dead))
		return -ENODEV;
	req->id = ++c->id;
	xpv_front_put(&c->ring, req, sizeof(*req));
	if (xpv_front_push(&c->ring))
		hyp_evt_notify(&c->evt);
	err = xnf_ctrl_wait(c);
	if (err)
		return err;
	xpv_front_get(&c->ring, rsp, sizeof(*rsp));
	xpv_evt_work(&c->evt);
	return rsp->id == req->id && rsp->type == req->type ? 0 : -EPROTO;
}

int xnf_ctrl_call(struct xnf *x, u16 type, const u32 *arg, u32 *out)
{
	struct xen_netif_ctrl_request req = {
		.type = type,
		.data = { arg[0], arg[1], arg[2] },
	};
	struct xen_netif_ctrl_response rsp;
	int err;

	mutex_lock(&x->ctrl.lock);
	err = xnf_ctrl_send(x, &req, &rsp);
	if (err)
		WRITE_ONCE(x->ctrl.dead, true);
	mutex_unlock(&x->ctrl.lock);
	if (err == -ETIMEDOUT)
		netdev_info(x->dev, "no response to control message %u within %u ms\n",
			    type, xnf_ctrl_ms);
	if (err == -EPROTO) {
		xpv_peer_fault(x->d, &x->faults, XPV_FAULT_ID,
			       "control ring: message %u was not answered by its response",
			       type);
		xnf_break(x);
	}
	if (err)
		return err;
	*out = rsp.data;
	/* A status of any value; those above 3 mean failure like the others. */
	return min_t(u32, rsp.status, S16_MAX);
}

void xnf_ctrl_init(struct xnf *x)
{
	mutex_init(&x->ctrl.lock);
	init_waitqueue_head(&x->ctrl.wait);
	INIT_WORK(&x->ctrl.work, xnf_static_work);
}

void xnf_ctrl_open(struct xnf *x)
{
	struct xnf_ctrl *c = &x->ctrl;
	char name[IFNAMSIZ + 16];

	c->dead = false;
	c->evt = (struct xpv_evt) { .fn = xnf_ctrl_event, .arg = c };
	if (hyp_ring_share(x->d, &c->mem, 1))
		return;
	snprintf(name, sizeof(name), "%s-ctrl", netdev_name(x->dev));
	if (hyp_evt_listen(x->d, &c->evt, name)) {
		hyp_ring_unshare(x->d, &c->mem);
		c->mem.addr = NULL;
		return;
	}
	xpv_front_init(&c->ring, &c->mem, sizeof(struct xen_netif_ctrl_request));
}

void xnf_ctrl_halt(struct xnf *x)
{
	WRITE_ONCE(x->ctrl.dead, true);
	wake_up(&x->ctrl.wait);
	cancel_work_sync(&x->ctrl.work);
}

void xnf_ctrl_close(struct xnf *x)
{
	struct xnf_ctrl *c = &x->ctrl;

	xnf_ctrl_halt(x);
	if (!c->mem.addr)
		return;
	/* Whoever else was sending a message has seen that it is over. */
	mutex_lock(&c->lock);
	hyp_evt_close(&c->evt);
	hyp_ring_unshare(x->d, &c->mem);
	c->mem.addr = NULL;
	mutex_unlock(&c->lock);
}

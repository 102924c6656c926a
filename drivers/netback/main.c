// SPDX-License-Identifier: GPL-2.0
/*
 * xpv-netback: devices of the bus and the states of both ends. "Tx" is the
 * guest's transmit.
 *
 * Decides when to offer, connect, disconnect and leave; how that is done is in
 * connect.c.  The bus calls probe, remove and peer_changed in process context;
 * peer_changed and the watches run in the one xenwatch thread, which serves all
 * devices of the domain, so nothing here waits for a peer.
 */
#include <linux/cpumask.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <xpv/negotiate.h>
#include "netback.h"

unsigned int xnb_max_queues;
module_param_named(max_queues, xnb_max_queues, uint, 0644);
MODULE_PARM_DESC(max_queues, "Most queues of a vif, 1 to 64; 0 is the smaller of 8 and the CPUs online (default 0). Read when a vif appears.");

unsigned int xnb_fatal_slots = 20;
module_param_named(fatal_skb_slots, xnb_fatal_slots, uint, 0444);
MODULE_PARM_DESC(fatal_skb_slots, "Slots after a packet's first from which on a guest counts as hostile, 18 to 255 (default 20).");

unsigned int xnb_rx_drain_msecs = 10000;
module_param_named(rx_drain_timeout_msecs, xnb_rx_drain_msecs, uint, 0444);
MODULE_PARM_DESC(rx_drain_timeout_msecs, "Milliseconds after which a packet that the guest has no slots for is dropped (default 10000).");

unsigned int xnb_rx_stall_msecs = 60000;
module_param_named(rx_stall_timeout_msecs, xnb_rx_stall_msecs, uint, 0444);
MODULE_PARM_DESC(rx_stall_timeout_msecs, "Milliseconds without slots after which a guest counts as stalled and the vif loses its carrier (default 60000).");

bool xnb_split = true;
module_param_named(separate_tx_rx_irq, xnb_split, bool, 0644);
MODULE_PARM_DESC(separate_tx_rx_irq, "Offer an event channel for each direction (default Y).");

unsigned int xnb_statics = 640;
module_param_named(static_grants, xnb_statics, uint, 0644);
MODULE_PARM_DESC(static_grants, "Most pages of the guest that stay mapped, for each queue, 0 to 1024; 0 is never (default 640). Read when a guest asks.");

/* Batches of streams, control rings, and leaving peers that broke the rules. */
struct workqueue_struct *xnb_wq;

/* Keeps uevent, which may come from user space any time, off a leaving vif. */
static DEFINE_MUTEX(xnb_uevent_lock);

/* ------------------------------------------------------------------ */
/* Hotplug script                                                      */
/* ------------------------------------------------------------------ */

/*
 * The script that puts the vif on its bridge says "connected" when it is done.
 * A toolstack that runs no script leaves out both keys.
 */
static bool hotplug_done(struct xnb_vif *vif)
{
	char *text = hyp_store_read(vif->d, XPV_OWN, "hotplug-status");
	bool done;

	if (IS_ERR(text))
		return text == ERR_PTR(-ENOENT) && !vif->script;
	done = !strcmp(text, "connected");
	kfree(text);
	return done;
}

/* The frontend may know: rings are live and the script has run. */
static void publish(struct xnb_vif *vif)
{
	if (!vif->connected || vif->published)
		return;
	if (!hotplug_done(vif)) {
		xnb_info(vif, "waiting for the hotplug script to write hotplug-status = connected\n");
		return;
	}
	vif->published = true;
	hyp_state_set(vif->d, XenbusStateConnected);
}

static void hotplug_changed(struct xpv_watch *w)
{
	struct xnb_vif *vif = container_of(w, struct xnb_vif, hotplug_watch);

	mutex_lock(&vif->lock);
	if (!vif->leaving)
		publish(vif);
	mutex_unlock(&vif->lock);
}

static void rate_changed(struct xpv_watch *w)
{
	struct xnb_vif *vif = container_of(w, struct xnb_vif, rate_watch);

	mutex_lock(&vif->lock);
	if (!vif->leaving)
		xnb_rate_read(vif);
	mutex_unlock(&vif->lock);
}

static void mcast_changed(struct xpv_watch *w)
{
	struct xnb_vif *vif = container_of(w, struct xnb_vif, mcast_watch);

	mutex_lock(&vif->lock);
	if (!vif->leaving)
		xnb_mcast_read(vif);
	mutex_unlock(&vif->lock);
}

/* ------------------------------------------------------------------ */
/* States                                                              */
/* ------------------------------------------------------------------ */

static void set_state(struct xnb_vif *vif, enum xenbus_state state)
{
	vif->state = state;
	hyp_state_set(vif->d, state);
}

static int offer(struct xnb_vif *vif)
{
	int err;

	xnb_disconnect(vif);
	err = xnb_offer(vif);
	if (err) {
		hyp_fatal(vif->d, err, "writing features");
		vif->state = XenbusStateClosing;
		return err;
	}
	set_state(vif, XenbusStateInitWait);
	return 0;
}

static void connect(struct xnb_vif *vif)
{
	int err = xnb_connect(vif);

	/* The operator has been told why. */
	if (err) {
		set_state(vif, XenbusStateClosing);
		return;
	}
	/* What the store shows waits for the script. */
	vif->state = XenbusStateConnected;
	publish(vif);
}

/* Some frontends wait for each state in turn, so none is left out. */
static void disconnect(struct xnb_vif *vif)
{
	xnb_disconnect(vif);
	if (vif->state != XenbusStateClosed)
		set_state(vif, XenbusStateClosing);
}

static enum xpv_back_do react(struct xnb_vif *vif, enum xenbus_state peer)
{
	enum xpv_back_do what = xpv_back_next(vif->state, peer);

	switch (what) {
	case XPV_BACK_NOTHING:
		break;
	case XPV_BACK_OFFER:
		/* A frontend that did not wait for the offer is ready already. */
		if (!offer(vif) && peer == XenbusStateConnected)
			connect(vif);
		break;
	case XPV_BACK_CONNECT:
		/* The keys of a vif are complete in state Connected only. */
		if (peer == XenbusStateConnected)
			connect(vif);
		break;
	case XPV_BACK_DISCONNECT:
		xnb_disconnect(vif);
		set_state(vif, XenbusStateClosing);
		break;
	case XPV_BACK_CLOSE:
	case XPV_BACK_REMOVE:
		disconnect(vif);
		vif->state = XenbusStateClosed;
		break;
	case XPV_BACK_RECONFIGURE:
		/* Nothing we offer can change while connected. */
		hyp_state_set(vif->d, XenbusStateReconfigured);
		break;
	}
	return what;
}

static void xnb_peer_changed(struct xpv_dev *d, enum xenbus_state peer)
{
	struct xnb_vif *vif = d->priv;
	enum xpv_back_do what;

	mutex_lock(&vif->lock);
	what = react(vif, peer);
	mutex_unlock(&vif->lock);
	if (what == XPV_BACK_CLOSE || what == XPV_BACK_REMOVE)
		hyp_closed(d);
}

/* Softirq found the peer breaking the rules; here is where we may sleep. */
static void broken_work(struct work_struct *w)
{
	struct xnb_vif *vif = container_of(w, struct xnb_vif, broken_work);

	mutex_lock(&vif->lock);
	if (vif->connected && !vif->leaving) {
		xnb_disconnect(vif);
		hyp_fatal(vif->d, -EPROTO,
			  "frontend broke the protocol, see the kernel log");
		vif->state = XenbusStateClosing;
	}
	mutex_unlock(&vif->lock);
}

/* ------------------------------------------------------------------ */
/* Devices                                                             */
/* ------------------------------------------------------------------ */

static void watch(struct xnb_vif *vif, struct xpv_watch *w, enum xpv_side side,
		  const char *key, void (*fn)(struct xpv_watch *w))
{
	int err;

	w->fn = fn;
	err = hyp_store_watch(vif->d, side, key, w);
	if (err)
		hyp_error(vif->d, err, "watching %s", key);
}

static void read_script(struct xnb_vif *vif)
{
	char *script = hyp_store_read(vif->d, XPV_OWN, "script");

	vif->script = IS_ERR(script) ? NULL : script;
}

static void set_priv(struct xpv_dev *d, struct xnb_vif *vif)
{
	mutex_lock(&xnb_uevent_lock);
	d->priv = vif;
	mutex_unlock(&xnb_uevent_lock);
}

static void xnb_remove(struct xpv_dev *d)
{
	static const struct xpv_kv gone = { .key = "hotplug-status" };
	struct xnb_vif *vif = d->priv;

	if (!vif)
		return;
	mutex_lock(&vif->lock);
	vif->leaving = true;
	mutex_unlock(&vif->lock);
	hyp_store_unwatch(&vif->hotplug_watch);
	hyp_store_unwatch(&vif->rate_watch);
	hyp_store_unwatch(&vif->mcast_watch);
	kobject_uevent(&d->dev->kobj, KOBJ_OFFLINE);
	mutex_lock(&vif->lock);
	xnb_disconnect(vif);
	mutex_unlock(&vif->lock);
	cancel_work_sync(&vif->broken_work);
	/* The next vif of this device needs the script to run again. */
	hyp_store_write(d, &gone, 1);
	set_priv(d, NULL);
	xnb_vif_destroy(vif);
}

/*
 * The net device comes first: when the toolstack sees InitWait it runs the
 * script, and that looks for the device at once.
 */
static int xnb_probe(struct xpv_dev *d)
{
	static const struct xpv_key handle = {
		.name = "handle", .max = 9999999, .required = true,
	};
	struct xnb_vif *vif;
	u32 nr;
	int err;

	err = xpv_key_read(d, XPV_OWN, XPV_QUEUE_FLAT, &handle, &nr);
	if (err)
		return err;
	vif = xnb_vif_create(d, nr);
	if (IS_ERR(vif)) {
		hyp_fatal(d, PTR_ERR(vif), "making vif%u.%u", d->peer, nr);
		return PTR_ERR(vif);
	}
	INIT_WORK(&vif->broken_work, broken_work);
	read_script(vif);
	set_priv(d, vif);
	mutex_lock(&vif->lock);
	xnb_rate_read(vif);
	err = offer(vif);
	mutex_unlock(&vif->lock);
	if (err) {
		xnb_remove(d);
		return err;
	}
	watch(vif, &vif->hotplug_watch, XPV_OWN, "hotplug-status",
	      hotplug_changed);
	watch(vif, &vif->rate_watch, XPV_OWN, "rate", rate_changed);
	watch(vif, &vif->mcast_watch, XPV_PEER, "request-multicast-control",
	      mcast_changed);
	kobject_uevent(&d->dev->kobj, KOBJ_ONLINE);
	return 0;
}

/* For scripts that are run by udev and not by the toolstack. */
static int xnb_uevent(const struct xpv_dev *d, struct kobj_uevent_env *env)
{
	struct xnb_vif *vif;
	int err = 0;

	mutex_lock(&xnb_uevent_lock);
	vif = d->priv;
	if (vif && vif->script)
		err = add_uevent_var(env, "script=%s", vif->script);
	if (vif && !err)
		err = add_uevent_var(env, "vif=%s", vif->dev->name);
	mutex_unlock(&xnb_uevent_lock);
	return err;
}

static const struct xpv_driver xnb_driver = {
	.name = "xpv-netback",
	.type = "vif",
	.end = XPV_BACK,
	.allow_rebind = true,
	.probe = xnb_probe,
	.remove = xnb_remove,
	.peer_changed = xnb_peer_changed,
	.uevent = xnb_uevent,
};

static int __init xnb_init(void)
{
	int err;

	if (!xnb_max_queues)
		xnb_max_queues = min(8U, num_online_cpus());
	xnb_fatal_slots = clamp(xnb_fatal_slots, XPV_NET_SLOTS_MIN, 255);
	xnb_wq = alloc_workqueue("xpv-netback", WQ_UNBOUND, 0);
	if (!xnb_wq)
		return -ENOMEM;
	err = hyp_driver_register(&xnb_driver, THIS_MODULE);
	if (err)
		destroy_workqueue(xnb_wq);
	return err;
}
module_init(xnb_init);

static void __exit xnb_exit(void)
{
	hyp_driver_unregister(&xnb_driver);
	destroy_workqueue(xnb_wq);
}
module_exit(xnb_exit);

MODULE_DESCRIPTION("Xen network backend");
MODULE_LICENSE("GPL");
#ifdef XPV_VERSION
MODULE_VERSION(XPV_VERSION);
#endif
MODULE_ALIAS("xen-backend:vif");
XPV_USES_CORE();

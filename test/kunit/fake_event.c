// SPDX-License-Identifier: GPL-2.0
/*
 * The fake's event channels: the event part of hyp.h.
 *
 * A port is masked from the moment its handler ran until its EOI, like one with
 * late EOI on Xen, and events in between make one that comes afterwards.
 * Binding sends the binder one event, as Xen does.
 */
#include <linux/hardirq.h>
#include <linux/jiffies.h>
#include "fake_int.h"

/* All with w->lock held. */
static evtchn_port_t port_new(struct fake_world *w, struct xpv_dev *d,
			      struct xpv_evt *e)
{
	evtchn_port_t i;

	for (i = 1; i < FAKE_PORTS; i++) {
		if (w->port[i].e)
			continue;
		w->port[i] = (struct fake_port) { .e = e, .d = d };
		return i;
	}
	return 0;
}

static struct fake_port *port_of(struct fake_world *w, const struct xpv_evt *e)
{
	unsigned int i = READ_ONCE(e->irq);

	return i && i < FAKE_PORTS && w->port[i].e == e ? &w->port[i] : NULL;
}

static void port_set_pending(struct fake_world *w, struct fake_port *p)
{
	if (p->pending)
		return;
	p->pending = true;
	p->due = jiffies + msecs_to_jiffies(w->event_delay);
	wake_up(&w->event_wq);
}

static void port_open(struct xpv_evt *e, evtchn_port_t port)
{
	e->flags = 0;
	e->port = port;
	WRITE_ONCE(e->irq, port);
}

int hyp_evt_listen(struct xpv_dev *d, struct xpv_evt *e, const char *name)
{
	struct fake_world *w = to_fake(d)->p->w;
	int err = fake_call(w, FAKE_EVT_LISTEN);
	unsigned long flags;
	evtchn_port_t port;

	might_sleep();
	e->irq = 0;
	if (err)
		return err;
	spin_lock_irqsave(&w->lock, flags);
	port = port_new(w, d, e);
	if (port) {
		w->port[port].unbound = true;
		port_open(e, port);
	}
	spin_unlock_irqrestore(&w->lock, flags);
	return port ? 0 : -ENOSPC;
}

/* Is this a port that waits for the domain of @d? */
static bool port_waits_for(struct fake_world *w, evtchn_port_t port,
			   struct xpv_dev *d)
{
	struct fake_port *p;

	if (!port || port >= FAKE_PORTS)
		return false;
	p = &w->port[port];
	return p->e && p->unbound && p->d->peer == fake_own_dom(d) &&
	       fake_own_dom(p->d) == d->peer;
}

int hyp_evt_bind(struct xpv_dev *d, struct xpv_evt *e, evtchn_port_t remote,
		 const char *name)
{
	struct fake_world *w = to_fake(d)->p->w;
	int err = fake_call(w, FAKE_EVT_BIND);
	unsigned long flags;
	evtchn_port_t port;

	might_sleep();
	e->irq = 0;
	if (err)
		return err;
	spin_lock_irqsave(&w->lock, flags);
	err = -EINVAL;
	if (!port_waits_for(w, remote, d))
		goto out;
	err = -ENOSPC;
	port = port_new(w, d, e);
	if (!port)
		goto out;
	w->port[remote].unbound = false;
	w->port[remote].peer = port;
	w->port[port].peer = remote;
	port_open(e, port);
	port_set_pending(w, &w->port[port]);
	err = 0;
out:
	spin_unlock_irqrestore(&w->lock, flags);
	return err;
}

/* With w->lock held. */
static void port_close(struct fake_world *w, struct fake_port *p)
{
	WRITE_ONCE(p->e->irq, 0);
	p->e->port = 0;
	if (p->peer)
		w->port[p->peer].peer = 0;
	*p = (struct fake_port) {};
}

void hyp_evt_close(struct xpv_evt *e)
{
	struct fake_world *w = fake_now;
	struct fake_port *p;
	unsigned long flags;

	might_sleep();
	if (!READ_ONCE(e->irq))
		return;
	spin_lock_irqsave(&w->lock, flags);
	p = port_of(w, e);
	if (p)
		port_close(w, p);
	w->activity++;
	spin_unlock_irqrestore(&w->lock, flags);
	if (!p)
		fake_blame(w, "close of an event channel that is not open");
	if (w->on_close)
		w->on_close(w->on_close_arg);
}

void fake_on_close(struct fake_world *w, void (*fn)(void *arg), void *arg)
{
	w->on_close = fn;
	w->on_close_arg = arg;
}

void hyp_evt_notify(struct xpv_evt *e)
{
	struct fake_world *w = fake_now;
	int lost = fake_call(w, FAKE_NOTIFY);
	struct fake_port *p;
	unsigned long flags;

	spin_lock_irqsave(&w->lock, flags);
	p = port_of(w, e);
	if (p && p->peer && !lost)
		port_set_pending(w, &w->port[p->peer]);
	spin_unlock_irqrestore(&w->lock, flags);
	if (!p)
		fake_blame(w, "notify on a closed event channel");
}

void hyp_evt_eoi(struct xpv_evt *e, bool spurious)
{
	struct fake_world *w = fake_now;
	struct fake_port *p;
	unsigned long flags;
	bool wrong = false;

	fake_call(w, FAKE_EOI);
	if (spurious)
		fake_call(w, FAKE_EOI_SPURIOUS);
	spin_lock_irqsave(&w->lock, flags);
	p = port_of(w, e);
	if (p) {
		wrong = !p->masked;
		p->masked = false;
		if (p->pending)
			wake_up(&w->event_wq);
	}
	spin_unlock_irqrestore(&w->lock, flags);
	if (wrong)
		fake_blame(w, "EOI without an event, or a second one");
}

/* With w->lock held: a port whose event can be delivered now. */
static struct fake_port *port_next(struct fake_world *w)
{
	unsigned int i;

	if (READ_ONCE(w->hold_events))
		return NULL;
	for (i = 1; i < FAKE_PORTS; i++) {
		struct fake_port *p = &w->port[i];

		if (p->e && p->pending && !p->masked &&
		    !time_before(jiffies, p->due))
			return p;
	}
	return NULL;
}

/* One event, in hard interrupt context; softirqs run on the way out. */
bool fake_event_deliver(struct fake_world *w)
{
	struct fake_port *p;
	unsigned long flags;

	local_irq_save(flags);
	spin_lock(&w->lock);
	p = port_next(w);
	if (p) {
		p->pending = false;
		p->masked = true;
		w->activity++;
	}
	spin_unlock(&w->lock);
	if (p) {
		irq_enter();
		p->e->fn(p->e->arg);
		irq_exit();
	}
	local_irq_restore(flags);
	return p;
}

bool fake_event_waits(struct fake_world *w)
{
	unsigned long flags;
	bool waits;

	spin_lock_irqsave(&w->lock, flags);
	waits = port_next(w);
	spin_unlock_irqrestore(&w->lock, flags);
	return waits;
}

/* The domain moved: its ports are no more, but it does not know yet. */
void fake_event_kill(struct fake_world *w, struct xpv_dev *d)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&w->lock, flags);
	for (i = 1; i < FAKE_PORTS; i++) {
		struct fake_port *p = &w->port[i];

		if (!p->e || p->d != d)
			continue;
		if (p->peer)
			w->port[p->peer].peer = 0;
		p->peer = 0;
		p->pending = false;
		p->unbound = false;
	}
	spin_unlock_irqrestore(&w->lock, flags);
}

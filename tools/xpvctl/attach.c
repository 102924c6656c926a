// SPDX-License-Identifier: GPL-2.0
/*
 * attach.c: makes a new device without xl: both directories in one
 * transaction, then the backend's InitWait, the hotplug script, and Connected
 * on both ends. Whatever fails, nothing is left behind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detach.h"
#include "hotplug.h"
#include "spec.h"
#include "text.h"

/* How long a failed attach waits for the drivers to let go. */
#define UNDO_MS 3000

struct attach {
	struct ctx *c;
	struct spec spec;
	struct dev_id id;
	struct domain_info dom;
	struct paths paths;
	bool wired;		/* the nodes are in the store */
	bool scripted;		/* the script was started */
};

static int check_params(struct attach *a)
{
	const struct spec *s = &a->spec;

	if (s->class != CLASS_VBD || a->id.back != a->c->self || a->c->opt.no_script)
		return XPV_OK;
	switch (host_file_kind(s->params)) {
	case FILE_BLOCK:
	case FILE_REGULAR:
		return XPV_OK;
	case FILE_NONE:
		/* Scripts of other kinds take names that are no paths. */
		if (*s->params != '/')
			return XPV_OK;
		complain(a->c, "params = \"%s\": no such file", s->params);
		return XPV_NOT_FOUND;
	default:
		complain(a->c, "params = \"%s\": neither a block device nor a file", s->params);
		return XPV_FAILED;
	}
}

static int check_domain(struct attach *a)
{
	int r = host_domain_info(a->id.front, &a->dom);

	if (r == ENOENT || (!r && a->dom.dying)) {
		complain(a->c, "domain %u %s", a->id.front,
			 r ? "is in xenstore but not running" : "is dying");
		return r ? XPV_NOT_FOUND : XPV_FAILED;
	}
	if (r) {
		complain(a->c, "no word about domain %u from Xen (not root, or not in dom0?)",
			 a->id.front);
		return XPV_NO_XEN;
	}
	if (a->spec.cdrom && !a->dom.pv)
		complain(a->c, "note: Linux guests that are not PV ignore a cdrom vbd");
	return XPV_OK;
}

static int resolve(struct attach *a)
{
	struct ctx *c = a->c;
	int rc;

	a->id.kind = backend_kind_find(class_name(a->spec.class));
	a->id.back = c->self;
	rc = domain_find(c, a->spec.domain, &a->id.front);
	if (!rc && a->spec.backend)
		rc = domain_find(c, a->spec.backend, &a->id.back);
	if (!rc)
		rc = check_domain(a);
	if (!rc)
		rc = check_params(a);
	return rc;
}

static int make_mac(struct attach *a)
{
	unsigned char r[3];
	int err;

	if (a->spec.class != CLASS_VIF || *a->spec.mac)
		return XPV_OK;
	err = host_random(r, sizeof(r));
	if (err) {
		complain(a->c, "no random bytes for a MAC address: %s", strerror(err));
		return XPV_FAILED;
	}
	snprintf(a->spec.mac, sizeof(a->spec.mac), "00:16:3e:%02x:%02x:%02x", r[0] & 0x7f,
		 r[1], r[2]);
	return XPV_OK;
}

/* A number is taken when any of the three directories knows it. */
static bool is_taken(struct store *st, const struct dev_id *id)
{
	struct paths p;
	bool taken;

	paths_init(&p, id);
	taken = store_exists(st, p.front) || store_exists(st, p.back) ||
		store_exists(st, p.libxl);
	paths_free(&p);
	return taken;
}

static int choose_devid(struct attach *a)
{
	a->id.devid = a->spec.devid;
	if (a->spec.has_devid)
		return is_taken(&a->c->store, &a->id) ? EEXIST : 0;
	for (a->id.devid = 0; is_taken(&a->c->store, &a->id); a->id.devid++)
		if (a->id.devid == 65535)
			return ENOSPC;
	return 0;
}

static int write_front(struct store *st, const struct attach *a, const struct nodes *nodes)
{
	const struct store_perms guest = { .owner = a->id.front, .reader = a->id.back };
	const struct store_perms fixed = { .owner = a->id.back, .reader = a->id.front };
	const char *dir = a->paths.front;
	unsigned int i;
	int r = store_make_dir(st, dir, &guest);

	if (!r)
		r = store_set(st, dir, "backend", a->paths.back, NULL);
	for (i = 0; !r && i < nodes->n; i++)
		r = store_set(st, dir, nodes->v[i].key, nodes->v[i].value,
			      nodes->v[i].guest_readonly ? &fixed : &guest);
	return r;
}

static int write_plain(struct store *st, const char *dir, const struct nodes *nodes)
{
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < nodes->n; i++)
		r = store_set(st, dir, nodes->v[i].key, nodes->v[i].value, NULL);
	return r;
}

static int write_back(struct store *st, const struct attach *a, const struct nodes *nodes)
{
	const struct store_perms perms = { .owner = a->id.back, .reader = a->id.front };
	int r = store_make_dir(st, a->paths.back, &perms);

	if (!r)
		r = store_set(st, a->paths.back, "frontend", a->paths.front, NULL);
	return r ? r : write_plain(st, a->paths.back, nodes);
}

/* The toolstack's own copy, for domains it manages: xl then sees the device. */
static int write_libxl(struct store *st, const struct attach *a, const struct nodes *back)
{
	char *domain = xasprintf("/libxl/%u", a->id.front);
	bool managed = store_exists(st, domain);
	int r;

	free(domain);
	if (!managed)
		return 0;
	r = store_set(st, a->paths.libxl, "frontend", a->paths.front, NULL);
	if (!r)
		r = store_set(st, a->paths.libxl, "backend", a->paths.back, NULL);
	return r ? r : write_plain(st, a->paths.libxl, back);
}

static int wire_once(struct attach *a)
{
	struct store *st = &a->c->store;
	struct nodes front, back;
	int r = choose_devid(a);

	if (r)
		return r;
	paths_free(&a->paths);
	paths_init(&a->paths, &a->id);
	errors_remove(st, &a->paths);
	nodes_build(&a->spec, &a->id, &a->dom, &front, &back);
	r = write_front(st, a, &front);
	if (!r)
		r = write_back(st, a, &back);
	if (!r)
		r = write_libxl(st, a, &back);
	nodes_free(&front);
	nodes_free(&back);
	return r;
}

static int wire(struct attach *a)
{
	struct store *st = &a->c->store;
	char label[16];
	int r;

	do {
		r = store_begin(st);
		if (!r)
			r = wire_once(a);
		if (r)
			break;
		r = store_commit(st);
	} while (r == EAGAIN);
	store_abort(st);
	a->wired = !r;
	dev_label(&a->id, label, sizeof(label));
	if (r == EEXIST)
		complain(a->c, "domain %u already has %s, or what is left of it",
			 a->id.front, label);
	else if (r)
		complain(a->c, "cannot write the nodes of %s: %s", label, strerror(r));
	return r == EEXIST ? XPV_FAILED : exit_of_errno(r);
}

static enum wait_verdict backend_waits(struct store *st, void *arg)
{
	const struct attach *a = arg;
	unsigned int state = read_state(st, a->paths.back);

	if (state == STATE_CLOSING || state == STATE_CLOSED)
		return WAIT_FAILED;
	return state >= STATE_INIT_WAIT ? WAIT_DONE : WAIT_MORE;
}

static bool hotplug_failed(struct store *st, const struct attach *a)
{
	char *status = store_get(st, a->paths.back, "hotplug-status");
	bool failed = status && (!strcmp(status, "error") || !strcmp(status, "busy"));

	free(status);
	return failed;
}

static enum wait_verdict both_connected(struct store *st, void *arg)
{
	const struct attach *a = arg;
	unsigned int front = read_state(st, a->paths.front);
	unsigned int back = read_state(st, a->paths.back);

	if (front == STATE_CONNECTED && back == STATE_CONNECTED)
		return WAIT_DONE;
	if (back == STATE_CLOSING || back == STATE_CLOSED || hotplug_failed(st, a))
		return WAIT_FAILED;
	return WAIT_MORE;
}

/* What a stuck pair most likely lacks. */
static const char *hint(const struct attach *a, unsigned int front, unsigned int back)
{
	if (back == STATE_INITIALISING && a->id.back == a->c->self)
		return a->spec.class == CLASS_VIF ?
			"; is xpv-netback or xen-netback loaded?" :
			"; is xpv-blkback or xen-blkback loaded?";
	if (back == STATE_INITIALISING)
		return "; has the backend domain its driver loaded?";
	if (front == STATE_INITIALISING || front == STATE_UNKNOWN)
		return "; has the guest a frontend driver, and is it running?";
	return "";
}

static int wait_step(struct attach *a, store_condition cond, const char *wanted)
{
	struct ctx *c = a->c;
	char *front = xasprintf("%s/state", a->paths.front);
	char *back = xasprintf("%s/state", a->paths.back);
	char *hotplug = xasprintf("%s/hotplug-status", a->paths.back);
	const char *const watched[] = { front, back, hotplug };
	unsigned int fs, bs;
	char label[16];
	int r = store_wait(&c->store, watched, 3, cond, a, c->opt.timeout_ms);

	free(hotplug);
	free(back);
	free(front);
	if (!r)
		return XPV_OK;
	fs = read_state(&c->store, a->paths.front);
	bs = read_state(&c->store, a->paths.back);
	dev_label(&a->id, label, sizeof(label));
	if (r == ETIMEDOUT)
		complain(c, "%s of domain %u: %s not reached within %u s", label, a->id.front,
			 wanted, c->opt.timeout_ms / 1000);
	else
		complain(c, "%s of domain %u: waiting for %s: %s", label, a->id.front, wanted,
			 r == EINTR ? "interrupted" : r == ECANCELED ? "refused" : strerror(r));
	complain(c, "frontend in state %s, backend in state %s%s", state_name(fs), state_name(bs),
		 r == ETIMEDOUT ? hint(a, fs, bs) : "");
	explain_errors(c, &a->paths);
	return exit_of_errno(r);
}

static int bring_up(struct attach *a)
{
	struct ctx *c = a->c;
	bool run_script = !c->opt.no_script && a->id.back == c->self;
	int rc = XPV_OK;

	/* The script needs what the backend makes in InitWait: its netdev. */
	if (run_script || !c->opt.no_wait)
		rc = wait_step(a, backend_waits, "InitWait");
	if (!rc && run_script) {
		a->scripted = true;
		rc = hotplug_run(c, &a->id, &a->paths, HOTPLUG_UP);
	}
	if (!rc && !c->opt.no_wait)
		rc = wait_step(a, both_connected, "Connected");
	return rc;
}

static void undo(struct attach *a)
{
	struct detach_how how = {
		.force = true,
		.undo = true,
		.run_script = a->scripted,
		.timeout_ms = UNDO_MS,
	};

	if (device_detach(a->c, &a->id, &how))
		complain(a->c, "undoing was not complete; see \"xpvctl list\"");
}

static int attach_run(struct attach *a)
{
	int rc = resolve(a);

	if (!rc)
		rc = make_mac(a);
	if (!rc)
		rc = wire(a);
	if (!rc)
		rc = bring_up(a);
	if (rc && a->wired)
		undo(a);
	return rc;
}

static void report(const struct attach *a)
{
	struct device d;
	char label[16];

	if (a->c->opt.json) {
		device_load(a->c, &a->id, DETAIL_KEYS, &d);
		format_json(a->c->out, &d, 1);
		device_free(&d);
		return;
	}
	dev_label(&a->id, label, sizeof(label));
	fprintf(a->c->out, "%s of domain %u attached (devid %u, backend domain %u)\n", label,
		a->id.front, a->id.devid, a->id.back);
}

int cmd_attach(struct ctx *c, int argc, char **argv)
{
	struct attach a = { .c = c };
	enum dev_class class;
	char *error;
	int rc;

	if (argc < 2 || !class_from_name(argv[0], &class)) {
		complain(c, "attach takes vif or vbd, a domain, and key=value words");
		return XPV_USAGE;
	}
	spec_init(&a.spec, class);
	a.spec.domain = xstrdup(argv[1]);
	error = spec_parse(&a.spec, argc - 2, argv + 2);
	if (error) {
		complain(c, "%s", error);
		free(error);
		rc = XPV_USAGE;
		goto out;
	}
	host_catch_signals();
	rc = attach_run(&a);
	if (!rc)
		report(&a);
out:
	paths_free(&a.paths);
	spec_free(&a.spec);
	return rc;
}

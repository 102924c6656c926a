// SPDX-License-Identifier: GPL-2.0
/*
 * detach.c: takes a device out. The order is the toolstack's: tell the backend
 * that the device goes offline and closes, wait until both drivers have let
 * go, undo what the hotplug script did, delete the directories.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detach.h"
#include "hotplug.h"
#include "text.h"
#include "vdev.h"

/* Asks the backend to close. ENOENT: it has no state, nobody is there to ask. */
static int request_close_once(struct store *st, const struct paths *p, bool force)
{
	char *state;
	int r;

	if (force) {
		r = store_remove(st, p->front, 1);
		if (r)
			return r;
	}
	state = store_get(st, p->back, "state");
	if (!state)
		return ENOENT;
	free(state);
	r = store_set(st, p->back, "online", "0", NULL);
	if (!r && read_state(st, p->back) != STATE_CLOSED)
		r = store_set(st, p->back, "state", "5", NULL);
	return r;
}

static int request_close(struct store *st, const struct paths *p, bool force)
{
	int r;

	do {
		r = store_begin(st);
		if (!r)
			r = request_close_once(st, p, force);
		if (r) {
			store_abort(st);
			return r;
		}
		r = store_commit(st);
	} while (r == EAGAIN);
	return r;
}

static enum wait_verdict is_closed(struct store *st, void *arg)
{
	const struct paths *p = arg;
	char *state = store_get(st, p->back, "state");
	enum wait_verdict verdict = WAIT_MORE;

	/* A driver domain's toolstack deletes the directory by itself. */
	if (!state || read_state(st, p->back) == STATE_CLOSED)
		verdict = WAIT_DONE;
	free(state);
	return verdict;
}

static int wait_closed(struct ctx *c, struct paths *p, unsigned int timeout_ms)
{
	char *state = xasprintf("%s/state", p->back);
	const char *const watched[] = { state };
	int r = store_wait(&c->store, watched, 1, is_closed, p, timeout_ms);

	free(state);
	return r;
}

static enum wait_verdict is_gone(struct store *st, void *arg)
{
	const struct paths *p = arg;

	return store_exists(st, p->back) ? WAIT_MORE : WAIT_DONE;
}

/* What is left to do on the backend's side once it is closed. */
static int clean_backend(struct ctx *c, const struct dev_id *id, struct paths *p,
			 const struct detach_how *how)
{
	const char *const watched[] = { p->back };
	int rc;

	if (!how->run_script)
		return XPV_OK;
	if (id->back == c->self) {
		rc = hotplug_run(c, id, p, how->undo ? HOTPLUG_UNDO : HOTPLUG_DOWN);
		return how->undo ? XPV_OK : rc;
	}
	/* Time for the driver domain to run its own script; then it is ours. */
	store_wait(&c->store, watched, 1, is_gone, p, how->timeout_ms);
	return XPV_OK;
}

static int delete_once(struct store *st, const struct paths *p)
{
	int r = store_remove(st, p->front, 1);

	if (!r)
		r = store_remove(st, p->libxl, 1);
	if (!r)
		r = store_remove(st, p->back, 2);
	if (!r)
		errors_remove(st, p);
	return r;
}

static int delete_all(struct ctx *c, const struct paths *p)
{
	struct store *st = &c->store;
	int r;

	do {
		r = store_begin(st);
		if (!r)
			r = delete_once(st, p);
		if (r) {
			store_abort(st);
			break;
		}
		r = store_commit(st);
	} while (r == EAGAIN);
	if (r)
		complain(c, "cannot delete %s and its other end: %s", p->back, strerror(r));
	return exit_of_errno(r);
}

static void complain_open(struct ctx *c, const struct dev_id *id, const struct paths *p,
			  int err, unsigned int timeout_ms)
{
	const char *front = state_name(read_state(&c->store, p->front));
	const char *back = state_name(read_state(&c->store, p->back));
	char label[16];

	dev_label(id, label, sizeof(label));
	if (err == ETIMEDOUT)
		complain(c, "%s of domain %u: backend in state %s, Closed expected within %u s; "
			 "frontend in state %s", label, id->front, back, timeout_ms / 1000, front);
	else
		complain(c, "%s of domain %u: waiting for Closed: %s", label, id->front,
			 err == EINTR ? "interrupted" : strerror(err));
	explain_errors(c, p);
}

static int detach_paths(struct ctx *c, const struct dev_id *id, struct paths *p,
			const struct detach_how *how)
{
	int r = request_close(&c->store, p, how->force);
	int rc = XPV_OK, deleted;

	if (r == ENOENT)
		return delete_all(c, p);
	if (r) {
		complain(c, "cannot write %s/state: %s", p->back, strerror(r));
		return exit_of_errno(r);
	}
	r = wait_closed(c, p, how->timeout_ms);
	if (r && !how->force) {
		complain_open(c, id, p, r, how->timeout_ms);
		return exit_of_errno(r);
	}
	rc = clean_backend(c, id, p, how);
	deleted = delete_all(c, p);
	return rc ? rc : deleted;
}

int device_detach(struct ctx *c, const struct dev_id *id, const struct detach_how *how)
{
	struct paths p;
	int rc;

	paths_init(&p, id);
	rc = detach_paths(c, id, &p, how);
	paths_free(&p);
	return rc;
}

static bool parse_devid(enum dev_class class, const char *word, unsigned int *devid)
{
	return class == CLASS_VBD ? vdev_number(word, devid) : text_u32(word, MAX_DEVID, devid);
}

int cmd_detach(struct ctx *c, int argc, char **argv)
{
	struct detach_how how = {
		.force = c->opt.force,
		.run_script = !c->opt.no_script,
		.timeout_ms = c->opt.timeout_ms,
	};
	enum dev_class class;
	unsigned int devid, front;
	struct dev_id id;
	int rc;

	if (argc != 3 || !class_from_name(argv[0], &class) ||
	    !parse_devid(class, argv[2], &devid)) {
		complain(c, "detach takes vif or vbd, a domain, and a number or disk name");
		return XPV_USAGE;
	}
	rc = domain_or_number(c, argv[1], &front);
	if (rc)
		return rc;
	if (device_find(c, class, front, devid, &id)) {
		complain(c, "domain %u has no %s %s", front, argv[0], argv[2]);
		return XPV_NOT_FOUND;
	}
	host_catch_signals();
	return device_detach(c, &id, &how);
}

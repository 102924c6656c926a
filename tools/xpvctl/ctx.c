// SPDX-License-Identifier: GPL-2.0
/*
 * ctx.c: start and end of one run, and its error messages. Knows no command.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ctx.h"
#include "text.h"

void complain(struct ctx *c, const char *fmt, ...)
{
	va_list ap;

	fputs("xpvctl: ", c->err);
	va_start(ap, fmt);
	vfprintf(c->err, fmt, ap);
	va_end(ap);
	fputc('\n', c->err);
}

int ctx_open(struct ctx *c)
{
	int r = store_open(&c->store);
	char *domid;

	if (r) {
		complain(c, "no connection to xenstore: %s", strerror(r));
		complain(c, "is this a Xen domain, is xenstored running, are you root?");
		return XPV_NO_XEN;
	}
	/* A path without a slash is below this domain's own directory. */
	domid = store_read(&c->store, "domid");
	if (!domid || !text_u32(domid, 0x7fff, &c->self))
		c->self = 0;
	free(domid);
	return XPV_OK;
}

void ctx_close(struct ctx *c)
{
	store_abort(&c->store);
	store_close(&c->store);
	free(c->name);
	c->name = NULL;
	c->name_known = false;
}

int exit_of_errno(int err)
{
	switch (err) {
	case 0:
		return XPV_OK;
	case EACCES:
	case EPERM:
		return XPV_NO_XEN;
	case ENOENT:
		return XPV_NOT_FOUND;
	case ETIMEDOUT:
		return XPV_TIMEOUT;
	default:
		return XPV_FAILED;
	}
}

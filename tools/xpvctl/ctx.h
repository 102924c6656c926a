/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ctx.h: what one run of the tool carries: the store, its own domain, the
 * options of the command line; and how errors are told.
 */
#ifndef XPVCTL_CTX_H
#define XPVCTL_CTX_H

#include <stdbool.h>
#include <stdio.h>

#include "names.h"
#include "store.h"

struct options {
	bool help;
	bool json;
	bool verbose;
	bool no_wait;
	bool no_script;
	bool force;
	bool repair;
	bool once;
	bool timeout_given;
	unsigned int timeout_ms;
	unsigned int interval_ms;
};

struct ctx {
	struct store store;
	struct options opt;
	unsigned int self;	/* the domain this runs in */
	bool name_known;	/* the name read last, of domain name_of */
	unsigned int name_of;
	char *name;		/* escaped; NULL: it has none */
	FILE *out;
	FILE *err;
};

/* One line to the error stream, with the program's name in front. */
void complain(struct ctx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Connects to xenstore: XPV_OK or XPV_NO_XEN, complained about. */
int ctx_open(struct ctx *c);
void ctx_close(struct ctx *c);

/* The exit code that stands for an errno of the store. */
int exit_of_errno(int err);

/* Commands: words are what is left of the command line after the options. */
int cmd_list(struct ctx *c, int argc, char **argv);
int cmd_show(struct ctx *c, int argc, char **argv);
int cmd_explain(struct ctx *c, int argc, char **argv);
int cmd_check(struct ctx *c, int argc, char **argv);
int cmd_budget(struct ctx *c, int argc, char **argv);
int cmd_set(struct ctx *c, int argc, char **argv);
int cmd_watch(struct ctx *c, int argc, char **argv);
int cmd_top(struct ctx *c, int argc, char **argv);
int cmd_export(struct ctx *c, int argc, char **argv);
int cmd_attach(struct ctx *c, int argc, char **argv);
int cmd_detach(struct ctx *c, int argc, char **argv);

#endif

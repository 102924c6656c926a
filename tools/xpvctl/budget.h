/* SPDX-License-Identifier: GPL-2.0 */
/*
 * budget.h: what the vif and disk lines of an xl configuration need of the
 * things Xen and dom0 limit. Pure: text in, rows out.
 */
#ifndef XPVCTL_BUDGET_H
#define XPVCTL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* What a configuration asks for; limits of 0 are Xen's defaults. */
struct budget_config {
	unsigned int vcpus;
	unsigned int vifs;
	unsigned int vbds;
	unsigned int grant_frames;
	unsigned int event_channels;
};

/* NULL, or a message that the caller frees. */
char *budget_parse(const char *text, struct budget_config *cfg);

struct budget_host {
	unsigned int cpus;		/* of the backend's domain */
	uint64_t free_kib;
	bool stock;			/* the stock drivers serve it */
};

enum budget_item {
	BUDGET_GRANTS, BUDGET_EVENTS, BUDGET_MAPTRACK, BUDGET_BACK_EVENTS, BUDGET_MEMORY,
	NR_BUDGET,
};

struct budget_row {
	const char *name;
	uint64_t need;
	uint64_t limit;
	bool over;
	char *raise;		/* which limit, to what; NULL when not over */
};

void budget_compute(const struct budget_config *cfg, const struct budget_host *host,
		    struct budget_row rows[NR_BUDGET]);

#endif

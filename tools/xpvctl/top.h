/* SPDX-License-Identifier: GPL-2.0 */
/*
 * top.h: rates of devices between two looks, and how they are shown. Pure but
 * for screen_*(), which is ncurses or nothing.
 */
#ifndef XPVCTL_TOP_H
#define XPVCTL_TOP_H

#include "device.h"

#define TOP_HISTORY 20

/* Counters of any driver in common words; the direction is the guest's. */
struct sample {
	uint64_t out_bytes;	/* sent or written by the guest */
	uint64_t in_bytes;	/* received or read by it */
	uint64_t ops;		/* packets or requests */
	uint64_t batches;	/* 0: not counted by this driver */
	uint64_t events;	/* received and sent */
};

struct top_row {
	struct dev_id id;
	char label[16];
	char domain[17];	/* escaped and cut */
	bool connected;
	struct sample now;
	struct sample rate;	/* a second; valid from the second look on */
	uint64_t history[TOP_HISTORY];	/* bytes a second, newest last */
};

struct top {
	struct top_row *rows;
	size_t n;
	uint64_t taken_ms;
};

struct sample sample_of(const struct device *d);

/* Rates of @now since @before, and @before's history carried on. */
void top_merge(const struct top *before, struct top *now);
void top_free(struct top *t);

/* One character for each of @n values, scaled to the largest; caller frees. */
char *sparkline(const uint64_t *values, size_t n, bool utf8);

/* A number in at most 6 characters: 999, 1.2k, 34M. */
void short_number(uint64_t value, char *text, size_t size);

/* Line 0 is the title. NULL after the last; the caller frees each. */
char *top_line(const struct top *t, size_t line, bool spark, bool utf8);
void top_json(FILE *out, const struct top *t);

/* export.c: Prometheus text. */
void format_export(FILE *out, const struct device *list, size_t n);

/* screen.c: false when this program was built without ncurses. */
bool screen_open(void);
bool screen_is_utf8(void);
void screen_draw(const struct top *t);
/* True when the user wants to leave; waits at most @ms. */
bool screen_wait(unsigned int ms);
void screen_close(void);

#endif

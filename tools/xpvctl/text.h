/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text.h: strings. Allocation that cannot fail, escaping of bytes a peer chose,
 * and strict parsing of numbers. Pure: no store, no system calls.
 */
#ifndef XPVCTL_TEXT_H
#define XPVCTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These end the program with a message when memory is out. */
void *xcalloc(size_t n, size_t size);
void *xgrow(void *old, size_t n, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A copy fit for a terminal and for JSON: printable ASCII stays, a backslash
 * is doubled, every other byte becomes \xNN. Longer than @max input bytes is
 * cut and marked with "...". NULL gives NULL.
 */
char *text_escape(const char *raw, size_t max);

/* The longest value of a peer that is shown. */
#define TEXT_SHOWN 128

/* Decimal digits only, no sign, no blanks, not above @max. */
bool text_u64(const char *s, uint64_t max, uint64_t *out);
bool text_u32(const char *s, uint32_t max, uint32_t *out);

/* A word that may be written as a value: printable ASCII, 1 to 1024 bytes. */
bool text_is_plain(const char *s);

/* Six octets in hex with colons to lower case; not multicast, not all zero. */
bool text_mac(const char *s, char out[18]);

/*
 * A rate as xl writes it, "10MB/s" or "10Mb/s@20ms", to "bytes,usec" as the
 * backend reads it. NULL when malformed or out of range.
 */
char *text_rate(const char *s);

void text_free_list(char **list, size_t n);

#endif

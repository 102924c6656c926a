// SPDX-License-Identifier: GPL-2.0
/*
 * text.c: strings. Decides what of a peer's bytes may reach the terminal and
 * what counts as a number; knows nothing of xenstore or of devices. Called
 * from everywhere.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "text.h"

static void *checked(void *p)
{
	if (!p) {
		fputs("xpvctl: out of memory\n", stderr);
		exit(XPV_FAILED);
	}
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size));
}

void *xgrow(void *old, size_t n, size_t size)
{
	return checked(reallocarray(old, n ? n : 1, size));
}

char *xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;
	int r;

	va_start(ap, fmt);
	r = vasprintf(&s, fmt, ap);
	va_end(ap);
	return checked(r < 0 ? NULL : s);
}

static bool is_printable(unsigned char c)
{
	return c >= 0x20 && c < 0x7f;
}

char *text_escape(const char *raw, size_t max)
{
	size_t len, shown, i;
	char *out, *p;

	if (!raw)
		return NULL;
	len = strlen(raw);
	shown = len < max ? len : max;
	out = xcalloc(shown * 4 + 4, 1);
	p = out;
	for (i = 0; i < shown; i++) {
		unsigned char c = raw[i];

		if (c == '\\')
			p += sprintf(p, "\\\\");
		else if (is_printable(c))
			*p++ = c;
		else
			p += sprintf(p, "\\x%02x", c);
	}
	if (shown < len)
		memcpy(p, "...", 3);
	return out;
}

bool text_u64(const char *s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (!s || !*s)
		return false;
	for (; *s; s++) {
		unsigned int digit = *s - '0';

		if (digit > 9 || digit > max || v > (max - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}

bool text_u32(const char *s, uint32_t max, uint32_t *out)
{
	uint64_t v;

	if (!text_u64(s, max, &v))
		return false;
	*out = v;
	return true;
}

bool text_is_plain(const char *s)
{
	size_t i;

	for (i = 0; s[i]; i++)
		if (i == 1024 || !is_printable(s[i]))
			return false;
	return i > 0;
}

bool text_mac(const char *s, char out[18])
{
	unsigned int octet[6], i, any = 0;
	char end;

	if (strlen(s) > 17 || strspn(s, "0123456789abcdefABCDEF:") != strlen(s))
		return false;
	if (sscanf(s, "%2x:%2x:%2x:%2x:%2x:%2x%c", &octet[0], &octet[1], &octet[2],
		   &octet[3], &octet[4], &octet[5], &end) != 6)
		return false;
	for (i = 0; i < 6; i++)
		any |= octet[i];
	if (!any || octet[0] & 1)
		return false;
	snprintf(out, 18, "%02x:%02x:%02x:%02x:%02x:%02x", octet[0] & 0xff, octet[1] & 0xff,
		 octet[2] & 0xff, octet[3] & 0xff, octet[4] & 0xff, octet[5] & 0xff);
	return true;
}

/* Reads the digits at *@s and steps over them. */
static bool leading_u32(const char **s, uint64_t *out)
{
	size_t n = strspn(*s, "0123456789");
	char digits[11];

	if (!n || n >= sizeof(digits))
		return false;
	memcpy(digits, *s, n);
	digits[n] = '\0';
	*s += n;
	return text_u64(digits, UINT32_MAX, out);
}

/* "@20ms": empty is xl's default of 50 ms. */
static bool rate_interval(const char *s, uint64_t *usec)
{
	static const struct {
		const char *unit;
		unsigned int usec;
	} units[] = { { "us", 1 }, { "ms", 1000 }, { "s", 1000000 } };
	size_t i;

	*usec = 50000;
	if (!*s)
		return true;
	if (*s++ != '@' || !leading_u32(&s, usec))
		return false;
	for (i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(s, units[i].unit))
			continue;
		*usec *= units[i].usec;
		return *usec && *usec <= UINT32_MAX;
	}
	return false;
}

char *text_rate(const char *s)
{
	uint64_t per_second, usec, per_interval;
	const char *prefixes = "KMG", *prefix;
	bool bits;

	if (!leading_u32(&s, &per_second))
		return NULL;
	prefix = *s ? strchr(prefixes, *s) : NULL;
	if (prefix) {
		s++;
		for (; prefix >= prefixes; prefix--)
			per_second *= 1000;
	}
	bits = *s == 'b';
	if ((*s != 'b' && *s != 'B') || strncmp(s + 1, "/s", 2))
		return NULL;
	if (bits)
		per_second /= 8;
	if (!rate_interval(s + 3, &usec) || per_second > UINT64_MAX / usec)
		return NULL;
	per_interval = per_second * usec / 1000000;
	if (!per_interval || per_interval > UINT32_MAX)
		return NULL;
	return xasprintf("%" PRIu64 ",%" PRIu64, per_interval, usec);
}

void text_free_list(char **list, size_t n)
{
	while (n)
		free(list[--n]);
	free(list);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * unit.h: the small frame of xpvctl's unit tests. A case is a function; a check
 * that fails marks the case and lets it go on.
 */
#ifndef XPV_TEST_UNIT_H
#define XPV_TEST_UNIT_H

#include <stdbool.h>
#include <stddef.h>

struct unit_case {
	const char *name;
	void (*run)(void);
};

/* One array a file, ended by an empty entry; unit.c lists them. */
extern const struct unit_case text_cases[], vdev_cases[], spec_cases[], list_cases[];
extern const struct unit_case format_cases[], attach_cases[], detach_cases[];
extern const struct unit_case explain_cases[], check_cases[], budget_cases[];
extern const struct unit_case top_cases[], watch_cases[], set_cases[];

void unit_check(bool ok, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void unit_same_text(const char *got, const char *want, const char *file, int line);
void unit_contains(const char *text, const char *part, bool wanted, const char *file, int line);

#define CHECK(cond) unit_check(cond, __FILE__, __LINE__, "%s", #cond)
#define CHECK_INT(got, want) do { \
	long long got_ = (got), want_ = (want); \
	unit_check(got_ == want_, __FILE__, __LINE__, "%s is %lld, %lld expected", \
		   #got, got_, want_); \
} while (0)
#define CHECK_TEXT(got, want) unit_same_text(got, want, __FILE__, __LINE__)
#define CHECK_HAS(text, part) unit_contains(text, part, true, __FILE__, __LINE__)
#define CHECK_LACKS(text, part) unit_contains(text, part, false, __FILE__, __LINE__)

#endif

// SPDX-License-Identifier: GPL-2.0
/*
 * unit.c: runs the cases of all suites, or those whose name contains the
 * argument. Every case starts with an empty fake store. The last line is the
 * sum; memory errors and leaks end the program through the sanitizers.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fake.h"
#include "unit.h"

static const struct {
	const char *name;
	const struct unit_case *cases;
} suites[] = {
	{ "text", text_cases },
	{ "vdev", vdev_cases },
	{ "spec", spec_cases },
	{ "list", list_cases },
	{ "format", format_cases },
	{ "attach", attach_cases },
	{ "detach", detach_cases },
	{ "explain", explain_cases },
	{ "check", check_cases },
	{ "budget", budget_cases },
	{ "top", top_cases },
	{ "watch", watch_cases },
	{ "set", set_cases },
};

static bool ok_so_far;

void unit_check(bool ok, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		return;
	ok_so_far = false;
	printf("  %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

void unit_same_text(const char *got, const char *want, const char *file, int line)
{
	bool same = got && want ? !strcmp(got, want) : got == want;

	unit_check(same, file, line, "got\n%s\nexpected\n%s", got ? got : "(null)",
		   want ? want : "(null)");
}

void unit_contains(const char *text, const char *part, bool wanted, const char *file, int line)
{
	unit_check(text && !!strstr(text, part) == wanted, file, line, "\"%s\" %s in\n%s", part,
		   wanted ? "not found" : "found", text ? text : "(null)");
}

static bool run_case(const struct unit_case *k, const char *name)
{
	ok_so_far = true;
	fake_reset();
	k->run();
	fake_reset();
	printf("%s %s\n", ok_so_far ? "pass" : "FAIL", name);
	return ok_so_far;
}

int main(int argc, char **argv)
{
	unsigned int passed = 0, failed = 0, skipped = 0;
	const struct unit_case *k;
	char name[128];
	size_t i;

	for (i = 0; i < sizeof(suites) / sizeof(*suites); i++) {
		for (k = suites[i].cases; k->name; k++) {
			snprintf(name, sizeof(name), "%s.%s", suites[i].name, k->name);
			if (argc > 1 && !strstr(name, argv[1])) {
				skipped++;
				continue;
			}
			if (run_case(k, name))
				passed++;
			else
				failed++;
		}
	}
	printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	return failed || !passed;
}

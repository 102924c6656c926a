// SPDX-License-Identifier: GPL-2.0
/*
 * A window of time for who counts outside of the machine, see test/bench.
 *
 * usage: window MS [FILE...]
 *
 * Prints "ns", the length of the window, and for each FILE a line of its name,
 * its text before and its text after, apart by tabs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../../bench/mark.h"

#define FILES	32
#define TEXT	256

static void read_text(const char *path, char *text)
{
	FILE *f = fopen(path, "r");
	size_t n = 0;

	if (f) {
		n = fread(text, 1, TEXT - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void counted(unsigned long ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	__asm__ volatile("nopl %c0(%%rax)" : : "i"(MARK_START) : "memory");
	nanosleep(&t, NULL);
	__asm__ volatile("nopl %c0(%%rax)" : : "i"(MARK_STOP) : "memory");
}

int main(int argc, char **argv)
{
	static char before[FILES][TEXT], after[FILES][TEXT];
	unsigned long ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	int i, n = argc - 2;
	uint64_t start, end;

	if (!ms || n > FILES) {
		fprintf(stderr, "usage: window MS [FILE...], at most %d files\n", FILES);
		return 2;
	}
	for (i = 0; i < n; i++)
		read_text(argv[i + 2], before[i]);
	start = now();
	counted(ms);
	end = now();
	for (i = 0; i < n; i++)
		read_text(argv[i + 2], after[i]);
	printf("ns\t%llu\n", (unsigned long long)(end - start));
	for (i = 0; i < n; i++)
		printf("%s\t%s\t%s\n", argv[i + 2], before[i], after[i]);
	return 0;
}

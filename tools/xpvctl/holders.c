// SPDX-License-Identifier: GPL-2.0
/*
 * holders.c: who may hold pages of a dead domain: backend devices that serve
 * it, and programs that have the grant device open. The kernel does not tell
 * which program mapped whose page, so those are candidates. Reads sysfs and
 * proc only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "holders.h"
#include "text.h"

static void append(char **text, char *word)
{
	char *longer = *text ? xasprintf("%s, %s", *text, word) : xstrdup(word);

	free(*text);
	free(word);
	*text = longer;
}

/* "vif-7-0" serves domain 7. */
static bool serves(const char *device, unsigned int domid)
{
	const char *dash = strchr(device, '-');
	unsigned int found;
	char mark;

	return dash && sscanf(dash, "-%u%c", &found, &mark) == 2 && mark == '-' &&
		found == domid;
}

static void add_devices(unsigned int domid, char **text)
{
	size_t n, i;
	char **list = host_list_dir("/sys/bus/xen-backend/devices", &n);

	for (i = 0; i < n; i++)
		if (serves(list[i], domid))
			append(text, xasprintf("device %s", list[i]));
	text_free_list(list, n);
}

static bool has_gntdev(const char *pid)
{
	char *dir = xasprintf("/proc/%s/fd", pid), *path, *target;
	bool found = false;
	size_t n, i;
	char **list = host_list_dir(dir, &n);

	for (i = 0; i < n && !found; i++) {
		path = xasprintf("%s/%s", dir, list[i]);
		target = host_link_name(path);
		found = target && !strcmp(target, "gntdev");
		free(target);
		free(path);
	}
	text_free_list(list, n);
	free(dir);
	return found;
}

static void add_programs(char **text)
{
	uint32_t pid;
	size_t n, i;
	char **list = host_list_dir("/proc", &n), *path, *comm, *shown;

	for (i = 0; i < n; i++) {
		if (!text_u32(list[i], UINT32_MAX, &pid) || !has_gntdev(list[i]))
			continue;
		path = xasprintf("/proc/%s/comm", list[i]);
		comm = host_read_line(path);
		shown = text_escape(comm ? comm : "?", TEXT_SHOWN);
		append(text, xasprintf("perhaps process %u (%s)", pid, shown));
		free(shown);
		free(comm);
		free(path);
	}
	text_free_list(list, n);
}

char *holders_text(unsigned int domid)
{
	char *text = NULL;

	add_devices(domid, &text);
	add_programs(&text);
	return text;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * host.h: what this tool asks of the machine besides xenstore: time, files in
 * sysfs, network counters, scripts, the hypervisor's view of a domain. The
 * unit tests link a fake of this header.
 */
#ifndef XPVCTL_HOST_H
#define XPVCTL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t host_now_ms(void);
uint64_t host_wall_ms(void);	/* since 1970 */
void host_pause_ms(unsigned int ms);

/* 0 when readable or when @ms have passed, EINTR by a signal, or an errno. */
int host_wait_readable(int fd, unsigned int ms);

/* Lets SIGINT and SIGTERM end a wait, so that work half done can be undone. */
void host_catch_signals(void);

/* Processors online in this domain, and memory that is free. */
unsigned int host_cpus(void);
uint64_t host_free_kib(void);

/* A text file up to 1 MiB, or NULL. */
char *host_read_file(const char *path);

/* 0 or an errno. */
int host_random(void *buf, size_t n);

/* The first line of a small file, or NULL. */
char *host_read_line(const char *path);
/* The last component of where a symbolic link points, or NULL. */
char *host_link_name(const char *path);
/* Names in a directory, sorted, without those starting with a dot. */
char **host_list_dir(const char *path, size_t *n);

enum file_kind { FILE_NONE, FILE_BLOCK, FILE_REGULAR, FILE_OTHER };

enum file_kind host_file_kind(const char *path);

struct counter {
	char name[40];
	uint64_t value;
};

/* The driver's counters of a network interface; 0 when there are none. */
size_t host_net_counters(const char *ifname, struct counter **counters);

/*
 * Runs @argv[0] with the NULL-terminated "NAME=value" list @env added, input
 * from /dev/null, output to standard error. 0 and the exit status, ETIMEDOUT
 * after @seconds (the script is then killed), or an errno. Signals do not cut
 * it short: a script killed half way leaves locks behind.
 */
int host_run(const char *const *argv, const char *const *env, unsigned int seconds, int *status);

struct domain_info {
	bool dying;
	bool paused;
	bool pv;
	unsigned int width;	/* bytes of a word of a PV guest: 4 or 8 */
};

/* 0; ENOENT: no such domain; any other errno: the hypervisor does not say. */
int host_domain_info(unsigned int domid, struct domain_info *info);

/* 0 and the pages of a domain's grant table, now and at most; or an errno. */
int host_grant_frames(unsigned int domid, unsigned int *frames, unsigned int *max);

struct domain_entry {
	unsigned int domid;
	bool dying;
	uint64_t pages;
};

/* 0 and every domain Xen knows, the dying too; or an errno. */
int host_domains(struct domain_entry **list, size_t *n);

#endif

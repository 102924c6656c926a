// SPDX-License-Identifier: GPL-2.0
/*
 * host.c: the machine below: clock, sysfs, ethtool, child processes,
 * libxenctrl. Decides nothing about devices. Called from the commands;
 * replaced as a whole in the unit tests.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xenctrl.h>
#include <xentoollog.h>

#include "host.h"
#include "text.h"

#define MAX_FILE (1 << 20)

static volatile sig_atomic_t interrupted;

uint64_t host_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

uint64_t host_wall_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

void host_pause_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&ts, NULL);
}

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

void host_catch_signals(void)
{
	/* SA_RESETHAND: the second Ctrl-C ends the program at once. */
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

int host_wait_readable(int fd, unsigned int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	/* Reported once: undoing what was begun must be able to wait again. */
	if (!interrupted && poll(&p, 1, ms) < 0 && errno != EINTR)
		return errno;
	if (!interrupted)
		return 0;
	interrupted = 0;
	return EINTR;
}

int host_random(void *buf, size_t n)
{
	return getrandom(buf, n, 0) == (ssize_t)n ? 0 : EIO;
}

unsigned int host_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? n : 1;
}

uint64_t host_free_kib(void)
{
	long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 ? (uint64_t)pages * size / 1024 : 0;
}

char *host_read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;

	if (!f)
		return NULL;
	text = xcalloc(1, MAX_FILE + 1);
	n = fread(text, 1, MAX_FILE, f);
	text[n] = '\0';
	if (ferror(f)) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

char *host_read_line(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[256], *s = NULL;

	if (!f)
		return NULL;
	if (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		s = xstrdup(line);
	}
	fclose(f);
	return s;
}

char *host_link_name(const char *path)
{
	char target[512];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	char *slash;

	if (n < 0)
		return NULL;
	target[n] = '\0';
	slash = strrchr(target, '/');
	return xstrdup(slash ? slash + 1 : target);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **host_list_dir(const char *path, size_t *n)
{
	DIR *dir = opendir(path);
	char **list = NULL;
	struct dirent *e;

	*n = 0;
	if (!dir)
		return NULL;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		list = xgrow(list, *n + 1, sizeof(*list));
		list[(*n)++] = xstrdup(e->d_name);
	}
	closedir(dir);
	if (list)
		qsort(list, *n, sizeof(*list), by_name);
	return list;
}

enum file_kind host_file_kind(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return FILE_NONE;
	if (S_ISBLK(st.st_mode))
		return FILE_BLOCK;
	return S_ISREG(st.st_mode) ? FILE_REGULAR : FILE_OTHER;
}

/* The child's half of host_run(): never returns. */
static void child(const char *const *argv, const char *const *env)
{
	int null = open("/dev/null", O_RDONLY);

	/* Its own process group, so that a time-out also ends its children. */
	setpgid(0, 0);
	if (null < 0 || dup2(null, 0) < 0 || dup2(2, 1) < 0)
		_exit(126);
	for (; *env; env++)
		putenv((char *)*env);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

int host_run(const char *const *argv, const char *const *env, unsigned int seconds, int *status)
{
	uint64_t end = host_now_ms() + seconds * 1000ull;
	pid_t pid, r;
	int st;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return errno;
	if (!pid)
		child(argv, env);
	for (;;) {
		r = waitpid(pid, &st, WNOHANG);
		if (r == pid)
			break;
		if (host_now_ms() >= end) {
			kill(-pid, SIGKILL);
			waitpid(pid, &st, 0);
			return ETIMEDOUT;
		}
		host_pause_ms(10);
	}
	*status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
	return 0;
}

static xc_interface *open_hypervisor(void)
{
	static xentoollog_logger_stdiostream *quiet;
	static xc_interface *xch;

	/* The library's own complaints would come before ours; keep them out. */
	if (!quiet)
		quiet = xtl_createlogger_stdiostream(stderr, XTL_CRITICAL, 0);
	if (!xch)
		xch = xc_interface_open((xentoollog_logger *)quiet, NULL, 0);
	return xch;
}

int host_domain_info(unsigned int domid, struct domain_info *info)
{
	xc_interface *xch = open_hypervisor();
	xc_domaininfo_t di;
	int r;

	if (!xch)
		return EPERM;
	r = xc_domain_getinfolist(xch, domid, 1, &di);
	if (r < 0)
		return errno == ENOENT || errno == ESRCH ? ENOENT : EPERM;
	if (!r || di.domain != domid)
		return ENOENT;
	info->dying = di.flags & XEN_DOMINF_dying;
	info->paused = di.flags & XEN_DOMINF_paused;
	info->pv = !(di.flags & XEN_DOMINF_hvm_guest);
	info->width = sizeof(void *);
	xc_domain_get_guest_width(xch, domid, &info->width);
	return 0;
}

int host_grant_frames(unsigned int domid, unsigned int *frames, unsigned int *max)
{
	struct gnttab_query_size query = { .dom = domid };
	xc_interface *xch = open_hypervisor();

	if (!xch || xc_gnttab_query_size(xch, &query) || query.status != GNTST_okay)
		return EPERM;
	*frames = query.nr_frames;
	*max = query.max_nr_frames;
	return 0;
}

int host_domains(struct domain_entry **list, size_t *n)
{
	xc_interface *xch = open_hypervisor();
	xc_domaininfo_t di[64];
	unsigned int next = 0;
	int got, i;

	*list = NULL;
	*n = 0;
	if (!xch)
		return EPERM;
	do {
		got = xc_domain_getinfolist(xch, next, 64, di);
		if (got < 0) {
			free(*list);
			return EPERM;
		}
		*list = xgrow(*list, *n + got + 1, sizeof(**list));
		for (i = 0; i < got; i++) {
			(*list)[(*n)++] = (struct domain_entry){
				.domid = di[i].domain,
				.dying = di[i].flags & XEN_DOMINF_dying,
				.pages = di[i].tot_pages,
			};
			next = di[i].domain + 1;
		}
	} while (got == 64);
	return 0;
}

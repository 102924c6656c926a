// SPDX-License-Identifier: GPL-2.0
/*
 * fake_host.c: a machine in place of host.c. Its clock moves only while the
 * tool waits; scripts are functions of the case.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "text.h"

struct fake_host fake_host;

void fake_reset(void)
{
	fake_store_reset();
	memset(&fake_host, 0, sizeof(fake_host));
	fake_host.domain.pv = true;
	fake_host.domain.width = 8;
	fake_host.file = FILE_BLOCK;
}

uint64_t host_now_ms(void)
{
	return fake_host.now_ms;
}

int host_wait_readable(int fd, unsigned int ms)
{
	(void)fd;
	if (fake_host.signal) {
		fake_host.signal = false;
		return EINTR;
	}
	fake_host.now_ms += ms < 10 ? ms : 10;
	if (fake_host.on_wait)
		fake_host.on_wait();
	return 0;
}

uint64_t host_wall_ms(void)
{
	return 1000000 + fake_host.now_ms;
}

void host_pause_ms(unsigned int ms)
{
	fake_host.now_ms += ms;
	if (fake_host.on_pause)
		fake_host.on_pause();
}

void host_catch_signals(void)
{
}

unsigned int host_cpus(void)
{
	return 4;
}

uint64_t host_free_kib(void)
{
	return 1000000;
}

char *host_read_file(const char *path)
{
	(void)path;
	return fake_host.text ? xstrdup(fake_host.text) : NULL;
}

int host_random(void *buf, size_t n)
{
	memset(buf, 0xa5, n);
	return 0;
}

char *host_read_line(const char *path)
{
	const char *const *f;

	for (f = fake_host.files; f && *f; f += 2)
		if (!strcmp(f[0], path))
			return xstrdup(f[1]);
	return NULL;
}

char *host_link_name(const char *path)
{
	const char *last = strrchr(path, '/') + 1;
	const char *const *f;
	const char *name;

	for (f = fake_host.links; f && *f; f += 2)
		if (!strcmp(f[0], path))
			return xstrdup(f[1]);
	if (strncmp(path, "/sys/bus/xen-backend/", 21))
		return NULL;
	name = !strcmp(last, "module") ? fake_host.module : fake_host.driver;
	return name ? xstrdup(name) : NULL;
}

/* The names of one level below @path, each once. */
static char **list_below(const char *const *pairs, const char *path, char **list, size_t *n)
{
	size_t len = strlen(path), part, i;
	const char *name;

	for (; pairs && *pairs; pairs += 2) {
		if (strncmp(*pairs, path, len) || (*pairs)[len] != '/')
			continue;
		name = *pairs + len + 1;
		part = strcspn(name, "/");
		for (i = 0; i < *n; i++)
			if (strlen(list[i]) == part && !strncmp(list[i], name, part))
				break;
		if (i < *n)
			continue;
		list = xgrow(list, *n + 1, sizeof(*list));
		list[(*n)++] = xasprintf("%.*s", (int)part, name);
	}
	return list;
}

char **host_list_dir(const char *path, size_t *n)
{
	char **list = NULL;

	*n = 0;
	list = list_below(fake_host.files, path, list, n);
	return list_below(fake_host.links, path, list, n);
}

enum file_kind host_file_kind(const char *path)
{
	const char *const *f;

	for (f = fake_host.absent; f && *f; f++)
		if (!strcmp(*f, path))
			return FILE_NONE;
	return fake_host.file;
}

size_t host_net_counters(const char *ifname, struct counter **counters)
{
	*counters = NULL;
	if (strcmp(ifname, "vif1.0"))
		return 0;
	*counters = xcalloc(1, sizeof(**counters));
	strcpy((*counters)->name, "tx_copied");
	(*counters)->value = 42;
	return 1;
}

int host_run(const char *const *argv, const char *const *env, unsigned int seconds, int *status)
{
	(void)seconds;
	fake_host.scripts++;
	if (fake_host.script_error)
		return fake_host.script_error;
	*status = fake_host.on_script ? fake_host.on_script(argv, env) : 0;
	return 0;
}

int host_domain_info(unsigned int domid, struct domain_info *info)
{
	*info = fake_host.domain;
	if (fake_host.gone && domid == fake_host.gone)
		return ENOENT;
	return fake_host.domain_error;
}

int host_domains(struct domain_entry **list, size_t *n)
{
	*list = NULL;
	*n = 0;
	if (!fake_host.domains)
		return EPERM;
	*list = xcalloc(fake_host.nr_domains, sizeof(**list));
	memcpy(*list, fake_host.domains, fake_host.nr_domains * sizeof(**list));
	*n = fake_host.nr_domains;
	return 0;
}

int host_grant_frames(unsigned int domid, unsigned int *frames, unsigned int *max)
{
	(void)domid;
	*frames = fake_host.grant_frames;
	*max = 64;
	return fake_host.grant_frames ? 0 : EPERM;
}

void capture_start(struct capture *cap)
{
	memset(cap, 0, sizeof(*cap));
	cap->c.opt.timeout_ms = 10000;
	cap->c.out = open_memstream(&cap->out, &cap->out_len);
	cap->c.err = open_memstream(&cap->err, &cap->err_len);
}

void capture_end(struct capture *cap)
{
	fclose(cap->c.out);
	fclose(cap->c.err);
}

void capture_free(struct capture *cap)
{
	free(cap->out);
	free(cap->err);
}

int run(struct capture *cap, int (*cmd)(struct ctx *c, int argc, char **argv), ...)
{
	char *words[16];
	int n = 0, rc;
	va_list ap;

	va_start(ap, cmd);
	while (n < 16 && (words[n] = va_arg(ap, char *)))
		n++;
	va_end(ap);
	rc = ctx_open(&cap->c);
	if (!rc)
		rc = cmd(&cap->c, n, words);
	ctx_close(&cap->c);
	capture_end(cap);
	return rc;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * ethtool.c: the private counters of a network driver, by the ethtool ioctl.
 * Part of host.h, in a file of its own because of the kernel headers it needs.
 */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host.h"
#include "text.h"

/* A driver with more than this is not believed. */
#define MAX_COUNTERS 65536

static bool ask(int fd, const char *ifname, void *cmd)
{
	struct ifreq ifr = { .ifr_data = cmd };

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	return !ioctl(fd, SIOCETHTOOL, &ifr);
}

static unsigned int count_counters(int fd, const char *ifname)
{
	struct {
		struct ethtool_sset_info info;
		__u32 len[1];
	} req = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_STATS } };

	if (!ask(fd, ifname, &req) || !req.info.sset_mask || req.len[0] > MAX_COUNTERS)
		return 0;
	return req.len[0];
}

static void copy_counters(struct counter *to, const struct ethtool_gstrings *names,
			  const struct ethtool_stats *values, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		snprintf(to[i].name, sizeof(to[i].name), "%.*s", ETH_GSTRING_LEN,
			 (const char *)names->data + i * ETH_GSTRING_LEN);
		to[i].value = values->data[i];
	}
}

size_t host_net_counters(const char *ifname, struct counter **counters)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_gstrings *names = NULL;
	struct ethtool_stats *values = NULL;
	unsigned int n = 0;
	bool ok = false;

	*counters = NULL;
	if (fd < 0)
		goto out;
	n = count_counters(fd, ifname);
	if (!n)
		goto out;
	names = xcalloc(1, sizeof(*names) + n * ETH_GSTRING_LEN);
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = n;
	values = xcalloc(1, sizeof(*values) + n * sizeof(values->data[0]));
	values->cmd = ETHTOOL_GSTATS;
	values->n_stats = n;
	ok = ask(fd, ifname, names) && ask(fd, ifname, values) &&
		names->len == n && values->n_stats == n;
	if (!ok)
		goto out;
	*counters = xcalloc(n, sizeof(**counters));
	copy_counters(*counters, names, values, n);
out:
	free(names);
	free(values);
	if (fd >= 0)
		close(fd);
	return ok ? n : 0;
}

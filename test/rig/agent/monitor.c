// SPDX-License-Identifier: GPL-2.0
/*
 * Says one line to QEMU's human monitor and prints the answer.  Used to save
 * and load the machine; cases never need it.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "frame.h"

static const char prompt[] = "(qemu) ";

/* Reads up to the next prompt; the text before it is left in b. */
static int read_answer(int fd, struct buf *b, long long deadline)
{
	const size_t len = sizeof(prompt) - 1;
	char tmp[4096];

	b->len = 0;
	while (b->len < len || memcmp(b->data + b->len - len, prompt, len)) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (now_ms() > deadline)
			return -1;
		if (poll(&pfd, 1, 200) <= 0)
			continue;
		n = read(fd, tmp, sizeof(tmp));
		if (n <= 0)
			return -1;
		buf_add(b, tmp, n);
	}
	b->len -= len;
	return 0;
}

int monitor_main(const char *path, unsigned int seconds, const char *cmd)
{
	long long deadline = now_ms() + seconds * 1000LL;
	struct buf b = {};
	char *text;
	int fd = connect_to(path);

	if (fd < 0 || read_answer(fd, &b, deadline))
		return AGENT_BROKEN;
	dprintf(fd, "%s\n", cmd);
	if (read_answer(fd, &b, deadline))
		return strcmp(cmd, "quit") ? AGENT_BROKEN : 0;
	/* The monitor echoes the command, with escape codes, as its first line. */
	text = b.len ? memchr(b.data, '\n', b.len) : NULL;
	if (text)
		write_all(1, text + 1, b.data + b.len - text - 1);
	return 0;
}

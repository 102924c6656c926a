// SPDX-License-Identifier: GPL-2.0
/*
 * Runs one shell command with a time limit and collects its output.  A
 * command has ended when its shell has exited; what it left running in the
 * background keeps running but is no longer listened to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

void buf_add(struct buf *b, const void *data, size_t len)
{
	if (b->len + len > b->cap) {
		b->cap = (b->len + len) * 2 + 256;
		b->data = realloc(b->data, b->cap);
		if (!b->data)
			abort();
	}
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
}

void buf_drop(struct buf *b, size_t len)
{
	b->len -= len;
	memmove(b->data, b->data + len, b->len);
}

void buf_free(struct buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

int read_all(int fd, struct buf *b)
{
	char tmp[65536];
	ssize_t n;

	while ((n = read(fd, tmp, sizeof(tmp))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || b->len + n > AGENT_MAX_INPUT)
			return -1;
		buf_add(b, tmp, n);
	}
	return 0;
}

int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd pfd = { .fd = fd, .events = POLLOUT };

			if (poll(&pfd, 1, 5000) <= 0)
				return -1;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

uint64_t random_id(void)
{
	uint64_t id = 0;

	/* Uniqueness is all that is asked, so a pool not yet ready will do. */
	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != sizeof(id))
		id = now_ms() * 2654435761u ^ (uint64_t)getpid() << 40;
	return id;
}

void set_nonblock(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void child(const char *cmd, int in, int out, int err)
{
	setsid();
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	signal(SIGPIPE, SIG_DFL);
	execl("/bin/sh", "sh", "-c", cmd, NULL);
	_exit(127);
}

static int input_fd(const void *in, size_t len)
{
	int fd;

	if (!len)
		return open("/dev/null", O_RDONLY);
	fd = memfd_create("stdin", 0);
	if (fd >= 0 && write_all(fd, in, len))
		return -1;
	lseek(fd, 0, SEEK_SET);
	return fd;
}

int run_start(struct run *r, const char *cmd, const void *in, size_t in_len, unsigned int seconds)
{
	int out[2], err[2], fd = input_fd(in, in_len);

	if (fd < 0 || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return -1;
	r->pid = fork();
	if (r->pid < 0)
		return -1;
	if (!r->pid)
		child(cmd, fd, out[1], err[1]);
	close(fd);
	close(out[1]);
	close(err[1]);
	set_nonblock(out[0]);
	set_nonblock(err[0]);
	r->out = out[0];
	r->err = err[0];
	r->deadline = now_ms() + seconds * 1000LL;
	r->killed = false;
	return 0;
}

static void drain(int *fd, struct buf *b)
{
	char tmp[16384];
	ssize_t n = 1;

	while (*fd >= 0 && b->len < AGENT_MAX_INPUT && n > 0) {
		n = read(*fd, tmp, sizeof(tmp));
		if (n > 0)
			buf_add(b, tmp, n);
	}
	if (*fd >= 0 && n == 0) {
		close(*fd);
		*fd = -1;
	}
}

void run_kill(struct run *r)
{
	if (kill(-r->pid, SIGKILL))
		kill(r->pid, SIGKILL);
	r->killed = true;
}

/*
 * Waits a moment for output, for input on extra_fd, or for the end.  True at
 * the end, with the exit status as a shell would give it.
 */
bool run_poll(struct run *r, int extra_fd, struct buf *out, struct buf *err, int *status)
{
	struct pollfd pfd[3] = {
		{ .fd = r->out, .events = POLLIN },
		{ .fd = r->err, .events = POLLIN },
		{ .fd = extra_fd, .events = POLLIN },
	};
	int wstatus;

	/* The child's end does not wake poll() if it left a pipe open. */
	poll(pfd, 3, 20);
	if (!r->killed && now_ms() > r->deadline) {
		run_kill(r);
		*status = AGENT_TIMEOUT;
	}
	drain(&r->out, out);
	drain(&r->err, err);
	if (waitpid(r->pid, &wstatus, WNOHANG) != r->pid)
		return false;
	drain(&r->out, out);
	drain(&r->err, err);
	if (r->out >= 0)
		close(r->out);
	if (r->err >= 0)
		close(r->err);
	if (r->killed)
		*status = AGENT_TIMEOUT;
	else
		*status = WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 128 + WTERMSIG(wstatus);
	return true;
}

void request_pack(struct buf *b, unsigned int seconds, const char *cmd, const struct buf *in)
{
	uint32_t limit = seconds;

	buf_add(b, &limit, sizeof(limit));
	buf_add(b, cmd, strlen(cmd) + 1);
	buf_add(b, in->data, in->len);
}

int request_start(struct run *r, const struct buf *b)
{
	uint32_t limit;
	size_t len;

	if (b->len < sizeof(limit) + 1)
		return -1;
	memcpy(&limit, b->data, sizeof(limit));
	len = strnlen(b->data + sizeof(limit), b->len - sizeof(limit)) + 1 + sizeof(limit);
	if (len > b->len)
		return -1;
	return run_start(r, b->data + sizeof(limit), b->data + len, b->len - len, limit);
}

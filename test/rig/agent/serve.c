// SPDX-License-Identifier: GPL-2.0
/*
 * dom0's end of the virtio-serial port, and the host's end of the socket
 * behind it.  The bytes arrive unharmed, but either end may start listening
 * in the middle of a conversation: a host client killed half-way, a machine
 * state loaded while another client was connected.  So every frame carries a
 * magic and the id of its request, and readers skip what is not theirs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent.h"
#include "frame.h"

static int send_frame(int fd, uint64_t id, uint32_t type, const void *data, size_t len)
{
	struct frame f = { .magic = FRAME_MAGIC, .type = type, .id = id, .len = len };
	struct buf b = {};
	int err;

	/* In one write: nothing comes between head and body. */
	buf_add(&b, &f, sizeof(f));
	buf_add(&b, data, len);
	err = write_all(fd, b.data, b.len);
	buf_free(&b);
	return err;
}

static int send_output(int fd, uint64_t id, uint32_t type, struct buf *b)
{
	while (b->len) {
		size_t n = b->len < 65536 ? b->len : 65536;

		if (send_frame(fd, id, type, b->data, n))
			return -1;
		buf_drop(b, n);
	}
	return 0;
}

/*
 * How long the port must say "nobody is there" before that is believed.  The
 * word comes on another queue than the data: the request of the next client can
 * be read, and its command run, before the leaving of the last one is heard of.
 */
#define GONE_MS	2000

/* Finds the first whole frame in b; drops what cannot be one. */
static bool take_frame(struct buf *b, struct frame *f, struct buf *body)
{
	const uint32_t magic = FRAME_MAGIC;

	for (;;) {
		char *at = b->len ? memmem(b->data, b->len, &magic, sizeof(magic)) : NULL;

		if (!at) {
			if (b->len > 3)
				buf_drop(b, b->len - 3);
			return false;
		}
		buf_drop(b, at - b->data);
		if (b->len < sizeof(*f))
			return false;
		memcpy(f, b->data, sizeof(*f));
		if (f->len > AGENT_MAX_INPUT) {
			buf_drop(b, 1);
			continue;
		}
		if (b->len < sizeof(*f) + f->len)
			return false;
		body->len = 0;
		buf_add(body, b->data + sizeof(*f), f->len);
		buf_drop(b, sizeof(*f) + f->len);
		return true;
	}
}

/* Has the client been gone for long?  *since is when that began, 0 if not. */
static bool peer_gone(int fd, long long *since)
{
	struct pollfd pfd = { .fd = fd, .events = 0 };

	if (poll(&pfd, 1, 0) != 1 || !(pfd.revents & POLLHUP)) {
		*since = 0;
		return false;
	}
	if (!*since)
		*since = now_ms();
	return now_ms() - *since > GONE_MS;
}

static void serve_request(int fd, uint64_t id, const struct buf *body)
{
	struct buf out = {}, err = {};
	long long gone = 0;
	uint32_t code = 127;
	struct run r;
	int status = 0;

	if (request_start(&r, body) == 0) {
		while (!run_poll(&r, -1, &out, &err, &status)) {
			if (send_output(fd, id, FRAME_OUT, &out) ||
			    send_output(fd, id, FRAME_ERR, &err) || peer_gone(fd, &gone))
				run_kill(&r);
		}
		code = status;
	}
	if (!send_output(fd, id, FRAME_OUT, &out) && !send_output(fd, id, FRAME_ERR, &err))
		send_frame(fd, id, FRAME_EXIT, &code, sizeof(code));
	buf_free(&out);
	buf_free(&err);
}

int serve_main(const char *port)
{
	struct buf in = {}, body = {};
	long long gone = 0;
	char tmp[65536];
	int fd = open(port, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		perror(port);
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		ssize_t n = read(fd, tmp, sizeof(tmp));
		struct frame f;

		if (n <= 0) {
			/* No client: in the end what it left half said is void. */
			if (peer_gone(fd, &gone))
				in.len = 0;
			usleep(10000);
			continue;
		}
		gone = 0;
		buf_add(&in, tmp, n);
		while (take_frame(&in, &f, &body))
			if (f.type == FRAME_REQUEST)
				serve_request(fd, f.id, &body);
	}
}

int connect_to(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(sa.sun_path))
		return -1;
	strcpy(sa.sun_path, path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* True when the request has ended; its output goes where ours goes. */
static bool host_frame(const struct frame *f, const struct buf *body, int *status)
{
	uint32_t code;

	switch (f->type) {
	case FRAME_OUT:
		write_all(1, body->data, body->len);
		return false;
	case FRAME_ERR:
		write_all(2, body->data, body->len);
		return false;
	case FRAME_EXIT:
		if (body->len != sizeof(code))
			return false;
		memcpy(&code, body->data, sizeof(code));
		*status = code;
		return true;
	}
	return false;
}

int call_main(const char *path, unsigned int seconds, const char *cmd, const struct buf *in)
{
	/* With -icount the clock inside is many times slower than ours. */
	const char *slower = getenv("RIG_SLOWER");
	long long deadline = now_ms() + (seconds + 10) * 1000LL * (slower ? atoi(slower) : 1);
	struct buf got = {}, body = {};
	uint64_t id = random_id();
	int status = AGENT_BROKEN;
	char tmp[65536];
	int fd;

	fd = connect_to(path);
	if (fd < 0)
		return AGENT_BROKEN;
	request_pack(&body, seconds, cmd, in);
	if (send_frame(fd, id, FRAME_REQUEST, body.data, body.len))
		return AGENT_BROKEN;
	while (now_ms() < deadline) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		struct frame f;
		ssize_t n;

		if (poll(&pfd, 1, 200) <= 0)
			continue;
		n = read(fd, tmp, sizeof(tmp));
		if (n <= 0)
			break;
		buf_add(&got, tmp, n);
		while (take_frame(&got, &f, &body))
			if (f.id == id && host_frame(&f, &body, &status))
				return status;
	}
	return AGENT_BROKEN;
}

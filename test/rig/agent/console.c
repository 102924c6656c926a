// SPDX-License-Identifier: GPL-2.0
/*
 * Both ends of the guest's PV console, hvc0.  The kernel of the guest writes
 * its log there too, in the middle of our lines if it likes, so a message is
 * cut into short lines, each with direction, request id, place and checksum:
 *
 *   ~rig< ID q I N BASE64 CRC     dom0: piece I of N of request ID
 *   ~rig< ID g CRC                dom0: where is the answer to ID?
 *   ~rig> ID a I N BASE64 CRC     guest: piece I of N of the answer
 *   ~rig> ID w CRC                guest: ID is still running
 *   ~rig> ID n CRC                guest: ID is not known, say it again
 *
 * A damaged line is as good as lost: dom0 asks again, the guest repeats.  A
 * request runs once however often it is said.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "agent.h"

#define PIECE		540
#define MAX_PIECES	20000
#define MAX_LINE	1024
#define QUIET_MS	1500	/* silence after which dom0 asks again */
#define GRACE_MS	45000	/* silence after which dom0 gives up */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static uint32_t crc32(const char *p, size_t len)
{
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= (unsigned char)*p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static size_t encode(char *to, const unsigned char *from, size_t len)
{
	char *p = to;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = from[i] << 16;

		if (i + 1 < len)
			v |= from[i + 1] << 8;
		if (i + 2 < len)
			v |= from[i + 2];
		*p++ = digits[v >> 18];
		*p++ = digits[v >> 12 & 63];
		*p++ = i + 1 < len ? digits[v >> 6 & 63] : '=';
		*p++ = i + 2 < len ? digits[v & 63] : '=';
	}
	return p - to;
}

static size_t decode(char *to, const char *from)
{
	uint32_t v = 0;
	size_t n = 0;
	int bits = 0;

	for (; *from && *from != '='; from++) {
		const char *d = strchr(digits, *from);

		if (!d)
			break;
		v = v << 6 | (d - digits);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			to[n++] = v >> bits;
		}
	}
	return n;
}

/* One message on its way in, piece by piece and in any order. */
struct message {
	uint64_t id;
	unsigned int pieces;
	unsigned int have;
	bool *seen;
	struct buf data;
	size_t last;
};

static void message_reset(struct message *m, uint64_t id, unsigned int pieces)
{
	free(m->seen);
	buf_free(&m->data);
	memset(m, 0, sizeof(*m));
	m->id = id;
	m->pieces = pieces;
	if (!pieces)
		return;
	m->seen = calloc(pieces, sizeof(*m->seen));
	m->data.cap = (size_t)pieces * PIECE;
	m->data.data = malloc(m->data.cap);
	if (!m->seen || !m->data.data)
		abort();
}

static bool message_complete(const struct message *m)
{
	return m->pieces && m->have == m->pieces;
}

static void message_piece(struct message *m, uint64_t id, unsigned int i, unsigned int n,
			  const char *text)
{
	char raw[MAX_LINE];
	size_t len = decode(raw, text);

	if (!n || n > MAX_PIECES || i >= n || len > PIECE || (i + 1 < n && len != PIECE))
		return;
	if (m->id != id || m->pieces != n)
		message_reset(m, id, n);
	if (m->seen[i])
		return;
	memcpy(m->data.data + (size_t)i * PIECE, raw, len);
	m->seen[i] = true;
	m->have++;
	if (i + 1 == n)
		m->data.len = (size_t)i * PIECE + len;
}

static int say(int fd, char dir, uint64_t id, const char *rest)
{
	char line[MAX_LINE + 64];
	int len = snprintf(line, sizeof(line), "~rig%c %016" PRIx64 " %s ", dir, id, rest);

	len += snprintf(line + len, sizeof(line) - len, "%08x\n", crc32(line, len));
	/* A line feed first: the log may have left its line unfinished. */
	if (write_all(fd, "\n", 1))
		return -1;
	return write_all(fd, line, len);
}

static int say_pieces(int fd, char dir, char kind, uint64_t id, const struct buf *b)
{
	unsigned int n = (b->len + PIECE - 1) / PIECE;
	char rest[MAX_LINE];

	for (unsigned int i = 0; i < n; i++) {
		size_t at = (size_t)i * PIECE;
		size_t len = b->len - at < PIECE ? b->len - at : PIECE;
		int head = sprintf(rest, "%c %u %u ", kind, i, n);

		head += encode(rest + head, (unsigned char *)b->data + at, len);
		rest[head] = 0;
		if (say(fd, dir, id, rest))
			return -1;
	}
	return 0;
}

struct line {
	uint64_t id;
	char kind;
	unsigned int i, n;
	char text[MAX_LINE];
};

/* Takes the next intact line of the other direction out of b. */
static bool take_line(struct buf *b, char dir, struct line *l)
{
	char *end;

	while (b->len && (end = memchr(b->data, '\n', b->len))) {
		char s[MAX_LINE + 64], *tail;
		size_t len = end - b->data;
		char *at = memmem(b->data, len, "~rig", 4);
		unsigned int crc;
		bool good = false;

		if (at && end - at < (long)sizeof(s)) {
			len = end - at;
			memcpy(s, at, len);
			while (len && s[len - 1] == '\r')
				len--;
			s[len] = 0;
			tail = strrchr(s, ' ');
			good = tail && sscanf(tail + 1, "%8x", &crc) == 1 && s[4] == dir &&
			       crc == crc32(s, tail + 1 - s);
		}
		buf_drop(b, end + 1 - b->data);
		if (!good)
			continue;
		l->i = 0;
		l->n = 0;
		l->text[0] = 0;
		if (sscanf(s + 5, " %16" SCNx64 " %c %u %u %1000s", &l->id, &l->kind, &l->i,
			   &l->n, l->text) >= 2)
			return true;
	}
	/* Nobody speaks that long without a line feed: noise. */
	if (b->len > 1 << 20)
		b->len = 0;
	return false;
}

static void make_raw(int fd)
{
	struct termios t;

	if (tcgetattr(fd, &t))
		return;
	cfmakeraw(&t);
	tcsetattr(fd, TCSANOW, &t);
}

/* 1: something was read; 0: nothing yet; -1: the other end is gone. */
static int fill(int fd, struct buf *b, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char tmp[4096];
	ssize_t n;

	if (poll(&pfd, 1, ms) <= 0)
		return 0;
	n = read(fd, tmp, sizeof(tmp));
	if (n > 0)
		buf_add(b, tmp, n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		return -1;
	return n > 0;
}

struct job {
	uint64_t id;
	bool running;
	bool done;
	struct run run;
	struct buf out;
	struct buf err;
	struct buf answer;
};

static void job_answer(struct job *j, int status)
{
	uint32_t head[2] = { status, j->out.len };

	buf_add(&j->answer, head, sizeof(head));
	buf_add(&j->answer, j->out.data, j->out.len);
	buf_add(&j->answer, j->err.data, j->err.len);
	j->running = false;
	j->done = true;
	say_pieces(1, '>', 'a', j->id, &j->answer);
}

static void job_start(struct job *j, const struct message *m)
{
	if (j->running || (j->done && j->id == m->id))
		return;
	buf_free(&j->out);
	buf_free(&j->err);
	buf_free(&j->answer);
	j->id = m->id;
	j->done = false;
	j->running = request_start(&j->run, &m->data) == 0;
	if (!j->running)
		job_answer(j, 127);
}

static void guest_line(struct job *j, struct message *m, const struct line *l)
{
	if (l->kind == 'q') {
		message_piece(m, l->id, l->i, l->n, l->text);
		if (message_complete(m))
			job_start(j, m);
		return;
	}
	if (l->kind != 'g')
		return;
	if (j->id == l->id && j->done)
		say_pieces(1, '>', 'a', j->id, &j->answer);
	else
		say(1, '>', l->id, j->id == l->id && j->running ? "w" : "n");
}

int console_main(void)
{
	struct message m = {};
	struct job j = {};
	struct buf in = {};
	struct line l;

	make_raw(0);
	set_nonblock(0);
	for (;;) {
		int status = 0;

		if (fill(0, &in, j.running ? 0 : 500) < 0)
			return 1;
		while (take_line(&in, '<', &l))
			guest_line(&j, &m, &l);
		if (j.running && run_poll(&j.run, 0, &j.out, &j.err, &status))
			job_answer(&j, status);
	}
}

static int guest_answer(const struct message *m)
{
	const char *p = m->data.data;
	uint32_t head[2];

	if (m->data.len < sizeof(head))
		return AGENT_BROKEN;
	memcpy(head, p, sizeof(head));
	if (head[1] > m->data.len - sizeof(head))
		return AGENT_BROKEN;
	p += sizeof(head);
	write_all(1, p, head[1]);
	write_all(2, p + head[1], m->data.len - sizeof(head) - head[1]);
	return head[0];
}

int guest_main(const char *tty, unsigned int seconds, const char *cmd, const struct buf *in)
{
	long long heard = now_ms(), asked = heard, limit = heard + seconds * 1000LL + GRACE_MS;
	long long grace = seconds * 1000LL > GRACE_MS ? seconds * 1000LL : GRACE_MS;
	struct buf request = {}, got = {};
	struct message answer = {};
	uint64_t id = random_id();
	int fd = open(tty, O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct line l;

	if (fd < 0)
		return AGENT_BROKEN;
	make_raw(fd);
	set_nonblock(fd);
	request_pack(&request, seconds, cmd, in);
	say_pieces(fd, '<', 'q', id, &request);
	while (now_ms() < limit && now_ms() - heard < grace) {
		if (fill(fd, &got, 200) < 0)
			break;
		while (take_line(&got, '>', &l)) {
			if (l.id != id)
				continue;
			/* Once it has spoken, a guest is not still booting. */
			heard = now_ms();
			grace = GRACE_MS;
			if (l.kind == 'n')
				say_pieces(fd, '<', 'q', id, &request);
			if (l.kind == 'a')
				message_piece(&answer, id, l.i, l.n, l.text);
		}
		if (message_complete(&answer))
			return guest_answer(&answer);
		if (now_ms() - heard > QUIET_MS && now_ms() - asked > QUIET_MS) {
			asked = now_ms();
			say(fd, '<', id, "g");
		}
	}
	fprintf(stderr, "agent: the guest behind %s is gone or does not answer\n", tty);
	return AGENT_BROKEN;
}

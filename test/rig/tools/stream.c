// SPDX-License-Identifier: GPL-2.0
/*
 * Sends and checks a stream whose every byte both ends can compute.  Between
 * two domains of one host no checksum of a packet is ever verified, so a
 * driver that copies the wrong bytes is invisible to TCP and iperf3; here it
 * is not.
 *
 *   stream listen PORT            TCP: take one connection, verify, report
 *   stream send ADDR PORT BYTES   TCP: connect and send
 *   stream ulisten PORT SECONDS   UDP: verify what arrives until the end mark
 *   stream usend ADDR PORT COUNT MAXSIZE [PER_SECOND]
 *
 * Writes and reads have sizes of 1 byte to 64 KiB in a fixed pseudo-random
 * order, so payload starts at every offset of a page.  Exit status 0: all
 * received and equal; 1: damaged, or for TCP short; 2: could not even try.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CHUNK	65536
#define END_SEQ	0xffffffffu

struct header {
	uint64_t bytes;		/* of the stream, or seq of a datagram */
	uint64_t seed;
};

/* A counter-based generator: byte i of stream s, cheap and without state. */
static uint64_t word_at(uint64_t seed, uint64_t i)
{
	uint64_t x = seed + i * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 29;
}

static unsigned char byte_at(uint64_t seed, uint64_t pos)
{
	return word_at(seed, pos >> 3) >> (pos & 7) * 8;
}

static void fill(unsigned char *p, uint64_t seed, uint64_t pos, size_t len)
{
	for (; len && (pos & 7); len--)
		*p++ = byte_at(seed, pos++);
	for (; len >= 8; len -= 8, pos += 8, p += 8) {
		uint64_t w = word_at(seed, pos >> 3);

		memcpy(p, &w, 8);
	}
	for (; len; len--)
		*p++ = byte_at(seed, pos++);
}

/* Position of the first wrong byte, or -1. */
static long differs(const unsigned char *p, uint64_t seed, uint64_t pos, size_t len)
{
	static unsigned char want[CHUNK];

	fill(want, seed, pos, len);
	if (!memcmp(p, want, len))
		return -1;
	for (size_t i = 0; i < len; i++)
		if (p[i] != want[i])
			return i;
	return -1;
}

static size_t odd_size(uint64_t *state, size_t max)
{
	uint64_t r = word_at(77, (*state)++);

	/* Half of them small, so that both short and full frames occur. */
	if (r & 1)
		max = max < 1500 ? max : 1500;
	return 1 + (r >> 8) % max;
}

static void fail(const char *what)
{
	fprintf(stderr, "stream: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int listener(int type, const char *port)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_port = htons(atoi(port)) };
	int fd = socket(AF_INET6, type, 0), on = 1, off = 0, room = 4 << 20;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (type == SOCK_DGRAM)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)))
		fail("bind");
	if (type == SOCK_STREAM && listen(fd, 8))
		fail("listen");
	return fd;
}

static socklen_t address(struct sockaddr_storage *ss, const char *host, const char *port)
{
	struct sockaddr_in6 *v6 = (void *)ss;
	struct sockaddr_in *v4 = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(atoi(port));
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(atoi(port));
		return sizeof(*v6);
	}
	fprintf(stderr, "stream: '%s' is not an address\n", host);
	exit(2);
}

static int connected(int type, const char *host, const char *port)
{
	struct sockaddr_storage ss;
	socklen_t len = address(&ss, host, port);
	int fd;

	/* The listener may have been started a moment ago. */
	for (int tries = 0; tries < 50; tries++) {
		fd = socket(ss.ss_family, type, 0);
		if (!connect(fd, (struct sockaddr *)&ss, len))
			return fd;
		close(fd);
		usleep(200000);
	}
	fail(host);
	return -1;
}

static bool read_exact(int fd, void *data, size_t len)
{
	char *p = data;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n <= 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

static int tcp_listen(const char *port)
{
	static unsigned char data[CHUNK];
	struct header h;
	uint64_t got = 0, state = 5;
	int fd = accept(listener(SOCK_STREAM, port), NULL, NULL);

	if (fd < 0 || !read_exact(fd, &h, sizeof(h)))
		fail("header");
	while (got < h.bytes) {
		ssize_t n = read(fd, data, odd_size(&state, CHUNK));
		long bad;

		if (n <= 0) {
			printf("short: %llu of %llu bytes\n", (unsigned long long)got,
			       (unsigned long long)h.bytes);
			return 1;
		}
		bad = differs(data, h.seed, got, n);
		if (bad >= 0) {
			printf("damaged: byte %llu of %llu\n", (unsigned long long)(got + bad),
			       (unsigned long long)h.bytes);
			return 1;
		}
		got += n;
	}
	/* Tells the sender that all is well, so that both ends exit 0. */
	if (write(fd, "+", 1) != 1)
		return 1;
	printf("good: %llu bytes\n", (unsigned long long)got);
	return 0;
}

static int tcp_send(const char *host, const char *port, uint64_t bytes)
{
	static unsigned char data[CHUNK];
	struct header h = { .bytes = bytes, .seed = time(NULL) };
	uint64_t pos = 0, state = 9;
	int fd = connected(SOCK_STREAM, host, port);
	char answer;

	if (write(fd, &h, sizeof(h)) != sizeof(h))
		fail("write");
	while (pos < bytes) {
		size_t len = odd_size(&state, CHUNK);
		ssize_t n;

		if (len > bytes - pos)
			len = bytes - pos;
		fill(data, h.seed, pos, len);
		n = write(fd, data, len);
		if (n <= 0)
			fail("write");
		pos += n;
	}
	if (!read_exact(fd, &answer, 1)) {
		puts("the receiver did not confirm");
		return 1;
	}
	return 0;
}

struct udp_result {
	unsigned long good, damaged, twice, reordered;
};

static void udp_check(struct udp_result *r, const unsigned char *p, size_t len, unsigned char *seen,
		      uint64_t *next)
{
	struct header h;

	if (len < sizeof(h)) {
		r->damaged++;
		return;
	}
	memcpy(&h, p, sizeof(h));
	if (h.bytes >= 1 << 22 ||
	    differs(p + sizeof(h), h.seed + h.bytes, 0, len - sizeof(h)) >= 0) {
		r->damaged++;
		return;
	}
	if (seen[h.bytes]) {
		r->twice++;
		return;
	}
	seen[h.bytes] = 1;
	if (h.bytes < *next)
		r->reordered++;
	else
		*next = h.bytes + 1;
	r->good++;
}

static int udp_listen(const char *port, int seconds)
{
	static unsigned char data[CHUNK], seen[1 << 22];
	struct timeval tv = { .tv_sec = seconds };
	int fd = listener(SOCK_DGRAM, port);
	struct udp_result r = {};
	uint64_t next = 0, sent = 0;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	while ((n = recv(fd, data, sizeof(data), 0)) >= 0) {
		struct header h;

		memcpy(&h, data, n >= (ssize_t)sizeof(h) ? sizeof(h) : 0);
		if (n == sizeof(h) && h.bytes >> 32 == END_SEQ) {
			sent = h.bytes & 0xffffffff;
			break;
		}
		udp_check(&r, data, n, seen, &next);
	}
	printf("sent %lu good %lu damaged %lu twice %lu reordered %lu\n", (unsigned long)sent,
	       r.good, r.damaged, r.twice, r.reordered);
	return !r.good || r.damaged || r.twice;
}

static int udp_send(const char *host, const char *port, unsigned int count, size_t max,
		    unsigned int per_second)
{
	static unsigned char data[CHUNK];
	struct header h = { .seed = time(NULL) };
	int fd = connected(SOCK_DGRAM, host, port);
	uint64_t state = 3;

	if (max < 32 || max > 65000)
		return 2;
	for (unsigned int i = 0; i < count; i++) {
		size_t len = odd_size(&state, max - sizeof(h));

		h.bytes = i;
		memcpy(data, &h, sizeof(h));
		fill(data + sizeof(h), h.seed + i, 0, len);
		if (send(fd, data, sizeof(h) + len, 0) < 0 && errno != ENOBUFS)
			fail("send");
		if (per_second)
			usleep(1000000 / per_second);
	}
	h.bytes = (uint64_t)END_SEQ << 32 | count;
	for (int i = 0; i < 5; i++) {
		usleep(200000);
		/* Refused once the receiver has taken the mark and left. */
		if (send(fd, &h, sizeof(h), 0) < 0)
			break;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "listen") && argc == 3)
		return tcp_listen(argv[2]);
	if (!strcmp(mode, "send") && argc == 5)
		return tcp_send(argv[2], argv[3], strtoull(argv[4], NULL, 0));
	if (!strcmp(mode, "ulisten") && argc == 4)
		return udp_listen(argv[2], atoi(argv[3]));
	if (!strcmp(mode, "usend") && (argc == 6 || argc == 7))
		return udp_send(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]),
				argc == 7 ? atoi(argv[6]) : 0);
	fputs("usage: stream listen PORT | send ADDR PORT BYTES |\n"
	      "       ulisten PORT SECONDS | usend ADDR PORT COUNT MAXSIZE [PER_SECOND]\n", stderr);
	return 2;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rig's agent: one static program that carries commands from the host
 * into dom0 and from dom0 into a guest, and brings output and exit status
 * back.  It is test equipment: it must never use the devices under test.
 *
 *   host                dom0                            guest
 *   agent call  ------  agent serve
 *         virtio-serial agent guest  -----------------  agent console
 *                                    PV console, hvc0
 *
 * main.c     dispatch, and the host's end
 * serve.c    dom0's end of the virtio port
 * console.c  both ends of the guest's console
 * monitor.c  the host's word with QEMU
 * run.c      running one command with a time limit
 */
#ifndef RIG_AGENT_H
#define RIG_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Exit statuses of our own, next to those of the command itself. */
#define AGENT_TIMEOUT	124	/* the command ran over its limit and was killed */
#define AGENT_BROKEN	125	/* the other end did not answer, or is gone */

#define AGENT_MAX_INPUT	(64u << 20)

struct buf {
	char *data;
	size_t len;
	size_t cap;
};

void buf_add(struct buf *b, const void *data, size_t len);
void buf_drop(struct buf *b, size_t len);
void buf_free(struct buf *b);
int read_all(int fd, struct buf *b);
int write_all(int fd, const void *data, size_t len);
long long now_ms(void);
uint64_t random_id(void);
void set_nonblock(int fd);

/* One running command.  out and err are -1 once closed. */
struct run {
	pid_t pid;
	int out;
	int err;
	long long deadline;
	bool killed;
};

int run_start(struct run *r, const char *cmd, const void *in, size_t in_len, unsigned int seconds);
bool run_poll(struct run *r, int extra_fd, struct buf *out, struct buf *err, int *status);
void run_kill(struct run *r);

int serve_main(const char *port);
int console_main(void);
int guest_main(const char *tty, unsigned int seconds, const char *cmd, const struct buf *in);

/* A request's body on either channel: limit, command, standard input. */
void request_pack(struct buf *b, unsigned int seconds, const char *cmd, const struct buf *in);
int request_start(struct run *r, const struct buf *b);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* What travels over the virtio-serial port; see serve.c. */
#ifndef RIG_FRAME_H
#define RIG_FRAME_H

#include <stdint.h>

#define FRAME_MAGIC	0x7e76901bu

enum frame_type {
	FRAME_REQUEST = 1,
	FRAME_OUT,
	FRAME_ERR,
	FRAME_EXIT,
};

struct frame {
	uint32_t magic;
	uint32_t type;
	uint64_t id;
	uint32_t len;
	uint32_t pad;
};

int connect_to(const char *path);
int call_main(const char *path, unsigned int seconds, const char *cmd, const struct buf *in);
int monitor_main(const char *path, unsigned int seconds, const char *cmd);

#endif

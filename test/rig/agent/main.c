// SPDX-License-Identifier: GPL-2.0
/* Command line of the rig's agent; agent.h has the picture. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "frame.h"

static int usage(void)
{
	fputs("usage: agent serve PORT                        in dom0: answer the host\n"
	      "       agent call [-i] SOCKET SECONDS CMD      on the host: run CMD in dom0\n"
	      "       agent monitor SOCKET SECONDS LINE       on the host: talk to QEMU's monitor\n"
	      "       agent console                           in a guest: answer dom0 on stdin/stdout\n"
	      "       agent guest [-i] TTY SECONDS CMD        in dom0: run CMD in a guest\n"
	      "\n"
	      "-i passes standard input on.  Exit status: that of CMD, 124 if it ran over\n"
	      "SECONDS and was killed, 125 if the other end is gone or does not answer.\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct buf in = {};

	signal(SIGPIPE, SIG_IGN);
	argv += 2;
	argc -= 2;
	if (argc > 0 && !strcmp(argv[0], "-i")) {
		if (read_all(0, &in)) {
			fputs("agent: standard input is too long\n", stderr);
			return 2;
		}
		argv++;
		argc--;
	}
	if (!strcmp(mode, "serve") && argc == 1)
		return serve_main(argv[0]);
	if (!strcmp(mode, "console") && argc == 0)
		return console_main();
	if (!strcmp(mode, "call") && argc == 3)
		return call_main(argv[0], atoi(argv[1]), argv[2], &in);
	if (!strcmp(mode, "monitor") && argc == 3)
		return monitor_main(argv[0], atoi(argv[1]), argv[2]);
	if (!strcmp(mode, "guest") && argc == 3)
		return guest_main(argv[0], atoi(argv[1]), argv[2], &in);
	return usage();
}

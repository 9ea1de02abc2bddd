/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `cameo agent` as a part of `cameo up`. */
#include <sys/types.h>

struct export_window;

struct agent_extra {
	int fd;       /* the server's end of this socket gets all windows (EXPORT_LOCAL) */
	pid_t server; /* its process: when that ends, so does the agent */
	/* Each window, before it is sent. From a thread of the agent's; or NULL. */
	void (*on_window)(void *ctx, const struct export_window *w);
	void *ctx;
};

/* @extra may be NULL. Returns an exit status. */
int cli_agent_with(int argc, char **argv, const struct agent_extra *extra);

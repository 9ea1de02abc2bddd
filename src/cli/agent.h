/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `cameo agent` as a part of `cameo up`. */
#include <sys/types.h>

struct agent_config_source;
struct export_window;

/*
 * The server process that an agent of `cameo up` feeds. It is borrowed until agent_run_command()
 * returns. on_window may read the window during the call only.
 */
struct agent_server {
	int fd;       /* a socket whose other end receives all windows (EXPORT_LOCAL) */
	pid_t server; /* when this process ends, so does the agent */
	/*
	 * Called from the agent's symbolizer thread with each window before it is exported; or
	 * NULL.
	 */
	void (*on_window)(void *ctx, const struct export_window *w);
	void *ctx;
};

/*
 * Reads the configuration from @source and profiles until SIGINT or SIGTERM, or until the agent
 * fails. @server may be NULL. Errors are printed. Must be called before the process starts threads,
 * because it blocks signals and drops privileges. Returns an exit status.
 */
int agent_run_command(const struct agent_config_source *source, const struct agent_server *server);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The exporter of `cameo agent`, made from its configuration. */
struct agent_config;
struct err;
struct exporter;
struct role_launcher;

struct agent_exporter_opts {
	const struct agent_config *config;
	int local_fd;              /* socket of the server of `cameo up`; -1: none */
	struct exporter *previous; /* whose unsent profiles the new one takes over; NULL: none */
	struct role_launcher *launcher;              /* see exporter_options.launcher */
	void (*log)(void *ctx, const char *message); /* see exporter_options.log; @ctx is NULL */
};

/*
 * Starts an exporter with all destinations of the configuration and the local server. @opts is
 * borrowed for the call. Returns 0; -EINVAL for no destination, or too many, with the reason; or
 * the error of exporter_new().
 */
int agent_exporter_open(struct exporter **out, const struct agent_exporter_opts *opts,
			struct err *err);

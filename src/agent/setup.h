/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Creates parts of the agent from its configuration, and sets process-wide limits. */
#include <stdbool.h>

struct agent_config;
struct err;
struct fetcher;
struct labeler;
struct process_info_store;
struct selector;

/* Returns 0; -EINVAL with the reason; -ENOMEM. */
int setup_process_info(struct process_info_store **out, const struct agent_config *c,
		       struct err *err);
int setup_selector(struct selector **out, const struct agent_config *c, struct err *err);
/* @fetcher, which is borrowed, queries the kubelet if one is configured. */
int setup_labeler(struct labeler **out, const struct agent_config *c, struct fetcher *fetcher,
		  struct err *err);

/* Returns true if the configuration names programs to scrape. */
bool setup_scrapes(const struct agent_config *c);

/* Returns true if cpu is among the labels. */
bool setup_has_cpu_label(const struct agent_config *c);

/*
 * The debuginfod URLs in one allocated text, separated by spaces; NULL: none. Returns 0 or -ENOMEM.
 */
int setup_debuginfod(char **out, const struct agent_config *c);

/* Sets the priority (see setpriority()) of all threads of this process but the calling one. */
void setup_lower_others(int priority);

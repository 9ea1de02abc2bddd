/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From what the agent is told to what its parts want. */
#include <stdbool.h>

struct agent_config;
struct err;
struct facts;
struct labeler;

/* 0; -EINVAL with the reason; -ENOMEM. */
int setup_facts(struct facts **out, const struct agent_config *c, struct err *err);
int setup_labeler(struct labeler **out, const struct agent_config *c, struct err *err);

/* Is the label cpu asked for? */
bool setup_wants_cpu(const struct agent_config *c);

/* The debuginfod URLs as one text with blanks between them; NULL: none. 0 or -ENOMEM. */
int setup_debuginfod(char **out, const struct agent_config *c);

/* All threads of this process but the calling one get this priority: setpriority(). */
void setup_lower_others(int priority);

/* Every executable that is mapped somewhere is kept open. */
void setup_file_limit(void);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The rules that decide which processes are profiled, as the process table sees them. */
#include <stdbool.h>

#include "process/process.h"

/*
 * Decides about a program. @exe is a path of its executable, "" if unknown. Returns 0, or -ESRCH to
 * keep the present decision because the program ended before it could be read.
 */
typedef int (*process_select_fn)(void *ctx, const struct process *program, const char *exe,
				 struct selection *out);

/* All zeros: everything is profiled. */
struct process_rules {
	process_select_fn select; /* NULL: everything is profiled */
	void *ctx;                /* borrowed */
	bool by_comm; /* a decision may depend on the name that a program gives itself */
	struct selection unknown; /* the decision about programs that the table does not know */
};

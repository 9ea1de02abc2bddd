/* SPDX-License-Identifier: Apache-2.0 */
#include "process/process_tree.h"

#include <stddef.h>

#include "base/vec.h"
#include "proc/descendants.h"
#include "process/process_table.h"

enum { ROUNDS = 16 };

static int follow_all(struct process_table *procs, const struct proc_pids *pids)
{
	int r = 0;

	for (size_t i = 0; i < pids->len && r == 0; i++)
		r = process_table_follow(procs, pids->data[i]);
	return r;
}

/*
 * The BPF program follows a child that starts while /proc is read only if it followed the parent
 * already. So /proc is read again until it shows no new process.
 */
int process_tree_follow(struct process_table *procs, uint32_t pid)
{
	struct proc_pids pids = { 0 };
	size_t last = SIZE_MAX;
	int r = process_table_follow(procs, pid);

	for (int round = 0; r == 0 && round < ROUNDS && pids.len != last; round++) {
		last = pids.len;
		pids.len = 0;
		r = proc_descendants(pid, &pids);
		if (r == 0)
			r = follow_all(procs, &pids);
	}
	vec_fini(&pids);
	return r;
}

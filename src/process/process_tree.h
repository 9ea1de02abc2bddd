/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Restricts a process table to a process and its descendants, which are read from /proc. One
 * thread, that of the table.
 */
#include <stdint.h>

struct process_table;

/*
 * Calls process_table_follow() for @pid and each of its descendants. The BPF program follows those
 * that start later. Returns 0; -ENOMEM; -errno if /proc cannot be read.
 */
int process_tree_follow(struct process_table *procs, uint32_t pid);

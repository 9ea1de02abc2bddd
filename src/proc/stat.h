/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Small facts about processes, from /proc. */
#include <stdbool.h>

/* Name of the process's first thread into @out (NUL-terminated); "" when it is gone. */
void proc_comm(int pid, char out[16]);

/* False when the process is gone, or a zombie of which no thread runs any more. */
bool proc_is_alive(int pid);

/* False as well when its first thread has ended and others go on. */
bool proc_first_thread_lives(int pid);

/* Calls @fn for every process; stops at its first negative answer and returns it. */
int proc_each_pid(int (*fn)(void *ctx, int pid), void *ctx);

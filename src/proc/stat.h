/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Basic state of processes, from /proc. */
#include <stdbool.h>
#include <stdint.h>

/*
 * Stores the name of the process's main thread in @out, NUL-terminated; "" if the process is
 * gone.
 */
void proc_comm(int pid, char out[16]);

/* Returns false if the process is gone, or is a zombie without running threads. */
bool proc_is_alive(int pid);

/* Returns false also if the main thread has ended while others run. */
bool proc_main_thread_is_alive(int pid);

/*
 * Returns a thread of process @pid that has its memory and its root directory: the main thread's
 * id, which is @pid, or that of another one if the main thread has ended, as after pthread_exit()
 * in main(). /proc/PID shows nothing then, /proc/TID does. Returns -ESRCH if there is none.
 */
int proc_living_thread(int pid);

/* Returns true if the main thread runs or waits for a CPU; false if it sleeps or has ended. */
bool proc_is_runnable(int pid);

/*
 * Returns the time in nanoseconds for which the main thread was runnable and had no CPU, without
 * the wait that lasts; 0 if that is not known.
 */
uint64_t proc_cpu_wait_ns(int pid);

/* Returns the address at which the program's code begins; 0 if it is not known. */
uint64_t proc_start_code(int pid);

/* Returns the pid of the parent; 0 if there is none, or the process is gone. */
int proc_parent(int pid);

/* Calls @fn for every process. Stops at the first negative result and returns it. */
int proc_each_pid(int (*fn)(void *ctx, int pid), void *ctx);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A child process for tests, whose main thread may end before its other thread. */
#include <stdbool.h>
#include <sys/types.h>

/* Starts a child that waits for a signal. With @first_ends only a second thread remains soon. */
pid_t child_start(bool first_ends);

/* Kills the child and waits for it. */
void child_end(pid_t pid);

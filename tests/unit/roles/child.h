/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parent's side of one child without a pool, for what only its messages and its end show. */
#include <stdbool.h>
#include <sys/types.h>

#include "roles/message.h"

struct child {
	pid_t pid;
	int sock;
	struct role_message m; /* the last one that was received */
};

enum { CHILD_MEMORY = 64 << 20 };

/* Starts the role @name, and receives its hello if @say_hello. */
void child_start(struct child *c, const char *name, bool isolate, bool say_hello);

/* Sends a request with a body and up to one descriptor (-1: none). */
void child_request(struct child *c, uint32_t kind, uint32_t timeout_ms, const void *data,
		   size_t len, int fd);

/* Receives a message, whose descriptors are closed, and returns its type or -errno. */
int child_receive(struct child *c);

/* Runs a job and returns the result of the reply, which is in c->m. */
int child_call(struct child *c, uint32_t kind, const void *data, size_t len);

/* Waits until the process has ended by itself, and returns its status as waitpid() does. */
int child_wait(struct child *c);

/* Closes the socket, which ends the child, and waits for that. */
void child_end(struct child *c);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sends and receives packets between the worker and its parent, and defines the worker's argv. */
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* The child's argv holds these two strings and its heap limit in bytes. Its socket is WORKER_FD. */
#define WORKER_ARGV0 "cameo-symbol-worker"
#define WORKER_MARK  "--confined"
enum { WORKER_FD = 3 };

/*
 * Sends a packet, with the descriptor @fd unless it is negative. Returns 0; -ENOMEM if @packet is
 * incomplete; -EPIPE if the other process has gone; -errno.
 */
int worker_send(int sock, const struct buf *packet, int fd);

/*
 * Receives one packet. *@out_fd becomes its descriptor or -1; with @out_fd NULL, descriptors are
 * discarded. Returns the length, 0 at the end of the stream, -EMSGSIZE for a packet over @cap, or
 * -errno.
 */
ssize_t worker_recv(int sock, void *data, size_t cap, int *out_fd);

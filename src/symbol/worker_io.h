/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Packets over the socket between a worker and its parent, and how a worker is started. */
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* A child's argv: these two, then its heap in bytes; its socket is WORKER_FD. */
#define WORKER_ARGV0 "cameo-symbol-worker"
#define WORKER_MARK  "--confined"
enum { WORKER_FD = 3 };

/* Send a packet, with @fd unless it is negative: 0, -EPIPE, -ENOMEM (of @packet), -errno. */
int worker_send(int sock, const struct buf *packet, int fd);

/* Receive one; *@out_fd (if wanted) becomes the descriptor in it or -1. Length, 0 at the end,
 * -errno. */
ssize_t worker_recv(int sock, void *data, size_t cap, int *out_fd);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sockets on which a server accepts connections. */
#include <stdint.h>

struct err;

/*
 * Opens a TCP socket that listens on @host, a name or an address, and @port; 0 lets the kernel
 * choose one. It does not block and is closed by exec. Sets @out_port to its port. Returns the
 * descriptor, which the caller owns; -EINVAL if the name cannot be resolved, -errno with @err set.
 */
int listen_socket(const char *host, uint16_t port, uint16_t *out_port, struct err *err);

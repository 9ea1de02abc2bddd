/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The listening sockets. One thread accepts connections and inspects their first bytes: it serves
 * HTTP/2 itself and passes other connections on. gRPC therefore does not need its own port, but may
 * have one. Call order: front_open(), front_listen() once or twice, front_start(), front_quiesce(),
 * http_work_stop(), front_close().
 */
#include <stdint.h>

#include "base/cleanup.h"
#include "net/front_options.h"

struct err;
struct front;

/*
 * Returns 0, -EAGAIN, -ENOMEM or another -errno. The caller frees *@out with front_close().
 * @opt->work must outlive it.
 */
int front_open(struct front **out, const struct front_options *opt, struct err *err);

/*
 * Listens on an address; call before front_start(). @out_port is the actual port. @host is numeric
 * or a name; the first of its addresses is used. Returns 0, -EINVAL if it cannot be resolved, or
 * -errno.
 */
int front_listen(struct front *f, const char *host, uint16_t port, uint16_t *out_port,
		 struct err *err);
int front_start(struct front *f, struct err *err);

/* Stops accepting connections. Connections that exist continue. */
void front_quiesce(struct front *f);

/* Call after the workers have stopped. Sends their responses as far as clients accept them now. */
void front_close(struct front *f);

DEFINE_FREEP(struct front, front_close)

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where a server listens, as command lines say it. */
#include <stdbool.h>
#include <stdint.h>

/* Cut "host:port" or "[host]:port"; false if it is neither. */
bool listen_split(char *listen, const char **out_host, uint16_t *out_port);

bool listen_is_loopback(const char *host);

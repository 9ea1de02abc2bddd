/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the places of probes in a reader, which exists during the call only. */
#include <stdint.h>

/*
 * Does the same as probe_place_find() (symbol/probe_place.h), in a reader. Returns also -ETIMEDOUT,
 * -EPIPE or -EBADMSG: the reader needed too long or crashed. @ctx is not used.
 */
int place_client_find(void *ctx, int fd, const char *name, uint64_t offset, uint64_t *out);

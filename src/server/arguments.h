/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The arguments of a request, in the query of its URL. An argument that is not understood is
 * refused: nothing is ignored or replaced by a default without the client's knowledge. The registry
 * (api.h) lists the arguments of each method.
 *
 * An argument that is missing and one with an empty value are the same; both leave the default.
 * Functions return 0, or -EINVAL with the reason in rpc->err.
 */
#include <stddef.h>
#include <stdint.h>

struct rpc;

/*
 * Refuses arguments that the method does not have, and those that occur more than once. If the
 * method accepts others (api.h), they are reported in the header X-Cameo-Ignored instead.
 */
int arguments_check(struct rpc *rpc);

/* The value of an argument; NULL if it is missing or empty. */
const char *arguments_text(const struct rpc *rpc, const char *name);

/* Sets *@io to an integer from @min to @max, or leaves it unchanged. */
int arguments_int(const struct rpc *rpc, const char *name, int64_t min, int64_t max, int64_t *io);

/* Sets *@io to a time as described in time_arg.h, or leaves it unchanged. */
int arguments_time(const struct rpc *rpc, const char *name, int64_t now_ns, int64_t *io);

/*
 * Sets *@out_index to the position of the value in the list @values, which ends with NULL, or
 * leaves it unchanged.
 */
int arguments_choice(const struct rpc *rpc, const char *name, const char *const *values,
		     size_t *out_index);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads what a BPF task iterator writes: records of one size, each for one task. It does not
 * interpret them. One thread.
 */
#include <stddef.h>

#include "sampler/sampler_opts.h"

struct bpf_link;

/*
 * Runs the iterator behind @link and calls @fn for each record of @len bytes, which @buf has room
 * for. Returns 0 or -errno.
 */
int task_iterator_read(const struct bpf_link *link, void *buf, size_t len, sampler_record_fn fn,
		       void *ctx);

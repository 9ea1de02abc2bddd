/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading speedscope's file format from anybody: its "sampled" profiles, each
 * a sample type. Kinds and mappings have no place in it; frames are told apart
 * by name, file and line.
 */
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;

/*
 * 0 and a new profile; -EBADMSG and @err says what is wrong; -ENOTSUP for a file
 * of "evented" profiles; -EFBIG beyond @limits (NULL: the default ones); -ENOMEM.
 */
int speedscope_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err);

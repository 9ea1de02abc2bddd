/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * speedscope's file format: JSON with a table of frames and, for each sample
 * type, one "sampled" profile of stacks (root first) and weights.
 */
struct buf;
struct err;
struct profile;

/* Append it; @title may be NULL. 0 or -ENOMEM. */
int speedscope_write(const struct profile *p, const char *title, struct buf *out, struct err *err);

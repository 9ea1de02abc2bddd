/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pprof's profile.proto, as `go tool pprof` wants it. Only what the samples
 * refer to is written. Times of single samples and the kinds of frames have no
 * place in it.
 */
#include <stdbool.h>

struct buf;
struct err;
struct profile;

struct pprof_write_options {
	bool no_labels; /* samples of the same stack become one */
};

/* Append the message itself. 0 or -ENOMEM. */
int pprof_write(const struct profile *p, struct buf *out, struct err *err);
int pprof_write_with(const struct profile *p, const struct pprof_write_options *opt,
		     struct buf *out, struct err *err);

/* The same, gzip-compressed: what a .pb.gz file is. */
int pprof_write_gz(const struct profile *p, struct buf *out, struct err *err);

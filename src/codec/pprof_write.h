/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pprof's profile.proto, as `go tool pprof` wants it. Only what the samples
 * refer to is written. Times of single samples and the kinds of frames have no
 * place in it.
 */
struct buf;
struct err;
struct profile;

/* Append the message itself. 0 or -ENOMEM. */
int pprof_write(const struct profile *p, struct buf *out, struct err *err);

/* The same, gzip-compressed: what a .pb.gz file is. */
int pprof_write_gz(const struct profile *p, struct buf *out, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads pprof's profile.proto, gzip-compressed or not, from untrusted data. Frame kinds are read
 * from a field that Cameo adds (pprof_fields.h), or else guessed from the names of files.
 * Concatenated profiles are refused: as one message they would have mixed-up tables.
 */
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct codec_limits;
struct err;
struct profile;

/*
 * Returns 0 and a new profile; -EBADMSG if the profile is not valid, with the entry, counted from
 * 0, in @err ("sample 17: location 99 does not exist"); -EFBIG beyond @limits (NULL: the default
 * ones); -ENOMEM. @data is borrowed for the call. The caller owns *@out. Unknown fields are
 * ignored; entries that no sample uses are kept.
 */
int pprof_read(struct profile **out, const void *data, size_t len,
	       const struct codec_limits *limits, struct err *err);

/*
 * Writes pprof's profile.proto such that `go tool pprof` accepts it. Only entries that samples
 * refer to are written. Timestamps of samples are lost. A frame kind that a reader would not guess
 * from file names is written to a field that other readers ignore.
 */

/* Values of merged samples are summed. */
struct pprof_write_options {
	bool no_labels; /* merge samples with the same stack, dropping their labels */
};

/*
 * Append the uncompressed message. Return 0 or -ENOMEM. @out may hold data before; it is undefined
 * after an error. Strings are made valid UTF-8 without control characters.
 */
int pprof_write(const struct profile *p, struct buf *out, struct err *err);
int pprof_write_with(const struct profile *p, const struct pprof_write_options *opt,
		     struct buf *out, struct err *err);

/* Appends it gzip-compressed, which is the content of a .pb.gz file. Returns 0 or -ENOMEM. */
int pprof_write_gz(const struct profile *p, struct buf *out, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The file formats that a profile can be written in, by the file's suffix. */
struct buf;
struct err;
struct profile;

struct format {
	const char *suffix; /* ".pb.gz" */
	const char *name;   /* "pprof" */
	int (*write)(const struct profile *p, struct buf *out, struct err *err);
};

/* The format of a file name; NULL with a message that lists them if there is none. */
const struct format *format_by_suffix(const char *path, struct err *err);
/* The same by name ("pprof", "folded", "html"). */
const struct format *format_by_name(const char *name, struct err *err);

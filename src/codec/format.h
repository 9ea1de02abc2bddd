/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The formats of profiles by the names of files, and by what is in them.
 */
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct codec_limits;
struct err;
struct format;
struct profile;

struct format_options {
	const char *title;      /* of a page; or NULL */
	size_t value_num;       /* the sample type, where a format has one */
	const char *root_label; /* see struct tree_options */
};

/* The format to write that a file's suffix stands for; NULL: none. */
const struct format *format_by_name(const char *file_name);

/* ".pb.gz, .pb, ...": what format_by_name() knows, for messages. */
const char *format_suffixes(void);

/*
 * The format called @id ("pprof", "folded"), whether it can be read, written or
 * both; NULL: none. A name for a file of a format that can only be read is none.
 */
const struct format *format_by_id(const char *id);
const char *format_ids(void); /* "pprof, folded, ...", for messages */

const char *format_id(const struct format *f);
bool format_can_read(const struct format *f);
bool format_can_write(const struct format *f);
bool format_has_times(const struct format *f); /* of single samples */

/*
 * Append what @p has and this format has no place for, as a list for people;
 * nothing when it holds all.
 */
void format_losses(const struct format *f, const struct profile *p, struct buf *out);

/* Append @p in this format. 0, -ENOMEM, or as the format's writer says. @opt may be NULL. */
int format_write(const struct format *f, const struct profile *p, const struct format_options *opt,
		 struct buf *out, struct err *err);

/*
 * Read a profile of any format that has a reader, compressed or not; which one
 * is told by the data. 0 and a new profile; as the reader says; -EBADMSG when it
 * looks like none.
 */
int format_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err);

/* The same when the format is known: what the data looks like is not asked. */
int format_read_as(const struct format *f, struct profile **out, const void *data, size_t len,
		   const struct codec_limits *limits, struct err *err);

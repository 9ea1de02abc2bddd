/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The file formats of profiles, by the name of a file, by an id on the command line and by
 * content. The table is formats.def; what a format implements is in format_codec.h. Everything
 * here is constant and may be used from any thread.
 *
 * Detection never trusts a file's name, only content, because files are renamed and piped. Writing
 * goes by name or id. A codec is reached through this interface only; folders below codec/ do not
 * include it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "codec/common/format_options.h"

struct buf;
struct codec_limits;
struct err;
struct format;
struct profile;

/*
 * The format to write a file of this name in, by its suffix; NULL: no such format. Formats that can
 * only be read are not found.
 */
const struct format *format_by_name(const char *file_name);

/* The format with this id, readable, writable or both; NULL: no such format. */
const struct format *format_by_id(const char *id);

/* All formats in the order of formats.def: NULL from the last one's index on. */
const struct format *format_get(size_t i);

/*
 * Lists for messages, help and completion, separated by ", ": suffixes of writable formats;
 * ids of those that can be read and of those that can be written.
 */
const char *format_suffixes(void);
const char *format_readable_ids(void);
const char *format_writable_ids(void);

/* Strings are constant. format_suffix() begins with a dot. */
const char *format_id(const struct format *f);
const char *format_suffix(const struct format *f);
const char *format_description(const struct format *f);
bool format_can_read(const struct format *f);
bool format_can_write(const struct format *f);

/* True if the format stores a timestamp for each sample. Otherwise, they need not be recorded. */
bool format_has_times(const struct format *f);

/*
 * Appends a comma-separated list of what @p contains and @f cannot represent; nothing if a
 * conversion loses nothing. Memory errors stick to @out. The list is text for people. Its cost is
 * one pass over locations and samples.
 */
void format_losses(const struct format *f, const struct profile *p, struct buf *out);

/*
 * Appends @p in a format that can be written. @opt may be NULL. Returns 0, -EINVAL for a sample
 * type that @p does not have, -ENOTSUP for a format that this build omits, -ENOMEM; -EFBIG if the
 * output exceeds the limit of @opt: formats without a table of names write each as often as it
 * occurs, so a small profile may have a large output.
 */
int format_write(const struct format *f, const struct profile *p, const struct format_options *opt,
		 struct buf *out, struct err *err);

/**
 * format_read() - read a profile whose format is recognized by content
 *
 * @data is untrusted and may be gzip-compressed. @limits may be NULL for the default ones.
 *
 * Return: 0 and a new profile; -EBADMSG if no format matches or the data is malformed, with the
 * place in @err; -EFBIG beyond @limits; -ENOMEM.
 */
int format_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err);

/* Like format_read(), in the format @f, which must be readable. */
int format_read_as(const struct format *f, struct profile **out, const void *data, size_t len,
		   const struct codec_limits *limits, struct err *err);

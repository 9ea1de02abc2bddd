/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a flame graph as one SVG file, with the root at the bottom. In a browser a click zooms
 * into a bar and Ctrl-F searches. The file refers to nothing outside of itself. Its script handles
 * only text of the file and inserts none as markup.
 */
#include "codec/common/format_codec.h"

/* Appends the file. Returns 0, -EINVAL if @p has no such sample type, -ENOMEM. */
int svg_write(const struct profile *p, const struct format_options *opt, struct buf *out,
	      struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts bodies of /ingest that are stacks with counts to folded text, one `a;b;c 12` per line.
 * Input is untrusted. The result may be larger than the body, because a tree repeats the path in
 * each line, so its memory is claimed while it grows.
 */
#include <stddef.h>

struct buf;
struct codec_limits;
struct err;

enum ingest_text {
	INGEST_FOLDED, /* lines without a count are dropped */
	INGEST_LINES,  /* each line counts one */
	INGEST_TRIE,   /* nodes hold fragments of a stack's text */
	INGEST_TREE,   /* nodes hold frames */
};

/*
 * Appends to @out. Returns 0, -EBADMSG for a malformed tree, -EFBIG if the text exceeds max->bytes,
 * -ENOMEM, or the result of a claim that failed.
 */
int ingest_text(enum ingest_text kind, const void *data, size_t len, const struct codec_limits *max,
		struct buf *out, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The bodies of /ingest that are stacks and counts, as folded text: `a;b;c 12`, a line each. */
#include <stddef.h>

struct buf;
struct err;

enum ingest_text {
	INGEST_FOLDED, /* lines without a count are left out */
	INGEST_LINES,  /* each counts one */
	INGEST_TRIE,   /* nodes hold parts of the text of a stack */
	INGEST_TREE,   /* nodes hold frames */
};

/* 0; -EBADMSG for a tree that is none; -EFBIG when it would be too much text; -ENOMEM. */
int ingest_text(enum ingest_text kind, const void *data, size_t len, struct buf *out,
		struct err *err);

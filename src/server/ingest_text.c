/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree arrives depth first. A node is: varint length of its name, the name, varint self value,
 * varint number of children. The path to the current node is stored as text, with its length and
 * the number of children to come for each node on it, so that a deep tree needs no recursion.
 */
#include "server/ingest_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/common/limits.h"
#include "codec/common/wire.h"

enum {
	MAX_DEPTH = 65536,    /* a trie has a level wherever two stacks differ */
	CLAIM_STEP = 1 << 16, /* bytes of text */
};

/* True if the line ends in a space and digits. */
static bool has_count(const char *line, size_t len)
{
	size_t digits = 0;

	while (digits < len && line[len - 1 - digits] >= '0' && line[len - 1 - digits] <= '9')
		digits++;
	return digits && digits < len && line[len - 1 - digits] == ' ';
}

/*
 * Text is copied line by line without interpreting it; the reader of folded stacks checks the rest.
 */
static void put_lines(enum ingest_text kind, const char *text, size_t len, struct buf *out)
{
	const char *end = len ? text + len : text; /* without bytes it may be NULL */

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((stop ? stop : end) - text), full = n;

		while (n && (text[n - 1] == '\r' || text[n - 1] == ' '))
			n--;
		if (n && (kind == INGEST_LINES || has_count(text, n))) {
			buf_put(out, text, n);
			buf_put_str(out, kind == INGEST_LINES ? " 1\n" : "\n");
		}
		text += full + 1;
	}
}

/* A node on the path to the current one. */
struct level {
	size_t path_len;   /* length of the path that ends in this node */
	uint64_t children; /* not read yet */
};

struct walk {
	struct wire in;
	enum ingest_text kind;
	const struct codec_limits *max;
	size_t claimed; /* bytes of text */
	struct err *err;
	struct buf path;
	struct {
		VEC(struct level);
	} levels;
};

static void walk_fini(struct walk *w)
{
	buf_fini(&w->path);
	vec_fini(&w->levels);
}

/*
 * A fragment of a trie continues the text of its parent; a node of a tree begins a frame. Line
 * breaks would end the line and are replaced.
 */
static void put_name(struct walk *w, const uint8_t *name, size_t len)
{
	if (w->kind == INGEST_TREE && w->path.len)
		buf_put_byte(&w->path, ';');
	for (size_t i = 0; i < len; i++)
		buf_put_byte(&w->path, name[i] == '\n' ? ' ' : name[i]);
}

/*
 * Claims memory for what the text has grown by. A node of a few bytes repeats its path, which may
 * be as long as the body, so the body's length does not bound the text.
 */
static int account(struct walk *w, size_t len)
{
	size_t more = len - w->claimed;

	if (len > w->max->bytes)
		return -EFBIG;
	if (!w->max->claim || more < CLAIM_STEP)
		return 0;
	w->claimed = len;
	return w->max->claim(w->max->claim_ctx, more, w->err);
}

/*
 * Reads one node, writes a line if it has a self value, and pushes it as the parent of the next
 * nodes.
 */
static int put_node(struct walk *w, struct buf *out)
{
	uint64_t len, self, children;
	int r;

	if (wire_varint(&w->in, &len) <= 0 || len > wire_len(w->in))
		return -EBADMSG;
	put_name(w, w->in.p, (size_t)len);
	w->in.p += len;
	if (wire_varint(&w->in, &self) <= 0 || self > INT64_MAX ||
	    wire_varint(&w->in, &children) <= 0)
		return -EBADMSG;
	if (self && w->path.len) {
		buf_put(out, w->path.data, w->path.len);
		buf_printf(out, " %" PRIu64 "\n", self);
	}
	if (w->levels.len >= MAX_DEPTH)
		return -EFBIG;
	r = account(w, out->len);
	if (r == 0 && (buf_error(&w->path) || buf_error(out)))
		r = -ENOMEM;
	return r < 0 ? r : vec_push(&w->levels, (struct level){ w->path.len, children });
}

/*
 * Nodes beyond the announced children mean that the tree is damaged, so the input must end with the
 * last one.
 */
static int put_tree(struct walk *w, struct buf *out)
{
	int r = put_node(w, out);

	while (r == 0 && w->levels.len) {
		struct level *top = &w->levels.data[w->levels.len - 1];

		w->path.len = top->path_len;
		if (!top->children) {
			w->levels.len--;
			continue;
		}
		top->children--;
		r = put_node(w, out);
	}
	return r < 0 || w->in.p == w->in.end ? r : -EBADMSG;
}

int ingest_text(enum ingest_text kind, const void *data, size_t len, const struct codec_limits *max,
		struct buf *out, struct err *err)
{
	_cleanup_(walk_fini) struct walk w = { .kind = kind, .max = max, .err = err };
	int r;

	if (kind == INGEST_FOLDED || kind == INGEST_LINES) {
		put_lines(kind, data, len, out);
		return buf_error(out);
	}
	w.in = wire_of(data, len);
	r = len ? put_tree(&w, out) : 0;
	if (r == -EBADMSG)
		return err_set(err, r, "the tree is malformed or truncated");
	return r == -EFBIG ? err_set(err, r,
				     "the tree is too large: it has more than %zu bytes of text or "
				     "65536 levels",
				     max->bytes)
			   : r;
}

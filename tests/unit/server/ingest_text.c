/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of trees, tries and lines to folded text. */
#include "server/ingest_text.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/common/wire.h"
#include "tests/test.h"

static void assert_text(enum ingest_text kind, const void *data, size_t len, const char *want)
{
	const struct codec_limits max = codec_limits_default();
	_cleanup_(buf_fini) struct buf out = { 0 };

	assert_int_equal(ingest_text(kind, data, len, &max, &out, NULL), 0);
	buf_put_byte(&out, 0);
	assert_string_equal((const char *)out.data, want);
}

static void put_node(struct buf *b, const char *name, uint64_t own, uint64_t children)
{
	wire_put_varint(b, strlen(name));
	buf_put_str(b, name);
	wire_put_varint(b, own);
	wire_put_varint(b, children);
}

static void lines_without_a_count_are_dropped(void **state)
{
	static const char text[] = "a;b 3\r\nno count\n\n12\nc 0 7";

	assert_text(INGEST_FOLDED, text, strlen(text), "a;b 3\nc 0 7\n");
}

static void each_line_counts_one(void **state)
{
	assert_text(INGEST_LINES, "a;b\na;b 4\n\n", 11, "a;b 1\na;b 4 1\n");
}

static void a_tree_has_frames_and_a_trie_pieces_of_text(void **state)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	put_node(&b, "", 0, 2);
	put_node(&b, "main", 1, 1);
	put_node(&b, ";x\ny", 2, 0);
	put_node(&b, "z", 3, 0);
	assert_text(INGEST_TRIE, b.data, b.len, "main 1\nmain;x y 2\nz 3\n");
	assert_text(INGEST_TREE, b.data, b.len, "main 1\nmain;;x y 2\nz 3\n");
}

static void refuses_a_truncated_tree_and_trailing_bytes(void **state)
{
	const struct codec_limits max = codec_limits_default();
	_cleanup_(buf_fini) struct buf b = { 0 }, out = { 0 };

	put_node(&b, "", 0, 1);
	put_node(&b, "main", 1, 0);
	for (size_t len = 1; len < b.len; len++)
		assert_int_equal(ingest_text(INGEST_TREE, b.data, len, &max, &out, NULL), -EBADMSG);
	buf_put_byte(&b, 0);
	assert_int_equal(ingest_text(INGEST_TREE, b.data, b.len, &max, &out, NULL), -EBADMSG);
}

static void refuses_an_endless_tree(void **state)
{
	const struct codec_limits max = codec_limits_default();
	_cleanup_(buf_fini) struct buf b = { 0 }, out = { 0 };

	for (int i = 0; i < 70000; i++)
		put_node(&b, "", 0, 1);
	assert_int_equal(ingest_text(INGEST_TREE, b.data, b.len, &max, &out, NULL), -EFBIG);
}

enum { BUDGET = 1 << 20 };

/* A budget of BUDGET bytes of text. */
static int claim(void *ctx, size_t bytes, struct err *err)
{
	size_t *claimed = ctx;

	*claimed += bytes;
	return *claimed > BUDGET ? err_set(err, -ENOMEM, "no room") : 0;
}

/* 8,000 nodes below a long name are 240 MB of text, but end at the budget. */
static void text_is_claimed_while_it_grows(void **state)
{
	_cleanup_(buf_fini) struct buf b = { 0 }, out = { 0 };
	struct codec_limits max = codec_limits_default();
	char name[30000];
	struct err err = { 0 };
	size_t claimed = 0;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	put_node(&b, name, 0, 8000);
	for (int i = 0; i < 8000; i++)
		put_node(&b, ";a", 1, 0);
	max.claim = claim;
	max.claim_ctx = &claimed;
	assert_int_equal(ingest_text(INGEST_TRIE, b.data, b.len, &max, &out, &err), -ENOMEM);
	assert_string_equal(err.msg, "no room");
	assert_true(out.len < 2 * BUDGET);
	out.len = 0;
	max = codec_limits_default();
	max.bytes = BUDGET;
	assert_int_equal(ingest_text(INGEST_TRIE, b.data, b.len, &max, &out, NULL), -EFBIG);
	assert_true(out.len < 2 * BUDGET);
}

TEST_GROUP(test_ingest_text, TEST(lines_without_a_count_are_dropped), TEST(each_line_counts_one),
	   TEST(a_tree_has_frames_and_a_trie_pieces_of_text),
	   TEST(refuses_a_truncated_tree_and_trailing_bytes), TEST(refuses_an_endless_tree),
	   TEST(text_is_claimed_while_it_grows))

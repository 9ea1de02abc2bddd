/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/protocol.h"

#include <errno.h>
#include <string.h>

#include "roles/message.h"
#include "symbol/demangle.h"
#include "tests/test.h"

static struct protocol_response got, made;

/* Makes a response with @n frames. */
static const struct protocol_response *response(uint32_t index, size_t n)
{
	static const struct protocol_frame two[] = {
		{ "inner", "_Z5innerv", "/a/b.c", 7, 5, 2, NULL },
		{ "outer", "outer", "", 0, 0, 0, NULL },
	};

	made = (struct protocol_response){ .index = index, .source = 3, .start = 1ULL << 40 };
	made.n = n;
	memcpy(made.frames, two, n * sizeof(*two));
	return &made;
}

static void decodes_responses_as_encoded(void **state)
{
	struct protocol_reader r;
	struct buf b = { 0 };

	assert_true(protocol_put_response(&b, response(3, 2)));
	assert_true(protocol_put_response(&b, response(5, 0)));
	r = (struct protocol_reader){ b.data, b.len };
	assert_int_equal(protocol_next_response(&r, &got), 1);
	assert_int_equal(got.index, 3);
	assert_int_equal(got.source, 3);
	assert_int_equal(got.n, 2);
	assert_string_equal(got.frames[0].system_name, "_Z5innerv");
	assert_string_equal(got.frames[0].file, "/a/b.c");
	assert_int_equal(got.frames[0].line, 7);
	assert_int_equal(got.frames[0].start_line, 5);
	assert_string_equal(got.frames[1].name, "outer");
	assert_int_equal(protocol_next_response(&r, &got), 1);
	assert_int_equal(got.index, 5);
	assert_int_equal(got.n, 0);
	assert_true(got.start == 1ULL << 40);
	assert_int_equal(protocol_next_response(&r, &got), 0);
	buf_fini(&b);
}

static void decodes_questions_as_encoded(void **state)
{
	const struct protocol_need need = { PROTOCOL_NEED_ALT,         4, "n", "d",
					    (const uint8_t *)"\1\2\3", 3 };
	struct protocol_need out;
	struct buf b = { 0 };

	protocol_put_need(&b, &need);
	assert_int_equal(protocol_parse_need(&out, PROTOCOL_NEED_ALT, b.data, b.len), 0);
	assert_int_equal(out.attempt, 4);
	assert_string_equal(out.name, "n");
	assert_string_equal(out.dir, "d");
	assert_int_equal(out.id_len, 3);
	assert_memory_equal(out.id, "\1\2\3", 3);
	assert_int_equal(protocol_parse_need(&out, 0, b.data, b.len), -EBADMSG);
	assert_int_equal(protocol_parse_need(&out, PROTOCOL_NEED_MAX, b.data, b.len), -EBADMSG);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(protocol_parse_need(&out, PROTOCOL_NEED_ALT, b.data, len),
				 -EBADMSG);
	buf_fini(&b);
}

static void requests_have_the_addresses_that_they_announce(void **state)
{
	static struct protocol_request q;

	q.config.n_addrs = 2;
	assert_non_null(protocol_check_request(&q, protocol_request_len(2)));
	assert_null(protocol_check_request(&q, protocol_request_len(1)));
	assert_null(protocol_check_request(&q, protocol_request_len(3)));
	assert_null(protocol_check_request(&q, 0));
	q.config.n_addrs = PROTOCOL_ADDRS_MAX + 1;
	assert_null(protocol_check_request(&q, protocol_request_len(PROTOCOL_ADDRS_MAX + 1)));
	q.config = (struct protocol_config){ .demangle = DEMANGLE_NO + 1 };
	assert_null(protocol_check_request(&q, protocol_request_len(0)));
	q.config = (struct protocol_config){ .flags = PROTOCOL_FLAGS_ALL + 1 };
	assert_null(protocol_check_request(&q, protocol_request_len(0)));
}

static void impossible_facts_are_refused(void **state)
{
	static struct protocol_facts f;

	f = (struct protocol_facts){ .n_segments = 1 };
	f.segments[0] = (struct elf_segment){ .vaddr = UINT64_MAX - 1, .memsz = 1, .filesz = 1 };
	assert_non_null(protocol_check_facts(&f, sizeof(f)));
	assert_null(protocol_check_facts(&f, sizeof(f) - 1));
	f.segments[0].memsz = 2;
	assert_null(protocol_check_facts(&f, sizeof(f)));
	f.segments[0] = (struct elf_segment){ .file_off = UINT64_MAX, .filesz = 1 };
	assert_null(protocol_check_facts(&f, sizeof(f)));
	f.segments[0] = (struct elf_segment){ 0 };
	*((uint8_t *)&f.segments[0] + offsetof(struct elf_segment, exec)) = 2;
	assert_null(protocol_check_facts(&f, sizeof(f)));
	f = (struct protocol_facts){ .is_elf = 2 };
	assert_null(protocol_check_facts(&f, sizeof(f)));
	f = (struct protocol_facts){ .n_segments = ELF_SEGMENTS_MAX + 1 };
	assert_null(protocol_check_facts(&f, sizeof(f)));
	f = (struct protocol_facts){ .build_id.len = ELF_BUILD_ID_MAX + 1 };
	assert_null(protocol_check_facts(&f, sizeof(f)));
}

static void a_reply_has_a_descriptor_for_each_table(void **state)
{
	static struct protocol_done d;

	d = (struct protocol_done){ .n_tables = 1, .tables = { "name" } };
	assert_non_null(protocol_check_done(&d, sizeof(d), 1));
	assert_null(protocol_check_done(&d, sizeof(d), 0));
	assert_null(protocol_check_done(&d, sizeof(d), 2));
	assert_null(protocol_check_done(&d, sizeof(d) - 1, 1));
	memset(d.tables[0], 'x', sizeof(d.tables[0]));
	assert_null(protocol_check_done(&d, sizeof(d), 1));
	d = (struct protocol_done){ .n_tables = PROTOCOL_TABLES_MAX + 1 };
	assert_null(protocol_check_done(&d, sizeof(d), PROTOCOL_TABLES_MAX + 1));
}

/* Truncated and overwritten parts are refused or read within bounds, which ASan verifies. */
static void reads_damaged_parts_within_bounds(void **state)
{
	struct protocol_reader r;
	struct buf b = { 0 };

	assert_true(protocol_put_response(&b, response(3, 2)));
	for (size_t len = 1; len < b.len; len++) {
		r = (struct protocol_reader){ b.data, len };
		assert_int_equal(protocol_next_response(&r, &got), -EBADMSG);
	}
	for (size_t i = 0; i < b.len; i++) {
		b.data[i] ^= 0xff;
		r = (struct protocol_reader){ b.data, b.len };
		while (protocol_next_response(&r, &got) > 0)
			for (size_t k = 0; k < got.n; k++)
				assert_true(strlen(got.frames[k].name) <= PROTOCOL_NAME_MAX);
		b.data[i] ^= 0xff;
	}
	buf_fini(&b);
}

static void truncates_a_response_that_is_too_long(void **state)
{
	static char name[ROLE_BODY_MAX];
	struct protocol_reader r;
	struct buf b = { 0 };

	memset(name, 'n', sizeof(name) - 1);
	made = (struct protocol_response){ .n = PROTOCOL_FRAMES_MAX };
	for (int i = 0; i < PROTOCOL_FRAMES_MAX; i++)
		made.frames[i] = (struct protocol_frame){
			.name = name, .system_name = name, .file = name, .line = 1, .start_line = 1
		};
	assert_true(protocol_put_response(&b, &made));
	assert_true(b.len <= ROLE_BODY_MAX);
	r = (struct protocol_reader){ b.data, b.len };
	assert_int_equal(protocol_next_response(&r, &got), 1);
	assert_int_equal(got.n, 1);
	assert_int_equal(strlen(got.frames[0].name), PROTOCOL_NAME_MAX);
	assert_int_equal(strlen(got.frames[0].file), PROTOCOL_PATH_MAX);
	assert_int_equal(protocol_next_response(&r, &got), 0);
	buf_fini(&b);
}

static void a_full_part_stays_as_it_was(void **state)
{
	struct buf b = { 0 };
	size_t before = 0;
	uint32_t n = 0;

	while (protocol_put_response(&b, response(n, 2))) {
		before = b.len;
		n++;
	}
	assert_int_equal(b.len, before);
	assert_true(before > ROLE_BODY_MAX - 200 && before <= ROLE_BODY_MAX);
	buf_fini(&b);
}

TEST_GROUP(test_protocol, TEST(decodes_responses_as_encoded), TEST(decodes_questions_as_encoded),
	   TEST(requests_have_the_addresses_that_they_announce), TEST(impossible_facts_are_refused),
	   TEST(a_reply_has_a_descriptor_for_each_table), TEST(reads_damaged_parts_within_bounds),
	   TEST(truncates_a_response_that_is_too_long), TEST(a_full_part_stays_as_it_was))

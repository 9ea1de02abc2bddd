/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of the fields of each request: a query in protobuf has the response of the same query
 * in JSON. Two responses were recorded of a Pyroscope server byte for byte.
 */
#include "server/querier.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/common/wire.h"
#include "fixture.h"
#include "tests/test.h"

#define SHOP_SELECTOR "{service_name=\"shop\"}"

static void put_text(struct buf *b, uint32_t number, const char *text)
{
	wire_put_bytes(b, number, text, strlen(text));
}

static void put_range(struct buf *b, uint32_t first)
{
	wire_put_uint(b, first, (DATA_S - 15) * 1000);
	wire_put_uint(b, first + 1, (DATA_S + 30) * 1000);
}

static void put_query(struct buf *b)
{
	put_text(b, 1, CPU_TYPE);
	put_text(b, 2, SHOP_SELECTOR);
	put_range(b, 3);
}

/* Sends @rq and empties it. */
static int call(struct scene *s, const char *method, struct buf *rq)
{
	static const char *const headers[] = { "Content-Type: application/proto", NULL };
	_cleanup_(freep) char *path = NULL;
	int status;

	assert_true(asprintf(&path, QUERIER "%s", method) > 0);
	status = scene_send(s, "POST", path, headers, rq->data, rq->len);
	buf_fini(rq);
	*rq = (struct buf){ 0 };
	return status;
}

/* Finds the @n-th field @number of a message. */
static struct wire field(struct wire w, uint32_t number, size_t n)
{
	struct wire_field f;

	while (wire_next(&w, &f) > 0)
		if (f.number == number && n-- == 0)
			return f.bytes;
	fail_msg("field %u is missing", number);
	return w;
}

static struct wire body(const struct scene *s)
{
	return wire_of(s->answer.body.data, s->answer.body.len);
}

static void assert_text(struct wire w, const char *text)
{
	assert_int_equal(wire_len(w), strlen(text));
	assert_memory_equal(w.p, text, strlen(text));
}

static void the_recorded_requests_have_the_recorded_responses(void **state)
{
	static const char points[] =
		"\x0a\x21\x0a\x0d\x0a\x08instance\x12\x01"
		"a\x12\x10\x09\x00\x00\x00\x00\xde\x39\x9a\x41\x10\x80\xc0\x88\xd2\x9f\x34"
		"\x0a\x21\x0a\x0d\x0a\x08instance\x12\x01"
		"b\x12\x10\x09\x00\x00\x00\x00\x84\xd7\x97\x41\x10\x98\xb5\x89\xd2\x9f\x34";
	struct buf rq = { 0 };
	struct scene s;

	scene_begin_with_data(&s, NULL);
	put_text(&rq, 1, "service_name");
	put_range(&rq, 3);
	assert_int_equal(call(&s, "LabelValues", &rq), 200);
	assert_string_equal(http_client_response_header(&s.answer, "Content-Type"),
			    "application/proto");
	assert_text(body(&s), "\x0a\x04mail\x0a\x04shop");
	put_query(&rq);
	put_text(&rq, 5, "instance");
	buf_put(&rq, "\x31\x00\x00\x00\x00\x00\x00\x2e\x40", 9); /* step 15.0 */
	assert_int_equal(call(&s, "SelectSeries", &rq), 200);
	assert_int_equal(s.answer.body.len, sizeof(points) - 1);
	assert_memory_equal(s.answer.body.data, points, sizeof(points) - 1);
	scene_end(&s);
}

static void lists_are_requested_by_field_number(void **state)
{
	struct buf rq = { 0 };
	struct scene s;
	struct wire set;

	scene_begin_with_data(&s, NULL);
	put_range(&rq, 1);
	assert_int_equal(call(&s, "ProfileTypes", &rq), 200);
	assert_text(field(field(body(&s), 1, 0), 1, 0), CPU_TYPE);
	assert_text(field(field(body(&s), 1, 1), 4, 0), "samples");
	put_text(&rq, 1, "{instance=\"c\"}");
	put_range(&rq, 2);
	assert_int_equal(call(&s, "LabelNames", &rq), 200);
	assert_text(field(body(&s), 1, 7), "instance");
	put_text(&rq, 1, "{instance=\"c\"}");
	put_text(&rq, 2, "region");
	put_range(&rq, 3);
	assert_int_equal(call(&s, "Series", &rq), 200);
	set = field(field(body(&s), 2, 0), 1, 0); /* labelsSet has number 2 */
	assert_text(field(set, 1, 0), "region");
	assert_text(field(set, 2, 0), "eu");
	scene_end(&s);
}

static void stacks_are_requested_by_field_number(void **state)
{
	struct buf rq = { 0 };
	struct scene s;
	size_t site, location;

	scene_begin_with_data(&s, NULL);
	put_query(&rq);
	wire_put_uint(&rq, 5, 1); /* maxNodes */
	assert_int_equal(call(&s, "SelectMergeStacktraces", &rq), 200);
	assert_text(field(field(body(&s), 1, 0), 1, 0), "total");
	assert_text(field(field(body(&s), 1, 0), 1, 2), "other");
	put_query(&rq);
	wire_put_uint(&rq, 6, FORMAT_TREE);
	assert_int_equal(call(&s, "SelectMergeStacktraces", &rq), 200);
	assert_memory_equal(field(body(&s), 2, 0).p, "\0\0\1\4main", 8);
	put_query(&rq);
	site = wire_begin(&rq, 7);
	location = wire_begin(&rq, 1);
	put_text(&rq, 1, "nowhere");
	wire_end(&rq, location);
	wire_end(&rq, site);
	assert_int_equal(call(&s, "SelectMergeStacktraces", &rq), 200);
	assert_int_equal(wire_len(field(field(field(body(&s), 1, 0), 2, 0), 1, 0)), 4);
	put_query(&rq);
	put_text(&rq, 8, "an id that no profile has");
	assert_int_equal(call(&s, "SelectMergeStacktraces", &rq), 200);
	assert_int_equal(wire_len(field(field(field(body(&s), 1, 0), 2, 0), 1, 0)), 4);
	scene_end(&s);
}

static void a_diff_has_a_request_on_each_side(void **state)
{
	struct buf rq = { 0 };
	struct scene s;
	struct wire graph;

	scene_begin_with_data(&s, NULL);
	for (uint32_t side = 1; side <= 2; side++) {
		size_t mark = wire_begin(&rq, side);

		put_query(&rq);
		wire_end(&rq, mark);
	}
	assert_int_equal(call(&s, "Diff", &rq), 200);
	graph = field(body(&s), 1, 0);
	/* a bar of two sides has seven numbers: 210000000 takes four bytes of varint */
	assert_int_equal(wire_len(field(field(graph, 2, 0), 1, 0)), 5 + 2 * 4);
	scene_end(&s);
}

static void unknown_fields_are_skipped_and_malformed_messages_refused(void **state)
{
	struct buf rq = { 0 };
	struct scene s;

	scene_begin_with_data(&s, NULL);
	put_text(&rq, 1, "service_name");
	put_range(&rq, 3);
	put_text(&rq, 77, "from a newer client");
	assert_int_equal(call(&s, "LabelValues", &rq), 200);
	assert_text(field(body(&s), 1, 0), "mail");
	buf_put(&rq, "\x0a\x7f", 2);
	assert_int_equal(call(&s, "LabelValues", &rq), 400);
	assert_non_null(strstr(scene_text(&s), "{\"code\":\"invalid_argument\""));
	buf_put(&rq, "\x08\x01", 2); /* a number where "name" is expected */
	assert_int_equal(call(&s, "LabelValues", &rq), 400);
	scene_refuses(&s, QUERIER "NoSuchMethod", "{}", 404, "unimplemented", "NoSuchMethod");
	/* JSON names are accepted in snake case too */
	scene_expect(&s, QUERIER "Series", "{\"label_names\":[\"region\"]," DATA_RANGE "}", 200,
		     "{\"labelsSet\":[{\"labels\":[{\"name\":\"region\",\"value\":\"eu\"}]},"
		     "{\"labels\":[{\"name\":\"region\",\"value\":\"us\"}]}]}");
	scene_end(&s);
}

TEST_GROUP(test_querier, TEST(the_recorded_requests_have_the_recorded_responses),
	   TEST(lists_are_requested_by_field_number), TEST(stacks_are_requested_by_field_number),
	   TEST(a_diff_has_a_request_on_each_side),
	   TEST(unknown_fields_are_skipped_and_malformed_messages_refused))

/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses are those recorded of a Pyroscope server, except for what failure.h improves. */
#include "server/connect.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "codec/common/gzip.h"
#include "fixture.h"
#include "tests/test.h"

#define NAMES QUERIER "LabelNames"
#define RANGE "{" DATA_RANGE "}"

static int send_as(struct scene *s, const char *path, const char *type, const char *header,
		   const void *body, size_t len)
{
	char line[100];
	const char *headers[] = { line, header, NULL };

	snprintf(line, sizeof(line), "Content-Type:%s%s", *type ? " " : "", type);
	return scene_send(s, "POST", path, headers, body, len);
}

static void a_call_requires_post_and_a_content_type(void **state)
{
	static const struct {
		const char *type;
		int status;
	} cases[] = {
		{ "application/json", 200 },
		{ "application/json; charset=utf-8", 200 },
		{ "Application/JSON", 200 },
		{ "application/jsonp", 415 },
		{ "application/protobuf", 415 },
		{ "text/plain", 415 },
		{ "", 415 },
	};
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(send_as(&s, NAMES, cases[i].type, NULL, RANGE, strlen(RANGE)),
				 cases[i].status);
		if (cases[i].status != 200)
			assert_string_equal(scene_text(&s), "");
	}
	assert_int_equal(scene_get(&s, NAMES), 405);
	scene_end(&s);
}

static void another_version_of_the_protocol_is_refused(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(send_as(&s, NAMES, "application/json", "Connect-Protocol-Version: 1",
				 RANGE, strlen(RANGE)),
			 200);
	assert_int_equal(send_as(&s, NAMES, "application/json", "Connect-Protocol-Version: 2",
				 RANGE, strlen(RANGE)),
			 400);
	assert_string_equal(scene_text(&s), "{\"code\":\"invalid_argument\","
					    "\"message\":\"Connect-Protocol-Version must be 1\"}");
	scene_end(&s);
}

static void a_compressed_body_is_decompressed(void **state)
{
	struct buf gz = { 0 };
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(gzip_write(RANGE, strlen(RANGE), GZIP_FAST, &gz, NULL), 0);
	assert_int_equal(
		send_as(&s, NAMES, "application/json", "Content-Encoding: gzip", gz.data, gz.len),
		200);
	assert_non_null(strstr(scene_text(&s), "\"region\""));
	assert_int_equal(send_as(&s, NAMES, "application/json", "Content-Encoding: identity", RANGE,
				 strlen(RANGE)),
			 200);
	assert_int_equal(send_as(&s, NAMES, "application/json", "Content-Encoding: gzip", gz.data,
				 gz.len / 2),
			 400);
	assert_int_equal(
		send_as(&s, NAMES, "application/json", "Content-Encoding: zstd", gz.data, gz.len),
		501);
	assert_non_null(strstr(scene_text(&s), "{\"code\":\"unimplemented\""));
	scene_end(&s);
	buf_fini(&gz);
}

/*
 * The limit is an eighth of the memory of the server, which must exceed what the tests before this
 * one have left resident.
 */
static void a_body_that_decompresses_beyond_the_limit_is_refused(void **state)
{
	const struct server_options opt = { .max_memory = 1 << 30 };
	const size_t len = (128 << 20) + 1;
	struct buf gz = { 0 };
	char *zeros = calloc(1, len);
	struct scene s;

	assert_non_null(zeros);
	assert_int_equal(gzip_write(zeros, len, GZIP_FAST, &gz, NULL), 0);
	free(zeros);
	scene_begin(&s, &opt);
	assert_int_equal(
		send_as(&s, NAMES, "application/json", "Content-Encoding: gzip", gz.data, gz.len),
		413);
	assert_non_null(strstr(scene_text(&s), "{\"code\":\"resource_exhausted\""));
	scene_end(&s);
	buf_fini(&gz);
}

/* Is the response to a long list of series compressed? libcurl decompresses only on request. */
static bool is_compressed(struct scene *s, const char *accept)
{
	const char *encoding;

	assert_int_equal(
		send_as(s, QUERIER "Series", "application/json", accept, RANGE, strlen(RANGE)),
		200);
	encoding = http_client_response_header(&s->answer, "Content-Encoding");
	return encoding && !strcmp(encoding, "gzip");
}

static void a_response_is_compressed_for_clients_that_accept_it(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_true(is_compressed(&s, "Accept-Encoding: gzip"));
	assert_true(is_compressed(&s, "Accept-Encoding: br, gzip;q=0.5"));
	assert_true(is_compressed(&s, "Accept-Encoding: br;q=0, *"));
	assert_false(is_compressed(&s, "Accept-Encoding: gzip;q=0, br;q=1"));
	assert_false(is_compressed(&s, "Accept-Encoding: xgzip"));
	assert_false(is_compressed(&s, "Accept-Encoding:"));
	/* a short response is not worth it */
	assert_int_equal(send_as(&s, NAMES, "application/json", "Accept-Encoding: gzip", RANGE,
				 strlen(RANGE)),
			 200);
	assert_null(http_client_response_header(&s.answer, "Content-Encoding"));
	scene_end(&s);
}

static void errors_of_otlp_have_the_type_of_the_request(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(send_as(&s, "/v1development/profiles", "text/plain", NULL, "x", 1), 415);
	assert_string_equal(http_client_response_header(&s.answer, "Content-Type"),
			    "text/plain; charset=utf-8");
	assert_int_equal(send_as(&s, "/v1development/profiles", "application/x-protobuf", NULL,
				 "not protobuf", 12),
			 400);
	assert_string_equal(http_client_response_header(&s.answer, "Content-Type"),
			    "application/x-protobuf");
	assert_int_equal(scene_text(&s)[0], 1 << 3); /* the code of google.rpc.Status */
	assert_int_equal(send_as(&s, "/v1development/profiles", "application/json", NULL, "[1]", 3),
			 400);
	assert_string_equal(http_client_response_header(&s.answer, "Content-Type"),
			    "application/json");
	scene_begins(&s, "{\"code\":3,\"message\":\"");
	assert_int_equal(scene_get(&s, "/v1development/profiles"), 405);
	scene_end(&s);
}

static void an_upload_that_cannot_be_read_is_unprocessable(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(send_as(&s, "/ingest?name=x&format=pprof", "", NULL, "no pprof", 8), 422);
	assert_int_equal(scene_get(&s, "/ingest?name=x"), 405);
	scene_end(&s);
}

static void a_resource_that_is_only_read_refuses_post(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(scene_get(&s, "/ready"), 200);
	assert_int_equal(scene_post(&s, "/ready", "{}"), 405);
	scene_end(&s);
}

TEST_GROUP(test_connect, TEST(a_call_requires_post_and_a_content_type),
	   TEST(another_version_of_the_protocol_is_refused),
	   TEST(a_compressed_body_is_decompressed),
	   TEST(a_body_that_decompresses_beyond_the_limit_is_refused),
	   TEST(a_response_is_compressed_for_clients_that_accept_it),
	   TEST(errors_of_otlp_have_the_type_of_the_request),
	   TEST(an_upload_that_cannot_be_read_is_unprocessable),
	   TEST(a_resource_that_is_only_read_refuses_post))

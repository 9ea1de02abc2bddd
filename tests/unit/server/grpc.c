/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls over HTTP/2 with frames that are built by hand; tests/export/receivers.py has gRPC itself.
 */
#include "server/grpc.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "codec/common/gzip.h"
#include "codec/common/wire.h"
#include "fixture.h"
#include "tests/test.h"

#define METHOD  QUERIER "LabelValues"
#define TYPE    "Content-Type: application/grpc"
#define GZIPPED "grpc-encoding: gzip"

static void begin(struct scene *s, const struct server_options *opt)
{
	const struct http_client_options h2 = { .http2_only = true, .timeout_ms = 120000 };

	scene_begin_with_data(s, opt);
	http_client_free(s->client);
	assert_int_equal(http_client_new(&s->client, &h2, NULL), 0);
}

/* A request for the values of service_name, in protobuf. */
static struct buf request(void)
{
	struct buf b = { 0 };

	wire_put_bytes(&b, 1, "service_name", 12);
	wire_put_uint(&b, 3, (DATA_S - 15) * 1000);
	wire_put_uint(&b, 4, (DATA_S + 30) * 1000);
	return b;
}

/* Sends a frame with this flag, length and message. Returns the HTTP status. */
static int call(struct scene *s, const char *path, const char *const *headers, uint8_t flag,
		uint32_t frame_len, const void *data, size_t len)
{
	const uint8_t head[] = { flag, (uint8_t)(frame_len >> 24), (uint8_t)(frame_len >> 16),
				 (uint8_t)(frame_len >> 8), (uint8_t)frame_len };
	struct buf b = { 0 };
	int status;

	buf_put(&b, head, sizeof(head));
	buf_put(&b, data, len);
	status = scene_send(s, "POST", path, headers, b.data, b.len);
	buf_fini(&b);
	return status;
}

static const char *const plain[] = { TYPE, "TE: trailers", NULL };
static const char *const gzipped[] = { TYPE, "TE: trailers", GZIPPED, NULL };

static int call_usual(struct scene *s)
{
	struct buf rq = request();
	int status = call(s, METHOD, plain, 0, (uint32_t)rq.len, rq.data, rq.len);

	buf_fini(&rq);
	return status;
}

static void assert_trailer(const struct scene *s, const char *name, const char *want)
{
	const char *got = http_client_response_header(&s->answer, name);

	assert_string_equal(got ? got : "(none)", want);
}

/* Expects a framed list of the two services. */
static void assert_services(const struct scene *s)
{
	static const char want[] = "\0\0\0\0\x0c\x0a\x04mail\x0a\x04shop";

	assert_trailer(s, "grpc-status", "0");
	assert_int_equal(s->answer.body.len, sizeof(want) - 1);
	assert_memory_equal(s->answer.body.data, want, sizeof(want) - 1);
}

/* Expects an empty response with this status in the trailers. */
static void assert_refused(const struct scene *s, const char *status, const char *message)
{
	assert_int_equal(s->answer.status, 200);
	assert_int_equal(s->answer.body.len, 0);
	assert_trailer(s, "grpc-status", status);
	assert_trailer(s, "grpc-message", message);
}

static void a_message_is_framed_in_both_directions(void **state)
{
	static const char *const types[] = { TYPE, TYPE "+proto", TYPE ";x=y" };
	struct scene s;

	begin(&s, NULL);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const char *headers[] = { types[i], "TE: trailers", NULL };
		struct buf rq = request();

		assert_int_equal(call(&s, METHOD, headers, 0, (uint32_t)rq.len, rq.data, rq.len),
				 200);
		assert_services(&s);
		assert_trailer(&s, "Content-Type", "application/grpc");
		buf_fini(&rq);
	}
	scene_end(&s);
}

static void a_message_may_be_compressed(void **state)
{
	struct buf rq = request(), packed = { 0 };
	struct scene s;

	begin(&s, NULL);
	assert_int_equal(gzip_write(rq.data, rq.len, GZIP_FAST, &packed, NULL), 0);
	call(&s, METHOD, gzipped, 1, (uint32_t)packed.len, packed.data, packed.len);
	assert_services(&s);
	/* The flag decides, and not the header. */
	call(&s, METHOD, gzipped, 0, (uint32_t)rq.len, rq.data, rq.len);
	assert_services(&s);
	call(&s, METHOD, plain, 1, (uint32_t)packed.len, packed.data, packed.len);
	assert_refused(&s, "12", "gRPC: unsupported grpc-encoding; use gzip or identity");
	call(&s, METHOD, gzipped, 2, (uint32_t)packed.len, packed.data, packed.len);
	assert_refused(&s, "12", "gRPC: unsupported grpc-encoding; use gzip or identity");
	call(&s, METHOD, gzipped, 1, (uint32_t)rq.len, rq.data, rq.len);
	assert_trailer(&s, "grpc-status", "3");
	buf_fini(&rq);
	buf_fini(&packed);
	scene_end(&s);
}

static void a_body_that_is_not_one_message_is_refused(void **state)
{
	static const char why[] = "gRPC: the body is not exactly one complete message";
	struct buf rq = request();
	struct scene s;

	begin(&s, NULL);
	for (size_t len = 0; len < 5; len++) {
		assert_int_equal(scene_send(&s, "POST", METHOD, plain, "\0\0\0\0", len), 200);
		assert_refused(&s, "3", why);
	}
	for (int off = -1; off <= 1; off += 2) {
		call(&s, METHOD, plain, 0, (uint32_t)((int)rq.len + off), rq.data, rq.len);
		assert_refused(&s, "3", why);
	}
	call(&s, METHOD, plain, 0, UINT32_MAX, rq.data, rq.len);
	assert_refused(&s, "3", why);
	/* The connection is still usable. */
	call_usual(&s);
	assert_services(&s);
	buf_fini(&rq);
	scene_end(&s);
}

static void a_message_that_grows_beyond_the_limit_is_refused(void **state)
{
	enum { LEN = 160 << 20 };
	uint8_t *zeros = calloc(1, LEN);
	struct buf packed = { 0 };
	struct scene s;

	assert_non_null(zeros);
	begin(&s, NULL);
	assert_int_equal(gzip_write(zeros, LEN, GZIP_FAST, &packed, NULL), 0);
	free(zeros);
	call(&s, METHOD, gzipped, 1, (uint32_t)packed.len, packed.data, packed.len);
	assert_int_equal(s.answer.status, 200);
	assert_trailer(&s, "grpc-status", "8");
	buf_fini(&packed);
	scene_end(&s);
}

static void errors_are_trailers_in_printable_characters(void **state)
{
	struct buf rq = { 0 };
	struct scene s;

	begin(&s, NULL);
	/* A matcher that is not one, with bytes that trailers cannot have. */
	wire_put_bytes(&rq, 1, "service_name", 12);
	wire_put_bytes(&rq, 2, "{a=\xc3\xa4%\n}", 8);
	wire_put_uint(&rq, 3, (DATA_S - 15) * 1000);
	wire_put_uint(&rq, 4, (DATA_S + 30) * 1000);
	call(&s, METHOD, plain, 0, (uint32_t)rq.len, rq.data, rq.len);
	assert_trailer(&s, "grpc-status", "3");
	for (const char *p = http_client_response_header(&s.answer, "grpc-message"); *p; p++)
		assert_true(*p >= ' ' && *p < 0x7f);
	/* A retry cannot help, so there are no details. */
	assert_trailer(&s, "grpc-status-details-bin", "(none)");
	buf_fini(&rq);
	scene_end(&s);
}

static void other_methods_and_types_are_refused(void **state)
{
	static const char *const other[] = { "Content-Type: application/grpcx", NULL };
	struct buf rq = request();
	struct scene s;

	begin(&s, NULL);
	call(&s, QUERIER "NoSuchMethod", plain, 0, (uint32_t)rq.len, rq.data, rq.len);
	assert_trailer(&s, "grpc-status", "12");
	assert_int_equal(
		call(&s,
		     "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
		     other, 0, (uint32_t)rq.len, rq.data, rq.len),
		415);
	buf_fini(&rq);
	scene_end(&s);
}

TEST_GROUP(test_grpc, TEST(a_message_is_framed_in_both_directions),
	   TEST(a_message_may_be_compressed), TEST(a_body_that_is_not_one_message_is_refused),
	   TEST(a_message_that_grows_beyond_the_limit_is_refused),
	   TEST(errors_are_trailers_in_printable_characters),
	   TEST(other_methods_and_types_are_refused))

/* SPDX-License-Identifier: Apache-2.0 */
/* Each row of failures.def in each protocol, without a server: a handler that fails. */
#include "server/failure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/common/wire.h"
#include "net/http_work.h"
#include "server/api.h"
#include "server/connect.h"
#include "server/grpc.h"
#include "server/rpc.h"
#include "server/server_options.h"
#include "tests/test.h"

static const char *header(const struct http_request *rq, const char *name)
{
	return strcmp(name, "Content-Type") ? NULL : rq->connection;
}

static const struct http_connection_ops ops = { .header = header };

/* Errors that no row lists are failures inside. */
static int error_of(const struct failure *f)
{
	return f->error ? f->error : -EMFILE;
}

static const struct failure *failing;

static int fail_so(struct rpc *rpc)
{
	return err_set(rpc->err, error_of(failing), "reason: 100 %%");
}

struct call {
	struct http_request rq;
	struct http_response rs;
	struct counters counters;
	struct err err;
	struct rpc rpc;
};

static void call_begin(struct call *c, char *type, void *body, size_t len)
{
	static const struct server_options opt;
	static char post[] = "POST";

	*c = (struct call){ .rq = { .ops = &ops,
				    .connection = type,
				    .method = post,
				    .body = { .data = body, .len = len } },
			    .rs = { .status = 200 } };
	c->rpc = (struct rpc){
		.opt = &opt, .counters = &c->counters, .rq = &c->rq, .rs = &c->rs, .err = &c->err
	};
}

static const char *value_of(const struct http_header *h, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(h[i].name, name))
			return h[i].value;
	return NULL;
}

static void has_retry_after(const struct call *c)
{
	const char *v = value_of(c->rs.headers, c->rs.n_headers, "Retry-After");

	assert_int_equal(v != NULL, failing->retry_s != 0);
	if (v)
		assert_int_equal(atol(v), failing->retry_s);
}

static void http_and_connect_answer_with_status_and_code(void **state)
{
	static char json[] = "application/json";

	for (size_t i = 0; i < n_failures; i++) {
		char want[200];
		struct call c;

		failing = &failures[i];
		call_begin(&c, json, NULL, 0);
		connect_call(&c.rpc, fail_so);
		snprintf(want, sizeof(want), "{\"code\":\"%s\",\"message\":\"reason: 100 %%\"}",
			 failing->code);
		buf_put_byte(&c.rs.body, 0);
		assert_string_equal(c.rs.body.data, want);
		assert_int_equal(c.rs.status, failing->status);
		has_retry_after(&c);
		assert_int_equal(c.counters.v[COUNTER_REFUSED], 1);
		buf_fini(&c.rs.body);
	}
}

/* Returns the code of a google.rpc.Status, and the delay of its RetryInfo or 0. */
static uint64_t read_status(const void *data, size_t len, uint64_t *out_delay)
{
	struct wire w = wire_of(data, len);
	uint64_t code = 0;
	struct wire_field f;

	*out_delay = 0;
	while (wire_next(&w, &f) > 0) {
		if (f.number == 1)
			code = f.value;
		if (f.number == 2)
			assert_memory_equal(f.bytes.p, "reason: 100 %", wire_len(f.bytes));
		if (f.number != 3)
			continue;
		w = f.bytes; /* Any, its type first */
		assert_int_equal(wire_next(&w, &f), 1);
		assert_memory_equal(f.bytes.p, "type.googleapis.com/google.rpc.RetryInfo", 40);
		assert_int_equal(wire_next(&w, &f), 1); /* RetryInfo, Duration, seconds */
		w = f.bytes;
		assert_int_equal(wire_next(&w, &f), 1);
		w = f.bytes;
		assert_int_equal(wire_next(&w, &f), 1);
		*out_delay = f.value;
	}
	return code;
}

static void otlp_answers_with_a_status_message_in_the_type_of_the_request(void **state)
{
	static char protobuf[] = "application/x-protobuf", json[] = "application/json";

	for (size_t i = 0; i < 2 * n_failures; i++) {
		char *type = i % 2 ? protobuf : json, want[100];
		uint64_t delay;
		struct call c;

		failing = &failures[i / 2];
		call_begin(&c, type, NULL, 0);
		connect_otlp(&c.rpc, fail_so);
		assert_int_equal(c.rs.status, failing->otlp);
		assert_string_equal(c.rs.content_type, type);
		has_retry_after(&c);
		snprintf(want, sizeof(want), "{\"code\":%d,\"message\":\"reason: 100 %%\"}",
			 failing->grpc);
		if (type == json) {
			buf_put_byte(&c.rs.body, 0);
			assert_string_equal(c.rs.body.data, want);
		} else {
			assert_int_equal(read_status(c.rs.body.data, c.rs.body.len, &delay),
					 failing->grpc);
			assert_int_equal(delay, failing->retry_s);
		}
		buf_fini(&c.rs.body);
	}
}

static void grpc_has_the_status_in_trailers_and_retry_info_if_it_can_be_repeated(void **state)
{
	static char grpc[] = "application/grpc", empty[5];

	for (size_t i = 0; i < n_failures; i++) {
		_cleanup_(buf_fini) struct buf status = { 0 };
		const char *details;
		uint64_t delay;
		struct call c;

		failing = &failures[i];
		call_begin(&c, grpc, empty, sizeof(empty));
		grpc_call(&c.rpc, fail_so);
		assert_int_equal(c.rs.status, 200);
		assert_int_equal(atol(value_of(c.rs.trailers, c.rs.n_trailers, "grpc-status")),
				 failing->grpc);
		assert_string_equal(value_of(c.rs.trailers, c.rs.n_trailers, "grpc-message"),
				    "reason: 100 %25");
		details = value_of(c.rs.trailers, c.rs.n_trailers, "grpc-status-details-bin");
		assert_int_equal(details != NULL, failing->retry_s != 0);
		if (!details)
			continue;
		assert_int_equal(base64_decode(details, strlen(details), &status), 0);
		assert_int_equal(read_status(status.data, status.len, &delay), failing->grpc);
		assert_int_equal(delay, failing->retry_s);
	}
}

/*
 * The statuses that OpenTelemetry's specification lists, and those that Connect's and Pyroscope's
 * clients repeat.
 */
static void what_can_be_repeated_is_repeated_by_clients_of_each_protocol(void **state)
{
	for (size_t i = 0; i < n_failures; i++) {
		const struct failure *f = &failures[i];
		bool otlp = f->otlp == 429 || f->otlp == 502 || f->otlp == 503 || f->otlp == 504;

		if (!f->retry_s) {
			assert_true(f->status < 500 ? !otlp : f->status != 503);
			continue;
		}
		assert_true(otlp);
		assert_true(f->status == 429 || f->status == 503 || f->status == 507);
		assert_true(f->grpc == 8 || f->grpc == 14);
		assert_true(!strcmp(f->code, "unavailable") ||
			    !strcmp(f->code, "resource_exhausted"));
	}
}

static void any_other_errno_is_a_failure_inside(void **state)
{
	static const int inside[] = { -EIO,          -EROFS, -EMFILE,     -ENFILE, -EBADF,
				      -ECONNREFUSED, -EPIPE, -ECONNRESET, -EAGAIN, -ENOTDIR };

	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		assert_int_equal(failure_of(inside[i])->status, 503);
}

TEST_GROUP(test_failure, TEST(http_and_connect_answer_with_status_and_code),
	   TEST(otlp_answers_with_a_status_message_in_the_type_of_the_request),
	   TEST(grpc_has_the_status_in_trailers_and_retry_info_if_it_can_be_repeated),
	   TEST(what_can_be_repeated_is_repeated_by_clients_of_each_protocol),
	   TEST(any_other_errno_is_a_failure_inside))

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests are read with the reader of the codec, and responses are those of a fake server; gRPC's
 * are given to the judge directly. tests/export/receivers.py has gRPC's own server.
 *
 * covers: src/export/otlp.c src/export/otlp_judge.c
 */
#include "export/exporter_role.h"
#include "export/otlp_judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../codec/fixture.h"
#include "../net/fixture.h"
#include "base/base64.h"
#include "base/err.h"
#include "codec/common/gzip.h"
#include "codec/common/limits.h"
#include "codec/common/wire.h"
#include "codec/otlp/otlp_read.h"
#include "export/export.h"
#include "export/sink.h"
#include "export/window.h"
#include "net/http_client.h"
#include "profile/profile.h"
#include "roles/pool.h"
#include "tests/test.h"

/* ---- Requests --------------------------------------------------------------------- */

enum { ITEMS_MAX = 64 };

/* The items of a window, and the profiles that come back out of them. */
struct items {
	size_t n, n_profiles;
	struct buf bodies[ITEMS_MAX];
	uint32_t n_in[ITEMS_MAX];
	int64_t sum;
	uint8_t ids[ITEMS_MAX][16];
	int fail_with;
};

static int on_item(void *ctx, struct buf *body, uint32_t n_profiles)
{
	struct items *items = ctx;

	if (items->fail_with)
		return items->fail_with;
	assert_true(items->n < ITEMS_MAX);
	items->n_in[items->n] = n_profiles;
	items->bodies[items->n++] = *body;
	*body = (struct buf){ 0 };
	return 0;
}

static void items_fini(struct items *items)
{
	for (size_t i = 0; i < items->n; i++)
		buf_fini(&items->bodies[i]);
}

static int on_profile(void *ctx, const struct otlp_profile *part)
{
	struct items *items = ctx;

	assert_true(items->n_profiles < ITEMS_MAX);
	assert_int_equal(part->id_len, 16);
	memcpy(items->ids[items->n_profiles++], part->id, 16);
	for (uint32_t i = 0; i < profile_n_samples(part->profile); i++)
		items->sum += profile_sample(part->profile, i).values[0];
	profile_free(part->profile);
	return 0;
}

static void read_back(struct items *items, const void *data, size_t len)
{
	assert_int_equal(otlp_read_profiles(data, len, NULL, on_profile, items, NULL), 0);
}

/* The processes that send, which end with this one. */
static const struct sink_setup *setup(void)
{
	static struct sink_setup s = { .host = "host" };
	const struct role_pool_opts opts = { .max_children = 1,
					     .max_abandoned = 1,
					     .memory_bytes = EXPORTER_MEMORY };

	if (!s.exporters)
		assert_int_equal(role_pool_new(&s.exporters, &exporter_role, &opts, NULL), 0);
	return &s;
}

static void *open_sink(const char *url, bool no_gzip)
{
	const struct export_sink_options opt = { .kind = EXPORT_OTLP,
						 .url = url,
						 .no_gzip = no_gzip };
	struct err err = { 0 };
	void *sink;

	if (sink_otlp.open(&sink, &opt, setup(), &err) < 0)
		fail_msg("%s", err.msg);
	return sink;
}

static struct export_window *new_window(void)
{
	struct export_window *w;

	assert_int_equal(export_window_new(&w, 1700000000000000000, 1700000015000000000), 0);
	return w;
}

static void add(struct export_window *w, struct profile *p)
{
	static const struct export_label labels[] = { { "service_name", "shop" }, { "pid", "7" } };

	assert_int_equal(export_window_add(w, p, labels, 2), 0);
}

static void processes_share_a_request(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = new_window();
	void *sink = open_sink("http://h", true);
	struct items items = { 0 };

	add(w, fixture_small());
	add(w, fixture_small());
	assert_int_equal(sink_otlp.encode(sink, w, on_item, &items), 0);
	assert_int_equal(items.n, 1);
	assert_int_equal(items.n_in[0], 2);
	read_back(&items, items.bodies[0].data, items.bodies[0].len);
	assert_int_equal(items.n_profiles, 2);
	assert_int_equal(items.sum, 8);
	assert_memory_equal(items.ids[0], w->series.data[0].id, 16);
	assert_memory_equal(items.ids[1], w->series.data[1].id, 16);
	assert_non_null(memmem(items.bodies[0].data, items.bodies[0].len, "host.name", 9));
	items_fini(&items);
	sink_otlp.free(sink);
}

static void a_grpc_message_has_a_header_and_may_be_compressed(void **state)
{
	for (int no_gzip = 0; no_gzip < 2; no_gzip++) {
		_cleanup_(export_window_freep) struct export_window *w = new_window();
		void *sink = open_sink("grpc://h", no_gzip);
		struct items items = { 0 };
		struct buf raw = { 0 };
		const uint8_t *p;
		size_t len;

		add(w, fixture_small());
		assert_int_equal(sink_otlp.encode(sink, w, on_item, &items), 0);
		assert_int_equal(items.n, 1);
		p = items.bodies[0].data;
		assert_int_equal(p[0], !no_gzip);
		len = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
		assert_int_equal(len, items.bodies[0].len - OTLP_FRAME_HEADER);
		p += OTLP_FRAME_HEADER;
		if (no_gzip) {
			buf_put(&raw, p, len);
		} else {
			assert_int_equal(gzip_read(p, len, 1 << 20, &raw, NULL), 0);
		}
		read_back(&items, raw.data, raw.len);
		assert_int_equal(items.sum, 4);
		buf_fini(&raw);
		items_fini(&items);
		sink_otlp.free(sink);
	}
}

/* A profile of about 5 MB, whose text cannot be shared between samples. */
static struct profile *large_profile(int64_t *sum)
{
	struct profile *p = fixture_small();
	char name[4096 + 16];

	*sum = 4;
	memset(name, 'x', 4096);
	for (int i = 0; i < 1200; i++) {
		const int64_t values[] = { 1 + i % 3, 10 };
		struct profile_sample s = { .values = values };
		uint32_t location;

		snprintf(name + 4096, 16, "%d", i);
		location = fixture_location(p, 0, 0x400300 + (uint64_t)i, name);
		assert_int_equal(profile_add_stack(p, &location, 1, &s.stack), 0);
		assert_int_equal(profile_add_sample(p, &s), 0);
		*sum += values[0];
	}
	return p;
}

static void a_large_profile_becomes_requests_below_the_limit_of_grpc(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = new_window();
	void *sink = open_sink("grpc://h", true);
	struct items items = { 0 };
	int64_t sum;

	add(w, fixture_small());
	add(w, large_profile(&sum));
	assert_int_equal(sink_otlp.encode(sink, w, on_item, &items), 0);
	assert_true(items.n >= 3);
	for (size_t i = 0; i < items.n; i++) {
		assert_true(items.bodies[i].len < 4 << 20);
		read_back(&items, items.bodies[i].data + OTLP_FRAME_HEADER,
			  items.bodies[i].len - OTLP_FRAME_HEADER);
	}
	assert_int_equal(items.sum, sum + 4);
	for (size_t i = 0; i < items.n_profiles; i++)
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(items.ids[i], items.ids[k], 16);
	items_fini(&items);
	sink_otlp.free(sink);
}

static void a_window_without_samples_sends_nothing(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = new_window();
	void *sink = open_sink("grpc://h", true);
	struct items items = { .fail_with = -ENOMEM };
	struct profile *p;

	assert_int_equal(sink_otlp.encode(sink, w, on_item, &items), 0);
	assert_int_equal(profile_new(&p), 0);
	add(w, p);
	assert_int_equal(sink_otlp.encode(sink, w, on_item, &items), 0);
	add(w, fixture_small());
	assert_int_equal(sink_otlp.encode(sink, w, on_item, &items), -ENOMEM);
	sink_otlp.free(sink);
}

/* ---- URLs ------------------------------------------------------------------------- */

static void urls_of_other_kinds_are_refused(void **state)
{
	static const char *const bad[] = { "",        "h",         "://h",
					   "http://", "ftp://h",   "httpss://h",
					   "grp://h", "grpcx://h", "grpc://h/x" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct export_sink_options opt = { .kind = EXPORT_OTLP, .url = bad[i] };
		struct err err = { 0 };
		void *sink;

		if (sink_otlp.open(&sink, &opt, setup(), &err) != -EINVAL)
			fail_msg("\"%s\" is accepted", bad[i]);
		assert_non_null(strstr(err.msg, "OTLP URL \""));
	}
	for (size_t i = 0; i < 4; i++)
		sink_otlp.free(
			open_sink((const char *const[]){ "grpc://[::1]", "grpcs://h:1/",
							 "https://u:p@h", "http://h/p?q" }[i],
				  false));
}

static struct sink_outcome send_to(const char *path, const char *answer, const char *want_request)
{
	_cleanup_(export_window_freep) struct export_window *w = new_window();
	struct fake_server *server = fake_server_new(&answer, 1);
	struct sink_outcome out = { .verdict = SINK_LATER };
	char *url = fake_server_url(server, path);
	struct export_item item = { .n_profiles = 3 };
	struct items items = { 0 };
	void *sink = open_sink(url, false);

	add(w, fixture_small());
	assert_int_equal(sink_otlp.encode(sink, w, on_item, &items), 0);
	item.body = items.bodies[0];
	sink_otlp.send(sink, &item, &out);
	assert_int_equal(fake_server_n_requests(server), 1);
	assert_non_null(strstr(fake_server_request(server, 0), want_request));
	items_fini(&items);
	sink_otlp.free(sink);
	fake_server_free(server);
	free(url);
	return out;
}

#define REQUEST "POST /v1development/profiles HTTP/1.1\r\n"

static void the_path_is_that_of_the_url_or_the_protocol(void **state)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

	assert_int_equal(send_to("", ok, REQUEST).verdict, SINK_DONE);
	assert_int_equal(send_to("/", ok, REQUEST).verdict, SINK_DONE);
	assert_int_equal(send_to("/in?x=1", ok, "POST /in?x=1 HTTP/1.1\r\n").verdict, SINK_DONE);
	send_to("", ok, "Content-Type: application/x-protobuf\r\n");
	send_to("", ok, "Content-Encoding: gzip\r\n");
}

/* ---- Responses over HTTP ---------------------------------------------------------- */

#define HTTP(status, type, body)                                                                   \
	"HTTP/1.1 " status "\r\nContent-Type: " type "\r\nConnection: close\r\n\r\n" body
#define PROTOBUF "application/x-protobuf"

static void responses_over_http_are_judged_by_status_and_type(void **state)
{
	static const struct {
		const char *answer, *why;
		enum sink_verdict verdict;
	} cases[] = {
		{ HTTP("200 OK", "application/json", "{}"), "", SINK_DONE },
		{ HTTP("200 OK", "application/protobuf; x=y", "\x0a"), "", SINK_DONE },
		{ HTTP("200 OK", PROTOBUF, "\x0a\x07\x08\x02\x12\x03old"),
		  "2 of 3 profiles rejected: old", SINK_DONE },
		{ HTTP("200 OK", PROTOBUF, "\x0a\x07\x08\x09\x12\x03old"),
		  "3 of 3 profiles rejected: old", SINK_DONE },
		{ HTTP("200 OK", "text/html", "<h1>Log in</h1>"),
		  "status 200, but the response is not from an OTLP receiver", SINK_LATER },
		{ HTTP("400 Bad", PROTOBUF, "\x08\x03\x12\x05wrong"), "status 400: wrong",
		  SINK_NEVER },
		{ HTTP("400 Bad", "text/plain", "no\x01"), "status 400: no?", SINK_NEVER },
		{ HTTP("404 No", "text/plain", ""), "status 404", SINK_NEVER },
		{ HTTP("401 Who", "text/plain", ""), "status 401", SINK_DENIED },
		{ HTTP("403 No", "text/plain", ""), "status 403", SINK_DENIED },
		{ HTTP("429 Slow", "text/plain", ""), "status 429", SINK_LATER },
		{ HTTP("500 Oops", "text/plain", ""), "status 500", SINK_DOUBTFUL },
		{ HTTP("503 Busy", "text/plain", ""), "status 503", SINK_LATER },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sink_outcome o = send_to("", cases[i].answer, REQUEST);

		assert_string_equal(o.why, cases[i].why);
		assert_int_equal(o.verdict, cases[i].verdict);
	}
}

static void a_pause_that_the_receiver_requests_is_passed_on(void **state)
{
	static const char after[] = "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n\r\n";

	assert_int_equal(send_to("", after, REQUEST).retry_ms, 7000);
}

static void a_server_that_does_not_answer_is_tried_later(void **state)
{
	struct sink_outcome o = send_to("", "", REQUEST);

	assert_int_equal(o.verdict, SINK_LATER);
	assert_true(*o.why);
}

static void a_cancelled_sink_does_not_send(void **state)
{
	static const char *const answer = FAKE_SILENCE;
	struct fake_server *server = fake_server_new(&answer, 1);
	char *url = fake_server_url(server, "");
	void *sink = open_sink(url, true);
	struct export_item item = { .n_profiles = 1 };
	struct sink_outcome o = { .verdict = SINK_LATER };

	sink_otlp.cancel(sink);
	sink_otlp.send(sink, &item, &o);
	assert_int_equal(o.verdict, SINK_LATER);
	assert_int_equal(fake_server_n_requests(server), 0);
	sink_otlp.free(sink);
	fake_server_free(server);
	free(url);
}

/* ---- Responses over gRPC ---------------------------------------------------------- */

static struct sink_outcome judge_grpc(int status, const char *const *headers, const void *body,
				      size_t len)
{
	struct http_client_response a = { .status = status };
	struct sink_outcome o = { .verdict = SINK_LATER };

	for (; headers && *headers; headers++)
		buf_put(&a.headers, *headers, strlen(*headers) + 1);
	buf_put(&a.body, body, len);
	otlp_judge_grpc(&a, 3, &o);
	http_client_response_fini(&a);
	return o;
}

static struct sink_outcome judge_status(const char *status, const char *message,
					const char *details)
{
	const char *headers[] = { status, NULL, NULL, NULL };

	if (message)
		headers[1] = message;
	if (details)
		headers[1 + !!message] = details;
	return judge_grpc(200, headers, "", 0);
}

static void every_status_of_grpc_has_a_verdict(void **state)
{
	static const enum sink_verdict verdicts[] = {
		SINK_DONE,  SINK_LATER,    SINK_DOUBTFUL, SINK_NEVER, SINK_LATER,  SINK_NEVER,
		SINK_NEVER, SINK_DENIED,   SINK_DOUBTFUL, SINK_NEVER, SINK_LATER,  SINK_LATER,
		SINK_NEVER, SINK_DOUBTFUL, SINK_LATER,    SINK_LATER, SINK_DENIED, SINK_NEVER,
	};
	char status[64], why[64];

	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		struct sink_outcome o;

		snprintf(status, sizeof(status), "grpc-status: %zu", i);
		snprintf(why, sizeof(why), "gRPC status %zu: it is 100%%", i);
		o = judge_status(status, "grpc-message: it is 100%25", NULL);
		assert_int_equal(o.verdict, verdicts[i]);
		assert_string_equal(o.why, i ? why : "");
	}
	assert_int_equal(judge_status("grpc-status: x", NULL, NULL).verdict, SINK_DOUBTFUL);
	assert_int_equal(judge_status("grpc-status: ", NULL, NULL).verdict, SINK_DOUBTFUL);
	assert_int_equal(judge_status("grpc-status: 14 x", NULL, NULL).verdict, SINK_DOUBTFUL);
	assert_int_equal(judge_status("grpc-status: 99999999999999999999", NULL, NULL).verdict,
			 SINK_NEVER);
}

static void a_response_that_is_not_grpc_keeps_the_item(void **state)
{
	struct sink_outcome o = judge_grpc(200, NULL, "<html>", 6);

	assert_int_equal(o.verdict, SINK_LATER);
	assert_string_equal(o.why, "the response is not gRPC: is this the gRPC port?");
	assert_int_equal(judge_grpc(502, NULL, "", 0).verdict, SINK_LATER);
	assert_int_equal(judge_grpc(404, NULL, "", 0).verdict, SINK_NEVER);
	assert_int_equal(
		judge_grpc(404, (const char *const[]){ "grpc-status: 0", NULL }, "", 0).verdict,
		SINK_NEVER);
}

static void rejected_profiles_are_read_from_the_message(void **state)
{
	static const char *const ok[] = { "grpc-status: 0", NULL };
	static const char message[] = "\0\0\0\0\x09\x0a\x07\x08\x02\x12\x03old";
	size_t len = sizeof(message) - 1;
	struct sink_outcome o = judge_grpc(200, ok, message, len);

	assert_int_equal(o.verdict, SINK_DONE);
	assert_int_equal(o.rejected_profiles, 2);
	assert_string_equal(o.why, "2 of 3 profiles rejected: old");
	/* A truncated or compressed message says nothing. */
	for (size_t n = 0; n < len; n++)
		assert_int_equal(judge_grpc(200, ok, message, n).verdict, SINK_DONE);
	assert_int_equal(judge_grpc(200, ok, message, OTLP_FRAME_HEADER).rejected_profiles, 0);
	assert_int_equal(judge_grpc(200, ok, "\1\0\0\0\x09\x0a\x07\x08\x02\x12\x03old", len)
				 .rejected_profiles,
			 0);
}

/* "grpc-status-details-bin: " and a status 8 with a RetryInfo of 2 s and @padding unknown bytes. */
static char *details_header(bool with_retry, size_t padding)
{
	static const uint8_t zeros[8192];
	static const char type[] = "type.googleapis.com/google.rpc.RetryInfo";
	struct buf status = { 0 }, header = { 0 };
	size_t detail, info, delay;

	wire_put_uint(&status, 1, 8);
	wire_put_bytes(&status, 2, "quota", 5);
	if (with_retry) {
		detail = wire_begin(&status, 3);
		wire_put_bytes(&status, 1, type, strlen(type));
		info = wire_begin(&status, 2);
		delay = wire_begin(&status, 1);
		wire_put_int(&status, 1, 2);
		wire_end(&status, delay);
		wire_end(&status, info);
		wire_end(&status, detail);
	}
	wire_put_bytes(&status, 15, zeros, padding);
	buf_put_str(&header, "grpc-status-details-bin: ");
	base64_encode(status.data, status.len, &header);
	buf_put_byte(&header, 0);
	buf_fini(&status);
	return (char *)header.data;
}

static void a_quota_is_retried_if_the_receiver_says_when(void **state)
{
	char *with = details_header(true, 0), *without = details_header(false, 0);
	struct sink_outcome o = judge_status("grpc-status: 8", NULL, with);

	assert_int_equal(o.verdict, SINK_LATER);
	assert_int_equal(o.retry_ms, 2000);
	assert_string_equal(o.why, "gRPC status 8: quota");
	o = judge_status("grpc-status: 8", "grpc-message: mine", without);
	assert_int_equal(o.verdict, SINK_DOUBTFUL);
	assert_int_equal(o.retry_ms, 0);
	assert_string_equal(o.why, "gRPC status 8: mine");
	assert_int_equal(
		judge_status("grpc-status: 8", NULL, "grpc-status-details-bin: ***").verdict,
		SINK_DOUBTFUL);
	free(with);
	free(without);
}

static void details_that_are_too_long_are_ignored(void **state)
{
	char *usual = details_header(true, 5000), *large = details_header(true, 7000);

	assert_int_equal(judge_status("grpc-status: 8", NULL, usual).retry_ms, 2000);
	assert_int_equal(judge_status("grpc-status: 8", NULL, large).retry_ms, 0);
	free(usual);
	free(large);
}

TEST_GROUP(test_otlp_sink, TEST(processes_share_a_request),
	   TEST(a_grpc_message_has_a_header_and_may_be_compressed),
	   TEST(a_large_profile_becomes_requests_below_the_limit_of_grpc),
	   TEST(a_window_without_samples_sends_nothing), TEST(urls_of_other_kinds_are_refused),
	   TEST(the_path_is_that_of_the_url_or_the_protocol),
	   TEST(responses_over_http_are_judged_by_status_and_type),
	   TEST(a_pause_that_the_receiver_requests_is_passed_on),
	   TEST(a_server_that_does_not_answer_is_tried_later), TEST(a_cancelled_sink_does_not_send),
	   TEST(every_status_of_grpc_has_a_verdict),
	   TEST(a_response_that_is_not_grpc_keeps_the_item),
	   TEST(rejected_profiles_are_read_from_the_message),
	   TEST(a_quota_is_retried_if_the_receiver_says_when),
	   TEST(details_that_are_too_long_are_ignored))

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ingestion of OTLP. The request was recorded of an OpenTelemetry collector: the stacks main;work 3
 * (with thread.name=worker-1) and main 2, a period of 10 ms, service.name=otlp-app, host.name=n1.
 */
#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/common/wire.h"
#include "fixture.h"
#include "tests/test.h"

#define OTLP  "/v1development/profiles"
#define RANGE "\"start\":1,\"end\":9000000000000"

/* Before and after the time of the profile, 8 bytes. */
static const char recorded_begin[] =
	"0a660a2f0a1a0a0c736572766963652e6e616d65120a0a086f746c702d6170700a110a09686f73742e6e"
	"616d6512040a026e31123312310a0408011002120808011201012201031205080222010219";
static const char recorded_end[] =
	"2080c8afa0252a04080310043080ade20412cb010a000a090880201080a00220081200120b0801108022"
	"1a0408011007120b08011080241a04080210091a001a04080518071a040806180722002a002a0773616d"
	"706c65732a05636f756e742a036370752a0b6e616e6f7365636f6e64732a046d61696e2a04776f726b2a"
	"056170702e632a0c2f7573722f62696e2f6170702a0b7468726561642e6e616d652a1f70726f63657373"
	"2e65786563757461626c652e6275696c645f69642e676e753200320e0809120a0a08776f726b65722d31"
	"3a003a040a0202013a030a0101";

static void put_recorded(struct buf *out, uint64_t time_ns)
{
	assert_int_equal(hex_decode(recorded_begin, strlen(recorded_begin), out), 0);
	wire_put_fixed64_raw(out, time_ns);
	assert_int_equal(hex_decode(recorded_end, strlen(recorded_end), out), 0);
}

static int send_otlp(struct scene *s, const char *type, const void *body, size_t len)
{
	const char *headers[] = { type, NULL };

	return scene_send(s, "POST", OTLP, headers, body, len);
}

static int send_recorded(struct scene *s, uint64_t time_ns)
{
	_cleanup_(buf_fini) struct buf body = { 0 };

	put_recorded(&body, time_ns);
	return send_otlp(s, "Content-Type: application/x-protobuf", body.data, body.len);
}

static void counts_become_time_and_attributes_labels(void **state)
{
	static const char *const any_name[] = { "Content-Type: application/json",
						"Accept: */*; allow-utf8-labelnames=true", NULL };
	static const char names[] = "{" RANGE "}";
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(send_recorded(&s, clock_unix_ns()), 200);
	assert_int_equal(s.answer.body.len, 0);
	assert_string_equal(http_client_response_header(&s.answer, "Content-Type"),
			    "application/x-protobuf");
	/* (3 + 2) samples of 10 ms; the thread's name makes a series of its own */
	assert_int_equal(scene_total(&s, "{service_name=\\\"otlp-app\\\"}", RANGE), 50000000);
	assert_int_equal(scene_total(&s, "{\\\"thread.name\\\"=\\\"worker-1\\\"}", RANGE),
			 30000000);
	assert_int_equal(scene_total(&s, "{\\\"host.name\\\"=\\\"n1\\\"}", RANGE), 50000000);
	scene_expect(&s, QUERIER "LabelNames", names, 200,
		     "{\"names\":[\"__name__\",\"__otel__\",\"__period_type__\","
		     "\"__period_unit__\",\"__profile_type__\",\"__service_name__\",\"__type__\","
		     "\"__unit__\",\"service_name\"]}");
	assert_int_equal(
		scene_send(&s, "POST", QUERIER "LabelNames", any_name, names, strlen(names)), 200);
	assert_non_null(strstr(scene_text(&s), "\"host.name\",\"service.name\","));
	scene_end(&s);
}

static void json_is_accepted_like_protobuf(void **state)
{
	static const char request[] =
		"{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"servi"
		"ce.name\",\"value\":{\"stringValue\":\"otlp-json\"}}]},\"scopeProfiles"
		"\":[{\"profiles\":[{\"sampleType\":{\"typeStrindex\":1,\"unitStrindex"
		"\":2},\"samples\":[{\"stackIndex\":1,\"values\":[\"4\"]}],\"durationNa"
		"no\":\"10000000000\",\"periodType\":{\"typeStrindex\":3,\"unitStrindex"
		"\":4},\"period\":\"10000000\"}]}]}],\"dictionary\":{\"mappingTable\":["
		"{}],\"locationTable\":[{},{\"lines\":[{\"functionIndex\":1}]}],\"funct"
		"ionTable\":[{},{\"nameStrindex\":5}],\"linkTable\":[{}],\"stringTable"
		"\":[\"\",\"samples\",\"count\",\"cpu\",\"nanoseconds\",\"main\"],\"att"
		"ributeTable\":[{}],\"stackTable\":[{},{\"locationIndices\":[1]}]}}";
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(send_otlp(&s, "Content-Type: application/json", request, strlen(request)),
			 200);
	assert_int_equal(scene_total(&s, "{service_name=\\\"otlp-json\\\"}", RANGE), 40000000);
	scene_end(&s);
}

/* Contention and blocking have the same types; only the name distinguishes them. */
static void a_profile_may_have_a_name(void **state)
{
	static const char request[] =
		"{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
		"\"value\":{\"stringValue\":\"named\"}},{\"key\":\"cameo.profile.name\","
		"\"value\":{\"stringValue\":\"mutex\"}}]},\"scopeProfiles\":[{\"profiles\":[{"
		"\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},\"samples\":[{"
		"\"stackIndex\":1,\"values\":[\"4\"]}],\"durationNano\":\"1\","
		"\"periodType\":{\"typeStrindex\":1,\"unitStrindex\":2},\"period\":\"1\"}]}]}],"
		"\"dictionary\":{\"mappingTable\":[{}],\"locationTable\":[{},{\"lines\":[{"
		"\"functionIndex\":1}]}],\"functionTable\":[{},{\"nameStrindex\":3}],"
		"\"linkTable\":[{}],\"stringTable\":[\"\",\"contentions\",\"count\",\"main\"],"
		"\"attributeTable\":[{}],\"stackTable\":[{},{\"locationIndices\":[1]}]}}";
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(send_otlp(&s, "Content-Type: application/json", request, strlen(request)),
			 200);
	scene_expect(&s, QUERIER "LabelValues", "{\"name\":\"__profile_type__\"," RANGE "}", 200,
		     "{\"names\":[\"mutex:contentions:count:contentions:count\"]}");
	scene_end(&s);
}

static void a_profile_from_the_future_is_refused_without_a_trace(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(send_recorded(&s, clock_unix_ns() + 3600 * (uint64_t)CLOCK_SECOND_NS),
			 400);
	assert_non_null(strstr(scene_text(&s), "more than 10 min in the future"));
	assert_int_equal(scene_total(&s, "{}", RANGE), 0);
	scene_end(&s);
}

static void a_body_that_is_not_a_request_is_refused(void **state)
{
	static const struct {
		const char *body;
		size_t len;
	} cases[] = { { "\xff\xff", 2 }, { "\x0a\x02\x0a\x00", 4 }, { "\x0a\x7f", 2 } };
	static const char *const empty[] = { "", "\x12" };
	_cleanup_(buf_fini) struct buf recorded = { 0 };
	struct scene s;

	scene_begin(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(send_otlp(&s, "Content-Type: application/x-protobuf",
					   cases[i].body, cases[i].len),
				 400);
		assert_string_equal(http_client_response_header(&s.answer, "Content-Type"),
				    "application/x-protobuf");
	}
	/* a request without profiles is none of these */
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			send_otlp(&s, "Content-Type: application/x-protobuf", empty[i], 2 * i),
			200);
	put_recorded(&recorded, clock_unix_ns());
	assert_int_equal(
		send_otlp(&s, "Content-Type: application/json", recorded.data, recorded.len), 400);
	assert_int_equal(send_otlp(&s, "Content-Type: application/x-protobuf", recorded.data,
				   recorded.len - 1),
			 400);
	assert_int_equal(scene_get(&s, "/v1/profiles"), 404);
	assert_int_equal(scene_total(&s, "{}", RANGE), 0);
	scene_end(&s);
}

/*
 * Two requests in one body are one request with the resources of both and the dictionary of the
 * last one, which here is the same.
 */
static void one_bad_profile_does_not_refuse_the_other(void **state)
{
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct scene s;

	scene_begin(&s, NULL);
	put_recorded(&body, clock_unix_ns() + 3600 * (uint64_t)CLOCK_SECOND_NS);
	put_recorded(&body, clock_unix_ns());
	assert_int_equal(send_otlp(&s, "Content-Type: application/x-protobuf", body.data, body.len),
			 200);
	/* partial_success, rejected_profiles 1, the first letters of the message */
	assert_memory_equal(scene_text(&s) + 2, "\x08\x01\x12", 3);
	assert_non_null(strstr(scene_text(&s) + 6, "more than 10 min in the future"));
	assert_int_equal(scene_total(&s, "{}", RANGE), 50000000);
	scene_end(&s);
}

TEST_GROUP(test_otlp_ingest, TEST(one_bad_profile_does_not_refuse_the_other),
	   TEST(counts_become_time_and_attributes_labels), TEST(json_is_accepted_like_protobuf),
	   TEST(a_profile_may_have_a_name),
	   TEST(a_profile_from_the_future_is_refused_without_a_trace),
	   TEST(a_body_that_is_not_a_request_is_refused))

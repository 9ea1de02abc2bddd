/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pprof_json.h"

#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "codec/common/wire.h"
#include "tests/test.h"

/* A Pyroscope server's response to SelectMergeProfile, in protobuf and in JSON. */
static const char recorded_proto[] =
	"0a0408081007120a0a020201120480dac409120c0a0405040201120480e1eb17120b0a03030201120480"
	"bbb021120a0a020601120480ade204120b0a030402011204808ece1c1a02080122080801100122020801"
	"220808021001220208022208080310012202080322080804100122020804220808051001220208052208"
	"08061001220208062a04080110012a04080210022a04080310032a04080410042a04080510052a040806"
	"1006320032046d61696e32057365727665320570617273653205717565727932046c6f636b3202676332"
	"0b6e616e6f7365636f6e647332036370754880d8aec7a79df5f4185a0408081007608094ebdc037008";
static const char recorded_json[] =
	"{\"sampleType\":[{\"type\":\"8\",\"unit\":\"7\"}],\"sample\":[{\"locationId\":[\"2\""
	",\"1\"],\"value\":[\"20000000\"]},{\"locationId\":[\"5\",\"4\",\"2\",\"1\"],\"value"
	"\":[\"50000000\"]},{\"locationId\":[\"3\",\"2\",\"1\"],\"value\":[\"70000000\"]},{\""
	"locationId\":[\"6\",\"1\"],\"value\":[\"10000000\"]},{\"locationId\":[\"4\",\"2\",\""
	"1\"],\"value\":[\"60000000\"]}],\"mapping\":[{\"id\":\"1\"}],\"location\":[{\"id\":"
	"\"1\",\"mappingId\":\"1\",\"line\":[{\"functionId\":\"1\"}]},{\"id\":\"2\",\"mapping"
	"Id\":\"1\",\"line\":[{\"functionId\":\"2\"}]},{\"id\":\"3\",\"mappingId\":\"1\",\"li"
	"ne\":[{\"functionId\":\"3\"}]},{\"id\":\"4\",\"mappingId\":\"1\",\"line\":[{\"functi"
	"onId\":\"4\"}]},{\"id\":\"5\",\"mappingId\":\"1\",\"line\":[{\"functionId\":\"5\"}]}"
	",{\"id\":\"6\",\"mappingId\":\"1\",\"line\":[{\"functionId\":\"6\"}]}],\"function\":"
	"[{\"id\":\"1\",\"name\":\"1\"},{\"id\":\"2\",\"name\":\"2\"},{\"id\":\"3\",\"name\":"
	"\"3\"},{\"id\":\"4\",\"name\":\"4\"},{\"id\":\"5\",\"name\":\"5\"},{\"id\":\"6\",\"n"
	"ame\":\"6\"}],\"stringTable\":[\"\",\"main\",\"serve\",\"parse\",\"query\",\"lock\","
	"\"gc\",\"nanoseconds\",\"cpu\"],\"timeNanos\":\"1795200030000000000\",\"periodType\""
	":{\"type\":\"8\",\"unit\":\"7\"},\"period\":\"1000000000\",\"defaultSampleType\":\"8"
	"\"}";

static int convert(const void *proto, size_t len, struct buf *out)
{
	struct json j = json_to(out);
	int r;

	json_object(&j);
	r = pprof_json(proto, len, &j);
	json_object_end(&j);
	buf_put_byte(out, 0);
	return r;
}

static void the_recorded_profile_becomes_the_recorded_json(void **state)
{
	_cleanup_(buf_fini) struct buf proto = { 0 }, out = { 0 };

	assert_int_equal(hex_decode(recorded_proto, strlen(recorded_proto), &proto), 0);
	assert_int_equal(convert(proto.data, proto.len, &out), 0);
	assert_string_equal((const char *)out.data, recorded_json);
}

/* Numbers of a list may be packed, single, or both, and other fields may be between them. */
static void lists_may_be_split_and_out_of_order(void **state)
{
	static const char proto[] = "\x6a\x02\x01\x02" /* comment 1, 2 */
				    "\x32\x00"         /* stringTable "" */
				    "\x68\x03"         /* comment 3 */
				    "\x32\x03"
				    "a\"b"              /* stringTable a"b */
				    "\xfa\x3e\x01x"     /* field 1007, unknown */
				    "\x12\x02\x12\x00"; /* a sample with no value */
	_cleanup_(buf_fini) struct buf out = { 0 };

	assert_int_equal(convert(proto, sizeof(proto) - 1, &out), 0);
	assert_string_equal((const char *)out.data,
			    "{\"sample\":[{\"value\":[]}],\"stringTable\":[\"\",\"a\\\"b\"],"
			    "\"comment\":[\"1\",\"2\",\"3\"]}");
}

static void a_negative_number_is_signed_and_a_flag_is_a_bool(void **state)
{
	_cleanup_(buf_fini) struct buf proto = { 0 }, out = { 0 };
	size_t mapping = wire_begin(&proto, 3);

	wire_put_uint(&proto, 7, 1);
	wire_end(&proto, mapping);
	wire_put_int(&proto, 12, -5);
	assert_int_equal(convert(proto.data, proto.len, &out), 0);
	assert_string_equal((const char *)out.data,
			    "{\"mapping\":[{\"hasFunctions\":true}],\"period\":\"-5\"}");
}

static void every_truncated_profile_is_refused_or_shorter(void **state)
{
	_cleanup_(buf_fini) struct buf proto = { 0 };
	size_t n_refused = 0;

	assert_int_equal(hex_decode(recorded_proto, strlen(recorded_proto), &proto), 0);
	for (size_t len = 0; len < proto.len; len++) {
		_cleanup_(buf_fini) struct buf out = { 0 };
		int r = convert(proto.data, len, &out);

		assert_true(r == 0 || r == -EBADMSG);
		n_refused += r != 0;
	}
	assert_true(n_refused > proto.len / 2);
}

TEST_GROUP(test_pprof_json, TEST(the_recorded_profile_becomes_the_recorded_json),
	   TEST(lists_may_be_split_and_out_of_order),
	   TEST(a_negative_number_is_signed_and_a_flag_is_a_bool),
	   TEST(every_truncated_profile_is_refused_or_shorter))

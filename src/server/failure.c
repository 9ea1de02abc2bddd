/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP status of each code is that of the Connect protocol, except that a request that is too
 * large gets 413 or 422. Clients of Connect act on the code in the body, so they are not affected.
 * OpenTelemetry's clients over gRPC repeat RESOURCE_EXHAUSTED only with a RetryInfo.
 */
#include "server/failure.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "codec/common/wire.h"
#include "server/rpc.h"
#include "server/server_options.h"

enum { MAX_DECOMPRESSED = 128 << 20 };

/* Fields of google.rpc.Status, google.protobuf.Any, google.rpc.RetryInfo and Duration. */
enum {
	STATUS_CODE = 1,
	STATUS_MESSAGE = 2,
	STATUS_DETAILS = 3,
	ANY_TYPE = 1,
	ANY_VALUE = 2,
	RETRY_INFO_DELAY = 1,
	DURATION_SECONDS = 1,
};

const struct failure failures[] = {
#define X(symbol, error, http, otlp, code, grpc, retry_s, counter, cause)                          \
	{ cause, -(error), http, otlp, code, grpc, retry_s, #retry_s, COUNTER_##counter },
#include "server/failures.def"
#undef X
};

const size_t n_failures = sizeof(failures) / sizeof(failures[0]);

/* The row with error 0 stands for every other errno; failures.def has exactly one. */
const struct failure *failure_of(int r)
{
	const struct failure *other = NULL;

	for (size_t i = 0; i < n_failures; i++) {
		if (failures[i].error == r)
			return &failures[i];
		if (!failures[i].error)
			other = &failures[i];
	}
	return other;
}

/* An index into failures[] is a value of enum refusal, since both are made of failures.def. */
const struct failure *failure_record(struct rpc *rpc, int r)
{
	const struct failure *f = failure_of(r);

	counters_add(rpc->counters, COUNTER_REFUSED);
	counters_refuse(rpc->counters, (enum refusal)(f - failures));
	if (f->counter != COUNTER_REFUSED)
		counters_add(rpc->counters, f->counter);
	return f;
}

const char *failure_message(const struct rpc *rpc, int r)
{
	return rpc->err->msg[0] ? rpc->err->msg : strerror(-r);
}

void failure_put_status(const struct failure *f, const char *message, struct buf *out)
{
	static const char retry_info[] = "type.googleapis.com/google.rpc.RetryInfo";
	size_t any, value, delay;

	wire_put_int(out, STATUS_CODE, f->grpc);
	wire_put_line(out, STATUS_MESSAGE, message, strlen(message));
	if (!f->retry_s)
		return;
	any = wire_begin(out, STATUS_DETAILS);
	wire_put_bytes(out, ANY_TYPE, retry_info, sizeof(retry_info) - 1);
	value = wire_begin(out, ANY_VALUE);
	delay = wire_begin(out, RETRY_INFO_DELAY);
	wire_put_int(out, DURATION_SECONDS, f->retry_s);
	wire_end(out, delay);
	wire_end(out, value);
	wire_end(out, any);
}

size_t request_max_decompressed(const struct rpc *rpc)
{
	size_t part = rpc->opt->max_memory / 8;

	return part && part < MAX_DECOMPRESSED ? part : MAX_DECOMPRESSED;
}

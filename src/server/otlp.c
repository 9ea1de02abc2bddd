/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry profiles over HTTP and gRPC. Attributes of resource and scope become labels of the
 * series; attributes of a sample (the thread's name) make a series of their own. Samples of CPU
 * time are stored as time, under the names that Pyroscope's queries use.
 *
 * The recorded contract: samples/count with the period cpu/nanoseconds becomes process_cpu with
 * values times the period; every resource and scope attribute with text or an integer becomes a
 * label under its own name, plus service_name and __otel__="true". Resources of Cameo's own agent
 * have Cameo's labels already, so only service_name is completed. An id that is not 16 bytes long,
 * or is all zeros, counts as absent; the profile is then stored each time it is sent.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/otlp/otlp_json.h"
#include "codec/otlp/otlp_labels.h"
#include "codec/otlp/otlp_read.h"
#include "net/http_server.h"
#include "profile/profile.h"
#include "server/api.h"
#include "server/connect.h"
#include "server/grpc.h"
#include "server/ingest.h"
#include "server/rpc.h"
#include "server/server_options.h"

/* One request: what is collected of it, and how its labels are read. */
struct otlp_request {
	struct ingest in;
	bool own;        /* from Cameo's own agent, whose labels are used unmodified */
	struct err *err; /* of otlp_read_profiles() */
};

static void otlp_request_fini(struct otlp_request *t)
{
	ingest_fini(&t->in);
}

/* Numbers become text, because labels of a series are text. NULL if memory runs out. */
static const char *label_value(struct otlp_request *t, const struct profile *p,
			       const struct profile_label *l)
{
	char text[32];

	if (l->str)
		return profile_string(p, l->str);
	snprintf(text, sizeof(text), "%" PRId64, l->num);
	return ingest_copy_text(&t->in, text);
}

/*
 * Turns resource attributes into labels. The service name falls back to the executable, as
 * OpenTelemetry's SDKs do.
 */
static int add_labels(struct otlp_request *t, const struct otlp_profile *part,
		      struct ingest_labels *out, struct err *err)
{
	const char *service = NULL, *exe = NULL, *fallback = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < part->n_resource; i++) {
		const char *key = profile_string(part->profile, part->resource[i].key);
		const char *value = label_value(t, part->profile, &part->resource[i]);

		if (!value)
			return -ENOMEM;
		if (!strcmp(key, "service.name"))
			service = value;
		else if (!strcmp(key, "process.executable.name"))
			exe = value;
		if (!strcmp(key, OTLP_PROFILE_NAME))
			out->name = value;
		else if (key[0] && !ingest_has_label(out, key))
			r = ingest_label(out, key, value, err);
	}
	if (r == 0 && !t->own)
		r = ingest_label(out, "__otel__", "true", err);
	if (r == 0 && service && !ingest_has_label(out, "service_name"))
		r = ingest_label(out, "service_name", service, err);
	if (r == 0 && exe) {
		char text[256];

		snprintf(text, sizeof(text), "unknown_service:%s", exe);
		fallback = ingest_copy_text(&t->in, text);
	}
	if (r == 0)
		ingest_labels_finish(out, fallback);
	return r;
}

static bool is_type(const struct profile *p, struct profile_value_type t, const char *type,
		    const char *unit)
{
	return !strcmp(profile_string(p, t.type), type) && !strcmp(profile_string(p, t.unit), unit);
}

/*
 * Chooses the profile's name, unless the request has it, and converts counts of CPU samples to
 * time, since Pyroscope's queries and dashboards expect process_cpu in nanoseconds.
 */
static int name_profile(struct profile *p, const char **out_name)
{
	const struct profile_meta *meta = profile_meta_const(p);
	struct profile_value_type type = profile_sample_type(p, 0);

	if (*out_name && (*out_name)[0])
		return 0;
	if (is_type(p, meta->period_type, "cpu", "nanoseconds")) {
		*out_name = "process_cpu";
		if (is_type(p, type, "samples", "count") && meta->period > 0)
			return profile_convert_sample_type(p, 0, "cpu", "nanoseconds",
							   meta->period);
		return 0;
	}
	*out_name = profile_string(p, meta->period_type.type ? meta->period_type.type : type.type);
	if (!(*out_name)[0])
		*out_name = "profile";
	return 0;
}

/* A profile's id as hexadecimal text; "" for an id of zeros or another length. */
static const char *profile_id(struct otlp_request *t, const struct otlp_profile *part)
{
	const uint8_t *id = part->id;
	char text[2 * 16 + 1];
	uint8_t any = 0;

	if (part->id_len != 16)
		return "";
	for (size_t i = 0; i < part->id_len; i++) {
		snprintf(text + 2 * i, 3, "%02x", id[i]);
		any |= id[i];
	}
	return any ? ingest_copy_text(&t->in, text) : "";
}

static int add_part(struct otlp_request *t, const struct otlp_profile *part, struct err *err)
{
	_cleanup_(profile_freep) struct profile *p = part->profile;
	struct ingest_labels labels = { 0 };
	const char *id = profile_id(t, part);
	int r = id ? add_labels(t, part, &labels, err) : -ENOMEM;

	if (r == 0)
		r = name_profile(p, &labels.name);
	if (r == -EFBIG)
		return err_set(err, r, "a sample count times the period exceeds 64 bits");
	return r < 0 ? r : ingest_profile(&t->in, &labels, id, steal_ptr(&p), err);
}

/* The callback owns the profile even when it fails. */
static int add_profile(void *ctx, const struct otlp_profile *part)
{
	struct otlp_request *t = ctx;
	struct err err = { 0 };
	int r;

	if (part->error)
		return ingest_refuse(&t->in, part->error, t->err);
	r = add_part(t, part, &err);
	return r < 0 && ingest_refuse(&t->in, r, &err) < 0 ? err_set(t->err, r, "%s", err.msg) : 0;
}

/* An ExportProfilesServiceResponse, which is empty if all profiles were stored. */
static void respond(struct rpc *rpc, const struct ingest *in)
{
	struct response resp = response_to(&rpc->rs->body, rpc->json);
	size_t whole = response_begin(&resp, 0, NULL), partial;

	if (in->n_refused) {
		partial = response_begin(&resp, 1, "partialSuccess");
		response_put_int(&resp, 1, "rejectedProfiles", (int64_t)in->n_refused);
		response_put_string(&resp, 2, "errorMessage", in->why.msg);
		response_end(&resp, partial);
	}
	response_end(&resp, whole);
}

/*
 * All profiles are collected before any is stored: otlp_read_profiles() may fail after some were
 * delivered.
 */
static int ingest_otlp(struct rpc *rpc, bool own)
{
	_cleanup_(otlp_request_fini) struct otlp_request t = { .err = rpc->err, .own = own };
	_cleanup_(buf_fini) struct buf binary = { 0 };
	const struct codec_limits max = ingest_limits(rpc);
	const void *data = rpc->body;
	size_t len = rpc->len;
	int r = 0;

	ingest_init(&t.in, rpc->opt->max_age_ns);
	t.in.max_names = rpc->opt->max_names;
	if (rpc->json) {
		r = otlp_json_read(rpc->body, rpc->len, &binary, rpc->err);
		data = binary.data;
		len = binary.len;
	}
	if (r == 0)
		r = otlp_read_profiles(data, len, &max, add_profile, &t, rpc->err);
	if (r == 0)
		r = ingest_store(&t.in, rpc);
	if (r == 0 && rpc->rs)
		respond(rpc, &t.in);
	return r;
}

static int otlp_export(struct rpc *rpc)
{
	return ingest_otlp(rpc, false);
}

int otlp_own(struct rpc *rpc)
{
	return ingest_otlp(rpc, true);
}

static const struct api_method methods[] = {
	{ "/v1development/profiles", connect_otlp, otlp_export, API_WRITE, API_PUSH,
	  "Store OTLP profiles sent over HTTP", NULL, NULL },
	{ "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export", grpc_call,
	  otlp_export, API_WRITE, API_PUSH, "Store OTLP profiles sent over gRPC", NULL, NULL },
};
API_LIST(otlp_api, methods);

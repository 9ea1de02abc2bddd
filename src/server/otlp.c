/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's profiles, over HTTP and gRPC. What resource and scope say are
 * labels of the series, what a sample says (a thread's name) is one of its own.
 * Samples that stand for so much time each are kept as time, under the names
 * that Pyroscope's queries know.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/otlp_json.h"
#include "codec/otlp_read.h"
#include "profile/profile.h"
#include "server/intake.h"
#include "server/rpc.h"

struct taking {
	struct intake in;
	bool own; /* Cameo's agent's: labels are as they should be */
	struct err *err;
};

static void taking_fini(struct taking *t)
{
	intake_fini(&t->in);
}

static const char *label_value(struct taking *t, const struct profile *p,
			       const struct profile_label *l)
{
	char text[32];

	if (l->str)
		return profile_string(p, l->str);
	snprintf(text, sizeof(text), "%" PRId64, l->num);
	return intake_text(&t->in, text);
}

static int add_labels(struct taking *t, const struct otlp_part *part, struct intake_labels *out)
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
		if (key[0] && !intake_has_label(out, key))
			r = intake_label(out, key, value, t->err);
	}
	if (r == 0 && !t->own)
		r = intake_label(out, "__otel__", "true", t->err);
	if (r == 0 && service && !intake_has_label(out, "service_name"))
		r = intake_label(out, "service_name", service, t->err);
	if (r == 0 && exe) {
		char text[256];

		snprintf(text, sizeof(text), "unknown_service:%s", exe);
		fallback = intake_text(&t->in, text);
	}
	if (r == 0)
		intake_labels_end(out, fallback);
	return r;
}

static bool is_type(const struct profile *p, struct profile_value_type t, const char *type,
		    const char *unit)
{
	return !strcmp(profile_string(p, t.type), type) && !strcmp(profile_string(p, t.unit), unit);
}

/* What the profile is called, and samples of CPU time as time. */
static int name_profile(struct profile *p, const char **out_name)
{
	const struct profile_meta *meta = profile_meta_const(p);
	struct profile_value_type type = profile_sample_type(p, 0);

	if (is_type(p, meta->period_type, "cpu", "nanoseconds")) {
		*out_name = "process_cpu";
		if (is_type(p, type, "samples", "count") && meta->period > 0)
			return profile_retype(p, 0, "cpu", "nanoseconds", meta->period);
		return 0;
	}
	*out_name = profile_string(p, meta->period_type.type ? meta->period_type.type : type.type);
	if (!(*out_name)[0])
		*out_name = "profile";
	return 0;
}

/* A profile's identity as text; one that is all zeros is none. */
static const char *profile_id(struct taking *t, const struct otlp_part *part)
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
	return any ? intake_text(&t->in, text) : "";
}

static int take_part(void *ctx, const struct otlp_part *part)
{
	_cleanup_(profile_freep) struct profile *p = part->profile;
	struct taking *t = ctx;
	struct intake_labels labels = { 0 };
	const char *id = profile_id(t, part);
	int r = id ? add_labels(t, part, &labels) : -ENOMEM;

	if (r == 0)
		r = name_profile(p, &labels.name);
	if (r == -EFBIG)
		return err_set(t->err, r, "a value times the period is too large");
	return r < 0 ? r : intake_profile(&t->in, &labels, id, steal_ptr(&p), t->err);
}

static int take(struct rpc *rpc, bool own)
{
	_cleanup_(taking_fini) struct taking t = { .err = rpc->err, .own = own };
	_cleanup_(buf_fini) struct buf binary = { 0 };
	const struct codec_limits max = intake_limits();
	const void *data = rpc->body;
	size_t len = rpc->len;
	int r = 0;

	intake_init(&t.in);
	if (rpc->json) {
		r = otlp_json_read(rpc->body, rpc->len, &binary, rpc->err);
		data = binary.data;
		len = binary.len;
	}
	if (r == 0)
		r = otlp_read_parts(data, len, &max, take_part, &t, rpc->err);
	return r < 0 ? r : intake_store(&t.in, rpc);
}

int otlp_export(struct rpc *rpc)
{
	return take(rpc, false);
}

int otlp_own(struct rpc *rpc)
{
	return take(rpc, true);
}

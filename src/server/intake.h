/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The profiles of one request on their way into the store. Everything of a
 * request is read and checked before anything is stored, so what is refused has
 * left nothing behind.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/limits.h"
#include "server/message.h"
#include "store/store.h"

struct err;
struct profile;
struct rpc;

enum { INTAKE_MAX_LABELS = 40 };

/* Labels of one series; the strings are somebody else's. */
struct intake_labels {
	struct store_label v[INTAKE_MAX_LABELS + 1];
	size_t n;
	const char *name; /* __name__ */
};

struct intake {
	struct {
		VEC(struct store_profile);
	} profiles;
	struct {
		VEC(struct profile *);
	} owned;
	struct message_memory memory; /* of labels */
	int64_t now_ns;
};

void intake_init(struct intake *in);
void intake_fini(struct intake *in);

/* What a profile from anybody may be at most. */
struct codec_limits intake_limits(void);

/* Keep a copy of a text as long as the intake: NULL for want of memory. */
const char *intake_text(struct intake *in, const char *text);

/* 0; -EINVAL, and @err says which label is wrong. */
int intake_label(struct intake_labels *l, const char *name, const char *value, struct err *err);
bool intake_has_label(const struct intake_labels *l, const char *name);

/* Sort them; a service without a name gets @service or, when that is NULL, "unknown_service". */
void intake_labels_end(struct intake_labels *l, const char *service);

/* Take @p, also when it fails. */
int intake_profile(struct intake *in, const struct intake_labels *l, const char *id,
		   struct profile *p, struct err *err);

/* All of them or none; when it returns 0 they are durable and visible. */
int intake_store(struct intake *in, struct rpc *rpc);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The profiles of one request on their way into the store. All of a request is read and validated
 * before anything is stored, so a rejected request leaves nothing behind. A profile that can never
 * be stored is refused alone; the others are stored.
 *
 * Use: ingest_init(); for each series ingest_label()… and ingest_labels_finish(); ingest_profile()
 * for each of its profiles, or ingest_refuse(); ingest_store(); ingest_fini(). One request, one
 * thread. Limits are the contract's or wider: at most 40 labels, names of 1024 and values of 2048
 * bytes, 10,000 profiles per request, timestamps not older than the retention and up to ten minutes
 * ahead, durations of at most a year.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "codec/common/limits.h"
#include "server/message.h"
#include "store/store.h"

struct rpc;

enum { INGEST_MAX_LABELS = 40 };

/*
 * The labels of one series; the strings are borrowed. One element more than the limit is for
 * service_name.
 */
struct ingest_labels {
	struct store_label v[INGEST_MAX_LABELS + 1];
	size_t n;
	const char *name; /* the label __name__ */
};

struct ingest {
	struct {
		VEC(struct store_profile);
	} profiles;
	struct {
		VEC(struct profile *);
	} owned;
	struct message_memory memory; /* owns labels and texts */
	int64_t now_ns;
	int64_t max_age_ns; /* retention; 0 for none */
	size_t max_names;   /* bytes of names in a profile; 0 for 16 MiB */
	size_t n_refused;   /* profiles that were refused by themselves */
	struct err why;     /* the reason of the first of them */
};

/*
 * Notes the time of arrival, which timestamps are compared with. A profile older than @max_age_ns
 * would be deleted at once; 0 accepts all.
 */
void ingest_init(struct ingest *in, int64_t max_age_ns);
void ingest_fini(struct ingest *in);

/*
 * Limits for profiles from untrusted clients. They are lower than those of files that a user opens
 * (codec/common/limits.h), because several requests are in memory at once.
 */
struct codec_limits ingest_limits(const struct rpc *rpc);

/* Copies a text; the copy lives as long as @in. NULL if memory runs out. */
const char *ingest_copy_text(struct ingest *in, const char *text);

/*
 * Adds a label. Returns 0, or -EINVAL with the offending label in @err. The strings are borrowed,
 * not copied. A label that is repeated with the same value is ignored, as are labels by which
 * clients control themselves (__delta__, __session_id__). __name__ becomes the profile's name.
 */
int ingest_label(struct ingest_labels *l, const char *name, const char *value, struct err *err);
bool ingest_has_label(const struct ingest_labels *l, const char *name);

/*
 * Sorts the labels. A missing service_name becomes @service or, if that is NULL or empty,
 * "unknown_service".
 */
void ingest_labels_finish(struct ingest_labels *l, const char *service);

/*
 * Counts a profile that failed with @r and the reason in @err. Returns 0 if the error is one of
 * this profile alone, so that the request continues without it; else @r.
 */
int ingest_refuse(struct ingest *in, int r, const struct err *err);

/*
 * Adds a profile. Takes ownership of @p, even on failure. Returns 0, -EINVAL for an invalid
 * timestamp, duration or number of labels or types, or too many profiles, or -ENOMEM. @id may be
 * NULL; it is borrowed until ingest_fini(). A profile without a time gets the time of arrival.
 * Labels are copied, so @l can be reused. Control characters in them become spaces, and invalid
 * UTF-8 U+FFFD, as in the strings of a profile.
 */
int ingest_profile(struct ingest *in, const struct ingest_labels *l, const char *id,
		   struct profile *p, struct err *err);

/*
 * Symbolizes all profiles, charges them to the quota and appends them to the store, all or none.
 * Profiles that exceed the quota are refused by themselves. Returns 0 when the others are durable
 * and visible; the reason of the first refused profile if there is no other; RPC_MOVED; -errno.
 * Call it once.
 */
int ingest_store(struct ingest *in, struct rpc *rpc);

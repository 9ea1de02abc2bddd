/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* querier.v1.QuerierService: a request that was read and checked, and the methods. */
#include "server/question.h"

/* Diff asks two; the others the first. */
enum { QUESTION_SIDES = 2 };

struct question {
	struct rpc *rpc;
	struct message_memory memory;
	struct request rq[QUESTION_SIDES];
	struct query query[QUESTION_SIDES];
	struct answer answer;
};

enum {
	FORMAT_UNSPECIFIED,
	FORMAT_FLAMEGRAPH,
	FORMAT_TREE,
	FORMAT_DOT,
	FORMAT_PPROF,
};

enum { HEATMAP_UNSPECIFIED, HEATMAP_INDIVIDUAL, HEATMAP_SPAN };

/* 0 and the answer is written; -errno. */
int querier_types(struct question *q);
int querier_label_names(struct question *q);
int querier_label_values(struct question *q);
int querier_series(struct question *q);
int querier_analyze(struct question *q);
int querier_stats(struct question *q);
int querier_stacktraces(struct question *q);
int querier_spans(struct question *q);
int querier_profile(struct question *q);
int querier_diff(struct question *q);
int querier_points(struct question *q);
int querier_heatmap(struct question *q);

/* Labels as one field of an answer. */
void querier_put_label(struct answer *a, const char *name, const char *value);

/* The step in milliseconds: 0 or -EINVAL. */
int querier_step(struct question *q, int64_t *out_ms);

/* The list @name of messages or strings is there only if it isn't empty. */
static inline void querier_list(struct answer *a, const char *name, size_t n)
{
	if (n)
		answer_list(a, name);
}

static inline void querier_list_end(struct answer *a, size_t n)
{
	if (n)
		answer_list_end(a);
}
